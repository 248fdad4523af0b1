//! The response pattern of a calm service: regular, or late in clusters now and then, for example due to garbage
//! collection.
//!
//! ## Why the calm service is watched first
//! A trial between two pauses finds that the goal holds. Whether there are pauses, and how far apart they are, has to
//! be known before the length of a trial is chosen: a trial must cover several of them.
//!
//! ## Why late is measured against calm and not against the goal
//! A pause that is within the goal in calm leaves a queue behind under load, and that queue may miss the goal.

use super::goal::{Condition, Goal};
use alloc::vec::Vec;
use core::time::Duration;
use units::Rate;

/// Clusters of late responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rhythm {
    /// The number of clusters.
    pub clusters: u32,
    /// The mean time from one cluster to the next; `None` with fewer than two clusters.
    pub gap: Option<Duration>,
}

impl Rhythm {
    /// The shortest full length of a trial: [`GAPS_IN_A_TRIAL`] gaps; zero where no gap is known.
    pub fn shortest_trial(&self) -> Duration {
        self.gap.unwrap_or_default().saturating_mul(GAPS_IN_A_TRIAL)
    }
}

/// One look at a calm service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CalmLook {
    /// Since the watch began.
    pub elapsed: Duration,
    /// Requests that ended since the last look.
    pub ended: u64,
    /// Requests that ended late, or became late without having ended, since the last look.
    pub late: u64,
    /// The generator's own machine was late: the look says nothing about the service.
    pub disturbed: bool,
}

/// Watches a calm service until its rhythm is known.
#[derive(Debug, Clone, Default)]
pub struct CalmWatch {
    elapsed: Duration,
    /// When each cluster began.
    clusters: Vec<Duration>,
    /// When the last late response came.
    last_late: Option<Duration>,
    /// Looks with a response, and looks with a late response.
    looks: (u32, u32),
}

impl CalmWatch {
    /// A watch that has not started.
    pub fn new() -> Self {
        CalmWatch::default()
    }

    /// Records one look.
    pub fn observe(&mut self, look: &CalmLook) {
        self.elapsed = look.elapsed;
        if look.disturbed || (look.ended == 0 && look.late == 0) {
            return;
        }
        self.looks.0 += 1;
        if look.late == 0 {
            return;
        }
        self.looks.1 += 1;
        let quiet = |last: Duration| look.elapsed.saturating_sub(last) > CLUSTER_ENDS_AFTER;
        if self.last_late.is_none_or(quiet) {
            self.clusters.push(look.elapsed);
        }
        self.last_late = Some(look.elapsed);
    }

    /// Whether the watch is over: after [`CALM_MIN`] without clusters, after [`CLUSTERS_ENOUGH`] clusters, or after
    /// [`CALM_MAX`].
    pub fn is_over(&self) -> bool {
        let enough = self.clusters.is_empty() || self.clusters.len() >= CLUSTERS_ENOUGH || self.is_ordinary();
        self.elapsed >= CALM_MAX || (self.elapsed >= CALM_MIN && enough)
    }

    /// The result so far.
    pub fn rhythm(&self) -> Rhythm {
        if self.is_ordinary() {
            return Rhythm::default();
        }
        let clusters = self.clusters.len() as u32;
        let gap = match (self.clusters.first(), self.clusters.last()) {
            (Some(first), Some(last)) if clusters >= 2 => Some((*last - *first) / (clusters - 1)),
            _ => None,
        };
        Rhythm { clusters, gap }
    }

    /// Responses that are late all the time do not form clusters: the service varies.
    fn is_ordinary(&self) -> bool {
        f64::from(self.looks.1) > ORDINARY * f64::from(self.looks.0)
    }
}

/// The response time above which a response of a calm service is late. `first` is the median of the first responses;
/// without a goal the default goal is used.
///
/// Pauses that are short compared with the goal's bound occur on every machine: their queue is no reason to prolong
/// each trial.
pub fn late_after(first: Duration, goal: Option<&Goal>) -> Duration {
    let far = first.mul_f64(LATE).max(first + LATE_AT_LEAST);
    let late = match goal.map(Goal::shortest_bound) {
        None => far,
        Some(None) => far.max(LATE_FOR_FAILURES),
        Some(Some(bound)) => far.max(bound.mul_f64(LATE_SHARE)).min(bound),
    };
    late.max(first + first / 2)
}

/// The rate at which a calm service is watched: one request at a time, and frequent enough to detect short pauses.
pub fn calm_rate(first: Duration) -> Rate {
    let alone = CALM_SHARE / first.as_secs_f64().max(1e-6);
    Rate::per_second_of(alone.min(CALM_RATE_MAX))
}

/// Responses of a calm service compared with one condition on response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalmShare {
    /// Responses that missed it.
    pub missed: u64,
    /// All responses.
    pub of: u64,
}

/// The condition that even a calm service misses, if there is one: it holds at no rate, so no rate is tried. `shares`
/// are those of the goal's conditions, in their order.
pub fn missed_when_calm(goal: &Goal, median: Duration, shares: &[CalmShare]) -> Option<Condition> {
    let clearly = |condition: &Condition, share: &CalmShare| {
        share.missed >= CLEARLY && share.missed as f64 > CLEARLY_TIMES * condition.allowed() * share.of as f64
    };
    let mut shares = shares.iter();
    goal.conditions().iter().copied().find(|condition| {
        let missed = shares.next().is_some_and(|share| clearly(condition, share));
        match condition {
            Condition::ResponseTime { below, .. } => missed || *below <= median,
            Condition::Failed { .. } => false,
        }
    })
}

/// The shortest watch of a calm service.
pub const CALM_MIN: Duration = Duration::from_secs(10);
/// The longest.
pub const CALM_MAX: Duration = Duration::from_secs(30);
/// How often the caller looks at it.
pub const CALM_LOOK: Duration = Duration::from_millis(100);
/// This many clusters give a usable gap.
pub const CLUSTERS_ENOUGH: usize = 3;
/// A trial of full length covers this many gaps: with fewer, the share of pauses in a trial depends on when it began.
pub const GAPS_IN_A_TRIAL: u32 = 5;
/// A cluster has ended after this time without a late response: two looks.
const CLUSTER_ENDS_AFTER: Duration = Duration::from_millis(250);
/// If more than this share of the looks has a late response, lateness is ordinary.
const ORDINARY: f64 = 0.3;
/// A response is late if it takes more than this many times the calm median, the default goal's bound,
const LATE: f64 = 2.5;
/// and more than this above it: smaller delays are scheduling on a busy machine.
const LATE_AT_LEAST: Duration = Duration::from_millis(10);
/// and more than this share of a given bound,
const LATE_SHARE: f64 = 0.25;
/// or more than this where the goal is on failures only.
const LATE_FOR_FAILURES: Duration = Duration::from_millis(50);
/// Requests take at most this share of the time of a single connection.
const CALM_SHARE: f64 = 0.5;
/// Frequent enough to detect a pause of a few tens of milliseconds.
const CALM_RATE_MAX: f64 = 100.0;
/// This many misses are not due to chance,
const CLEARLY: u64 = 10;
/// if they are this many times the allowed ones.
const CLEARLY_TIMES: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use units::{Quantile, Ratio};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Watches a service with ten responses a second, late at these times (milliseconds).
    fn watched(late_ms: impl Fn(u64) -> bool) -> CalmWatch {
        let mut watch = CalmWatch::new();
        for look in 1..=1_000 {
            let elapsed = CALM_LOOK * look;
            let late = u64::from(late_ms(u64::from(look) * 100));
            watch.observe(&CalmLook { elapsed, ended: 1, late, disturbed: false });
            if watch.is_over() {
                return watch;
            }
        }
        panic!("a watch without end");
    }

    #[test]
    fn an_even_service_is_watched_for_ten_seconds() {
        let watch = watched(|_| false);
        assert_eq!((watch.elapsed, watch.rhythm()), (CALM_MIN, Rhythm::default()));
    }

    #[test]
    fn three_clusters_say_how_far_apart_they_are() {
        for (every, took) in [(1_000, 10_000), (3_000, 10_000), (5_000, 15_000), (10_000, 30_000)] {
            // A pause delays the responses of two looks.
            let watch = watched(|at| at % every < 200 && at >= every);
            let rhythm = watch.rhythm();
            assert_eq!((watch.elapsed, rhythm.gap), (ms(took), Some(ms(every))), "every {every} ms");
            assert_eq!(rhythm.shortest_trial(), ms(5 * every));
        }
    }

    #[test]
    fn one_cluster_prolongs_the_watch_and_tells_no_gap() {
        let watch = watched(|at| at == 4_000);
        assert_eq!((watch.elapsed, watch.rhythm()), (CALM_MAX, Rhythm { clusters: 1, gap: None }));
        assert_eq!(watch.rhythm().shortest_trial(), Duration::ZERO);
    }

    #[test]
    fn what_is_late_all_the_time_has_no_clusters() {
        assert_eq!(watched(|at| at % 300 == 0).rhythm(), Rhythm::default());
    }

    #[test]
    fn a_look_of_a_busy_machine_is_no_cluster() {
        let mut watch = CalmWatch::new();
        watch.observe(&CalmLook { elapsed: ms(100), ended: 1, late: 1, disturbed: true });
        assert_eq!(watch.rhythm(), Rhythm::default());
    }

    #[test]
    fn late_is_far_from_calm_and_at_most_the_bound() {
        let p95 =
            |below| Goal::new(vec![Condition::ResponseTime { quantile: Quantile::P95, below }]).unwrap();
        assert_eq!(late_after(ms(20), None), ms(50));
        assert_eq!(late_after(ms(1), None), ms(11));
        assert_eq!(late_after(ms(20), Some(&p95(ms(40)))), ms(40));
        assert_eq!(late_after(ms(20), Some(&p95(ms(10)))), ms(30), "a calm response is never late");
        assert_eq!(late_after(ms(1), Some(&p95(ms(100)))), ms(25), "a machine's own pauses are shorter");
        let failed = Goal::new(vec!["failed<1%".parse().unwrap()]).unwrap();
        assert_eq!(late_after(ms(1), Some(&failed)), ms(50), "no goal in time");
        assert_eq!(calm_rate(ms(25)).per_second(), 20.0);
        assert_eq!(calm_rate(ms(1)).per_second(), 100.0);
    }

    #[test]
    fn a_goal_below_the_calm_response_time_holds_at_no_rate() {
        let p95 = |below| Condition::ResponseTime { quantile: Quantile::P95, below: ms(below) };
        let goal = |below| Goal::new(vec![p95(below)]).unwrap();
        let share = |missed| [CalmShare { missed, of: 200 }, CalmShare { missed: 0, of: 200 }];
        assert_eq!(missed_when_calm(&goal(20), ms(25), &share(200)), Some(p95(20)));
        assert_eq!(missed_when_calm(&goal(30), ms(25), &share(10)), None, "5 % may");
        // Two modes: a tenth takes longer than the goal allows, regardless of the median.
        assert_eq!(missed_when_calm(&goal(30), ms(25), &share(21)), Some(p95(30)));
        let failed = Goal::new(vec![Condition::Failed { below: Ratio::new(0.01).unwrap() }]).unwrap();
        assert_eq!(missed_when_calm(&failed, ms(25), &share(200)), None, "not a matter of time");
    }
}
