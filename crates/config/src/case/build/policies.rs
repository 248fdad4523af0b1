//! Policies of AWS: steps, simple scaling, target tracking.

use super::Builder;
use super::alarms::{NamedAlarm, published};
use crate::case::scaling_file::{PolicyTable, SizeStepTable};
use crate::case::words::Change;
use control::alarm::Repeat;
use control::metric::Statistic;
use control::scaling::{
    Adjustment, Aggregation, AlarmId, PRESETS, Periods, Platform, Policy as AwsPolicy, Preset, ScaleIn,
    SimpleScaling, Step, StepScaling, TargetTracking,
};
use fields::{At, Count, Named, Place, Span, Text, suggestion, word};
use sim::settings::{Metric, Published};
use std::time::Duration;

impl Builder<'_> {
    pub(super) fn policy(
        &mut self,
        named: &Named<At<PolicyTable>>,
        (platform, repeat): (Platform, Repeat),
        alarms: &[NamedAlarm<'_>],
        metrics: &mut Vec<Published>,
    ) -> Option<AwsPolicy> {
        let At { value: table, place } = named.value.as_ref()?;
        let predicts = table.predict.is_some();
        let tracks = table.track.is_some() || (table.target.is_some() && !predicts);
        let steps = table.alarms.is_some() || table.change.is_some() || table.steps.is_some();
        if [predicts, tracks, steps].into_iter().filter(|given| *given).count() != 1 {
            if !self.report.knows_of(&place.path) {
                let message =
                    "expected `alarms` with a `change`, `track` with a `target`, or `predict` with a `target`".to_owned();
                let help = "write one policy for each".to_owned();
                self.report.wrong(place, message, "in this policy", help);
            }
            return None;
        }
        if predicts {
            return self.predictive(table, place).map(AwsPolicy::Predictive);
        }
        let cooldown = table.cooldown.as_ref().map(|at| at.value.0);
        let warm_up = table.warm_up.as_ref().map(|at| at.value.0);
        if tracks {
            let (Some(track), Some(target)) = (&table.track, &table.target) else {
                if !self.report.knows_of(&place.path) {
                    let help = "write `track: cpu` and `target: 60%`".to_owned();
                    let message = "`track` and `target` belong together".to_owned();
                    self.report.wrong(place, message, "in this policy", help);
                }
                return None;
            };
            let metric = self.metric(track)?;
            let target = self.amount(target, metric)?;
            let usual = match platform {
                Platform::Ecs => Preset::ECS,
                Platform::Application | Platform::Local => Preset::APPLICATION,
                Platform::Ec2 { .. } => Preset::EC2,
            };
            let preset = table.preset.as_ref().map_or(Some(usual), |at| {
                let found = PRESETS.iter().find(|preset| preset.name == at.value.0);
                if found.is_none() {
                    let help = suggestion(&at.value.0, PRESETS.iter().map(|preset| preset.name));
                    let message = format!("unknown preset `{}`", at.value.0);
                    self.report.wrong(&at.place, message, "not known", help);
                }
                found.copied()
            })?;
            let preset = self.periods(table, platform, preset);
            let never_in = table.never_in.as_ref().is_some_and(|at| at.value.0);
            return Some(AwsPolicy::TargetTracking(TargetTracking {
                scale_in: if never_in { ScaleIn::Disabled } else { ScaleIn::Enabled },
                scale_out_cooldown: cooldown,
                scale_in_cooldown: table.cooldown_in.as_ref().map(|at| at.value.0).or(cooldown),
                warm_up,
                repeat: if repeat == Repeat::EachPeriod { repeat } else { Repeat::EachMinute },
                // The sum over a minute, which has one sample, in the vendor's words.
                statistic: match metric {
                    Metric::RequestCountPerTarget => Statistic::Sum,
                    _ => Statistic::Average,
                },
                ..TargetTracking::new(published(metric, preset.high.period, metrics), target, preset)
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
            let (Some(_), Some(step)) = (&table.change, steps.first()) else {
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
        let aggregations = [Aggregation::Average, Aggregation::Maximum, Aggregation::Minimum]
            .map(|known| (known.name(), known));
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

    /// The preset with the periods that the file sets, for a fleet that creates these alarms itself.
    fn periods(&mut self, table: &PolicyTable, platform: Platform, preset: Preset) -> Preset {
        let PolicyTable { period, datapoints, datapoints_in, .. } = table;
        let places = [
            ("period", period.as_ref().map(|at| &at.place)),
            ("datapoints", datapoints.as_ref().map(|at| &at.place)),
            ("datapoints_in", datapoints_in.as_ref().map(|at| &at.place)),
        ];
        for (name, place) in places {
            if let (Some(place), true) = (place, platform != Platform::Local) {
                let message = format!("`{name}` of target tracking is not for {}", platform.name());
                let help = "remove it (`preset` selects known ones), or write `platform: local`".to_owned();
                self.report.wrong(place, message, "the vendor sets it", help);
            }
        }
        let length = |at: &Option<At<Span>>, usual: Duration| at.as_ref().map_or(usual, |at| at.value.0);
        let of = |usual: Periods, count: &Option<At<Count>>| match count {
            Some(at) => Periods {
                period: length(period, usual.period),
                evaluation_periods: at.value.0,
                datapoints_to_alarm: at.value.0,
            },
            None => Periods { period: length(period, usual.period), ..usual },
        };
        Preset { high: of(preset.high, datapoints), low: of(preset.low, datapoints_in), ..preset }
    }

    fn alarm_ids(
        &mut self,
        found: Option<&At<Vec<At<Text>>>>,
        place: &Place,
        alarms: &[NamedAlarm<'_>],
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
            Change::Exact(count) => (Adjustment::ExactCapacity, count),
        };
        match (&table.change, &table.steps) {
            (Some(at), None) => {
                let (adjustment, change) = kind(at.value);
                if adjustment == Adjustment::ExactCapacity {
                    // On both sides of the threshold.
                    let below = Step { lower: None, upper: Some(0.0), change };
                    let above = Step { lower: Some(0.0), upper: None, change };
                    return Some((adjustment, vec![below, above]));
                }
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
                    let message = "steps with changes of several kinds".to_owned();
                    let help = "write all as `+1`, all as `+10%` or all as `=4`".to_owned();
                    self.report.wrong(&at.place, message, "mixed", help);
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
}
