//! Where the settings of a case file came from, by the places of these settings.
//!
//! A simulation does not depend on it. It is for carrying a changed setting back to the object that has it.

use super::file::CaseTable;
use super::words::OriginText;
use fields::{At, Names};
use import::Origin;

/// A setting that came from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// Its place in the file: `services.web.scaling.policies.out`.
    pub path: String,
    /// The object that it came from.
    pub origin: Origin,
}

/// All of a file, in its order: the bounds of each service, then its alarms, policies and scheduled actions.
pub(super) fn origins(table: &CaseTable) -> Vec<Sourced> {
    let services = table.services.0.iter().flat_map(|at| at.value.iter());
    let scaling = services.filter_map(|named| named.value.as_ref()?.value.scaling.as_ref());
    scaling
        .flat_map(|at| {
            let scaling = &at.value;
            let alarms = scaling.alarms.iter().flat_map(Names::iter).filter_map(|named| named.value.as_ref());
            let policies =
                scaling.policies.iter().flat_map(Names::iter).filter_map(|named| named.value.as_ref());
            let schedule = scaling.schedule.iter().flatten();
            std::iter::once(scaling.origin.as_ref())
                .chain(alarms.map(|at| at.value.origin.as_ref()))
                .chain(policies.map(|at| at.value.origin.as_ref()))
                .chain(schedule.map(|at| at.value.origin.as_ref()))
                .flatten()
        })
        .map(sourced)
        .collect()
}

fn sourced(at: &At<OriginText>) -> Sourced {
    let path = at.place.path.strip_suffix(".origin").unwrap_or(&at.place.path);
    Sourced { path: path.to_owned(), origin: at.value.0.clone() }
}

#[cfg(test)]
mod tests {
    use crate::case::{Given, parse};
    use std::path::Path;

    const CASE: &str = "case: a\nmeasured: 1m\ntraffic: {rate: 1/s}\nservices:\n  web:\n    endpoints: {r: {cpu: 1ms}}\n    \
                        server: {processes: 1, threads: 1}\n    hosts: {h: {cores: 1}}\n    scaling:\n      origin: \
                        module.web.aws_appautoscaling_target.web\n      min: 1\n      max: 2\n      alarms:\n        high: \
                        {metric: cpu, above: 60%, origin: 'module.web.aws_cloudwatch_metric_alarm.a[\"x y\"]'}\n      \
                        policies:\n        out: {alarms: [high], change: +1, origin: \
                        'arn:aws:autoscaling:eu-west-1:123456789012:scalingPolicy:1:policyName/out'}\n      schedule: [{at: \
                        '08:00', min: 1, origin: aws_appautoscaling_scheduled_action.day}]\n";

    fn told(text: &str) -> String {
        parse("case.yaml", text, Path::new(""), Given::default()).unwrap_err().plain()
    }

    #[test]
    fn each_setting_has_its_origin() {
        let case = parse("case.yaml", CASE, Path::new(""), Given::default()).unwrap();
        let found = case.stages[0].origins.iter().map(|found| format!("{}: {}", found.path, found.origin));
        insta::assert_snapshot!(found.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn text_that_names_no_object_is_refused() {
        let text = CASE.replace("aws_appautoscaling_scheduled_action.day", "somewhere");
        let text = text.replace("arn:aws:autoscaling", "arn:autoscaling");
        insta::assert_snapshot!(told(&text));
    }
}
