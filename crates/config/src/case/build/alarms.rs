//! Alarms and their metrics.

use super::Builder;
use crate::case::Calibration;
use crate::case::scaling_file::AlarmTable;
use control::alarm::{AlarmSettings, Comparison, FewSamples, Missing, Repeat, Windows};
use control::metric::{MetricId, Statistic};
use control::scaling::Platform;
use fields::{At, Count, Place, Scalar as _, Share, Text, suggestion, word};
use sim::settings::{Metric, Published};
use std::time::Duration;
use units::parse_duration;

/// An alarm with its name and its place in the file; none where it was refused.
pub(super) type NamedAlarm<'a> = (&'a str, &'a Place, Option<(Metric, AlarmSettings)>);

impl Builder<'_> {
    pub(super) fn alarm(
        &mut self,
        at: &At<AlarmTable>,
        repeat: Repeat,
        metrics: &mut Vec<Published>,
    ) -> Option<(Metric, AlarmSettings)> {
        let AlarmTable {
            metric,
            statistic,
            above,
            at_least,
            below,
            at_most,
            period,
            evaluation_periods,
            datapoints,
            missing,
            windows,
            few_samples,
            origin: _,
        } = &at.value;
        let metric = self.metric(metric)?;
        let statistic = statistic.as_ref().map_or(Some(Statistic::Average), |at| self.statistic(at));
        let given = [
            (above, Comparison::GreaterThan),
            (at_least, Comparison::GreaterThanOrEqualTo),
            (below, Comparison::LessThan),
            (at_most, Comparison::LessThanOrEqualTo),
        ];
        let given: Vec<_> =
            given.iter().filter_map(|(at, comparison)| Some((at.as_ref()?, *comparison))).collect();
        let [(threshold, comparison)] = given.as_slice() else {
            if !self.report.knows_of(&at.place.path) {
                let message = "expected one of `above`, `at_least`, `below` and `at_most`".to_owned();
                let help = "keep one of them; a stage takes a key away with `key: ~`".to_owned();
                self.report.wrong(&at.place, message, "in this alarm", help);
            }
            return None;
        };
        let threshold = self.amount(threshold, metric)?;
        let count = |at: &Option<At<Count>>| at.as_ref().map(|at| at.value.0);
        let periods = count(evaluation_periods).or(count(datapoints)).unwrap_or(1);
        let wanted = count(datapoints).unwrap_or(periods);
        if let (Some(at), true) = (datapoints, wanted > periods) {
            let message = format!("`datapoints` is {wanted}, above `evaluation_periods`, which is {periods}");
            let label = format!("{wanted} of the last {periods} can never breach");
            let help = format!("raise `evaluation_periods` to {wanted}, or lower `datapoints`");
            self.report.wrong(&at.place, message, &label, help);
            return None;
        }
        let period = self.span(period.as_ref(), MINUTE);
        let treatments = Missing::ALL.map(|known| (known.name(), known));
        let few = FewSamples::ALL.map(|known| (known.name(), known));
        let ends = [("sliding", Windows::Sliding), ("wall-clock", Windows::WallClock)];
        let alarm = AlarmSettings {
            evaluation_periods: periods,
            datapoints_to_alarm: wanted,
            missing: word(missing.as_ref(), &treatments, self.report),
            few_samples: word(few_samples.as_ref(), &few, self.report),
            windows: word(windows.as_ref(), &ends, self.report),
            repeat,
            ..AlarmSettings::new(
                published(metric, period, metrics),
                statistic?,
                period,
                *comparison,
                threshold,
            )
        };
        Some((metric, alarm))
    }

    pub(super) fn metric(&mut self, at: &At<Text>) -> Option<Metric> {
        let known = [
            ("cpu", Metric::CpuUtilization),
            ("latency", Metric::ResponseTime),
            ("requests", Metric::RequestCount),
            ("requests-per-target", Metric::RequestCountPerTarget),
            ("credits", Metric::CpuCreditBalance),
        ];
        let found = known.iter().find(|(name, _)| *name == at.value.0).map(|(_, metric)| *metric);
        if found.is_none() {
            let help = suggestion(&at.value.0, known.iter().map(|(name, _)| *name));
            self.report.wrong(&at.place, format!("unknown metric `{}`", at.value.0), "this value", help);
        }
        let metric = found?;
        let of_processors = matches!(metric, Metric::CpuUtilization | Metric::CpuCreditBalance);
        (!of_processors || self.knows_cpu(&at.place)).then_some(metric)
    }

    /// Whether the metrics of processors can be simulated; if not, the report gets a problem at this place.
    pub(super) fn knows_cpu(&mut self, place: &Place) -> bool {
        let known = self.calibration.is_none_or(Calibration::knows_cpu);
        if !known {
            let message =
                "processor use is unknown: the model was calibrated without processor times".to_owned();
            let help = "scale on another metric, or calibrate again with --pid or --cgroup; if the processor times of \
                        this file are from elsewhere, remove `cpu` from `calibration: unknown`";
            self.report.wrong(place, message, "scales on processor use", help.to_owned());
        }
        known
    }

    fn statistic(&mut self, at: &At<Text>) -> Option<Statistic> {
        let text = if at.value.0 == "samples" { "SampleCount" } else { &at.value.0 };
        let found = text.parse().ok();
        if found.is_none() {
            let known = ["average", "maximum", "minimum", "sum", "samples"];
            let help = match fields::closest(text, known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "write `average`, `maximum`, `minimum`, `sum`, `samples`, `p95` or `tm99`".to_owned(),
            };
            self.report.wrong(&at.place, format!("unknown statistic `{text}`"), "this value", help);
        }
        found
    }

    /// A value of a metric in the unit that the cloud publishes.
    pub(super) fn amount(&mut self, at: &At<Text>, metric: Metric) -> Option<f64> {
        let text = at.value.0.as_str();
        let minus = text.strip_prefix('-');
        let (plain, sign) = minus.map_or((text, 1.0), |rest| (rest, -1.0));
        let (found, kind, example) = match metric {
            Metric::CpuUtilization => {
                let percent = Share::parse(plain).map(|share| share.0.get() * 100.0);
                // Values in percent keep their digits.
                let percent = percent.map(|percent| (percent * 1e9).round() / 1e9);
                (percent, "a share of the processor", "`60%`")
            }
            Metric::ResponseTime => {
                (parse_duration(plain).ok().map(|span| span.as_secs_f64()), "a time", "`700ms`")
            }
            Metric::RequestCount | Metric::RequestCountPerTarget | Metric::CpuCreditBalance => {
                (crate::case::words::Number::parse(plain).map(|number| number.0), "a number", "`1000`")
            }
        };
        if found.is_none() {
            let message = format!("`{text}` is not {kind}, as {} is", metric.name());
            self.report.wrong(&at.place, message, "this value", format!("write {example}"));
        }
        found.map(|value| sign * value)
    }
}

impl Builder<'_> {
    /// Sets the length of the points of EC2's own metric as in its monitoring.
    pub(super) fn monitoring(
        &mut self,
        at: &At<Text>,
        platform: Platform,
        periods: &[(&Place, Duration)],
        metrics: &mut [Published],
    ) {
        let lengths = [("detailed", MINUTE), ("basic", FIVE_MINUTES)];
        let length = word(Some(at), &lengths, self.report);
        if !matches!(platform, Platform::Ec2 { .. }) {
            let help = "write `platform: ec2`, or remove it".to_owned();
            return self.report.wrong(&at.place, "`monitoring` is of EC2 only".to_owned(), "no effect", help);
        }
        if length == MINUTE {
            return;
        }
        for (place, period) in periods {
            if !period.as_secs().is_multiple_of(length.as_secs()) {
                let (period, length) = (period.as_secs(), length.as_secs());
                let message = format!("a period of {period} s on `cpu`, which has a point every {length} s");
                let help = "take `period: 5m` and steps, or `monitoring: detailed`".to_owned();
                self.report.wrong(place, message, "with basic monitoring", help);
            }
        }
        for published in metrics.iter_mut().filter(|published| published.metric == Metric::CpuUtilization) {
            published.resolution = length;
        }
    }
}

/// The index of a metric among the published ones; periods below a minute need points of that length.
pub(super) fn published(metric: Metric, period: Duration, metrics: &mut Vec<Published>) -> MetricId {
    let resolution = if period < MINUTE && !period.is_zero() { period } else { MINUTE };
    let wanted = Published { metric, resolution };
    let place = metrics.iter().position(|known| *known == wanted).unwrap_or_else(|| {
        metrics.push(wanted);
        metrics.len() - 1
    });
    MetricId(u16::try_from(place).unwrap_or(u16::MAX))
}

const MINUTE: Duration = Duration::from_secs(60);
/// EC2's basic monitoring.
const FIVE_MINUTES: Duration = Duration::from_secs(300);
