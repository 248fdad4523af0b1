//! `behavior` of a HorizontalPodAutoscaler: how fast pods may come and go.
//!
//! ## Why in Kubernetes' own words
//! What a manifest has under `spec.behavior` is tried here, and what was found here goes back into the manifest. So both
//! are the same text, in camelCase and with seconds as numbers.
#![allow(non_snake_case, reason = "the keys are Kubernetes' own")]

use crate::case::words::Tolerance;
use fields::{At, Count, Read, Report, Text, place, schema_of_word_or_table, tables};
use yaml::{Kind, Node};

tables! {
    /// How fast to scale, each way. What is not said has the default of autoscaling/v2.
    BehaviorTable {
        /// On the way up.
        scaleUp: Option<RulesTable>,
        /// On the way down.
        scaleDown: Option<RulesTable>,
    }

    /// How fast to scale one way.
    RulesTable {
        /// For how many seconds a recommendation holds back later ones, from 0 to 3600. Default: 0 up, 300 down.
        stabilizationWindowSeconds: Option<At<Count>>,
        /// Which policy counts: `Max` (the one that allows the largest change), `Min` (the smallest), or `Disabled`:
        /// this way nothing is scaled. Default: Max.
        selectPolicy: Option<At<Text>>,
        /// How much may change in how long. Default: 4 pods or 100 percent in 15 seconds up, 100 percent in 15 seconds
        /// down.
        policies: Option<At<Vec<At<RateTable>>>>,
        /// How far a metric may be off its target this way, from Kubernetes 1.33 on. Default: `tolerance` beside
        /// `behavior`.
        tolerance: Option<At<Tolerance>>,
    }

    /// How much may change in how long.
    RateTable {
        /// `Pods`, or `Percent` of the pods that there were at the beginning of the period.
        r#type: At<Text>,
        /// So many; above 0.
        value: At<Count>,
        /// In so many seconds, from 1 to 1800.
        periodSeconds: At<Count>,
    }
}

/// `true` for the defaults of autoscaling/v2, `false` for the rules of old, or a table.
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
