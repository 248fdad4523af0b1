//! How fast pods are added and removed, as a setting of `control`.

use super::Builder;
use crate::case::behavior_file::{BehaviorTable, FileBehavior, RateTable, RulesTable};
use control::scaling::hpa::{Behavior, Change, HpaSettingsError, RatePolicy, Rules, Select};
use fields::{At, Count, Place, Span, word};
use std::time::Duration;

/// The keys about how fast to scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directions<'a> {
    pub(super) behavior: Option<&'a At<FileBehavior>>,
    pub(super) down: Option<&'a At<Span>>,
    pub(super) up: Option<&'a At<Span>>,
}

impl Builder<'_> {
    /// None for the rules before `behavior` existed.
    pub(super) fn behavior(&mut self, directions: Directions<'_>) -> Option<Behavior> {
        let Directions { behavior, down: stabilize_down, up: stabilize_up } = directions;
        let windows = [stabilize_down, stabilize_up].into_iter().flatten();
        let mut rules = Behavior::default();
        match behavior.map(|at| &at.value) {
            Some(FileBehavior::Usual) => {
                rules.down.stabilization = stabilize_down.map(|at| at.value.0);
                if let Some(at) = stabilize_up {
                    rules.up.stabilization = Some(at.value.0);
                }
                Some(rules)
            }
            Some(FileBehavior::Table(table)) => {
                let BehaviorTable { scaleUp: up, scaleDown: down } = table.as_ref();
                for at in windows {
                    let message = "said beside the rules of `behavior`".to_owned();
                    let help =
                        "write it as `stabilizationWindowSeconds` of `scaleUp` or `scaleDown`".to_owned();
                    self.report.wrong(&at.place, message, "belongs there", help);
                }
                if let (Some(at), None, None) = (behavior, up, down) {
                    let help = "write `behavior: true`, or remove it".to_owned();
                    self.report.wrong(&at.place, "rules for neither way".to_owned(), "empty", help);
                }
                Some(Behavior {
                    up: self.rules(up.as_ref(), rules.up),
                    down: self.rules(down.as_ref(), rules.down),
                })
            }
            Some(FileBehavior::None) | None => {
                for at in windows {
                    let help = "add `behavior: true`, or remove it".to_owned();
                    self.report.wrong(&at.place, "only with `behavior: true`".to_owned(), "no effect", help);
                }
                None
            }
        }
    }

    fn rules(&mut self, found: Option<&RulesTable>, usual: Rules) -> Rules {
        let Some(RulesTable {
            stabilizationWindowSeconds: window,
            selectPolicy: select,
            policies,
            tolerance,
        }) = found
        else {
            return usual;
        };
        let selects = [("Max", Select::Max), ("Min", Select::Min), ("Disabled", Select::Disabled)];
        Rules {
            stabilization: window.as_ref().map(seconds).or(usual.stabilization),
            select: word(select.as_ref(), &selects, self.report),
            policies: match policies {
                Some(at) => at.value.iter().map(|at| self.rate(&at.value)).collect(),
                None => usual.policies,
            },
            tolerance: tolerance.as_ref().map(|at| at.value.0),
        }
    }

    fn rate(&mut self, RateTable { r#type: kind, value, periodSeconds: period }: &RateTable) -> RatePolicy {
        let kinds = [("Pods", Change::Pods as fn(u32) -> Change), ("Percent", Change::Percent)];
        let change = word(Some(kind), &kinds, self.report);
        RatePolicy { change: change(value.value.0), period: seconds(period) }
    }
}

fn seconds(at: &At<Count>) -> Duration {
    Duration::from_secs(at.value.0.into())
}

/// The place of the refused rule, if it is in a table.
pub(super) fn blamed<'a>(
    error: &HpaSettingsError,
    behavior: Option<&'a At<FileBehavior>>,
) -> Option<&'a Place> {
    let FileBehavior::Table(behavior) = &behavior?.value else { return None };
    let rules = |direction: &str| match direction {
        "scaleUp" => behavior.scaleUp.as_ref(),
        _ => behavior.scaleDown.as_ref(),
    };
    let rate =
        |direction: &str, place: usize| Some(&rules(direction)?.policies.as_ref()?.value.get(place)?.value);
    match *error {
        HpaSettingsError::Stabilization { direction, .. } => {
            rules(direction)?.stabilizationWindowSeconds.as_ref().map(|at| &at.place)
        }
        HpaSettingsError::NoPolicy { direction } => rules(direction)?.policies.as_ref().map(|at| &at.place),
        HpaSettingsError::Period { direction, policy, .. } => {
            rate(direction, policy).map(|rate| &rate.periodSeconds.place)
        }
        HpaSettingsError::ZeroChange { direction, policy } => {
            rate(direction, policy).map(|rate| &rate.value.place)
        }
        HpaSettingsError::ToleranceBeforeItsTime { direction, .. } => {
            rules(direction)?.tolerance.as_ref().map(|at| &at.place)
        }
        _ => None,
    }
}
