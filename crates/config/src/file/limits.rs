//! Tables that refine limits: queues, adaptive limits, priorities.

use fields::{At, Count, Frequency, Read, Report, Span, Text, schema_of_word_or_table, tables};
use yaml::{Kind, Node};

tables! {
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

schema_of_word_or_table!(FilePriority, { "type": "string" }, FilePriorityTable);
