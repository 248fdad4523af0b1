//! Converts the load engine's progress into the judge's input.

use ::load::{Progress, Watch};
use control::search::{CONDITIONS_MAX, Condition, Goal, Progress as Seen};
use std::time::Duration;

/// How a run is watched for a goal.
#[derive(Debug)]
pub struct Looks {
    /// The bounds of the goal's conditions on response time, in their order.
    pub watch: Watch,
}

impl Looks {
    /// Checks for this goal, at equal intervals.
    pub fn new(goal: &Goal, every: Duration) -> Self {
        let bound = |condition: &Condition| match condition {
            Condition::ResponseTime { below, .. } => Some(*below),
            Condition::Failed { .. } => None,
        };
        Looks { watch: Watch { bounds: goal.conditions().iter().filter_map(bound).collect(), every } }
    }
}

/// The judge's input at a check, counted from 1.
pub fn seen(goal: &Goal, looks: &Looks, number: u32, now: &Progress) -> Seen {
    let account = &now.accounting;
    let timed = account.answered + account.timed_out;
    let ended = timed + account.shed + account.failed + account.unsent;
    let mut seen = Seen {
        elapsed: looks.watch.every * number,
        scheduled: account.scheduled,
        response_time: now.recent.mean(),
        oldest: now.oldest.map_or(Duration::ZERO, |oldest| now.at.since(oldest)),
        ..Seen::default()
    };
    let mut bounds = now.within.iter().zip(&now.overdue);
    for (at, condition) in goal.conditions().iter().enumerate().take(CONDITIONS_MAX) {
        let (of, held, overdue) = match condition {
            Condition::ResponseTime { .. } => {
                let (held, overdue) = bounds.next().map_or((0, 0), |(&held, &overdue)| (held, overdue));
                (timed, held, overdue)
            }
            Condition::Failed { .. } => (ended, now.succeeded, 0),
        };
        seen.held[at] = held;
        seen.missed[at] = of - held;
        seen.overdue[at] = overdue;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Accounting;
    use units::Timestamp;

    fn goal() -> Goal {
        Goal::new(vec!["p(95)<50ms".parse().unwrap()]).unwrap()
    }

    #[test]
    fn shed_and_unsent_requests_fail_and_have_no_response_time() {
        let looks = Looks::new(&goal(), Duration::from_millis(100));
        let accounting = Accounting {
            scheduled: 16,
            answered: 8,
            shed: 2,
            failed: 1,
            timed_out: 1,
            unsent: 2,
            ..Accounting::default()
        };
        let now = Progress {
            at: Timestamp::from_millis(205),
            accounting,
            oldest: Some(Timestamp::from_millis(105)),
            succeeded: 7,
            within: vec![6],
            overdue: vec![1],
            ..Progress::default()
        };
        let seen = seen(&goal(), &looks, 2, &now);
        assert_eq!((seen.held[0], seen.missed[0], seen.overdue[0]), (6, 3, 1));
        assert_eq!((seen.held[1], seen.missed[1], seen.overdue[1]), (7, 7, 0));
        assert_eq!((seen.elapsed, seen.oldest), (Duration::from_millis(200), Duration::from_millis(100)));
    }
}
