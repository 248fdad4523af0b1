//! What the eyes follow: the run so far and its last second, from progress reports.

use ::load::Progress;
use measure::{Accounting, Histogram, Value};
use report::quantile;
use std::time::Duration;
use units::{Quantile, Rate, Timestamp};

/// The run so far.
#[derive(Debug, Default)]
pub struct Pulse {
    /// How the run stands.
    pub now: Progress,
    /// Response times of the whole run.
    pub whole: Histogram,
    /// Dispatch delays of the whole run.
    dispatch: Histogram,
    /// The seconds that are over, each from one report to a later one.
    pub seconds: Vec<Second>,
    /// Response times of the last of them: what was answered or given up. Of all of them it would be much memory.
    pub recent: Histogram,
    /// Response times since the last second that is over.
    current: Histogram,
    /// Where the current second began.
    since: (Timestamp, Accounting),
}

/// One second of a run, as it was seen while it passed.
#[derive(Debug)]
pub struct Second {
    /// Arrivals that came due.
    pub offered: Rate,
    /// Answers that came, shed ones left aside.
    pub answered: Rate,
    /// Requests that were shed, failed or timed out.
    pub errors: u64,
    /// Response time of what was answered or given up; `None` where nothing was.
    pub p95: Option<Value>,
}

impl Pulse {
    /// Takes a report; says whether a second is over.
    pub fn beat(&mut self, progress: Progress) -> bool {
        self.current.add(&progress.recent);
        self.whole.add(&progress.recent);
        self.dispatch.add(&progress.recent_dispatch);
        let (from, before) = self.since;
        let passed = progress.at.since(from);
        let over = passed >= SECOND;
        if over {
            let after = progress.accounting;
            std::mem::swap(&mut self.recent, &mut self.current);
            self.current.clear();
            self.seconds.push(Second {
                offered: Rate::of(after.scheduled - before.scheduled, passed),
                answered: Rate::of(after.answered - before.answered, passed),
                errors: errors(&after) - errors(&before),
                p95: self.recent.quantile(Quantile::P95),
            });
            if self.seconds.len() > KEPT {
                self.seconds.remove(0);
            }
            self.since = (progress.at, after);
        }
        self.now = progress;
        over
    }

    /// The dispatch delay as every result gives it, in one number: p99 of the run so far.
    pub fn dispatch_delay(&self) -> String {
        quantile(&self.dispatch, Quantile::P99)
    }

    /// The last second that is over.
    pub fn last(&self) -> Option<&Second> {
        self.seconds.last()
    }
}

/// What went wrong: shed, failed and timed out.
pub fn errors(accounting: &Accounting) -> u64 {
    accounting.shed + accounting.failed + accounting.timed_out
}

/// Reports come every tenth of a second, so a second ends with the report that is nearest to it.
const SECOND: Duration = Duration::from_millis(950);

/// As many seconds as a wide terminal has columns.
const KEPT: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_counts_what_came_in_it() {
        let mut pulse = Pulse::default();
        let report = |millis, scheduled, answered| Progress {
            at: Timestamp::from_millis(millis),
            accounting: Accounting { scheduled, answered, shed: 1, ..Accounting::default() },
            ..Progress::default()
        };
        assert!(!pulse.beat(report(500, 50, 40)));
        assert!(pulse.beat(report(1_000, 100, 90)));
        assert!(pulse.beat(report(2_000, 200, 180)));
        let last = pulse.last().unwrap();
        assert_eq!((last.offered.per_second(), last.answered.per_second(), last.errors), (100.0, 90.0, 0));
        assert_eq!(pulse.seconds[0].errors, 1);
    }
}
