//! The result of a squeeze: how many requests a second an instance carries, what ran out first, and whether the pool is balanced
//! as before.

use crate::words::{self, Rows, counted};
use control::diagnosis::Cause;
use control::search::{LimitedBy, TrialOutcome, Verdict};
use control::squeeze::{Capacity, RanOut};
use report::{Terminal, Tone};
use serde::Serialize;
use std::time::Duration;
use units::{Rate, show_duration};

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/squeeze.schema.json");

/// What `headroom squeeze --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Squeeze {
    /// The version of headroom.
    pub version: &'static str,
    /// The name of the squeeze.
    pub name: String,
    /// The admin listener of the gateway.
    pub gateway: String,
    /// The pool.
    pub pool: String,
    /// What an instance had to hold.
    pub goal: String,
    /// Instances that took requests.
    pub instances: usize,
    /// The addresses of those that got the larger share.
    pub squeezed: Vec<String>,
    /// Requests a second of the pool before the squeeze.
    pub traffic_per_second: f64,
    /// Their median response time, in milliseconds.
    pub median_ms: f64,
    /// What an instance carries.
    pub per_instance: PerInstance,
    /// What ran out first.
    pub ran_out_first: &'static str,
    /// The same as a sentence.
    pub ran_out_sentence: String,
    /// The number of instances that other traffic needs; `None` if the file names none.
    pub sizing: Option<Sizing>,
    /// Whether the squeeze came to its end: it found all that it can, or a guard ended it.
    pub completed: bool,
    /// Why it ended.
    pub ended: String,
    /// Whether the gateway has said that the pool is balanced as before.
    pub restored: bool,
    /// How long that took; `None` if it has not said so.
    pub restored_seconds: Option<f64>,
    /// Requests that arrived at the pool during the squeeze; `None` if the gateway did not say.
    pub requests: Option<u64>,
    /// Those that failed: shed, 5xx, or without a response.
    pub failed_requests: Option<u64>,
    /// How long it took.
    pub seconds: f64,
    /// The trials, in order.
    pub trials: Vec<Tried>,
}

/// What an instance carries, in requests a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PerInstance {
    /// The goal held at this rate; `None` if it held at none.
    pub low: Option<f64>,
    /// The goal or a guard did not hold at this rate; `None` if every rate held.
    pub high: Option<f64>,
    /// Whether `low` held in trials of full length.
    pub verified: bool,
}

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// Requests a second that each squeezed instance should get.
    pub rate_per_second: f64,
    /// What it got.
    pub carried_per_second: f64,
    /// How long the trial was.
    pub seconds: f64,
    /// `good`, `bad` or `undecided`.
    pub verdict: &'static str,
    /// Why.
    pub reason: String,
}

/// The number of instances that other traffic needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sizing {
    /// The file with the traffic.
    pub traffic: String,
    /// Its peak.
    pub peak_per_second: f64,
    /// How many instances carry it; `None` if nothing is known of an instance.
    pub instances_needed: Option<u32>,
}

impl PerInstance {
    /// What was found.
    pub fn of(capacity: &Capacity) -> Self {
        let (low, high) = (capacity.low.map(words::number), capacity.high.map(words::number));
        PerInstance { low, high, verified: capacity.verified }
    }
}

impl Tried {
    /// A trial in which each squeezed instance got `carried`.
    pub fn of(outcome: &TrialOutcome, carried: Rate) -> Self {
        Tried {
            rate_per_second: words::number(outcome.trial.rate),
            carried_per_second: words::number(carried),
            seconds: outcome.ran.as_secs_f64(),
            verdict: match outcome.verdict {
                Verdict::Good(_) => "good",
                Verdict::Bad(_) => "bad",
                Verdict::Undecided | Verdict::Disturbed => "undecided",
            },
            reason: outcome.verdict.to_string(),
        }
    }
}

/// Requests a second, as documents have them.
pub fn number(rate: Rate) -> f64 {
    words::number(rate)
}

/// Milliseconds, as documents have them.
pub fn millis(time: Duration) -> f64 {
    words::millis(time)
}

/// What ran out, in one word.
pub fn ran_out(what: &RanOut) -> &'static str {
    match what {
        RanOut::Nothing => "nothing",
        RanOut::Cause(cause) => cause.code(),
        RanOut::Goal(limited) => limited.name(),
        RanOut::Guard(crossed) => crossed.name(),
        RanOut::Unknown => "unknown",
    }
}

/// The same as a sentence. `slots` is how many requests at a time the instance works on, if that is known.
pub fn ran_out_sentence(what: &RanOut, slots: Option<f64>) -> String {
    match what {
        RanOut::Nothing => {
            "nothing: all of the traffic at the squeezed instances was not enough to reach their limit"
                .to_owned()
        }
        RanOut::Cause(Cause::Workers) => match slots {
            Some(1.0) => "workers: the only one is busy while cores are free".to_owned(),
            Some(slots) => {
                format!(
                    "workers: all of them, for {slots:.0} requests at a time, are busy while cores are free"
                )
            }
            None => resource(Cause::Workers).to_owned(),
        },
        RanOut::Cause(cause) => resource(*cause).to_owned(),
        RanOut::Goal(LimitedBy::ResponseTime) => {
            "response times missed the goal; no resource of the instance was seen at its limit".to_owned()
        }
        RanOut::Goal(LimitedBy::Failures) => "requests failed".to_owned(),
        RanOut::Goal(LimitedBy::Both) => "response times missed the goal, and requests failed".to_owned(),
        RanOut::Goal(LimitedBy::Nothing) => "nothing".to_owned(),
        RanOut::Guard(crossed) => format!("a guard: {crossed}"),
        RanOut::Unknown => "not known: the squeeze ended before a limit was reached".to_owned(),
    }
}

fn resource(cause: Cause) -> &'static str {
    match cause {
        Cause::Processor => "processor: the instance uses all of its cores",
        Cause::Throttled => "processor quota of the instance",
        Cause::OneThread => "one thread of the instance is at the limit of a core",
        Cause::Workers => "workers: all of them are busy while cores are free",
        Cause::AcceptQueue => "accept queue of the instance",
        Cause::Descriptors => "file descriptors of the instance",
        Cause::ConnectionTable => "connection table of the host",
        Cause::Ports => "local ports for connections to another service",
        Cause::Memory => "memory",
        Cause::Disk => "disk",
        Cause::Lock => "a lock: requests wait for each other",
        Cause::Upstream => "another service that the instance waits for",
        Cause::Stolen => "processor time of the host: the hypervisor gives it to other guests",
        Cause::Neighbour => "processor time of the host: other processes use it",
        Cause::Retransmits => "the network: it loses segments",
        Cause::Tester | Cause::Profiler | Cause::Debug | Cause::NoKeepAlive => cause.code(),
    }
}

impl Squeeze {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// For people.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        let PerInstance { low, high, verified } = self.per_instance;
        let goal = &self.goal;
        let carries = match (low, high) {
            (Some(low), Some(high)) => {
                format!("{} to {}: an instance carries this with {goal}", rate(low), rate(high))
            }
            (Some(low), None) => format!("at least {}: an instance carries this with {goal}", rate(low)),
            (None, Some(high)) => format!("less than {}: {goal} was missed at it", rate(high)),
            (None, None) => "not known".to_owned(),
        };
        rows.row("instance", carries);
        rows.stress_until(':', if verified { Tone::Good } else { Tone::Busy });
        if low.is_some() && !verified {
            rows.row("", "the low end did not hold in trials of full length, so it is an estimate");
        }
        rows.row("ran out", self.ran_out_sentence.clone());
        if let Some(Sizing { traffic, peak_per_second, instances_needed }) = &self.sizing {
            let peak = rate(*peak_per_second);
            rows.row(
                "needed",
                match instances_needed {
                    Some(count) => format!(
                        "{} for the peak of {traffic}, {peak}, with nothing to spare",
                        counted((*count).into(), "instance")
                    ),
                    None => format!("not known for the peak of {traffic}, {peak}"),
                },
            );
        }
        rows.row(
            "squeezed",
            format!(
                "{} of {} of pool {}, which got {} at a median of {}",
                self.squeezed.join(", "),
                counted(self.instances as u64, "instance"),
                self.pool,
                rate(self.traffic_per_second),
                show_duration(Duration::from_secs_f64(self.median_ms.max(0.0) / 1e3))
            ),
        );
        let bad = self.trials.iter().filter(|trial| trial.verdict == "bad").count();
        rows.row(
            "trials",
            format!(
                "{} in {}, {bad} of them above the limit",
                self.trials.len(),
                show_duration(Duration::from_secs(self.seconds.round().max(0.0) as u64))
            ),
        );
        if let (Some(requests), Some(failed)) = (self.requests, self.failed_requests) {
            rows.row(
                "requests",
                format!("{} of {} failed", report::grouped(failed), counted(requests, "request")),
            );
        }
        rows.row("ended", self.ended.clone());
        rows.row(
            "restored",
            match self.restored {
                true => "yes: the gateway balances the pool as before".to_owned(),
                false => "not confirmed: the gateway did not answer; it ends a squeeze by itself".to_owned(),
            },
        );
        rows.stress_until(':', if self.restored { Tone::Good } else { Tone::Bad });
        rows.text(terminal)
    }
}

fn rate(per_second: f64) -> String {
    Rate::per_second_of(per_second.max(0.0)).to_string()
}

/// The result of a squeeze that is kept in the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// What an instance carries.
    pub low: Option<f64>,
    /// At which rate it did not.
    pub high: Option<f64>,
    /// Whether `low` held in trials of full length.
    pub verified: bool,
    /// What ran out first, as a sentence.
    pub ran_out: String,
}

impl Kept {
    /// From the JSON of a squeeze; `None` if it is none.
    pub fn of(json: &str) -> Option<Self> {
        let found: serde_json::Value = serde_json::from_str(json).ok()?;
        let per_instance = found.get("per_instance")?;
        Some(Kept {
            name: found.get("name")?.as_str()?.to_owned(),
            low: per_instance.get("low")?.as_f64(),
            high: per_instance.get("high")?.as_f64(),
            verified: per_instance.get("verified")?.as_bool()?,
            ran_out: found.get("ran_out_sentence")?.as_str()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
