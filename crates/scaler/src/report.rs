//! Fills in the status document of a scaler after each step.
//!
//! ## Why a memory
//! A policy decides now and then, and a refusal that lasts is reported once. A reader who asks in between shall see the last
//! decision of each policy and how old it is. What a policy waits for now comes from its state
//! ([`View`](control::scaling::controller::View)).

use crate::brain::{Brain, Decided};
use crate::sample::{Quality, Sample};
use control::scaling::guard::Reason;
use status::scaler::{
    Change, Cooldown, Instances, Memory, Metrics, Policy, QUALITIES, Scaler, Upcoming, Value,
};
use std::time::Duration;
use units::Timestamp;

/// The memory of a report.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// What does not change.
    base: Scaler,
    opinions: Vec<Opinion>,
    /// When and why the size was last kept from changing.
    held: Option<(Timestamp, String)>,
    change: Option<(Timestamp, Change)>,
    demand: f64,
    goal_held: Option<bool>,
}

/// The last decision of a policy.
#[derive(Debug)]
struct Opinion {
    name: String,
    at: Timestamp,
    wanted: u32,
    reason: String,
    changed: u64,
    refused: u64,
}

/// A step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) brain: &'a Brain,
    pub(crate) sample: &'a Sample,
    pub(crate) decided: &'a Decided,
    /// Whether the target was told.
    pub(crate) applied: bool,
    /// The size that the service is to have.
    pub(crate) wanted: u32,
    /// Why the last reading of the metrics failed.
    pub(crate) error: Option<&'a str>,
}

impl Reporter {
    /// A report of a scaler with these names, and whether it holds a lead and carries decisions out.
    pub(crate) fn new(base: Scaler) -> Self {
        Reporter { base, opinions: Vec::new(), held: None, change: None, demand: 0.0, goal_held: None }
    }

    /// A period is over.
    pub(crate) fn period(&mut self, demand: f64, goal_held: Option<bool>) {
        (self.demand, self.goal_held) = (demand, goal_held);
    }

    /// The status after a step.
    pub(crate) fn after(&mut self, step: &Step<'_>) -> Scaler {
        self.note(step);
        let Step { brain, sample, decided, wanted, error, .. } = *step;
        let now = decided.at;
        let since = |at: Timestamp| now.since(at).as_secs_f64();
        let left = |at: Timestamp| at.since(now).as_secs_f64();
        let view = brain.view(now);
        let mut policies: Vec<Policy> = Vec::new();
        for of in view.policies {
            let cooldowns = of.cooldowns.into_iter();
            policies.push(Policy {
                name: of.policy,
                wanted: of.computed,
                state: of.state,
                cooldowns: cooldowns
                    .map(|one| Cooldown { of: one.of.to_owned(), left_s: one.until.map(left) })
                    .collect(),
                ..Policy::default()
            });
        }
        // What decides without being a policy: scheduled actions, bounds, the guard.
        let guard = brain
            .guard_cooldowns(now)
            .map(|(of, until)| Cooldown { of: of.to_owned(), left_s: Some(left(until)) });
        let guard: Vec<Cooldown> = guard.collect();
        let others = self.opinions.iter().map(|one| one.name.as_str());
        for name in others.chain((!guard.is_empty()).then_some(GUARD)) {
            if policies.iter().all(|policy| policy.name != name) {
                policies.push(Policy { name: name.to_owned(), ..Policy::default() });
            }
        }
        for policy in &mut policies {
            if policy.name == GUARD {
                policy.cooldowns.clone_from(&guard);
            }
            let Some(of) = self.opinions.iter().find(|one| one.name == policy.name) else { continue };
            policy.wanted = policy.wanted.or(Some(of.wanted));
            policy.reason.clone_from(&of.reason);
            policy.decided_s = Some(since(of.at));
            (policy.changed, policy.refused) = (of.changed, of.refused);
        }
        let upcoming = view.upcoming.into_iter().map(|one| Upcoming {
            in_s: left(one.at),
            kind: one.kind.name().to_owned(),
            policy: one.policy,
            min: one.min,
            max: one.max,
            size: one.size,
        });
        let values = brain.watched().into_iter().map(|(name, value)| Value { name, value });
        let bounds = brain.bounds();
        Scaler {
            uptime_s: Duration::from_nanos(sample.at_ns).as_secs_f64(),
            paused: sample.paused,
            killed: sample.killed,
            wanted,
            actual: sample.size,
            min: bounds.0,
            max: bounds.1,
            instances: phases(sample),
            memory: memory(sample),
            metrics: Metrics {
                quality: quality(sample.quality).to_owned(),
                error: error.map(str::to_owned),
                values: values.collect(),
            },
            demand: self.demand,
            goal_held: self.goal_held,
            quiet: self.quiet(step),
            policies,
            upcoming: upcoming.collect(),
            last_change: self
                .change
                .as_ref()
                .map(|(at, change)| Change { ago_s: since(*at), ..change.clone() }),
            ..self.base.clone()
        }
    }

    /// Remembers what was decided.
    fn note(&mut self, step: &Step<'_>) {
        let Decided { at, ref verdict, ruling, .. } = *step.decided;
        for one in &verdict.decisions {
            self.opinion(at, &one.policy, one.from, one.to, one.reason.clone());
        }
        if ruling.is_told() && ruling.reason != Reason::Policy {
            self.opinion(at, GUARD, ruling.from, ruling.to, ruling.reason.to_string());
        }
        if ruling.changes() {
            let of_policy = verdict.decisions.iter().rfind(|one| one.to == ruling.to && one.to != one.from);
            let (policy, reason) = match of_policy.filter(|_| ruling.reason == Reason::Policy) {
                Some(one) => (one.policy.clone(), one.reason.clone()),
                None => (GUARD.to_owned(), ruling.reason.to_string()),
            };
            let (from, to, applied) = (ruling.from, ruling.to, step.applied);
            self.change = Some((at, Change { ago_s: 0.0, policy, from, to, reason, applied }));
            self.held = None;
        } else if ruling.is_told() {
            self.held = Some((at, ruling.reason.to_string()));
        } else if let Some(refusal) = verdict.decisions.iter().rfind(|one| one.to == one.from) {
            self.held = Some((at, format!("{}: {}", refusal.policy, refusal.reason)));
        }
        if self.held.as_ref().is_some_and(|(since, _)| at.since(*since) > REMEMBERED) {
            self.held = None;
        }
    }

    fn opinion(&mut self, at: Timestamp, name: &str, from: u32, to: u32, reason: String) {
        let place = self.opinions.iter().position(|one| one.name == name);
        let known = place.map(|place| self.opinions.remove(place));
        let (changed, refused) = known.map_or((0, 0), |one| (one.changed, one.refused));
        let (changed, refused) = if from == to { (changed, refused + 1) } else { (changed + 1, refused) };
        let opinion = Opinion { name: name.to_owned(), at, wanted: to, reason, changed, refused };
        self.opinions.insert(place.unwrap_or(self.opinions.len()), opinion);
    }

    /// Why the size does not change.
    fn quiet(&self, step: &Step<'_>) -> String {
        let Step { sample, decided, wanted, .. } = *step;
        match decided.ruling.reason {
            reason @ (Reason::Killed | Reason::Paused | Reason::ByHand { .. }) => return reason.to_string(),
            _ if decided.ruling.changes() && step.applied => return "the size was just changed".to_owned(),
            _ => {}
        }
        if wanted != sample.size {
            return "the size is recommended, and was not set yet".to_owned();
        }
        match (&self.held, sample.quality) {
            (Some((_, why)), _) => why.clone(),
            (None, Quality::Fresh) => "no policy requests another size".to_owned(),
            (None, other) => format!("no policy requests another size; metrics are {}", quality(other)),
        }
    }
}

fn phases(sample: &Sample) -> Instances {
    let mut phases = Instances::default();
    for one in &sample.instances {
        match (one.ending, one.ready_ns) {
            (true, _) => phases.ending += 1,
            (false, Some(_)) => phases.ready += 1,
            (false, None) => phases.starting += 1,
        }
    }
    phases
}

fn memory(sample: &Sample) -> Option<Memory> {
    let known: Vec<u64> = sample.instances.iter().filter_map(|one| one.memory).collect();
    let most_bytes = *known.iter().max()?;
    let sum: u128 = known.iter().copied().map(u128::from).sum();
    Some(Memory { mean_bytes: (sum / known.len() as u128) as u64, most_bytes })
}

const fn quality(quality: Quality) -> &'static str {
    let [fresh, stale, missing, contradicting] = QUALITIES;
    match quality {
        Quality::Fresh => fresh,
        Quality::Stale => stale,
        Quality::Missing => missing,
        Quality::Contradicting => contradicting,
    }
}

/// What decides in place of a policy, by the name that decisions have.
const GUARD: &str = "guard";

/// Policies of AWS repeat an evaluation within this time.
const REMEMBERED: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
