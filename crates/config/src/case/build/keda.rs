//! A ScaledObject of KEDA, as settings of `control`.

use super::behavior::{Directions, blamed};
use super::pods::{Cluster, count};
use super::query::QueryKeys;
use super::{Builder, DATE_NEEDED};
use crate::case::calendar::since_midnight;
use crate::case::file::ScalingTable;
use crate::case::keda_file::{CronTable, FallbackTable, KedaTable, PrometheusTable};
use crate::case::words::Number;
use control::scaling::hpa::TotalTarget;
use control::scaling::keda::{
    Cron, Fallback, FallbackBehavior, KedaSettings, KedaSettingsError, LocalTime, Pause, Trigger,
    cpu_utilization,
};
use fields::{At, Place, Switch, Text, word};
use sim::settings::{KedaInput, KedaScaling, Query};
use units::InstanceCount;

impl Builder<'_> {
    pub(super) fn keda(
        &mut self,
        table: &ScalingTable,
        at: &At<KedaTable>,
        request: Option<f64>,
    ) -> KedaScaling {
        let keda = &at.value;
        let mut triggers = Vec::new();
        let mut inputs = Vec::new();
        for one in keda.prometheus.iter().flatten() {
            let (trigger, query) = self.prometheus(&one.value);
            triggers.push(trigger);
            inputs.push(KedaInput::Query(query));
        }
        for one in keda.cron.iter().flatten() {
            let Some(trigger) = self.cron(one) else { continue };
            triggers.push(trigger);
            inputs.push(KedaInput::Time);
        }
        if let Some(cpu) = keda.cpu.as_ref().filter(|cpu| self.knows_cpu(&cpu.place)) {
            triggers.push(cpu_utilization(self.cpu_target(cpu, request, at)));
            inputs.push(KedaInput::Cpu);
        }
        let directions = Directions { behavior: keda.behavior.as_ref(), down: None, up: None };
        let behavior = self.behavior(directions);
        let cluster = Cluster {
            tolerance: keda.tolerance.as_ref(),
            sync_period: keda.sync_period.as_ref(),
            version: keda.version.as_ref(),
        };
        let (controller, version) = self.cluster(cluster);
        let usual = KedaSettings::new(triggers);
        let settings = KedaSettings {
            min: Some(count(&table.min)),
            max: count(&table.max),
            idle: keda.idle.as_ref().map(count),
            polling_interval: self.span(keda.polling_interval.as_ref(), usual.polling_interval),
            cooldown_period: self.span(keda.cooldown_period.as_ref(), usual.cooldown_period),
            initial_cooldown_period: self
                .span(keda.initial_cooldown_period.as_ref(), usual.initial_cooldown_period),
            fallback: keda.fallback.as_ref().map(|at| self.fallback(&at.value)),
            pause: self.pause(keda),
            force_activation: is_on(keda.force_activation.as_ref()),
            behavior,
            controller,
            version,
            local_time: self.local_time(),
            ..usual
        };
        self.whole_seconds(keda);
        for error in settings.problems() {
            let place = place_of(&error, at);
            // Problems that follow from a value that could not be read, or that were reported at `min`, are not
            // reported.
            if !matches!(error, KedaSettingsError::MinAboveMax { .. }) && !self.report.knows_of(&place.path) {
                self.refused(place, error.refusal());
            }
        }
        KedaScaling { keda: settings, inputs, request }
    }

    fn prometheus(&mut self, table: &PrometheusTable) -> (Trigger, Query) {
        let target = self.threshold(&table.threshold);
        let target = if self.is_total(table.metric_type.as_ref()) {
            TotalTarget::Value(target)
        } else {
            TotalTarget::AverageValue(target)
        };
        let trigger = Trigger::Prometheus {
            target,
            activation: table.activation_threshold.as_ref().map_or(0.0, |At { value: Number(at), .. }| *at),
            ignore_null_values: table.ignore_null_values.as_ref().is_none_or(|at| at.value.0),
        };
        let query = self.query(QueryKeys {
            measures: &table.measures,
            factor: table.factor.as_ref(),
            file: table.file.as_ref(),
            bin: table.bin.as_ref(),
            source: table.source.as_ref(),
            window: table.window.as_ref(),
            outages: table.outages.as_deref().unwrap_or_default(),
        });
        (trigger, query)
    }

    pub(super) fn is_total(&mut self, metric_type: Option<&At<Text>>) -> bool {
        word(metric_type, &[("AverageValue", false), ("Value", true)], self.report)
    }

    fn cron(&mut self, at: &At<CronTable>) -> Option<Trigger> {
        let CronTable { start, end, replicas, metric_type } = &at.value;
        let is_total = self.is_total(metric_type.as_ref());
        for schedule in [start, end] {
            if let Err(error) = control::scaling::keda::Schedule::parse(&schedule.value.0) {
                self.refused(&schedule.place, error.refusal());
            }
        }
        match Cron::new(&start.value.0, &end.value.0, replicas.value.0) {
            Ok(cron) => {
                // A date that cannot be read was reported.
                if cron.needs_date() && !self.calendar.is_dated() && !self.report.knows_of("begins") {
                    let message = "the schedule is not the same every day".to_owned();
                    self.report.wrong(&at.place, message, "no date is known", DATE_NEEDED.to_owned());
                }
                Some(Trigger::Cron { cron, is_total })
            }
            Err(error) => {
                if !self.report.knows_of(&at.place.path) {
                    self.refused(&at.place, error.refusal());
                }
                None
            }
        }
    }

    fn fallback(&mut self, table: &FallbackTable) -> Fallback {
        let behaviors = [
            ("static", FallbackBehavior::Static),
            ("currentReplicas", FallbackBehavior::CurrentReplicas),
            ("currentReplicasIfHigher", FallbackBehavior::CurrentReplicasIfHigher),
            ("currentReplicasIfLower", FallbackBehavior::CurrentReplicasIfLower),
        ];
        Fallback {
            failure_threshold: table.failure_threshold.value.0,
            replicas: table.replicas.value.0,
            behavior: word(table.behavior.as_ref(), &behaviors, self.report),
        }
    }

    fn pause(&mut self, keda: &KedaTable) -> Pause {
        let scale_in = is_on(keda.paused_scale_in.as_ref());
        let scale_out = is_on(keda.paused_scale_out.as_ref());
        // As KEDA: the number takes precedence.
        match &keda.paused_replicas {
            Some(at) => Pause::At(InstanceCount::new(at.value.0)),
            None if is_on(keda.paused.as_ref()) => Pause::All,
            None if scale_in || scale_out => Pause::Directions { scale_in, scale_out },
            None => Pause::None,
        }
    }

    /// The local time at the beginning of the simulated time, which is the warm-up before the measured time.
    fn local_time(&self) -> LocalTime {
        let civil = self.calendar.civil(self.calendar.starts(self.warm_up));
        let part = |number: i8| u32::from(number.unsigned_abs());
        let year = u32::from(civil.year().unsigned_abs());
        let midnight = LocalTime::of_date(year, part(civil.month()), part(civil.day())).unwrap_or_default();
        LocalTime(midnight.0 + since_midnight(civil).as_secs() as i64)
    }

    /// KEDA has seconds as whole numbers; a window has whole sync periods.
    fn whole_seconds(&mut self, keda: &KedaTable) {
        let spans = [&keda.polling_interval, &keda.cooldown_period, &keda.initial_cooldown_period];
        for at in spans.into_iter().flatten().filter(|at| at.value.0.subsec_nanos() > 0) {
            let message = format!("{} is not a whole number of seconds", units::show_duration(at.value.0));
            self.report.wrong(&at.place, message, "this span", "use whole seconds".to_owned());
        }
    }
}

fn is_on(at: Option<&At<Switch>>) -> bool {
    at.is_some_and(|at| at.value.0)
}

fn place_of<'a>(error: &KedaSettingsError, at: &'a At<KedaTable>) -> &'a Place {
    let KedaTable { idle, polling_interval, fallback, behavior, .. } = &at.value;
    let place = match error {
        KedaSettingsError::Idle { .. } => idle.as_ref().map(|at| &at.place),
        KedaSettingsError::PollingInterval => polling_interval.as_ref().map(|at| &at.place),
        KedaSettingsError::FallbackOfResources => fallback.as_ref().map(|at| &at.place),
        KedaSettingsError::Hpa(error) => blamed(error, behavior.as_ref()),
        _ => None,
    };
    place.unwrap_or(&at.place)
}
