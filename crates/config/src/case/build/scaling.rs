//! Scaling of instances: alarms, policies and schedules, as settings of `control`.
//!
//! `control` checks these settings; a problem is reported at the alarm or policy that causes it.

use super::Builder;
use super::alarms::NamedAlarm;
use crate::case::file::ScalingTable;
use crate::case::scaling_file::{PolicyTable, ScheduleTable};
use control::alarm::Repeat;
use control::scaling::{
    CooldownFrom, CooldownScope, Platform, Policy as AwsPolicy, ScalerSettings, ScalingError, Scheduled,
};
use fields::{At, Count, Names, Place, between, word};
use sim::settings::{AwsScaling, Ends, Metric, Policy, Published, Scaling, ScalingNames};
use std::time::Duration;
use units::Timestamp;

impl Builder<'_> {
    /// The scaling of a service; none if the file has none.
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
            table.platform.as_ref().is_some_and(|at| at.value.0 != "local"),
            table.monitoring.is_some(),
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

    fn aws(&mut self, table: &ScalingTable, place: &Place, bounds: (u32, u32)) -> AwsScaling {
        let (least, most) =
            self.day_before(table).iter().fold(bounds, |bounds, action| action.bounds(bounds));
        let platforms = [
            ("ecs", Platform::Ecs),
            ("application", Platform::Application),
            ("ec2", Platform::EC2),
            ("local", Platform::Local),
        ];
        let platform = word(table.platform.as_ref(), &platforms, self.report);
        let repeats = [("each-minute", Repeat::EachMinute), ("on-transition", Repeat::OnTransition)];
        let repeat = word(table.repeat.as_ref(), &repeats, self.report);
        let mut metrics = Vec::new();
        let mut alarms: Vec<NamedAlarm<'_>> = Vec::new();
        for named in table.alarms.iter().flat_map(Names::iter) {
            let alarm = named.value.as_ref().and_then(|at| self.alarm(at, repeat, &mut metrics));
            alarms.push((&named.name, &named.place, alarm));
        }
        let mut policies: Vec<NamedPolicy<'_>> = Vec::new();
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
        if let Some(at) = &table.monitoring {
            let periods = periods_on_cpu(&alarms, &policies, &metrics);
            self.monitoring(at, platform, &periods, &mut metrics);
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
                let (place, refusal) = match &error {
                    ScalingError::Alarm { alarm, error } => {
                        (alarm_places.get(usize::from(alarm.0)).copied().unwrap_or(place), error.refusal())
                    }
                    ScalingError::Policy { policy, problem } => (
                        policy_places.get(usize::from(policy.0)).copied().unwrap_or(place),
                        problem.refusal(),
                    ),
                    // It was already reported at its key.
                    ScalingError::MinAboveMax { .. } => continue,
                    other => (place, other.refusal()),
                };
                self.refused(place, refusal);
            }
        }
        let delay = if platform == Platform::Local { Duration::ZERO } else { DELAY };
        AwsScaling {
            scaler: settings,
            metrics,
            publication_delay: self.span(table.publication_delay.as_ref(), delay),
            names: ScalingNames {
                alarms: alarms.iter().map(|alarm| alarm.0.to_owned()).collect(),
                policies: policies.into_iter().map(|policy| policy.0).collect(),
                scheduled: Vec::new(),
            },
        }
    }

    /// The default number of instances at the beginning: the result of the previous day's schedule, or the minimum.
    pub(super) fn instances_left(&self, table: &ScalingTable) -> u32 {
        let bounds = (table.min.value.0, table.max.value.0);
        let left = |(bounds, count): ((u32, u32), Option<u32>), action: &Scheduled| {
            (action.bounds(bounds), action.desired.or(count))
        };
        let ((least, most), count) = self.day_before(table).iter().fold((bounds, None), left);
        count.map_or(least, |count| count.min(most).max(least))
    }

    /// Daily changes, as times of this run.
    fn schedule(&self, table: &ScalingTable) -> Vec<Scheduled> {
        let entries = table.schedule.iter().flatten();
        let mut scheduled: Vec<Scheduled> = entries
            .flat_map(|At { value: entry, .. }| {
                self.clock.each_day(entry.at.value.0).map(|at| action(entry, at))
            })
            .collect();
        scheduled.sort_by_key(|entry| entry.at);
        scheduled
    }

    /// Daily changes, as they last happened before this run: each once, in order. Their times are a day later.
    fn day_before(&self, table: &ScalingTable) -> Vec<Scheduled> {
        let entries = table.schedule.iter().flatten();
        let mut scheduled: Vec<Scheduled> =
            entries.map(|at| action(&at.value, self.clock.first(at.value.at.value.0))).collect();
        scheduled.sort_by_key(|entry| entry.at);
        scheduled
    }
}

fn action(entry: &ScheduleTable, at: Duration) -> Scheduled {
    let count = |at: &Option<At<Count>>| at.as_ref().map(|at| at.value.0);
    Scheduled {
        at: Timestamp::ZERO + at,
        min: count(&entry.min),
        max: count(&entry.max),
        desired: count(&entry.desired),
    }
}

/// The periods of all alarms and policies on `cpu`, with their names.
fn periods_on_cpu<'a>(
    alarms: &[NamedAlarm<'a>],
    policies: &[NamedPolicy<'a>],
    metrics: &[Published],
) -> Vec<(&'a Place, Duration)> {
    let of_alarms = alarms.iter().filter_map(|(_, place, alarm)| {
        let (metric, alarm) = alarm.as_ref()?;
        (*metric == Metric::CpuUtilization).then_some((*place, alarm.period))
    });
    let of_tracking = policies.iter().filter_map(|(_, place, policy)| {
        let AwsPolicy::TargetTracking(tracking) = policy.as_ref()? else { return None };
        let metric = metrics.get(usize::from(tracking.metric.0))?.metric;
        (metric == Metric::CpuUtilization).then_some((*place, tracking.preset.high.period))
    });
    of_alarms.chain(of_tracking).collect()
}

/// A policy with its name and its place in the file; none where it was refused.
type NamedPolicy<'a> = (String, &'a Place, Option<AwsPolicy>);

/// CloudWatch's metrics of a minute are available about a minute after its end.
const DELAY: Duration = Duration::from_secs(60);
const INSTANCES_MAX: u32 = 100_000;
