//! What a metric of an HPA or a query of KEDA measures.

use super::Builder;
use crate::case::calendar::since_midnight;
use crate::case::counts;
use crate::case::keda_file::OutageTable;
use crate::case::words::{Number, QueryMetric};
use control::scaling::hpa::Milli;
use fields::{At, Place, Span, Text, word};
use sim::settings::{Outage, PodMetric, Query, Recorded};
use std::time::Duration;
use units::Timestamp;

/// The keys that both have.
pub(super) struct QueryKeys<'a> {
    pub(super) measures: &'a At<QueryMetric>,
    pub(super) factor: Option<&'a At<Number>>,
    pub(super) file: Option<&'a At<Text>>,
    pub(super) bin: Option<&'a At<Span>>,
    pub(super) source: Option<&'a At<Text>>,
    pub(super) window: Option<&'a At<Span>>,
    pub(super) outages: &'a [At<OutageTable>],
}

impl Builder<'_> {
    pub(super) fn query(&mut self, keys: QueryKeys<'_>) -> Query {
        let metric = self.measured_metric(&keys);
        if let Some(at) = keys.factor.filter(|at| at.value.0 > FACTOR_MAX) {
            let message = format!("a factor of {}", at.value.0);
            self.report.wrong(&at.place, message, "too much", format!("at most {FACTOR_MAX}"));
        }
        Query {
            metric,
            factor: keys.factor.map_or(1.0, |at| at.value.0),
            window: self.span(keys.window, WINDOW),
            of_pods: word(keys.source, &[("balancer", false), ("pods", true)], self.report),
            outages: keys.outages.iter().flat_map(|at| self.each_day(&at.value)).collect(),
        }
    }

    /// The target of a metric; reports one that rounds to zero.
    pub(super) fn threshold(&mut self, at: &At<Number>) -> Milli {
        let target = Milli((at.value.0 * 1000.0).round() as i64);
        if target.0 == 0 {
            let message = format!("the threshold is {}, but must be at least 0.001", at.value.0);
            self.report.wrong(&at.place, message, "this number", "write the target of a pod".to_owned());
        }
        target
    }

    /// The metric; a stand-in if a problem was reported.
    fn measured_metric(&mut self, keys: &QueryKeys<'_>) -> PodMetric {
        let QueryKeys { measures, file, bin, window, .. } = *keys;
        let Some(metric) = &measures.value.0 else {
            self.without_effect([("window", window.map(|at| &at.place))], "not with `measures: recorded`");
            if file.is_none() {
                let message = "`recorded` needs a `file` with the values".to_owned();
                let help = "add `file`: a table, or the JSON of Prometheus' query_range".to_owned();
                self.report.wrong(&measures.place, message, "no values", help);
            }
            return file.and_then(|file| self.recorded(file, bin)).unwrap_or(PodMetric::InFlight);
        };
        let of_file = [("file", file.map(|at| &at.place)), ("bin", bin.map(|at| &at.place))];
        self.without_effect(of_file, "only with `measures: recorded`");
        if let PodMetric::Cpu = metric {
            self.knows_cpu(&measures.place);
        }
        metric.clone()
    }

    /// Keys without an effect.
    fn without_effect<const N: usize>(&mut self, keys: [(&str, Option<&Place>); N], why: &str) {
        for (key, place) in keys {
            let Some(place) = place else { continue };
            self.report.wrong(place, format!("`{key}` {why}"), "no effect", "remove it".to_owned());
        }
    }

    /// Recorded values. With times, they are of the dates of the run; otherwise they begin with the measured time.
    fn recorded(&mut self, file: &At<Text>, bin: Option<&At<Span>>) -> Option<PodMetric> {
        let path = self.folder.join(&file.value.0);
        let read = match counts::read_values(&path, bin.map(|at| at.value.0)) {
            Ok(read) => read,
            Err(messages) => {
                let help = "write rows of a time and a value; paths are relative to the case file";
                for message in messages {
                    self.report.wrong(&file.place, message, "this file", help.to_owned());
                }
                return None;
            }
        };
        let starts = self.calendar.starts(self.warm_up);
        let first = match read.start {
            Some(start) if self.calendar.is_dated() => start,
            _ => self.calendar.begins(),
        };
        let begins = first.saturating_sub(starts).saturating_mul(1000);
        let length = (read.bin.as_nanos() as i64).saturating_mul(read.counts.len() as i64);
        let run = (self.warm_up + self.measured).as_nanos() as i64;
        if begins >= run || begins.saturating_add(length) <= 0 {
            let shown = |at| self.calendar.civil(at).strftime("%Y-%m-%d %H:%M").to_string();
            let message =
                format!("`{}` begins at {}, and the run at {}", file.value.0, shown(first), shown(starts));
            let help =
                "bring values of the simulated time; a table without times begins with the measured time";
            self.report.wrong(&file.place, message, "no value in the run", help.to_owned());
            return None;
        }
        let values = read.counts.iter().map(|thousandths| *thousandths as f64 / 1000.0).collect();
        Some(PodMetric::from(Recorded { begins, step: read.bin, values }))
    }

    /// The days of the run with an outage.
    fn each_day(&self, outage: &OutageTable) -> impl Iterator<Item = Outage> + use<> {
        let begins = since_midnight(self.calendar.civil(self.calendar.starts(self.warm_up)));
        let first = (outage.at.value.0 + DAY).saturating_sub(begins);
        let (first, lasts) = (Duration::from_secs(first.as_secs() % DAY.as_secs()), outage.lasts.value.0);
        let end = self.warm_up + self.measured;
        (0..).map(move |day| first + DAY * day).take_while(move |at| *at < end).map(move |at| {
            let from = Timestamp::ZERO + at;
            Outage { from, until: from + lasts }
        })
    }
}

/// The usual span of a rate.
const WINDOW: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Seconds as nanoseconds.
const FACTOR_MAX: f64 = 1e9;
