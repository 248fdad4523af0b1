//! A case file of services that AWS scales.

use super::{Draft, TO_FILL_IN, application, head, key_for, original, start, to_fill_in};
use control::alarm::{FewSamples, Missing};
use control::scaling::predictive::{AboveMax, Load, Mode};
use control::scaling::{Adjustment, Aggregation, Step};
use import::aws::{Alarm, Fleet, Metric, Platform, Policy, Recurrence, Rule, Schedule, Service, Suspended};
use import::{Origin, shown_time, width};
use std::time::Duration;

/// The services of a fleet. `now`, in microseconds since 1970, is the day on which the run begins if schedules need one.
pub fn aws(fleet: &Fleet, now: i64) -> Draft {
    draft(fleet, "AWS", now)
}

/// The same of a state or plan of Terraform.
pub fn terraform(fleet: &Fleet, now: i64) -> Draft {
    draft(fleet, "Terraform", now)
}

fn draft(fleet: &Fleet, vendor: &str, now: i64) -> Draft {
    let mut keys = Vec::new();
    for service in &fleet.services {
        let short = service.name.rsplit('/').next().unwrap_or(&service.name);
        key_for(short, &mut keys);
    }
    let date =
        fleet.services.iter().any(needs_date).then(|| shown_time(now).chars().take(DATE).collect::<String>());
    let mut writer = Writer { text: head(vendor, &keys, date.as_deref()), ..Writer::default() };
    for (service, key) in fleet.services.iter().zip(&keys) {
        writer.service(service, key);
    }
    Draft { text: writer.text, left_out: writer.left_out, assumed: Vec::new() }
}

#[derive(Default)]
struct Writer {
    text: String,
    left_out: Vec<String>,
}

impl Writer {
    fn line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn service(&mut self, service: &Service, key: &str) {
        self.line(1, &format!("{key}:{}", original(key, &service.name)));
        self.text += &application();
        let ecs = service.platform == Platform::Ecs;
        let (host, cores) = match ecs {
            true => ("task", "vCPUs of the task definition, rounded up; add `limit` for a part of one"),
            false => ("instance", "vCPUs of the instance type"),
        };
        self.line(2, &format!("hosts:\n      {host}:"));
        self.text += &to_fill_in(4, "cores", cores);
        self.text += &start();
        let delay = service.target_group.as_ref().and_then(|group| group.deregistration_delay);
        if let Some(drain) = span("drain", delay) {
            self.line(3, &drain);
        }
        self.balancing(service);
        let (min, max) = (service.min.unwrap_or(0), service.max.unwrap_or(u32::MAX));
        let within = |desired: &u32| (min..=max).contains(desired) && *desired > 0;
        if let Some(desired) = service.desired.filter(within) {
            self.line(2, &format!("instances: {desired} # as many as run now"));
        }
        self.line(2, "scaling:");
        let platform = if service.platform == Platform::Ecs { "ecs" } else { "ec2" };
        self.line(3, &format!("platform: {platform}"));
        if service.platform != Platform::Ecs {
            self.line(
                3,
                "# The files do not say whether monitoring is detailed or basic, which is EC2's default:",
            );
            self.line(3, "# with basic monitoring, add `monitoring: basic`.");
        }
        if let Some(origin) = &service.origin {
            self.line(3, &origin_words(origin));
        }
        for (key, bound, what) in [
            ("min", service.min, "the minimum of instances"),
            ("max", service.max, "the maximum of instances"),
        ] {
            match bound {
                Some(bound) => self.line(3, &format!("{key}: {bound}")),
                None => self.text += &to_fill_in(3, key, what),
            }
        }
        let mut alarm_keys = Vec::new();
        for alarm in &service.alarms {
            key_for(&alarm.name, &mut alarm_keys);
        }
        let policies: Vec<_> = service
            .policies
            .iter()
            .filter_map(|policy| self.policy(policy, service, &alarm_keys).map(|words| (policy, words)))
            .collect();
        let used = |place: usize| policies.iter().any(|(policy, _)| policy.alarms.contains(&place));
        let alarms: Vec<_> =
            service.alarms.iter().zip(&alarm_keys).enumerate().filter(|(place, _)| used(*place)).collect();
        if !alarms.is_empty() {
            self.line(3, "alarms:");
        }
        for (_, (alarm, key)) in alarms {
            let name = original(key, &alarm.name);
            self.line(4, &format!("{key}: {{ {} }}{name}", with_origin(alarm_words(alarm), &alarm.origin)));
        }
        if !policies.is_empty() {
            self.line(3, "policies:");
        }
        let mut keys = Vec::new();
        for (policy, words) in policies {
            let key = key_for(&policy.name, &mut keys);
            let words = with_origin(words, &policy.origin);
            self.line(4, &format!("{key}: {{ {words} }}{}", original(&key, &policy.name)));
        }
        self.schedule(service);
    }

    /// The settings of the target group that a case file has keys for.
    fn balancing(&mut self, service: &Service) {
        let Some(group) = &service.target_group else { return };
        let algorithm = match group.algorithm.as_deref() {
            Some("least_outstanding_requests") => Some("algorithm: least-outstanding".to_owned()),
            Some("round_robin") | None => None,
            Some(other) => {
                self.left_out.push(format!(
                    "{}: the target group's algorithm is {other}; the case file has the default, round-robin",
                    service.name
                ));
                None
            }
        };
        let words: Vec<_> = algorithm.into_iter().chain(span("slow_start", group.slow_start)).collect();
        if !words.is_empty() {
            self.line(2, &format!("balancing: {{ {} }}", words.join(", ")));
        }
    }

    /// The words of a policy, or none where it does nothing or a case file cannot say it.
    fn policy(&mut self, policy: &Policy, service: &Service, keys: &[String]) -> Option<String> {
        let name = format!("{}: policy `{}`", service.name, policy.name);
        if let Some(why) = held(policy, service.suspended) {
            self.left_out.push(format!("{name}: {why}; left out"));
            return None;
        }
        let alarms = policy.alarms.iter().filter_map(|alarm| Some(keys.get(*alarm)?.as_str()));
        let alarms = format!("alarms: [{}]", alarms.collect::<Vec<_>>().join(", "));
        let (default_cooldown, default_warm_up) = match service.platform {
            Platform::Ecs => (None, None),
            Platform::Ec2 { default_cooldown, default_warm_up } => {
                (Some(default_cooldown), Some(default_warm_up))
            }
        };
        let words = match &policy.rule {
            Rule::Step { adjustment, steps, min_adjustment_magnitude, aggregation, cooldown, warm_up } => {
                let aggregation = (*aggregation != Aggregation::default())
                    .then(|| format!("aggregation: {}", aggregation.name()));
                // Step scaling of EC2 has no cooldown, whatever is printed.
                let cooldown = cooldown.filter(|_| service.platform == Platform::Ecs);
                vec![
                    Some(alarms),
                    Some(self.changes(policy, service, steps, *adjustment, &name)?),
                    min_adjustment_magnitude.map(|least| format!("least: {least}")),
                    aggregation,
                    span("cooldown", cooldown),
                    span("warm_up", warm_up.or(default_warm_up)),
                ]
            }
            Rule::Simple { adjustment, change, min_adjustment_magnitude, cooldown } => vec![
                Some(alarms),
                Some(format!("change: {}", adjustment.words(*change))),
                min_adjustment_magnitude.map(|least| format!("least: {least}")),
                Some("simple: true".to_owned()),
                span("cooldown", cooldown.or(default_cooldown)),
            ],
            Rule::TargetTracking {
                metric,
                statistic,
                resolution,
                target,
                scale_out_cooldown,
                scale_in_cooldown,
                disable_scale_in,
                warm_up,
            } => {
                self.tracked(*metric, statistic, &name)?;
                // The usual one is a case file's default.
                let preset = service.platform.preset(*resolution);
                let preset = preset.filter(|preset| Some(*preset) != service.platform.preset(MINUTE));
                // Where only the first is given, a case file takes it for both, and AWS takes its default.
                let default_in = scale_out_cooldown.map(|_| FIVE_MINUTES);
                vec![
                    Some(format!("track: {}", metric.name())),
                    Some(format!("target: {}", amount_or_todo(*target, *metric))),
                    preset.map(|preset| format!("preset: {}", preset.name)),
                    span("cooldown", *scale_out_cooldown),
                    span("cooldown_in", scale_in_cooldown.or(default_in)),
                    span("warm_up", warm_up.or(default_warm_up)),
                    (*disable_scale_in || service.suspended.scaling_in).then(|| "never_in: true".to_owned()),
                ]
            }
            Rule::Predictive { load, target, mode, buffer, above_max } => {
                let metric = match load {
                    Load::Cpu => Metric::Cpu,
                    Load::Requests => Metric::RequestsPerTarget,
                };
                let raised = match above_max {
                    AboveMax::Honor => None,
                    AboveMax::Increase { percent } => {
                        Some(format!("above_max: increase, max_buffer: {percent}%"))
                    }
                };
                vec![
                    Some(format!("predict: {}", metric.name())),
                    Some(format!("target: {}", amount_or_todo(*target, metric))),
                    (*mode == Mode::ForecastOnly).then(|| "mode: forecast-only".to_owned()),
                    span("buffer", *buffer),
                    raised,
                ]
            }
        };
        Some(words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    /// One change, or steps relative to the threshold of the alarms.
    fn changes(
        &mut self,
        policy: &Policy,
        service: &Service,
        steps: &[Step],
        adjustment: Adjustment,
        name: &str,
    ) -> Option<String> {
        // An exact capacity is set on both sides of the threshold by a single change, and on one by a step.
        if let [step] = steps
            && adjustment != Adjustment::ExactCapacity
        {
            let plain = if step.change < 0 { (None, Some(0.0)) } else { (Some(0.0), None) };
            if (step.lower, step.upper) == plain {
                return Some(format!("change: {}", adjustment.words(step.change)));
            }
        }
        let mut metrics = policy.alarms.iter().filter_map(|alarm| Some(service.alarms.get(*alarm)?.metric));
        let metric = metrics.next()?;
        if metrics.any(|other| other != metric) {
            self.left_out.push(format!(
                "{name}: its steps are relative to alarms of several metrics; the case file takes them for {}",
                metric.name()
            ));
        }
        let words = steps.iter().map(|step| {
            let bound = |key: &str, bound: Option<f64>| {
                bound.map_or_else(String::new, |bound| format!("{key}: {}, ", amount(bound, metric)))
            };
            let change = adjustment.words(step.change);
            format!("{{ {}{}change: {change} }}", bound("from", step.lower), bound("to", step.upper))
        });
        Some(format!("steps: [{}]", words.collect::<Vec<_>>().join(", ")))
    }

    /// Whether a case file can track a metric.
    fn tracked(&mut self, metric: Metric, statistic: &str, name: &str) -> Option<()> {
        let usual = match metric {
            Metric::Cpu => "Average",
            Metric::RequestsPerTarget => "Sum",
            Metric::Latency | Metric::Requests | Metric::Credits => {
                let metric = metric.name();
                self.left_out
                    .push(format!("{name}: it tracks {metric}, which a case file cannot say; left out"));
                return None;
            }
        };
        if statistic != usual {
            self.left_out.push(format!("{name}: it tracks {statistic}; the case file takes it for {usual}"));
        }
        Some(())
    }

    fn schedule(&mut self, service: &Service) {
        if service.suspended.scheduled && !service.schedule.is_empty() {
            self.left_out.push(format!("{}: scheduled scaling is suspended; left out", service.name));
            return;
        }
        if !service.schedule.is_empty() {
            self.line(3, "schedule:");
        }
        for schedule in &service.schedule {
            self.line(4, &schedule_words(schedule));
        }
    }
}

/// Whether the times of an action depend on the date.
fn needs_date(service: &Service) -> bool {
    let same_offset = |zone: &str| import::time_zone(zone).is_some_and(|zone| zone.to_fixed_offset().is_ok());
    let of = |schedule: &Schedule| !schedule.is_daily() || !schedule.zone.as_deref().is_none_or(same_offset);
    !service.suspended.scheduled && service.schedule.iter().any(of)
}

fn alarm_words(alarm: &Alarm) -> String {
    let statistic = match alarm.statistic.as_str() {
        "SampleCount" => "samples".to_owned(),
        other => other.to_ascii_lowercase(),
    };
    let mut words = vec![
        format!("metric: {}", alarm.metric.name()),
        format!("statistic: {statistic}"),
        format!("{}: {}", alarm.comparison.name(), amount_or_todo(alarm.threshold, alarm.metric)),
        format!("period: {}", width(alarm.period)),
        format!("evaluation_periods: {}", alarm.evaluation_periods),
        format!("datapoints: {}", alarm.datapoints_to_alarm),
    ];
    words.extend((alarm.missing != Missing::default()).then(|| format!("missing: {}", alarm.missing.name())));
    words.extend(
        (alarm.few_samples != FewSamples::default())
            .then(|| format!("few_samples: {}", alarm.few_samples.name())),
    );
    words.join(", ")
}

/// The key that says where a setting came from; quoted, as addresses have brackets and quotes.
fn origin_words(origin: &Origin) -> String {
    format!("origin: '{}'", origin.to_string().replace('\'', "''"))
}

fn with_origin(words: String, origin: &Option<Origin>) -> String {
    match origin {
        Some(origin) => format!("{words}, {}", origin_words(origin)),
        None => words,
    }
}

/// A value of a metric, or the mark of one that users fill in.
fn amount_or_todo(value: Option<f64>, metric: Metric) -> String {
    value.map_or_else(|| TO_FILL_IN.to_owned(), |value| amount(value, metric))
}

/// A value of a metric as a case file writes it.
fn amount(value: f64, metric: Metric) -> String {
    match metric {
        Metric::Cpu => format!("{value}%"),
        Metric::Latency => {
            let sign = if value < 0.0 { "-" } else { "" };
            // Microseconds are finer than any threshold; what is left of a decimal fraction is not.
            format!("{sign}{}", width(Duration::from_micros((value.abs() * 1e6).round() as u64)))
        }
        Metric::Requests | Metric::RequestsPerTarget | Metric::Credits => format!("{value}"),
    }
}

/// Why a policy does nothing, or more in a case file than on AWS.
fn held(policy: &Policy, suspended: Suspended) -> Option<&'static str> {
    let Suspended { scaling_in, scaling_out, .. } = suspended;
    let exact = |adjustment: Adjustment| adjustment == Adjustment::ExactCapacity;
    let changes: Vec<i32> = match &policy.rule {
        Rule::Step { adjustment, .. } | Rule::Simple { adjustment, .. }
            if exact(*adjustment) && scaling_in != scaling_out =>
        {
            return Some("scaling is suspended one way, and a case file cannot say so of an exact capacity");
        }
        Rule::Step { steps, .. } => steps.iter().map(|step| step.change).collect(),
        Rule::Simple { change, .. } => vec![*change],
        Rule::TargetTracking { .. } if scaling_out => {
            return Some("scaling out is suspended, and a case file cannot say so of target tracking");
        }
        Rule::Predictive { .. } if scaling_out => return Some("scaling out is suspended"),
        Rule::TargetTracking { .. } | Rule::Predictive { .. } => return None,
    };
    let (out, into) = (changes.iter().any(|change| *change >= 0), changes.iter().any(|change| *change < 0));
    match (scaling_out && out, scaling_in && into) {
        (true, _) if into && !scaling_in => {
            Some("scaling out is suspended, and a case file cannot say so of one step")
        }
        (_, true) if out && !scaling_out => {
            Some("scaling in is suspended, and a case file cannot say so of one step")
        }
        (true, _) => Some("scaling out is suspended"),
        (_, true) => Some("scaling in is suspended"),
        (false, false) => None,
    }
}

fn span(key: &str, found: Option<Duration>) -> Option<String> {
    found.map(|found| format!("{key}: {}", width(found)))
}

/// An action with its expression as AWS has it. The zone is always written, because the file may have another one.
fn schedule_words(schedule: &Schedule) -> String {
    let at = match schedule.when {
        Recurrence::Once(at) => shown_time(at),
        Recurrence::Cron(_) | Recurrence::Rate(_) => format!("'{}'", schedule.text),
    };
    let mut words = vec![format!("at: {at}")];
    words.push(format!("zone: {}", schedule.zone.as_deref().unwrap_or("UTC")));
    let bounds = [("start", schedule.start), ("end", schedule.end)];
    words.extend(bounds.iter().filter_map(|(key, at)| at.map(|at| format!("{key}: {}", shown_time(at)))));
    let counts = [("min", schedule.min), ("max", schedule.max), ("desired", schedule.desired)];
    words.extend(counts.iter().filter_map(|(key, count)| count.map(|count| format!("{key}: {count}"))));
    format!("- {{ {} }}{}", with_origin(words.join(", "), &schedule.origin), original("", &schedule.name))
}

/// The characters of a date, such as `2026-03-02`.
const DATE: usize = 10;
/// Points of metrics, unless they are of high resolution.
const MINUTE: Duration = Duration::from_secs(60);
/// AWS's default where a target tracking policy of ECS names none.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests;
