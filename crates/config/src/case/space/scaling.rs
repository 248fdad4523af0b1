//! Dimensions of an autoscaler: bounds, alarms, policies, schedules, and the keys of HPA, KEDA and Knative.

use super::ladder::{counts, magnitude, multiples, percentages, texts};
use super::{Choice, Edit, Finder, below};
use sim::settings::MINUTE;

impl Finder<'_> {
    pub(super) fn scaling(&mut self, service: &[String]) {
        let scaling = below(service, &["scaling"]);
        if !self.has(&scaling) {
            return;
        }
        self.ladder(&below(&scaling, &["min"]), None, &counts);
        self.ladder(&below(&scaling, &["max"]), None, &counts);
        self.aws(&scaling);
        for item in self.keys(&below(&scaling, &["schedule"])) {
            for key in ["min", "max", "desired"] {
                self.ladder(&below(&scaling, &["schedule", &item, key]), None, &counts);
            }
        }
        self.schedule(&scaling);
        self.hpa(&scaling);
        self.keda(&scaling);
        self.knative(&scaling);
    }

    fn aws(&mut self, scaling: &[String]) {
        let (alarms, policies) = (below(scaling, &["alarms"]), below(scaling, &["policies"]));
        if !self.has(&policies) {
            return;
        }
        let kind = self.found.len();
        self.kind(scaling);
        self.when = Some((kind, 0));
        for name in self.keys(&alarms) {
            self.alarm(&below(&alarms, &[name]));
        }
        for name in self.keys(&policies) {
            self.policy(&below(&policies, &[name]));
        }
        self.when = None;
        self.forecast(&policies);
    }

    /// A forecast beside the policies, where there is none.
    fn forecast(&mut self, policies: &[String]) {
        let is_there = self.keys(policies).iter().any(|name| self.has(&below(policies, &[name, "predict"])));
        let forecast = below(policies, &["forecast"]);
        if !self.forecasts || is_there || self.has(&forecast) {
            return;
        }
        let edit =
            |value: Option<&str>| vec![Edit { path: forecast.clone(), value: value.map(str::to_owned) }];
        let choices = vec![
            Choice { text: None, edits: edit(None) },
            Choice { text: Some("predictive scaling of cpu".to_owned()), edits: edit(Some(FORECAST)) },
        ];
        let place = self.found.len();
        self.add(&forecast, choices, 0, false);
        self.when = Some((place, 1));
        self.fresh(&below(&forecast, &["target"]), &percentages(20, 85), "60%");
        self.fresh(&below(&forecast, &["buffer"]), &texts(&["0s", "2m", "5m", "10m", "20m"]), "5m");
        self.when = None;
    }

    /// The kind of the policies: those of the file, target tracking, or two steps.
    fn kind(&mut self, scaling: &[String]) {
        let (alarms, policies) = (below(scaling, &["alarms"]), below(scaling, &["policies"]));
        let both = |alarms_text: Option<&str>, policies_text: &str| {
            let edit = |path: &[String], value: Option<&str>| Edit {
                path: path.to_vec(),
                value: value.map(str::to_owned),
            };
            vec![edit(&alarms, alarms_text), edit(&policies, Some(policies_text))]
        };
        let names = self.keys(&policies).join(", ");
        let kind = self.found.len();
        let [minute, cooldown] = ["1m", "300s"].map(|text| self.span(text));
        let (soon, is_fine) = (self.span("60s"), self.row < MINUTE);
        let period = if is_fine { format!("period: {minute}, ") } else { String::new() };
        let tracking = format!(
            "{{ cpu: {{ track: cpu, target: 50%, {period}cooldown: {soon}, cooldown_in: {cooldown} }} }}"
        );
        let alarms_of_steps = format!(
            "{{ cpu-high: {{ metric: cpu, above: 60%, period: {minute}, datapoints: 2 }}, \
             cpu-low: {{ metric: cpu, below: 30%, period: {minute}, datapoints: 2 }} }}"
        );
        let policies_of_steps = format!(
            "{{ out: {{ alarms: [cpu-high], change: +1, cooldown: {cooldown} }}, \
             in: {{ alarms: [cpu-low], change: -1, cooldown: {cooldown} }} }}"
        );
        let mut choices = vec![Choice { text: Some(names), edits: Vec::new() }];
        // A policy of the file that tracks it by itself is changed by its own keys. Where a fleet scales within seconds, these have no
        // period.
        let tracks = !is_fine && self.tracks_cpu_alone(&policies);
        if !tracks {
            let edits = both(None, &tracking);
            choices.push(Choice { text: Some("target tracking of cpu".to_owned()), edits });
        }
        let steps = choices.len();
        choices.push(Choice {
            text: Some("two steps by cpu".to_owned()),
            edits: both(Some(&alarms_of_steps), &policies_of_steps),
        });
        self.add(&policies, choices, 0, false);
        if !tracks {
            self.when = Some((kind, 1));
            self.tracking(&policies, is_fine.then_some(minute.as_str()));
        }
        self.when = Some((kind, steps));
        for (name, key, usual) in [("cpu-high", "above", "60%"), ("cpu-low", "below", "30%")] {
            self.fresh(&below(&alarms, &[name, key]), &percentages(10, 90), usual);
            self.fresh(&below(&alarms, &[name, "period"]), &self.spans(&PERIODS), &self.span("1m"));
            self.fresh(&below(&alarms, &[name, "datapoints"]), &texts(&DATAPOINTS), "2");
        }
        for (name, signs, usual) in
            [("out", ["+1", "+2", "+3", "+4"], "+1"), ("in", ["-1", "-2", "-3", "-4"], "-1")]
        {
            self.fresh(&below(&policies, &[name, "change"]), &texts(&signs), usual);
            self.fresh(&below(&policies, &[name, "cooldown"]), &self.spans(&COOLDOWNS), &self.span("300s"));
        }
        self.when = None;
    }

    /// The keys of a target tracking in place of the policies of the file; with its period, in a fleet that scales within seconds.
    fn tracking(&mut self, policies: &[String], period: Option<&str>) {
        let tracked = below(policies, &["cpu"]);
        self.fresh(&below(&tracked, &["target"]), &percentages(20, 85), "50%");
        self.fresh(&below(&tracked, &["cooldown"]), &self.spans(&COOLDOWNS), &self.span("60s"));
        self.fresh(&below(&tracked, &["cooldown_in"]), &self.spans(&COOLDOWNS), &self.span("300s"));
        if let Some(period) = period {
            self.fresh(&below(&tracked, &["period"]), &self.spans(&PERIODS), period);
            self.fresh(&below(&tracked, &["datapoints"]), &texts(&DATAPOINTS), "3");
            self.fresh(&below(&tracked, &["datapoints_in"]), &texts(&DATAPOINTS_IN), "15");
        }
    }

    /// Whether the only policy of the file is a target tracking of processor use.
    fn tracks_cpu_alone(&self, policies: &[String]) -> bool {
        let names = self.keys(policies);
        let [name] = names.as_slice() else { return false };
        self.scalar(&below(policies, &[name.as_str(), "track"])).as_deref() == Some("cpu")
    }

    /// Spans as people write them for rows of a minute; in a fleet that scales within seconds as much shorter as its rows
    /// are, those of whole seconds.
    fn spans(&self, of_minutes: &[&str]) -> Vec<String> {
        of_minutes.iter().filter_map(|text| self.scaled(text)).collect()
    }

    fn span(&self, of_minutes: &str) -> String {
        self.scaled(of_minutes).unwrap_or_else(|| of_minutes.to_owned())
    }

    fn scaled(&self, text: &str) -> Option<String> {
        if self.row == MINUTE {
            return Some(text.to_owned());
        }
        let seconds = magnitude(text)? * self.row.as_secs_f64() / MINUTE.as_secs_f64();
        (seconds.fract() == 0.0).then(|| format!("{seconds}s"))
    }

    /// A key of policies that are not those of the file.
    pub(super) fn fresh(&mut self, path: &[String], values: &[String], usual: &str) {
        let choice = |text: &String| Choice {
            text: Some(text.clone()),
            edits: vec![Edit { path: path.to_vec(), value: Some(text.clone()) }],
        };
        let place = values.iter().position(|text| text == usual).unwrap_or(0);
        self.add(path, values.iter().map(choice).collect(), place, true);
    }

    fn alarm(&mut self, alarm: &[String]) {
        for key in ["above", "at_least", "below", "at_most"] {
            self.ladder(&below(alarm, &[key]), None, &|today| match today.ends_with('%') {
                true => percentages(5, 95),
                false => multiples(today),
            });
        }
        match self.scalar(&below(alarm, &["metric"])).as_deref() {
            Some("cpu") => self.words(&below(alarm, &["statistic"]), "average", &["average", "maximum"]),
            Some("latency") => {
                self.words(&below(alarm, &["statistic"]), "average", &["average", "p90", "p95", "p99"]);
            }
            _ => {}
        }
        let periods = self.spans(&PERIODS);
        self.ladder(&below(alarm, &["period"]), Some("1m"), &|_| periods.clone());
        self.datapoints(alarm);
    }

    /// Where a file says how many periods are evaluated, more datapoints than that are of as many periods.
    fn datapoints(&mut self, alarm: &[String]) {
        let evaluated = below(alarm, &["evaluation_periods"]);
        let periods = self.scalar(&evaluated);
        let place = self.found.len();
        let usual = periods.as_deref().unwrap_or("1");
        self.ladder(&below(alarm, &["datapoints"]), Some(usual), &|_| texts(&DATAPOINTS));
        let Some(periods) = periods.as_deref().and_then(magnitude) else { return };
        for choice in self.found[place..].iter_mut().flat_map(|dimension| &mut dimension.choices) {
            if choice.text.as_deref().and_then(magnitude).is_some_and(|datapoints| datapoints > periods) {
                choice.edits.push(Edit { path: evaluated.clone(), value: choice.text.clone() });
            }
        }
    }

    fn policy(&mut self, policy: &[String]) {
        let steps = below(policy, &["steps"]);
        let changes = self.keys(&steps).into_iter().map(|item| below(&steps, &[item.as_str(), "change"]));
        for change in changes.chain([below(policy, &["change"])]) {
            self.ladder(&change, None, &changed);
        }
        self.ladder(&below(policy, &["target"]), None, &|today| match today.ends_with('%') {
            true => percentages(20, 85),
            false => multiples(today),
        });
        let cooldowns = self.spans(&COOLDOWNS);
        self.ladder(&below(policy, &["cooldown"]), Some("300s"), &|_| cooldowns.clone());
        if self.has(&below(policy, &["track"])) {
            self.ladder(&below(policy, &["cooldown_in"]), Some("300s"), &|_| cooldowns.clone());
        }
    }

    fn hpa(&mut self, scaling: &[String]) {
        let hpa = below(scaling, &["hpa"]);
        if !self.has(&hpa) {
            return;
        }
        self.ladder(&below(&hpa, &["cpu"]), None, &|_| percentages(20, 95));
        for key in ["requests_per_second", "in_flight"] {
            self.ladder(&below(&hpa, &[key]), None, &multiples);
        }
        let metrics = below(&hpa, &["metrics"]);
        for item in self.keys(&metrics) {
            self.ladder(&below(&metrics, &[item.as_str(), "threshold"]), None, &multiples);
        }
        self.ladder(&below(&hpa, &["tolerance"]), Some("10%"), &|_| texts(&["5%", "10%", "15%", "20%"]));
        let behavior = below(&hpa, &["behavior"]);
        if self.scalar(&behavior).as_deref() == Some("true") {
            self.ladder(&below(&hpa, &["stabilize_down"]), Some("5m"), &|_| texts(&WINDOWS));
            self.ladder(&below(&hpa, &["stabilize_up"]), Some("0s"), &|_| texts(&["0s", "30s", "1m", "2m"]));
        }
        self.behavior(&behavior);
    }

    fn behavior(&mut self, behavior: &[String]) {
        for (direction, usual) in [("scaleUp", "0"), ("scaleDown", "300")] {
            let rules = below(behavior, &[direction]);
            if !self.has(&rules) {
                continue;
            }
            let window = below(&rules, &["stabilizationWindowSeconds"]);
            self.ladder(&window, Some(usual), &|_| texts(&["0", "30", "60", "120", "180", "300", "600"]));
            let policies = below(&rules, &["policies"]);
            for item in self.keys(&policies) {
                self.ladder(&below(&policies, &[item.as_str(), "value"]), None, &counts);
            }
        }
    }

    fn keda(&mut self, scaling: &[String]) {
        let keda = below(scaling, &["keda"]);
        if !self.has(&keda) {
            return;
        }
        self.ladder(&below(&keda, &["cpu"]), None, &|_| percentages(20, 95));
        for list in ["prometheus", "cron"] {
            let triggers = below(&keda, &[list]);
            for item in self.keys(&triggers) {
                self.ladder(&below(&triggers, &[item.as_str(), "threshold"]), None, &multiples);
                self.ladder(&below(&triggers, &[item.as_str(), "replicas"]), None, &counts);
            }
        }
        self.ladder(&below(&keda, &["polling_interval"]), Some("30s"), &|_| {
            texts(&["10s", "15s", "30s", "60s"])
        });
        self.ladder(&below(&keda, &["cooldown_period"]), Some("5m"), &|_| texts(&WINDOWS));
        self.behavior(&below(&keda, &["behavior"]));
    }

    fn knative(&mut self, scaling: &[String]) {
        let knative = below(scaling, &["knative"]);
        if !self.has(&knative) {
            return;
        }
        for key in ["concurrency", "requests_per_second"] {
            self.ladder(&below(&knative, &[key]), None, &multiples);
        }
        self.ladder(&below(&knative, &["utilization"]), Some("70%"), &|_| percentages(40, 95));
        self.ladder(&below(&knative, &["stable_window"]), Some("60s"), &|_| {
            texts(&["30s", "60s", "2m", "5m"])
        });
        self.ladder(&below(&knative, &["scale_down_delay"]), Some("0s"), &|_| texts(&WINDOWS));
        let panic = below(&knative, &["panic_threshold_percentage"]);
        self.ladder(&panic, Some("200"), &|_| texts(&["120", "150", "200", "300", "500", "1000"]));
    }
}

/// Changes in the direction of today's.
fn changed(today: &str) -> Vec<String> {
    let sign = match today.as_bytes().first() {
        Some(b'-') => '-',
        Some(b'=') => return Vec::new(),
        _ => '+',
    };
    match today.ends_with('%') {
        true => [5, 10, 15, 20, 30, 50, 100].into_iter().map(|share| format!("{sign}{share}%")).collect(),
        false => [1, 2, 3, 4, 6].into_iter().map(|count| format!("{sign}{count}")).collect(),
    }
}

const FORECAST: &str = "{ predict: cpu, target: 60%, buffer: 5m }";
const COOLDOWNS: [&str; 7] = ["0s", "30s", "60s", "120s", "180s", "300s", "600s"];
const PERIODS: [&str; 4] = ["1m", "2m", "3m", "5m"];
const DATAPOINTS: [&str; 5] = ["1", "2", "3", "5", "10"];
const DATAPOINTS_IN: [&str; 7] = ["1", "2", "3", "5", "10", "15", "20"];
const WINDOWS: [&str; 8] = ["0s", "30s", "1m", "2m", "3m", "5m", "10m", "15m"];
