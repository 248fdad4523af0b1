//! Tables that refine limits: queues, adaptive limits, priorities.

use fields::{At, Count, Frequency, Read, Report, Span, Text, schema_of_word_or_table, tables};
use yaml::{Kind, Node};

tables! {
    /// The bounds of an adaptive limit.
    FileAdaptive {
        /// The lower bound.
        least: At<Count>,
        /// The upper bound.
        most: At<Count>,
        /// A prior measurement.
        prior: Option<At<FilePrior>>,
    }

    /// A measurement of the service, such as `headroom find` makes.
    FilePrior {
        /// The sustainable rate.
        rate: At<Frequency>,
        /// The typical response time when calm.
        response_time: At<Span>,
    }

    /// A queue for requests that wait for a slot.
    FileQueue {
        /// Maximum number of waiting requests.
        places: At<Count>,
        /// The longest wait of a request.
        longest_wait: At<Span>,
    }

    /// A priority that is set by the request.
    FilePriorityTable {
        /// The header with the name of the priority class.
        header: At<Text>,
        /// The priority class of requests without that header. Default: the lowest.
        otherwise: Option<At<Text>>,
    }
}

/// The priority of requests: the name of a class, or a table.
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
