//! Whether a run can be trusted.
//!
//! If the generator itself was too slow, a run shows nothing about the service: neither that it passed nor that it
//! failed. If all allowed connections were busy, the waiting is part of the service's response time, but the reader
//! must be told.

use crate::{Failure, SAMPLES_ABOVE};
use std::fmt;
use std::time::Duration;
use units::Ratio;

/// How far a run can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing disturbed the measurement.
    Valid,
    /// Usable, considering its reasons.
    Suspect,
    /// The generator was the bottleneck: not a measurement of the service.
    Invalid,
}

impl Verdict {
    /// The word in JSON, in the ledger and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Suspect => "suspect",
            Verdict::Invalid => "invalid",
        }
    }

    /// The verdict with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Verdict::Valid, Verdict::Suspect, Verdict::Invalid]
            .into_iter()
            .find(|verdict| verdict.name() == name)
    }
}

/// Why a run is not valid without reservation.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Requests were sent late because the generator's event loop was behind, not because connections were busy.
    LoopLag {
        /// The 99th percentile of the lag.
        p99: Duration,
        /// The largest accepted value.
        bound: Duration,
    },
    /// Requests were sent late although the generator's threads had time: other processes kept this machine busy.
    HostLag {
        /// The 99th percentile of the lag.
        p99: Duration,
        /// The largest value accepted without a remark.
        bound: Duration,
    },
    /// The generator's threads had no idle time left.
    GeneratorBusy {
        /// The busiest worker's share of a core.
        busy: Ratio,
    },
    /// Arrivals could not be sent.
    Unsent {
        /// How many.
        count: u64,
        /// Of how many.
        scheduled: u64,
    },
    /// Arrivals waited because all allowed connections were busy.
    ConnectionsBusy {
        /// The share of arrivals that waited.
        share: Ratio,
        /// The connections that were allowed.
        allowed: u32,
    },
    /// This machine had no descriptor, port or memory left for some requests.
    OutOfResources {
        /// How many requests failed because of it.
        count: u64,
    },
    /// Many requests were sent more than once.
    Resent {
        /// How many times a request was sent again.
        count: u64,
        /// How many arrivals were scheduled.
        scheduled: u64,
    },
    /// No request got a good response.
    NoGoodAnswer(NoGoodAnswer),
    /// A threshold or a goal judges a quantile with too few samples above it.
    FewSamples {
        /// What judges it, such as `the threshold p(99)<50ms`.
        judge: String,
        /// The samples above the quantile.
        above: u64,
        /// How long the run must be for enough of them, at the measured rate; `None` if that is not known.
        needs: Option<Duration>,
    },
    /// The hypervisor gave the processor to another machine.
    Steal {
        /// The stolen share of all processor time.
        share: Ratio,
    },
    /// The CPU quota of this process's control group made it wait.
    Throttled {
        /// The share of its processor time for which it waited.
        share: Ratio,
    },
    /// The whole machine stood still for a time.
    Stalled {
        /// The longest time for which the generator's loop did not run.
        longest: Duration,
    },
}

impl Reason {
    /// The verdict that this reason alone leads to.
    pub fn verdict(&self) -> Verdict {
        match self {
            Reason::LoopLag { .. }
            | Reason::GeneratorBusy { .. }
            | Reason::Unsent { .. }
            | Reason::OutOfResources { .. } => Verdict::Invalid,
            Reason::HostLag { .. }
            | Reason::ConnectionsBusy { .. }
            | Reason::Resent { .. }
            | Reason::NoGoodAnswer(_)
            | Reason::FewSamples { .. }
            | Reason::Steal { .. }
            | Reason::Throttled { .. }
            | Reason::Stalled { .. } => Verdict::Suspect,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use units::show_duration as show;
        match self {
            Reason::LoopLag { p99, bound } => write!(
                f,
                "the generator's event loop was {} late at p99 (accepted: {}); lower the rate or give it more cores",
                show(*p99),
                show(*bound)
            ),
            Reason::HostLag { p99, bound } => write!(
                f,
                "the generator's event loop was {} late at p99 (accepted: {}), because this machine was busy with others",
                show(*p99),
                show(*bound)
            ),
            Reason::GeneratorBusy { busy } => write!(
                f,
                "the generator's busiest worker used {busy} of a core; lower the rate or give it more cores"
            ),
            Reason::Unsent { count, scheduled } => write!(
                f,
                "{count} of {scheduled} scheduled requests were never sent; allow more connections (-c) or a longer run"
            ),
            Reason::ConnectionsBusy { share, allowed } => write!(
                f,
                "{share} of the arrivals waited because all {allowed} allowed connections were busy; their wait is in the response time (-c 0 lifts the bound)"
            ),
            Reason::OutOfResources { count } => write!(
                f,
                "{count} requests failed because this machine had no descriptor, port or memory left; raise `ulimit -n` or lower -c"
            ),
            Reason::Resent { count, scheduled } => write!(
                f,
                "{count} requests of {scheduled} were sent again, because a kept connection or a stream ended before the response: the service received more than the schedule, and the lost time is in the response time (--no-resend counts them as failed)"
            ),
            Reason::NoGoodAnswer(why) => {
                write!(f, "no request got a good response (status 200 to 399): {why}")
            }
            Reason::FewSamples { judge, above, needs } => {
                let plural = if *above == 1 { "" } else { "s" };
                write!(
                    f,
                    "{judge} judges a quantile with {above} sample{plural} above it; \
                     {SAMPLES_ABOVE} make it repeatable"
                )?;
                match needs {
                    Some(needs) => write!(f, ": at this rate, run for at least {} s", needs.as_secs()),
                    None => Ok(()),
                }
            }
            Reason::Steal { share } => {
                write!(f, "the hypervisor gave {share} of this machine's processor time to others")
            }
            Reason::Throttled { share } => {
                write!(
                    f,
                    "the processor quota of this process made it wait for {share} of its time; raise the quota"
                )
            }
            Reason::Stalled { longest } => {
                write!(f, "this machine stood still for {} at a time", show(*longest))
            }
        }
    }
}

/// The most frequent outcome in a run without a good response (a status from 200 to 399).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoGoodAnswer {
    /// The outcome.
    pub most: Came,
    /// How often.
    pub count: u64,
    /// How many arrivals were scheduled.
    pub scheduled: u64,
}

/// The outcome of a request without a good response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// A response with this status.
    Status(u16),
    /// No response, for this reason.
    Failed(Failure),
    /// No response within the time-out.
    TimedOut,
    /// It was not sent, or still in flight at the end.
    Nothing,
}

impl fmt::Display for NoGoodAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoGoodAnswer { most, count, scheduled } = self;
        let count =
            if count == scheduled { format!("all {count}") } else { format!("{count} of {scheduled}") };
        match most {
            Came::Status(status) => write!(f, "{count} were answered with {status}"),
            Came::Failed(failure) => write!(f, "{count} failed: {failure}"),
            Came::TimedOut => write!(f, "{count} timed out"),
            Came::Nothing => write!(f, "{count} were not sent, or in flight at the end"),
        }
    }
}

/// The verdict on a run, with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Validity {
    /// The worst verdict of any reason.
    pub verdict: Verdict,
    /// Why, worst first; empty where the run is valid.
    pub reasons: Vec<Reason>,
}

impl Validity {
    /// The verdict from the reasons.
    pub fn of(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.verdict()));
        let verdict = reasons.first().map_or(Verdict::Valid, Reason::verdict);
        Validity { verdict, reasons }
    }

    /// Weighs more reasons beside those that are known.
    pub fn add(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        let mut all = std::mem::take(&mut self.reasons);
        all.extend(reasons);
        *self = Validity::of(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_decides() {
        let busy = Reason::ConnectionsBusy { share: Ratio::of(1, 10).unwrap(), allowed: 64 };
        let lag = Reason::LoopLag { p99: Duration::from_millis(50), bound: Duration::from_millis(2) };
        assert_eq!(Validity::of(vec![]).verdict, Verdict::Valid);
        assert_eq!(Validity::of(vec![busy.clone()]).verdict, Verdict::Suspect);
        let both = Validity::of(vec![busy, lag.clone()]);
        assert_eq!(both.verdict, Verdict::Invalid);
        assert_eq!(both.reasons[0], lag);
    }
}
