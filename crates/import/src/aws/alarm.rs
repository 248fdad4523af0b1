//! Alarms, as `aws cloudwatch describe-alarms` prints them.

use super::join::Parts;
use super::metric::{Metric, Named};
use super::remark::{Cause, Remark};
use super::walk::{Object, Report, Spot};
use crate::origin::Origin;
use control::alarm::{Comparison, FewSamples, Missing};
use std::time::Duration;

/// An alarm on a metric that is modelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    /// Its name in AWS.
    pub name: String,
    /// The object of the vendor, if the files name it.
    pub origin: Option<Origin>,
    /// The metric.
    pub metric: Metric,
    /// As CloudWatch writes it: `Average`, `p95`, `tm99`.
    pub statistic: String,
    /// The length of a period.
    pub period: Duration,
    /// The number of newest datapoints that are evaluated.
    pub evaluation_periods: u32,
    /// How many of them have to breach.
    pub datapoints_to_alarm: u32,
    /// How a datapoint breaches: it is the first operand.
    pub comparison: Comparison,
    /// In the unit of the metric; none if the file does not have it.
    pub threshold: Option<f64>,
    /// How a missing datapoint is treated.
    pub missing: Missing,
    /// How a percentile with few samples is treated.
    pub few_samples: FewSamples,
}

/// An alarm in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AlarmPart {
    pub(super) spot: Spot,
    pub(super) arn: String,
    pub(super) name: String,
    /// The metric and its statistic, or why it has none.
    pub(super) metric: Result<Named, Cause>,
    /// The settings without the metric.
    pub(super) settings: Option<Alarm>,
    pub(super) enabled: bool,
    pub(super) actions: Vec<String>,
    /// Policies that are triggered by other states, with their list.
    pub(super) other_states: Vec<(String, &'static str)>,
    /// Reported only if the alarm is used: an account may have hundreds of others.
    pub(super) unknown: Vec<Remark>,
}

/// Reads one of `MetricAlarms`.
pub(super) fn metric(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    object.without_effect(&[
        "AlarmDescription",
        "AlarmConfigurationUpdatedTimestamp",
        "StateValue",
        "StateReason",
        "StateReasonData",
        "StateUpdatedTimestamp",
        "StateTransitionedTimestamp",
        "EvaluationState",
    ]);
    let name = object.text("AlarmName", report);
    let Some(name) = object.needed("AlarmName", name, "the name of the alarm", report) else { return };
    let arn = object.text("AlarmArn", report);
    let Some(arn) = object.needed("AlarmArn", arn, "the ARN of the alarm", report) else { return };
    let named = Named::read(object, report);
    let metric = if object.text("ThresholdMetricId", report).is_some() {
        Err(Cause::AnomalyDetection)
    } else if object.list("Metrics", report).is_some_and(|metrics| !metrics.is_empty()) {
        Err(Cause::MetricMath)
    } else {
        Ok(named)
    };
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut other_states = Vec::new();
    for list in ["OKActions", "InsufficientDataActions"] {
        other_states.extend(owned(object.texts(list, report)).into_iter().map(|arn| (arn, list)));
    }
    let settings = metric.is_ok().then(|| settings(object, name, report)).flatten();
    let enabled = object.flag("ActionsEnabled", report).unwrap_or(true);
    let actions = owned(object.texts("AlarmActions", report));
    let mut unknown = Report::default();
    object.finish(&mut unknown);
    let part = AlarmPart {
        spot: object.spot(Some(name)),
        arn: arn.to_owned(),
        name: name.to_owned(),
        metric,
        settings,
        enabled,
        actions,
        other_states,
        unknown: unknown.remarks,
    };
    parts.alarm(part, report);
}

fn settings(object: &Object<'_>, name: &str, report: &mut Report) -> Option<Alarm> {
    let statistic = object.text("Statistic", report).or(object.text("ExtendedStatistic", report));
    let statistic = object.needed("Statistic", statistic, "a statistic such as Average", report);
    let period = object.seconds("Period", report);
    let period = object.needed("Period", period, "the length of a period in seconds", report);
    let periods = object.count("EvaluationPeriods", report);
    let periods = object.needed("EvaluationPeriods", periods, "how many periods are looked at", report);
    let datapoints = object.count("DatapointsToAlarm", report);
    let threshold = object.number("Threshold", report);
    let threshold = object.needed_or_to_fill_in("Threshold", threshold, "a number", report);
    // Bands, which use ThresholdMetricId, are not among them.
    let comparisons = Comparison::ALL.map(|known| (known.api_name(), known));
    let comparison = object.word("ComparisonOperator", &comparisons, report);
    let comparison = object.needed("ComparisonOperator", comparison, "such as GreaterThanThreshold", report);
    let missing = Missing::ALL.map(|known| (known.api_name(), known));
    let few_samples = FewSamples::ALL.map(|known| (known.name(), known));
    let missing = object.word("TreatMissingData", &missing, report).unwrap_or_default();
    let few_samples =
        object.word("EvaluateLowSampleCountPercentile", &few_samples, report).unwrap_or_default();
    Some(Alarm {
        name: name.to_owned(),
        origin: object.origin("AlarmArn", report),
        // Until the service is known.
        metric: Metric::Cpu,
        statistic: statistic?.to_owned(),
        period: period?,
        evaluation_periods: periods?,
        datapoints_to_alarm: datapoints.or(periods)?,
        comparison: comparison?,
        threshold: threshold?,
        missing,
        few_samples,
    })
}

/// Whether the simulator supports a statistic.
pub(super) fn is_modelled(statistic: &str) -> bool {
    let simple = ["Average", "Minimum", "Maximum", "Sum", "SampleCount"];
    let share = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        digits && text.parse::<f64>().is_ok_and(|share| share > 0.0 && share <= 100.0)
    };
    simple.contains(&statistic)
        || statistic.strip_prefix('p').is_some_and(share)
        || statistic.strip_prefix("tm").is_some_and(share)
}

/// Reads one of `CompositeAlarms`.
pub(super) fn composite(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    let name = object.text("AlarmName", report);
    let Some(name) = object.needed("AlarmName", name, "the name of the alarm", report) else { return };
    let arn = object.text("AlarmArn", report).unwrap_or(name);
    let actions = object.texts("AlarmActions", report).into_iter().map(str::to_owned).collect();
    let part = AlarmPart {
        spot: object.spot(Some(name)),
        arn: arn.to_owned(),
        name: name.to_owned(),
        metric: Err(Cause::Composite),
        settings: None,
        enabled: object.flag("ActionsEnabled", report).unwrap_or(true),
        actions,
        other_states: Vec::new(),
        unknown: Vec::new(),
    };
    parts.alarm(part, report);
}
