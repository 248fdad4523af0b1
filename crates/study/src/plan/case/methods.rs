//! Replicas by each method: queueing formulas, simulations, and the scalability law over simulated replicas.

use super::{SEEDS, SIMULATION, Study, throughput};
use crate::plan::formulas::{View, meets};
use crate::plan::parts::{Part, Parts};
use crate::plan::search::fewest;
use crate::plan::trial::{Trial, saturating};
use crate::plan::{CONFIDENCE, Load, REPLICAS_MAX, points};
use control::search::instances_needed;
use documents::plan::{Interval, Kind, Method};
use measure::scalability::{self, Fit};
use units::{InstanceCount, Rate};

impl Study<'_> {
    pub(super) fn by_formulas(&self, parts: &Parts) -> Method {
        let fewest = |view| {
            let meets = |replicas| meets(&self.parts(replicas), self.load, self.goal.as_ref(), view);
            fewest(self.now, REPLICAS_MAX, meets)
        };
        let (low, high) = (fewest(View::Favourable), fewest(View::Unfavourable));
        let limit = parts.limit();
        Method {
            name: "queueing formulas",
            // The upper end: what is too few by it is a risk.
            replicas: high.or(low),
            low,
            high,
            per_second: limit.is_finite().then(|| Interval::exact(limit)),
            remark: "from means; ends: one queue, or one a replica".to_owned(),
        }
    }

    pub(super) fn by_simulation(&self, guess: Option<u32>, at_limit: &[Trial]) -> Method {
        let mut known: Vec<(u32, u32)> = Vec::new();
        let alone = self.parts(self.now).alone.0;
        let mut passed = |replicas: u32| match known.iter().find(|(of, _)| *of == replicas) {
            Some((_, passed)) => *passed,
            None => {
                let found = self.trials(&[self.with(replicas, self.load)]);
                let meets = |trial: &&Trial| trial.meets(self.load, self.goal.as_ref(), alone);
                let passed = found[0].iter().filter(meets).count() as u32;
                known.push((replicas, passed));
                passed
            }
        };
        let guess = guess.unwrap_or_else(|| self.estimate());
        let most =
            guess.max(self.now).max(self.estimate()).saturating_mul(4).saturating_add(8).min(REPLICAS_MAX);
        let majority = fewest(guess, most, |replicas| 2 * passed(replicas) > SEEDS as u32);
        let (mut low, mut high) = (majority, majority);
        if let Some(replicas) = majority {
            let below = (1..replicas).rev().take_while(|fewer| passed(*fewer) > 0).last();
            low = below.or(low);
            high = (replicas..=most).find(|more| passed(*more) == SEEDS as u32);
        }
        let remark = match majority {
            Some(_) => format!("request by request, {SEEDS} seeds"),
            None if self.goal.is_none() => {
                format!("{SEEDS} seeds: {most} replicas do not carry the load either")
            }
            None => format!("{SEEDS} seeds: {most} replicas miss the goal too"),
        };
        let per_second = Some(throughput(at_limit)).filter(|_| self.parts(self.now).limit().is_finite());
        Method { name: SIMULATION, replicas: majority, low, high, per_second, remark }
    }

    /// From what one replica carries, if the case says it and the load is a rate.
    pub(super) fn by_capacity(&self) -> Option<Method> {
        let capacity = self.system.services[self.service].scaling.capacity?;
        let Load::Rate(rate) = self.load else { return None };
        let rates = (Rate::try_per_second(rate)?, Rate::try_per_second(capacity)?);
        let replicas = instances_needed(rates.0, rates.1, InstanceCount::new(1)).map(InstanceCount::get);
        Some(Method {
            name: CAPACITY,
            replicas,
            low: replicas,
            high: replicas,
            per_second: Some(Interval::exact(capacity)),
            remark: "`scaling: capacity` of the case for each replica; nothing is shared".to_owned(),
        })
    }

    /// Replicas whose limits carry the load, if nothing has to wait.
    fn estimate(&self) -> u32 {
        let one = self.parts(1);
        let limit = one.tightest(Some(Kind::Replica)).map_or(f64::INFINITY, Part::limit);
        ((self.load.per_second(one.alone.0) / limit).ceil() as u32).clamp(1, REPLICAS_MAX)
    }

    /// The law over simulated throughput at the limit, for this many requests a second.
    pub(super) fn by_law(&self, wanted: f64, replicas: Option<u32>) -> (Method, Option<Fit>) {
        let none = |remark: String| {
            (Method { name: LAW, replicas: None, low: None, high: None, per_second: None, remark }, None)
        };
        if self.parts(self.now).limit().is_infinite() {
            return none("no part of the case has a limit".to_owned());
        }
        let levels = levels(replicas.unwrap_or(1));
        let most = levels[levels.len() - 1];
        // The same users at every level, so that only the replicas differ.
        let users = saturating(&self.parts(most));
        let systems: Vec<_> = levels.iter().map(|replicas| self.with(*replicas, users)).collect();
        let found = self.trials(&systems);
        let measured: Vec<scalability::Point> = levels
            .iter()
            .zip(&found)
            .flat_map(|(replicas, trials)| {
                trials.iter().map(|trial| scalability::Point {
                    concurrency: f64::from(*replicas),
                    throughput: trial.per_second,
                })
            })
            .collect();
        let fit = match scalability::fit(&measured) {
            Ok(fit) => fit,
            Err(error) => return none(error.to_string()),
        };
        if let Err(refusal) = fit.trusted() {
            let (mut method, _) = none(refusal.to_string());
            method.remark += ": replicas that differ, or a sharp limit";
            return (method, Some(fit));
        }
        let (low, replicas, high) = points::by_law(&fit, wanted);
        let interval = fit.throughput_interval(f64::from(self.now), CONFIDENCE);
        let method = Method {
            name: LAW,
            replicas,
            low,
            high,
            per_second: Some(Interval {
                value: fit.law().throughput(f64::from(self.now)),
                low: interval.map(|(low, _)| low.max(0.0)),
                high: interval.map(|(_, high)| high),
            }),
            remark: format!(
                "1 to {most} simulated replicas; no response times{}",
                if replicas.is_none() { "; never reaches the load" } else { "" }
            ),
        };
        (method, Some(fit))
    }
}

/// Replicas over which the law is fitted: as many levels as it needs to be trusted, around the answer.
fn levels(answer: u32) -> [u32; 6] {
    if answer <= 6 {
        return [1, 2, 3, 4, 6, 8];
    }
    [1, 2, 4, 6, 8, 10].map(|eighths| (answer * eighths).div_ceil(8))
}

pub(super) const LAW: &str = "scalability law";
pub(super) const CAPACITY: &str = "measured capacity";
