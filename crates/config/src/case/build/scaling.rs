//! Scaling of instances: alarms, policies and schedules, as settings of `control`.
//!
//! `control` checks these settings; a problem is reported at the alarm or policy that causes it.

use super::Builder;
use super::alarms::NamedAlarm;
use super::schedule::Agenda;
use crate::case::file::ScalingTable;
use crate::case::measured;
use crate::case::scaling_file::PolicyTable;
use crate::case::words::CapacityText;
use control::alarm::Repeat;
use control::scaling::controller::common_step;
use control::scaling::{
    CooldownFrom, CooldownScope, Platform, Policy as AwsPolicy, ScalerSettings, ScalingError,
};
use fields::{At, Names, Place, between, word};
use sim::settings::{AwsScaling, Ends, MINUTE, Metric, Policy, Published, Scaling, ScalingNames};
use std::time::Duration;

impl Builder<'_> {
    /// The scaling of a service, and the number of instances with which it begins unless the file says another; none
    /// if the file has none. `request` is the processor request of a pod, in cores.
    pub(super) fn scaling(
        &mut self,
        found: Option<&At<ScalingTable>>,
        request: Option<f64>,
    ) -> (Scaling, u32) {
        let usual = Scaling { goal: self.goal, ..Scaling::default() };
        let Some(At { value: table, place }) = found else { return (usual, 1) };
        let agenda = self.agenda(table);
        let instances = agenda.instances((table.min.value.0, table.max.value.0));
        let ends = [("oldest", Ends::Oldest), ("newest", Ends::Newest)];
        let scaling = Scaling {
            ends: word(table.ends.as_ref(), &ends, self.report),
            capacity: self.capacity(table),
            policy: self.scaler(table, place, agenda, request),
            ..usual
        };
        (scaling, instances)
    }

    fn capacity(&mut self, table: &ScalingTable) -> Option<f64> {
        let At { value, place } = table.capacity.as_ref()?;
        let named = match value {
            CapacityText::Rate(rate) => return Some(rate.per_second()),
            CapacityText::Measured(named) => named,
        };
        match measured::capacity(self.folder, named, self.given.results.as_ref()) {
            Ok(rate) => Some(rate.per_second()),
            Err(why) => {
                let help = "name a run of `headroom squeeze` (`headroom runs` lists them), write `headroom squeeze FILE --json > \
                            squeeze.json`, or give a rate such as `100/s`";
                self.report.wrong(place, why, "this measurement", help.to_owned());
                None
            }
        }
    }

    fn scaler(
        &mut self,
        table: &ScalingTable,
        place: &Place,
        agenda: Agenda,
        request: Option<f64>,
    ) -> Policy {
        let aws = [
            table.alarms.is_some(),
            table.policies.is_some(),
            table.platform.as_ref().is_some_and(|at| at.value.0 != "local"),
            table.monitoring.is_some(),
        ];
        let kinds = [aws.contains(&true), table.hpa.is_some(), table.keda.is_some(), table.knative.is_some()];
        if kinds.iter().filter(|&&given| given).count() > 1 {
            let message = "expected only one of alarms with policies, `hpa`, `keda` and `knative`".to_owned();
            let help = "keep one of them; a stage takes a key away with `key: ~`".to_owned();
            self.report.wrong(place, message, "several autoscalers", help);
        }
        let (least, most) = self.bounds(table);
        match (&table.hpa, &table.keda, &table.knative) {
            (Some(at), ..) => Policy::Hpa(Box::new(self.hpa(table, at, agenda, request))),
            (None, Some(at), _) => {
                self.no_schedule(table, "keda");
                Policy::Keda(Box::new(self.keda(table, at, request)))
            }
            (None, None, Some(at)) => {
                self.no_schedule(table, "knative");
                Policy::Knative(Box::new(self.knative(table, at)))
            }
            (None, None, None) => Policy::Aws(Box::new(self.aws(table, place, (least, most), agenda))),
        }
    }

    fn no_schedule(&mut self, table: &ScalingTable, kind: &str) {
        if let Some(At { place, .. }) = table.schedule.iter().flatten().next() {
            let message = format!("`schedule` is not simulated with `{kind}`");
            self.report.wrong(place, message, "no effect", "remove `schedule`".to_owned());
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

    fn aws(&mut self, table: &ScalingTable, place: &Place, bounds: (u32, u32), agenda: Agenda) -> AwsScaling {
        let (least, most) = agenda.bounds(bounds);
        let platforms = [
            ("ecs", Platform::Ecs),
            ("application", Platform::Application),
            ("ec2", Platform::EC2),
            ("local", Platform::Local),
        ];
        let platform = word(table.platform.as_ref(), &platforms, self.report);
        let repeats = [
            ("each-minute", Repeat::EachMinute),
            ("on-transition", Repeat::OnTransition),
            ("each-period", Repeat::EachPeriod),
        ];
        let repeat = word(table.repeat.as_ref(), &repeats, self.report);
        if let (Some(at), Repeat::EachPeriod, true) = (&table.repeat, repeat, platform != Platform::Local) {
            let help = "write `platform: local`, or `each-minute`".to_owned();
            let message = format!("`each-period` is not for {}", platform.name());
            self.report.wrong(&at.place, message, "CloudWatch repeats each minute", help);
        }
        let mut metrics = Vec::new();
        let mut alarms: Vec<NamedAlarm<'_>> = Vec::new();
        for named in table.alarms.iter().flat_map(Names::iter) {
            let alarm = named.value.as_ref().and_then(|at| self.alarm(at, repeat, &mut metrics));
            alarms.push((&named.name, &named.place, alarm));
        }
        let mut policies: Vec<NamedPolicy<'_>> = Vec::new();
        for named in table.policies.iter().flat_map(Names::iter) {
            let policy = self.policy(named, (platform, repeat), &alarms, &mut metrics);
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
        if platform == Platform::Local {
            one_resolution(&mut metrics);
        }
        if let Some(at) = &table.monitoring {
            let periods = periods_on_cpu(&alarms, &policies, &metrics);
            self.monitoring(at, platform, &periods, &mut metrics);
        }
        let (scheduled, scheduled_names) = agenda.ahead.into_iter().unzip();
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
                scheduled: scheduled_names,
            },
        }
    }
}

/// A fleet that reads its instances itself reads all of them as often as its finest period needs.
fn one_resolution(metrics: &mut [Published]) {
    let is_fine = |published: &&mut Published| published.resolution < MINUTE;
    let finest = metrics.iter_mut().filter(is_fine).map(|published| published.resolution);
    let Some(finest) = finest.reduce(common_step) else { return };
    metrics.iter_mut().filter(is_fine).for_each(|published| published.resolution = finest);
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
const DELAY: Duration = MINUTE;
const INSTANCES_MAX: u32 = 100_000;
