//! Did the load generator's own machine cause the verdict of a trial?
//!
//! Lateness of the generator can only make a service look worse: response times count from when requests were due, and
//! late requests are sent in a burst. So a good trial remains good, unless some of its requests were never sent. A
//! trial with too many 4xx and 5xx responses alone remains bad, because a few milliseconds of lateness do not cause
//! them.
//!
//! ## Why it is decided only at the end
//! On a shared machine every event loop is late now and then. The question is whether the lateness could have caused
//! the verdict: the lateness of the whole trial is compared with the goal's bound, not its first occurrence.

use super::found::Trial;
use super::goal::{Condition, Goal};
use super::judge::Verdict;
use core::fmt;
use core::time::Duration;
use units::show_duration;

/// The condition of the load generator in a trial, from beginning to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generator {
    /// Requests were not sent for lack of ports, descriptors or memory.
    pub out_of_resources: bool,
    /// It had no processor time left.
    pub busy: bool,
    /// The longest time for which it was runnable and did not run.
    pub longest_stall: Duration,
    /// How late it handled due requests, at the 99th percentile.
    pub lag: Duration,
    /// Requests that were due.
    pub scheduled: u64,
    /// Responses with any status.
    pub answered: u64,
    /// Responses with a status from 200 to 399.
    pub succeeded: u64,
}

/// How the generator's own machine may have caused a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Requests were not sent for lack of ports, descriptors or memory.
    OutOfResources,
    /// It had no processor time left.
    Busy,
    /// It did not run for this long.
    Stall(Duration),
    /// Requests were sent this late, at the 99th percentile.
    Lag(Duration),
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disturbance::OutOfResources => f.write_str("requests could not be sent"),
            Disturbance::Busy => f.write_str("the generator had no processor time left"),
            Disturbance::Stall(stall) => write!(f, "this machine stood still for {}", show_duration(*stall)),
            Disturbance::Lag(lag) => {
                write!(f, "the generator's event loop was {} late at p99", show_duration(*lag))
            }
        }
    }
}

impl Generator {
    /// How the generator's own machine may have caused this verdict; `None` where it did not.
    pub fn disturbance(&self, goal: &Goal, trial: &Trial, verdict: Verdict) -> Option<Disturbance> {
        if self.out_of_resources {
            return Some(Disturbance::OutOfResources);
        }
        if matches!(verdict, Verdict::Good(_)) {
            return None;
        }
        if self.busy {
            return Some(Disturbance::Busy);
        }
        let bound = goal.shortest_bound().unwrap_or(LAG_FLOOR);
        if self.longest_stall > bound.max(trial.length / STALL) {
            return Some(Disturbance::Stall(self.longest_stall));
        }
        let all = (trial.rate * trial.length).max(self.scheduled as f64);
        let refused = self.answered.saturating_sub(self.succeeded) as f64;
        let mut conditions = goal.conditions().iter();
        if conditions.any(|each| matches!(each, Condition::Failed { .. }) && refused > each.allowed() * all) {
            return None;
        }
        (self.lag > LAG_FLOOR.max(bound / LAG)).then_some(Disturbance::Lag(self.lag))
    }
}

/// A loop whose p99 lateness is at most this is on time.
const LAG_FLOOR: Duration = Duration::from_millis(2);
/// A p99 lateness below a tenth of the bound does not cause a verdict.
const LAG: u32 = 10;
/// A stall of a fiftieth of the trial can cause a verdict.
const STALL: u32 = 50;

#[cfg(test)]
mod tests {
    use super::super::{Bad, Good, Purpose, Share};
    use super::*;
    use alloc::vec;
    use units::{Quantile, Rate};

    fn trial() -> Trial {
        Trial::new(Rate::per_second_of(100.0), Duration::from_secs(10), Purpose::Narrow)
    }

    #[test]
    fn refusals_of_the_service_are_not_made_by_requests_that_leave_a_little_late() {
        let goal = Goal::new(vec!["failed<1%".parse().unwrap()]).unwrap();
        let share = Share { condition: goal.conditions()[0], missed: 11, of: 100 };
        let disturbed = |refused: u64, longest_stall| {
            let (lag, succeeded) = (Duration::from_millis(8), 100 - refused);
            let generator = Generator {
                lag,
                longest_stall,
                scheduled: 100,
                answered: 100,
                succeeded,
                ..Generator::default()
            };
            generator.disturbance(&goal, &trial(), Verdict::Bad(Bad::BudgetSpent(share))).is_some()
        };
        assert!(!disturbed(11, Duration::from_millis(20)), "11 of 1,000 that may be sent, 10 may fail");
        assert!(disturbed(2, Duration::from_millis(20)), "the others failed otherwise");
        assert!(disturbed(11, Duration::from_millis(201)), "what waited so long comes in one heap");
    }

    #[test]
    fn what_only_makes_a_service_look_worse_disturbs_no_good_trial() {
        let condition = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(50) };
        let goal = Goal::new(vec![condition]).unwrap();
        let share = Share { condition, missed: 0, of: 1_000 };
        let (good, bad) = (Verdict::Good(Good::FullLength(share)), Verdict::Bad(Bad::FullLength(share)));
        let ms = Duration::from_millis;
        let fine = Generator { lag: ms(1), longest_stall: ms(20), ..Generator::default() };
        for (what, generator, disturbs_good, disturbs_bad) in [
            ("nothing", fine, false, false),
            ("late by more than a tenth of the bound", Generator { lag: ms(6), ..fine }, false, true),
            (
                "stood still for more than a fiftieth of the trial",
                Generator { longest_stall: ms(201), ..fine },
                false,
                true,
            ),
            ("no processor time left", Generator { busy: true, ..fine }, false, true),
            ("requests that were not sent", Generator { out_of_resources: true, ..fine }, true, true),
        ] {
            let of = |verdict| generator.disturbance(&goal, &trial(), verdict).is_some();
            assert_eq!((of(good), of(bad)), (disturbs_good, disturbs_bad), "{what}");
        }
    }
}
