//! `spec.behavior`: how fast to scale in each direction, with Kubernetes' defaults for missing fields.

use super::field::{Field, Report};
use super::quantity;
use control::scaling::hpa::{Behavior, Change, RatePolicy, Rules, Select};
use std::time::Duration;

/// Reads both directions; the outer none if one cannot be read, the inner none if there is no behavior.
pub(super) fn read(field: &Field<'_>, name: Option<&str>, report: &mut Report) -> Option<Option<Behavior>> {
    let behavior = field.object(report)?;
    let usual = Behavior::default();
    let mut rules = |field: &'static str, usual: Rules| match behavior.get(field) {
        None => Some(usual),
        Some(found) => one_way(&found, usual, name, report),
    };
    let (up, down) = (rules("scaleUp", usual.up), rules("scaleDown", usual.down));
    behavior.done(name, report);
    let says_something = behavior.get("scaleUp").or(behavior.get("scaleDown")).is_some();
    let both = Behavior { up: up?, down: down? };
    Some(says_something.then_some(both))
}

fn one_way(field: &Field<'_>, usual: Rules, name: Option<&str>, report: &mut Report) -> Option<Rules> {
    let object = field.object(report)?;
    let mut rules = usual;
    let mut whole = true;
    if let Some(window) = object.get("stabilizationWindowSeconds") {
        let seconds = window.whole(0, i32::MAX as u32, report);
        whole &= seconds.is_some();
        rules.stabilization = seconds.map(|seconds| Duration::from_secs(seconds.into()));
    }
    if let Some(select) = object.get("selectPolicy") {
        let words = [("Max", Select::Max), ("Min", Select::Min), ("Disabled", Select::Disabled)];
        let select = select.one_of(&words, report);
        whole &= select.is_some();
        rules.select = select.unwrap_or_default();
    }
    if let Some(policies) = object.get("policies") {
        let read: Vec<Option<RatePolicy>> =
            policies.list(report).iter().map(|entry| policy(entry, name, report)).collect();
        whole &= read.iter().all(Option::is_some);
        rules.policies = read.into_iter().flatten().collect();
    }
    if let Some(tolerance) = object.get("tolerance") {
        let share = quantity::share(&tolerance, report);
        whole &= share.is_some();
        rules.tolerance = share;
    }
    object.done(name, report);
    whole.then_some(rules)
}

fn policy(entry: &Field<'_>, name: Option<&str>, report: &mut Report) -> Option<RatePolicy> {
    let entry = entry.object(report)?;
    let words = [("Pods", Change::Pods as fn(u32) -> Change), ("Percent", Change::Percent)];
    let change = entry.needed("type", "a text", report).and_then(|kind| kind.one_of(&words, report));
    let mut number = |field: &'static str| {
        entry
            .needed(field, "a whole number", report)
            .and_then(|found| found.whole(0, i32::MAX as u32, report))
    };
    let (value, seconds) = (number("value"), number("periodSeconds"));
    entry.done(name, report);
    Some(RatePolicy { change: change?(value?), period: Duration::from_secs(seconds?.into()) })
}
