//! What limits a service, from what was seen of it while it worked.
//!
//! ```text
//! Seen, a second at a time → signals of each cause → Diagnosis: findings in order, what was ruled out, what is not known
//!                          → Budget: where the time of a request goes (Little's law)
//! Finding → Change: one change to the command that proves it → Outcome: confirmed or refuted
//! ```
//!
//! ## How a cause is found
//! Each cause has a signal with a bound, both fixed and documented at the cause. A cause is found if its signal stays at its bound
//! from some second on: in a good part of the seconds that follow ([`Cause::steady`]), so that one pause is no finding.
//!
//! ## How findings are ordered
//! Where the load grew during the examination: by which signal crossed its bound first, since what comes later is often a
//! consequence. Else, and within three seconds, in the order of [`Cause::ALL`]: what comes from outside of the service before what
//! the service does, exhausted resources before full ones, causes before consequences. If the load generator is the limit, nothing
//! else can be said of the service, and only that is.
//!
//! ## What the bounds rest on
//! Brendan Gregg, *The USE Method*; the kernel's documentation of the counters; where no source has a number, the bound is one that
//! a user would notice: a tenth of the periods throttled, half of the requests without keep-alive. They are rules of thumb, and an
//! experiment proves a finding.

mod budget;
mod cause;
mod change;
mod outcome;
mod seen;

pub use budget::{Budget, Fit};
pub use cause::{Cause, Signal};
pub use change::{Change, Edit, NoChange, PORT, Shows, Start, bound, change, more_workers};
pub use outcome::Outcome;
pub use seen::{Client, Seen, Throttled, To};

use alloc::vec::Vec;

/// What limits a service.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diagnosis {
    /// What was found, most important first.
    pub findings: Vec<Finding>,
    /// Causes whose signals stayed below their bounds, with the highest of each.
    pub ruled_out: Vec<Finding>,
    /// Causes that nothing was seen of.
    pub unknown: Vec<Cause>,
}

/// A cause and its signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// Its signal: of a finding the average from its first second on, else the average of all. The unit is the cause's.
    pub value: f64,
    /// The bound, in the same unit.
    pub bound: f64,
    /// The place in the series of the second in which it first was at its bound; 0 where it never was.
    pub since: usize,
}

impl Diagnosis {
    /// From what was seen in each second, in order. `modes` are causes that do not depend on time: [`Cause::Debug`] and
    /// [`Cause::Profiler`], if the service shows them.
    pub fn of(seen: &[Seen], modes: &[Cause]) -> Self {
        let mut found = Diagnosis::default();
        for cause in Cause::ALL {
            if cause.is_mode() {
                let mode = Finding { cause, value: 1.0, bound: 1.0, since: 0 };
                match modes.contains(&cause) {
                    true => found.findings.push(mode),
                    false => found.ruled_out.push(Finding { value: 0.0, ..mode }),
                }
                continue;
            }
            let signals: Vec<Option<Signal>> = seen.iter().map(|one| cause.signal(one)).collect();
            let Some(bound) = signals.iter().flatten().map(|signal| signal.bound).next_back() else {
                found.unknown.push(cause);
                continue;
            };
            let average = |from: usize| {
                let known: Vec<f64> = signals[from..].iter().flatten().map(|signal| signal.value).collect();
                known.iter().sum::<f64>() / known.len().max(1) as f64
            };
            match cause.since(&signals) {
                Some(since) => found.findings.push(Finding { cause, value: average(since), bound, since }),
                None => found.ruled_out.push(Finding { cause, value: average(0), bound, since: 0 }),
            }
        }
        if let Some(&tester) = found.findings.iter().find(|finding| finding.cause == Cause::Tester) {
            found.findings = alloc::vec![tester];
        } else if grew(seen) {
            // The sort is stable: within a step of three seconds the order of the causes stays.
            found.findings.sort_by_key(|finding| finding.since / TOGETHER);
        }
        found
    }
}

/// Whether the load of the last third is a good part larger than that of the first.
fn grew(seen: &[Seen]) -> bool {
    let third = seen.len() / 3;
    let load = |part: &[Seen]| part.iter().map(Seen::load).sum::<f64>();
    third > 0 && load(&seen[seen.len() - third..]) > GROWN * load(&seen[..third])
}

/// Seconds within which signals count as together.
const TOGETHER: usize = 3;

/// From this ratio on the load has grown.
const GROWN: f64 = 1.3;

#[cfg(test)]
mod tests;
