//! Who changes the number of instances: alarms, policies and schedules, as `control` has them.
//!
//! What `control` refuses is asked of `control`, and blamed on the alarm or policy that says it.

use super::Builder;
use crate::case::file::ScalingTable;
use crate::case::scaling_file::{AlarmTable, PolicyTable, SizeStepTable};
use crate::case::words::Change;
use crate::check::between;
use crate::problem::Place;
use crate::scalar::{Count, Scalar as _, Share, Text};
use crate::scenario::word;
use crate::suggest::suggestion;
use crate::table::{At, Named, Names};
use control::alarm::{AlarmSettings, Comparison, FewSamples, Missing, Repeat, Windows};
use control::metric::{MetricId, Statistic};
use control::scaling::{
    Adjustment, Aggregation, AlarmId, CooldownFrom, CooldownScope, Platform, Policy as AwsPolicy, Preset,
    ScaleIn, ScalerSettings, ScalingError, Scheduled, SimpleScaling, Step, StepScaling, TargetTracking,
};
use sim::settings::{AwsScaling, Ends, Metric, Policy, Published, Scaling, ScalingNames};
use std::time::Duration;
use units::{Timestamp, parse_duration};

impl Builder<'_> {
    /// The scaling of a service; nothing changes where the file says nothing.
    pub(super) fn scaling(&mut self, found: Option<&At<ScalingTable>>) -> Scaling {
        let usual = Scaling { goal: self.goal, ..Scaling::default() };
        let Some(At { value: table, place }) = found else { return usual };
        let ends = [("oldest", Ends::Oldest), ("newest", Ends::Newest)];
        Scaling {
            ends: word(table.ends.as_ref(), &ends, self.report),
            capacity: table.capacity.as_ref().map(|at| at.value.0.per_second()),
            policy: self.scaler(table, place),
            ..usual
        }
    }

    fn scaler(&mut self, table: &ScalingTable, place: &Place) -> Policy {
        let aws = [
            table.alarms.is_some(),
            table.policies.is_some(),
            table.schedule.is_some(),
            table.platform.is_some(),
        ];
        let kinds = [aws.contains(&true), table.hpa.is_some(), table.knative.is_some()];
        if kinds.iter().filter(|&&given| given).count() > 1 {
            let message = "expected only one of alarms with policies, `hpa` and `knative`".to_owned();
            let help = "keep one of them; a stage takes a key away with `key: ~`".to_owned();
            self.report.wrong(place, message, "several autoscalers", help);
        }
        let (least, most) = self.bounds(table);
        match (&table.hpa, &table.knative) {
            (Some(at), _) => Policy::Hpa(Box::new(self.hpa(table, at))),
            (None, Some(at)) => Policy::Knative(Box::new(self.knative(table, at))),
            (None, None) => Policy::Aws(Box::new(self.aws(table, place, (least, most)))),
        }
    }

    fn bounds(&mut self, table: &ScalingTable) -> (u32, u32) {
        let least = between(&table.min, 0, INSTANCES_MAX, "as many as always run", self.report);
        let most = between(&table.max, 0, INSTANCES_MAX, "as many as may be paid for", self.report);
        if least > most {
            let message = format!("`min` is {least}, above `max`, which is {most}");
            self.report.wrong(&table.min.place, message, "above the maximum", "raise `max`".to_owned());
        }
        (least.min(most), most)
    }

    fn aws(&mut self, table: &ScalingTable, place: &Place, (least, most): (u32, u32)) -> AwsScaling {
        let platforms =
            [("ecs", Platform::Ecs), ("application", Platform::Application), ("ec2", Platform::EC2)];
        let platform = word(table.platform.as_ref(), &platforms, self.report);
        let repeats = [("each-minute", Repeat::EachMinute), ("on-transition", Repeat::OnTransition)];
        let repeat = word(table.repeat.as_ref(), &repeats, self.report);
        let mut metrics = Vec::new();
        let mut alarms: Vec<(&str, &Place, Option<(Metric, AlarmSettings)>)> = Vec::new();
        for named in table.alarms.iter().flat_map(Names::iter) {
            let alarm = named.value.as_ref().and_then(|at| self.alarm(at, repeat, &mut metrics));
            alarms.push((&named.name, &named.place, alarm));
        }
        let mut policies = Vec::new();
        for named in table.policies.iter().flat_map(Names::iter) {
            let policy = self.policy(named, platform, &alarms, &mut metrics);
            policies.push((named.name.clone(), &named.place, policy));
        }
        for (name, place, _) in &alarms {
            let used = |policy: &PolicyTable| {
                policy.alarms.iter().flat_map(|at| &at.value).any(|alarm| alarm.value.0 == **name)
            };
            let mut tables =
                table.policies.iter().flat_map(Names::iter).filter_map(|named| named.value.as_ref());
            if !tables.any(|at| used(&at.value)) && !self.report.knows_of(&place.path) {
                let message = format!("no policy has the alarm `{name}`");
                let help = "name it in `alarms` of a policy, or remove it".to_owned();
                self.report.wrong(place, message, "unused", help);
            }
        }
        let scheduled = self.schedule(table);
        let froms = [("fulfilled", CooldownFrom::Fulfilled), ("decision", CooldownFrom::Decision)];
        let scopes = [("target", CooldownScope::Target), ("policy", CooldownScope::Policy)];
        let settings = ScalerSettings {
            alarms: alarms.iter().filter_map(|(_, _, alarm)| Some(alarm.as_ref()?.1)).collect(),
            policies: policies.iter().filter_map(|(_, _, policy)| policy.clone()).collect(),
            scheduled,
            cooldown_from: word(table.cooldown_from.as_ref(), &froms, self.report),
            cooldown_scope: word(table.cooldown_scope.as_ref(), &scopes, self.report),
            ..ScalerSettings::new(platform, least, most)
        };
        let whole =
            alarms.iter().all(|alarm| alarm.2.is_some()) && policies.iter().all(|policy| policy.2.is_some());
        if whole {
            let alarm_places: Vec<&Place> = alarms.iter().map(|alarm| alarm.1).collect();
            let policy_places: Vec<&Place> = policies.iter().map(|policy| policy.1).collect();
            for error in settings.problems() {
                let (place, message) = match &error {
                    ScalingError::Alarm { alarm, error } => {
                        (alarm_places.get(usize::from(alarm.0)).copied().unwrap_or(place), error.to_string())
                    }
                    ScalingError::Policy { policy, problem } => (
                        policy_places.get(usize::from(policy.0)).copied().unwrap_or(place),
                        problem.to_string(),
                    ),
                    // It was said where it stands.
                    ScalingError::MinAboveMax { .. } => continue,
                    other => (place, other.to_string()),
                };
                let (message, help) =
                    message.split_once(": ").unwrap_or((&message, "see the vendor's guide"));
                self.report.wrong(place, message.to_owned(), "here", help.to_owned());
            }
        }
        AwsScaling {
            scaler: settings,
            metrics,
            publication_delay: self.span(table.publication_delay.as_ref(), DELAY),
            names: ScalingNames {
                alarms: alarms.iter().map(|alarm| alarm.0.to_owned()).collect(),
                policies: policies.into_iter().map(|policy| policy.0).collect(),
                scheduled: Vec::new(),
            },
        }
    }

    fn alarm(
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
        let treatments = [
            ("missing", Missing::Missing),
            ("ignore", Missing::Ignore),
            ("breaching", Missing::Breaching),
            ("not-breaching", Missing::NotBreaching),
        ];
        let few = [("evaluate", FewSamples::Evaluate), ("ignore", FewSamples::Ignore)];
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

    fn metric(&mut self, at: &At<Text>) -> Option<Metric> {
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
        found
    }

    fn statistic(&mut self, at: &At<Text>) -> Option<Statistic> {
        let text = if at.value.0 == "samples" { "SampleCount" } else { &at.value.0 };
        let found = text.parse().ok();
        if found.is_none() {
            let known = ["average", "maximum", "minimum", "sum", "samples"];
            let help = match crate::suggest::closest(text, known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "write `average`, `maximum`, `minimum`, `sum`, `samples`, `p95` or `tm99`".to_owned(),
            };
            self.report.wrong(&at.place, format!("unknown statistic `{text}`"), "this value", help);
        }
        found
    }

    /// A value of a metric in the unit in which the cloud publishes it.
    fn amount(&mut self, at: &At<Text>, metric: Metric) -> Option<f64> {
        let text = at.value.0.as_str();
        let minus = text.strip_prefix('-');
        let (plain, sign) = minus.map_or((text, 1.0), |rest| (rest, -1.0));
        let (found, kind, example) = match metric {
            Metric::CpuUtilization => {
                let percent = Share::parse(plain).map(|share| share.0.get() * 100.0);
                // Of what was written in percent, the digits are kept.
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

    fn policy(
        &mut self,
        named: &Named<At<PolicyTable>>,
        platform: Platform,
        alarms: &[(&str, &Place, Option<(Metric, AlarmSettings)>)],
        metrics: &mut Vec<Published>,
    ) -> Option<AwsPolicy> {
        let At { value: table, place } = named.value.as_ref()?;
        let tracks = table.track.is_some() || table.target.is_some();
        let steps = table.alarms.is_some() || table.change.is_some() || table.steps.is_some();
        if tracks == steps {
            if !self.report.knows_of(&place.path) {
                let message = "expected `alarms` with a `change`, or `track` with a `target`".to_owned();
                let help = "write one policy for each".to_owned();
                self.report.wrong(place, message, "in this policy", help);
            }
            return None;
        }
        let cooldown = table.cooldown.as_ref().map(|at| at.value.0);
        let warm_up = table.warm_up.as_ref().map(|at| at.value.0);
        if tracks {
            let (Some(track), Some(target)) = (&table.track, &table.target) else {
                let help = "write `track: cpu` and `target: 60%`".to_owned();
                self.report.wrong(
                    place,
                    "`track` and `target` belong together".to_owned(),
                    "in this policy",
                    help,
                );
                return None;
            };
            let metric = self.metric(track)?;
            let target = self.amount(target, metric)?;
            let preset = match platform {
                Platform::Ecs => Preset::ECS,
                Platform::Application => Preset::APPLICATION,
                Platform::Ec2 { .. } => Preset::EC2,
            };
            let never_in = table.never_in.as_ref().is_some_and(|at| at.value.0);
            return Some(AwsPolicy::TargetTracking(TargetTracking {
                scale_in: if never_in { ScaleIn::Disabled } else { ScaleIn::Enabled },
                scale_out_cooldown: cooldown,
                scale_in_cooldown: table.cooldown_in.as_ref().map(|at| at.value.0).or(cooldown),
                warm_up,
                ..TargetTracking::new(published(metric, MINUTE, metrics), target, preset)
            }));
        }
        let ids = self.alarm_ids(table.alarms.as_ref(), place, alarms)?;
        let metric = alarms
            .get(usize::from(ids.first()?.0))
            .and_then(|alarm| alarm.2.as_ref())
            .map(|(metric, _)| *metric);
        let simple = table.simple.as_ref().is_some_and(|at| at.value.0);
        let (adjustment, steps) = self.changes(table, place, metric?)?;
        let least = table.least.as_ref().map(|at| at.value.0);
        if simple {
            let [step] = steps.as_slice() else {
                let help = "write `change: +1`".to_owned();
                self.report.wrong(place, "simple scaling has one change".to_owned(), "with `steps`", help);
                return None;
            };
            return Some(AwsPolicy::Simple(SimpleScaling {
                alarms: ids,
                adjustment,
                change: step.change,
                min_adjustment_magnitude: least,
                cooldown,
            }));
        }
        let aggregations = [
            ("average", Aggregation::Average),
            ("maximum", Aggregation::Maximum),
            ("minimum", Aggregation::Minimum),
        ];
        Some(AwsPolicy::Step(StepScaling {
            alarms: ids,
            adjustment,
            steps,
            min_adjustment_magnitude: least,
            aggregation: word(table.aggregation.as_ref(), &aggregations, self.report),
            cooldown,
            warm_up,
        }))
    }

    fn alarm_ids(
        &mut self,
        found: Option<&At<Vec<At<Text>>>>,
        place: &Place,
        alarms: &[(&str, &Place, Option<(Metric, AlarmSettings)>)],
    ) -> Option<Vec<AlarmId>> {
        let mut ids = Vec::new();
        for at in found.iter().flat_map(|at| &at.value) {
            match alarms.iter().position(|alarm| alarm.0 == at.value.0) {
                Some(place) => ids.push(AlarmId(u16::try_from(place).unwrap_or(u16::MAX))),
                None => {
                    let help = suggestion(&at.value.0, alarms.iter().map(|alarm| alarm.0));
                    let message = format!("unknown alarm `{}`", at.value.0);
                    self.report.wrong(&at.place, message, "not in `alarms`", help);
                    return None;
                }
            }
        }
        if ids.is_empty() && !self.report.knows_of(&place.path) {
            let help = "name an alarm in `alarms`".to_owned();
            self.report.wrong(place, "no alarm invokes this policy".to_owned(), "in this policy", help);
        }
        (!ids.is_empty()).then_some(ids)
    }

    fn changes(
        &mut self,
        table: &PolicyTable,
        place: &Place,
        metric: Metric,
    ) -> Option<(Adjustment, Vec<Step>)> {
        let kind = |change: Change| match change {
            Change::Instances(count) => (Adjustment::ChangeInCapacity, count),
            Change::Percent(percent) => (Adjustment::PercentChangeInCapacity, percent),
        };
        match (&table.change, &table.steps) {
            (Some(at), None) => {
                let (adjustment, change) = kind(at.value);
                if change == 0 {
                    let help = "write `+1` or `-1`".to_owned();
                    self.report.wrong(&at.place, "a change that changes nothing".to_owned(), "zero", help);
                }
                let StepScaling { steps, .. } = StepScaling::of(Vec::new(), change);
                Some((adjustment, steps))
            }
            (None, Some(at)) => {
                let mut steps = Vec::new();
                let mut adjustments = Vec::new();
                for At { value: SizeStepTable { from, to, change }, .. } in &at.value {
                    let lower = match from {
                        Some(at) => Some(self.amount(at, metric)?),
                        None => None,
                    };
                    let upper = match to {
                        Some(at) => Some(self.amount(at, metric)?),
                        None => None,
                    };
                    let (adjustment, change) = kind(change.value);
                    adjustments.push(adjustment);
                    steps.push(Step { lower, upper, change });
                }
                let adjustment = *adjustments.first()?;
                if adjustments.iter().any(|other| *other != adjustment) {
                    let help = "write all as instances or all in percent".to_owned();
                    self.report.wrong(
                        &at.place,
                        "steps in instances and in percent".to_owned(),
                        "mixed",
                        help,
                    );
                    return None;
                }
                Some((adjustment, steps))
            }
            _ => {
                if !self.report.knows_of(&place.path) {
                    let help = "write `change: +1`, or `steps:` with several".to_owned();
                    let message = "expected one of `change` and `steps`".to_owned();
                    self.report.wrong(place, message, "in this policy", help);
                }
                None
            }
        }
    }

    /// What recurs each day, as the instants of this run.
    fn schedule(&mut self, table: &ScalingTable) -> Vec<Scheduled> {
        let mut scheduled = Vec::new();
        for At { value: entry, .. } in table.schedule.iter().flatten() {
            for at in self.clock.each_day(entry.at.value.0) {
                scheduled.push(Scheduled {
                    at: Timestamp::ZERO + at,
                    min: entry.min.as_ref().map(|at| at.value.0),
                    max: entry.max.as_ref().map(|at| at.value.0),
                    desired: entry.desired.as_ref().map(|at| at.value.0),
                });
            }
        }
        scheduled.sort_by_key(|entry| entry.at);
        scheduled
    }
}

/// The place of a metric among those that are published; periods below a minute need points as fine.
fn published(metric: Metric, period: Duration, metrics: &mut Vec<Published>) -> MetricId {
    let resolution = if period < MINUTE && !period.is_zero() { period } else { MINUTE };
    let wanted = Published { metric, resolution };
    let place = metrics.iter().position(|known| *known == wanted).unwrap_or_else(|| {
        metrics.push(wanted);
        metrics.len() - 1
    });
    MetricId(u16::try_from(place).unwrap_or(u16::MAX))
}

const MINUTE: Duration = Duration::from_secs(60);
/// CloudWatch's metrics of a minute are there about a minute after its end.
const DELAY: Duration = Duration::from_secs(60);
const INSTANCES_MAX: u32 = 100_000;
