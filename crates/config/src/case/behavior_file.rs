//! `behavior` of a HorizontalPodAutoscaler: how fast pods are added and removed.
//!
//! ## Why in Kubernetes' own words
//! Users try the `spec.behavior` of a manifest in a simulation, and copy the result back into the manifest. So both
//! have the same text, in camelCase and with seconds as numbers.
#![allow(non_snake_case, reason = "the keys are Kubernetes' own")]

use crate::case::words::Tolerance;
use fields::{At, Count, Read, Report, Text, place, schema_of_word_or_table, tables};
use yaml::{Kind, Node};

tables! {
    /// How fast to scale in each direction. Missing keys have the defaults of autoscaling/v2.
    BehaviorTable {
        /// Scaling up.
        scaleUp: Option<RulesTable>,
        /// Scaling down.
        scaleDown: Option<RulesTable>,
    }

    /// How fast to scale in one direction.
    RulesTable {
        /// For how many seconds a recommendation limits later ones, from 0 to 3600. Default: 0 up, 300 down.
        stabilizationWindowSeconds: Option<At<Count>>,
        /// Which policy counts: `Max` (the largest change), `Min` (the smallest), or `Disabled` (no scaling in this
        /// direction). Default: Max.
        selectPolicy: Option<At<Text>>,
        /// The allowed change per period. Default: 4 pods or 100 percent in 15 seconds up, 100 percent in 15 seconds
        /// down.
        policies: Option<At<Vec<At<RateTable>>>>,
        /// How far a metric may be from its target in this direction, from Kubernetes 1.33 on. Default: the `tolerance`
        /// next to `behavior`.
        tolerance: Option<At<Tolerance>>,
    }

    /// The allowed change per period.
    RateTable {
        /// `Pods`, or `Percent` of the pods at the beginning of the period.
        r#type: At<Text>,
        /// The number of pods or percent; above 0.
        value: At<Count>,
        /// The period in seconds, from 1 to 1800.
        periodSeconds: At<Count>,
    }
}

/// `true` for the defaults of autoscaling/v2, `false` for the rules before `behavior` existed, or a table.
#[derive(Debug)]
pub(crate) enum FileBehavior {
    Usual,
    None,
    Table(Box<BehaviorTable>),
}

impl Read for FileBehavior {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        let found = match &node.kind {
            Kind::Table(_) => {
                return BehaviorTable::read(node, path, report).map(Box::new).map(FileBehavior::Table);
            }
            Kind::Scalar(word) if word == "true" => return Some(FileBehavior::Usual),
            Kind::Scalar(word) if word == "false" => return Some(FileBehavior::None),
            Kind::Scalar(word) => format!("`{word}`"),
            other => other.shown().to_owned(),
        };
        let message = format!("expected `true`, `false` or rules, found {found}");
        let help = "write `true`, or rules such as `{ scaleDown: { selectPolicy: Disabled } }`".to_owned();
        report.wrong(&place(node, path), message, "this value", help);
        None
    }
}

schema_of_word_or_table!(FileBehavior, { "type": "boolean" }, BehaviorTable);
