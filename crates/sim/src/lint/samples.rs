//! Percentiles with too few samples for the given traffic.

use super::{Aws, Finding, Rule};
use crate::settings::Metric;
use control::alarm::FewSamples;
use control::alarm::Missing;

pub(super) fn check(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    for (id, alarm) in aws.alarms() {
        let metric = aws.metric(alarm.metric);
        let of_requests = matches!(
            metric,
            Some(Metric::ResponseTime | Metric::RequestCount | Metric::RequestCountPerTarget)
        );
        if of_requests && alarm.missing == Missing::Breaching && alarm.comparison.is_upward() {
            findings.push(Finding {
                rule: Rule::MissingData,
                place: aws.alarm_place(id),
                what: "missing data breaches".to_owned(),
                why: "a minute without requests has no datapoint, and none counts as above the threshold: without \
                      traffic it scales out"
                    .to_owned(),
                remedy: "treat missing data as not breaching".to_owned(),
            });
        }
        let (Some(Metric::ResponseTime), Some(needed)) = (metric, alarm.samples_needed()) else { continue };
        let (Some(lowest), period) = (aws.subject.load.lowest(), alarm.period.as_secs_f64()) else {
            continue;
        };
        let share = aws.subject.load.share_below(needed / period);
        if share == 0.0 || alarm.few_samples == FewSamples::Ignore {
            continue;
        }
        let wider = (needed / lowest.max(1e-9) / 60.0).ceil().min(1440.0);
        findings.push(Finding {
            rule: Rule::FewSamples,
            place: aws.alarm_place(id),
            what: format!("{} of too few requests", alarm.statistic),
            why: format!(
                "a datapoint of {} needs {needed:.0} requests in {period:.0} s, so that ten lie beyond it; at the lowest \
                 rate there are {:.0}, and in {:.0} % of the time fewer than it needs: then it is noise",
                alarm.statistic,
                lowest * period,
                100.0 * share
            ),
            remedy: format!(
                "use a lower percentile, a longer period ({wider:.0} minutes at the lowest rate), more datapoints to \
                 alarm, or set EvaluateLowSampleCountPercentile to ignore"
            ),
        });
    }
}
