//! The measures of a row, from the outcome of a simulation.

use super::{Measure, Part, Reference};
use crate::case::Stage;
use sim::Outcome;
use sim::outcome::{Averaged, Quantiles, Row, ServiceOutcome};

impl Reference {
    /// The value of the measure in the outcome of its stage; none where there was nothing to measure.
    pub fn value(&self, stage: &Stage, outcome: &Outcome) -> Option<f64> {
        let service = outcome.services.get(self.service.unwrap_or(0))?;
        let of: &[ServiceOutcome] = match self.service {
            Some(_) => std::slice::from_ref(service),
            None => &outcome.services,
        };
        let inside = |row: &Row| {
            let Some((from, until)) = self.within else { return true };
            let at = row.time_of_day(&stage.clock);
            if from <= until { from <= at && at < until } else { from <= at || at < until }
        };
        let minutes = Minutes {
            counts: counts(of, &inside),
            rows: service.rows.iter().filter(|row| inside(row)).collect(),
        };
        if self.within.is_some() {
            return minutes.measure(self.measure);
        }
        whole(stage, outcome, service, of, &minutes, self.measure)
    }
}

/// Running instances, minute by minute, of some services together.
fn counts(services: &[ServiceOutcome], inside: &dyn Fn(&Row) -> bool) -> Vec<f64> {
    let Some(first) = services.first() else { return Vec::new() };
    let of_all = |minute: usize| {
        let rows = services.iter().filter_map(|service| service.rows.get(minute));
        rows.map(|row| f64::from(row.counts.running)).sum()
    };
    let minutes = first.rows.iter().enumerate().filter(|(_, row)| inside(row));
    minutes.map(|(minute, _)| of_all(minute)).collect()
}

fn whole(
    stage: &Stage,
    outcome: &Outcome,
    service: &ServiceOutcome,
    all: &[ServiceOutcome],
    minutes: &Minutes<'_>,
    measure: Measure,
) -> Option<f64> {
    let totals = &service.totals;
    let seconds = outcome.measured.as_secs_f64();
    let averaged = |part| match part {
        Part::Balancer => totals.balancer_by_minute,
        Part::Application => totals.application_by_minute,
    };
    let distribution = |part| match part {
        Part::Balancer => totals.balancer,
        Part::Application => totals.application,
    };
    let share = |count: u64| (totals.arrived > 0).then(|| count as f64 / totals.arrived as f64);
    let priced = stage.prices.is_some();
    let cost: f64 = all.iter().map(|service| service.totals.cost).sum();
    let sum = |of: &dyn Fn(&ServiceOutcome) -> f64| all.iter().map(of).sum::<f64>();
    Some(match measure {
        Measure::Quantile(part, percent) => of_averaged(averaged(part)?, percent)?,
        Measure::WholeQuantile(part, percent) => of_quantiles(distribution(part)?, percent)?,
        Measure::Mean => totals.balancer?.mean,
        Measure::Queued => totals.queued?,
        Measure::Offered => totals.arrived as f64 / seconds,
        Measure::Answered => totals.answered as f64 / seconds,
        Measure::AnsweredPerInstance => {
            totals.answered as f64 / seconds / mean(minutes.counts.iter().copied())?
        }
        Measure::Bad => share(totals.bad())?,
        Measure::Refused => share(totals.refused)?,
        Measure::Cost => priced.then_some(cost)?,
        Measure::CostPerHour => priced.then_some(cost / seconds * 3600.0)?,
        Measure::CostPerMillion => {
            (priced && totals.answered > 0).then(|| cost / totals.answered as f64 * 1e6)?
        }
        Measure::OutsideGoal => (totals.minutes_judged > 0).then_some(totals.minutes_outside as f64)?,
        Measure::CpuTrue => totals.busy?,
        Measure::Actions => sum(&|service| service.totals.actions as f64),
        Measure::ScaleOuts => sum(&|service| changes(outcome, stage, service, |from, to| to > from)),
        Measure::ScaleIns => sum(&|service| changes(outcome, stage, service, |from, to| to < from)),
        Measure::Flaps => sum(&|service| service.totals.flaps as f64),
        Measure::Unfulfilled => sum(&|service| service.totals.unfulfilled as f64),
        by_minute => return minutes.measure(by_minute),
    })
}

/// Decisions of the measured time that changed the count in a direction.
fn changes(outcome: &Outcome, stage: &Stage, service: &ServiceOutcome, way: fn(u32, u32) -> bool) -> f64 {
    let begins = stage.system.warm_up.as_nanos() as u64;
    let until = begins + outcome.measured.as_nanos() as u64;
    let counted = service.decisions.notes().iter().filter(|noted| {
        let at = noted.at.as_nanos();
        begins < at && at <= until && way(noted.what.from, noted.what.to)
    });
    counted.count() as f64
}

/// Some minutes of a service.
struct Minutes<'a> {
    /// Running instances; of all services if none was named.
    counts: Vec<f64>,
    rows: Vec<&'a Row>,
}

impl Minutes<'_> {
    fn measure(&self, measure: Measure) -> Option<f64> {
        let Minutes { counts, rows } = self;
        match measure {
            Measure::InstancesLowest => counts.iter().copied().min_by(f64::total_cmp),
            Measure::InstancesHighest => counts.iter().copied().max_by(f64::total_cmp),
            Measure::InstancesMean => mean(counts.iter().copied()),
            Measure::InstancesMedian => {
                let mut counts = counts.clone();
                counts.sort_by(f64::total_cmp);
                let upper = *counts.get(counts.len() / 2)?;
                let lower = counts[(counts.len() - 1) / 2];
                Some((lower + upper) / 2.0)
            }
            Measure::AtMax => {
                let at_max = |row: &&Row| Some(f64::from(u8::from(row.counts.running >= row.max?)));
                mean(rows.iter().filter_map(at_max))
            }
            Measure::Cpu => mean(rows.iter().filter_map(|row| row.cpu_average)),
            Measure::CpuHighest => rows.iter().filter_map(|row| row.cpu_maximum).max_by(f64::total_cmp),
            Measure::CpuTrue => mean(rows.iter().filter_map(|row| row.busy_average)),
            Measure::Quantile(part, percent) => {
                let of = |row: &&Row| match part {
                    Part::Balancer => row.balancer,
                    Part::Application => row.application,
                };
                mean(rows.iter().filter_map(of).filter_map(|minute| of_quantiles(minute, percent)))
            }
            Measure::Offered => mean(rows.iter().map(|row| row.rate())),
            Measure::Answered => mean(rows.iter().map(|row| row.answered_rate())),
            Measure::OutsideGoal => {
                let judged: Vec<bool> = rows.iter().filter_map(|row| row.within_goal).collect();
                let outside = judged.iter().filter(|within| !**within).count();
                (!judged.is_empty()).then_some(outside as f64)
            }
            _ => None,
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

fn of_averaged(averaged: Averaged, percent: u8) -> Option<f64> {
    let Averaged { p50, p75, p90, p95, p99 } = averaged;
    [(50, p50), (75, p75), (90, p90), (95, p95), (99, p99)]
        .into_iter()
        .find(|(known, _)| *known == percent)
        .map(|(_, value)| value)
}

fn of_quantiles(quantiles: Quantiles, percent: u8) -> Option<f64> {
    let Quantiles { p50, p75, p90, p95, p99, .. } = quantiles;
    of_averaged(Averaged { p50, p75, p90, p95, p99 }, percent)
}
