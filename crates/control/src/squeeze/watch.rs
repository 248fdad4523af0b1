//! From what a gateway counts to what the judge of a trial reads.
//!
//! A gateway counts requests that were sent to the squeezed instances and those that ended. Which of them are still under way, and
//! how old they are, follows from when they were sent, as instances answer about in order.

use crate::search::{CONDITIONS_MAX, Condition, Goal, Progress};
use alloc::vec::Vec;
use core::time::Duration;

/// What the squeezed instances have done since a trial began.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Time since the trial began.
    pub elapsed: Duration,
    /// Requests sent.
    pub sent: u64,
    /// Responses below 500, except 429.
    pub answered: u64,
    /// Other requests that ended.
    pub failed: u64,
    /// Those of `failed` without a response in time.
    pub timed_out: u64,
    /// Response times with how many responses had them, without those that refuse for load.
    pub times: Vec<(Duration, u64)>,
    /// The sum of all response times.
    pub total: Duration,
}

/// Reads the counts of one trial.
#[derive(Debug, Clone)]
pub struct TrialWatch {
    length: Duration,
    /// How many requests had been sent at each look.
    sent: Vec<(Duration, u64)>,
    /// Responses at the last look, and the sum of their times.
    before: (u64, Duration),
    /// Time after the length, in which arrivals no longer count.
    at_end: Option<u64>,
}

impl TrialWatch {
    /// For a trial of this length.
    pub fn new(length: Duration) -> Self {
        TrialWatch { length, sent: Vec::new(), before: (0, Duration::ZERO), at_end: None }
    }

    /// What the judge of the trial reads at a look.
    pub fn progress(&mut self, goal: &Goal, counts: &Counts) -> Progress {
        let ended = counts.answered + counts.failed;
        let responses: u64 = counts.times.iter().map(|(_, count)| count).sum();
        let (before, total) = core::mem::replace(&mut self.before, (responses, counts.total));
        let recent = u32::try_from(responses.saturating_sub(before)).unwrap_or(u32::MAX);
        let response_time = (recent > 0).then(|| counts.total.saturating_sub(total) / recent);
        let waits = self.sent.iter().find(|(_, sent)| *sent > ended);
        let mut progress = Progress {
            elapsed: counts.elapsed,
            scheduled: counts.sent,
            response_time,
            oldest: waits.map_or(Duration::ZERO, |(at, _)| counts.elapsed.saturating_sub(*at)),
            ..Progress::default()
        };
        for (at, condition) in goal.conditions().iter().enumerate().take(CONDITIONS_MAX) {
            match condition {
                Condition::ResponseTime { below, .. } => {
                    let held =
                        counts.times.iter().filter(|(time, _)| time < below).map(|(_, count)| count).sum();
                    progress.held[at] = held;
                    progress.missed[at] = responses - held + counts.timed_out;
                    let old = counts.elapsed.saturating_sub(*below);
                    let due = self.sent.iter().rev().find(|(at, _)| *at <= old).map_or(0, |(_, sent)| *sent);
                    progress.overdue[at] = due.saturating_sub(ended);
                }
                Condition::Failed { .. } => {
                    (progress.held[at], progress.missed[at]) = (counts.answered, counts.failed)
                }
            }
        }
        self.sent.push((counts.elapsed, counts.sent));
        if counts.elapsed >= self.length {
            // Traffic does not end with the trial, and what arrives now is not waited for.
            let at_end = *self.at_end.get_or_insert(counts.sent);
            let known = progress.held.iter().zip(progress.missed).zip(progress.overdue);
            let known = known.map(|((held, missed), overdue)| held + missed + overdue).max().unwrap_or(0);
            progress.scheduled = at_end.min(known.max(ended));
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn requests_under_way_have_the_age_of_their_sending() {
        let goal = Goal::new(vec!["p(95)<50ms".parse().unwrap()]).unwrap();
        let mut watch = TrialWatch::new(millis(10_000));
        let counts = |elapsed, sent, answered, times| Counts {
            elapsed: millis(elapsed),
            sent,
            answered,
            times,
            total: millis(20 * answered),
            ..Counts::default()
        };
        watch.progress(&goal, &counts(100, 10, 8, vec![(millis(20), 8)]));
        let seen = watch.progress(&goal, &counts(200, 20, 18, vec![(millis(20), 16), (millis(70), 2)]));
        assert_eq!((seen.held[0], seen.missed[0], seen.overdue[0]), (16, 2, 0));
        assert_eq!((seen.held[1], seen.missed[1]), (18, 0));
        assert_eq!(seen.response_time, Some(millis(20)));
        // Nothing more is answered: of the twenty sent by 200 ms, two are overdue at 250 ms.
        let seen = watch.progress(&goal, &counts(250, 25, 18, vec![(millis(20), 16), (millis(70), 2)]));
        assert_eq!((seen.overdue[0], seen.oldest, seen.response_time), (2, millis(50), None));
        // After its length, arrivals that are still under way are left out.
        let mut watch = TrialWatch::new(millis(10_000));
        let seen = watch.progress(&goal, &counts(10_000, 1_000, 990, vec![(millis(20), 990)]));
        assert_eq!(seen.scheduled, 990);
    }

    #[test]
    fn a_failure_is_no_response_and_a_time_out_is_late() {
        let goal = Goal::new(vec!["p(95)<50ms".parse().unwrap()]).unwrap();
        let mut watch = TrialWatch::new(millis(1_000));
        let counts = Counts {
            sent: 10,
            answered: 6,
            failed: 4,
            timed_out: 1,
            times: vec![(millis(9), 7)],
            ..Counts::default()
        };
        let seen = watch.progress(&goal, &counts);
        assert_eq!((seen.held[0], seen.missed[0]), (7, 1));
        assert_eq!((seen.held[1], seen.missed[1]), (6, 4));
    }
}
