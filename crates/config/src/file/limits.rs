//! Tables that refine limits: keys, queues, adaptive limits, priorities.

use crate::scalar::{Count, Frequency, Span, Text};
use crate::table::{At, Read, Report, place, schema_of_word_or_table, tables};
use crate::yaml::{Kind, Node};

tables! {
    /// Which requests have a limit together: one of `header` and `cookie`.
    FileKeyTable {
        /// Those with the same value of this header; without it, those from one address.
        header: Option<At<Text>>,
        /// Those with the same value of this cookie; without it, those from one address.
        cookie: Option<At<Text>>,
    }

    /// Between which bounds a limit follows the service.
    FileAdaptive {
        /// Never below this.
        least: At<Count>,
        /// Never above this.
        most: At<Count>,
        /// What was measured before.
        prior: Option<At<FilePrior>>,
    }

    /// A measurement of the service, such as `headroom find` makes.
    FilePrior {
        /// The sustainable rate.
        rate: At<Frequency>,
        /// The typical response time in calm.
        response_time: At<Span>,
    }

    /// Who may wait for a place.
    FileQueue {
        /// Requests that may wait at once.
        places: At<Count>,
        /// How long one may wait.
        longest_wait: At<Span>,
    }

    /// The importance that requests say themselves.
    FilePriorityTable {
        /// The header that names the priority class.
        header: At<Text>,
        /// The priority class where it does not. Default: the lowest.
        otherwise: Option<At<Text>>,
    }
}

/// Which requests have a limit together: `client`, or a table.
#[derive(Debug)]
pub(crate) enum FileKey {
    Client,
    Table(FileKeyTable),
}

impl Read for FileKey {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(word) if word == "client" => Some(FileKey::Client),
            Kind::Scalar(word) => {
                let message = format!("expected `client`, a header or a cookie, found `{word}`");
                let help = "write `client`, `{ header: X-Api-Key }` or `{ cookie: sid }`";
                report.wrong(&place(node, path), message, "this value", help.to_owned());
                None
            }
            _ => FileKeyTable::read(node, path, report).map(FileKey::Table),
        }
    }
}

/// How important requests are: the name of a class, or a table.
#[derive(Debug)]
pub(crate) enum FilePriority {
    Class(String),
    Table(FilePriorityTable),
}

impl Read for FilePriority {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(name) => Some(FilePriority::Class(name.clone())),
            _ => FilePriorityTable::read(node, path, report).map(FilePriority::Table),
        }
    }
}

schema_of_word_or_table!(FileKey, { "const": "client" }, FileKeyTable);
schema_of_word_or_table!(FilePriority, { "type": "string" }, FilePriorityTable);
