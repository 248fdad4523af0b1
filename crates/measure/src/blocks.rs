//! The steady seconds of a run, as the independent units for intervals.
//!
//! ## Why whole seconds and not requests
//! Requests that are near each other share a queue, a garbage collection, a neighbour's burst: 300,000 of them carry
//! far less information than 300,000 independent ones. Each second as a whole is one value, and the correlation of the
//! seconds is estimated from the data.

use crate::{Outcome, Series, Stage};
use std::ops::Range;
use std::time::Duration;
use units::Timestamp;

/// The totals of the arrivals of each whole second of a steady span.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    pub(crate) seconds: Vec<Block>,
    pub(crate) late: bool,
}

/// One second; the times are in µs with their counts, as in [`crate::SparseHistogram::counts`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) arrivals: u64,
    pub(crate) answered: u64,
    pub(crate) errors: u64,
    pub(crate) shed: u64,
    pub(crate) times: Vec<(u64, u64)>,
    pub(crate) censored: u64,
}

/// The whole seconds after the warm-up and before the end of a schedule that ran for `elapsed` in addition to its
/// warm-up.
pub fn steady(stages: &[Stage], elapsed: Duration) -> Range<usize> {
    let warm = stages.iter().filter(|stage| stage.warm_up).map(|stage| stage.until).max();
    let from = warm.unwrap_or(Timestamp::ZERO).since(Timestamp::ZERO);
    whole(from, from + elapsed)
}

/// The whole seconds of a stage.
pub fn within(stage: &Stage) -> Range<usize> {
    whole(stage.from.since(Timestamp::ZERO), stage.until.since(Timestamp::ZERO))
}

fn whole(from: Duration, until: Duration) -> Range<usize> {
    // A schedule of 30 s may end a microsecond early.
    let until = until + Duration::from_millis(1);
    let first = from.as_secs() + u64::from(from.subsec_millis() > 0);
    let index = |second| usize::try_from(second).unwrap_or(usize::MAX);
    index(first)..index(until.as_secs())
}

impl Blocks {
    /// The given seconds of a run. Errors are failures, time-outs and statuses of 500 or more other than 503.
    pub fn of(series: &Series, seconds: Range<usize>) -> Self {
        let blocks = chosen(series, seconds).map(|second| {
            let server_errors = second.cells.iter().filter(|cell| cell.outcome == Outcome::ServerError);
            let server_errors: u64 = server_errors.map(|cell| cell.times.count()).sum();
            let mut block = Block {
                arrivals: second.accounting.scheduled,
                answered: second.accounting.answered,
                errors: second.accounting.failed + second.accounting.timed_out + server_errors,
                shed: second.accounting.shed,
                ..Block::default()
            };
            block.add(&second.response);
            block
        });
        Blocks { seconds: blocks.collect(), late: false }
    }

    /// The given seconds, of one endpoint only; its arrivals are those with an outcome.
    pub fn of_endpoint(series: &Series, seconds: Range<usize>, endpoint: u32) -> Self {
        let blocks = chosen(series, seconds).map(|second| {
            let mut block = Block::default();
            for cell in second.cells.iter().filter(|cell| cell.endpoint == endpoint) {
                let count = cell.times.count();
                block.arrivals += count;
                match cell.outcome {
                    Outcome::Shed => block.shed += count,
                    Outcome::Failed | Outcome::TimedOut => block.errors += count,
                    Outcome::ServerError => {
                        block.errors += count;
                        block.answered += count;
                    }
                    Outcome::Success | Outcome::Redirect | Outcome::ClientError => block.answered += count,
                }
                if cell.outcome.is_response() {
                    block.add(&cell.times);
                }
            }
            block.times.sort_unstable();
            block
        });
        Blocks { seconds: blocks.collect(), late: false }
    }

    /// Sets how many of all `answered` requests had their response while the schedule ran. If many responses came
    /// later, the seconds of the arrivals do not show the rate of responses, and [`Blocks::rate`] refuses.
    pub fn completed(mut self, completed: u64, answered: u64) -> Self {
        self.late = (completed as f64) < IN_TIME * answered as f64;
        self
    }

    /// How many seconds there are.
    pub fn len(&self) -> usize {
        self.seconds.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }
}

impl Block {
    fn add(&mut self, times: &crate::SparseHistogram) {
        self.times.extend(times.counts().map(|(micros, count)| (micros, u64::from(count))));
        self.censored += times.censored();
    }
}

fn chosen(series: &Series, seconds: Range<usize>) -> impl Iterator<Item = &crate::Second> {
    let count = seconds.len();
    series.seconds.iter().skip(seconds.start).take(count)
}

/// With at least this share of the responses in time, the rate of the responses is that of the arrivals.
const IN_TIME: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accounting, Cell, Histogram, Second};

    #[test]
    fn only_whole_seconds_after_the_warm_up_count() {
        let stage = |from_ms, until_ms, warm_up| Stage {
            from: Timestamp::from_millis(from_ms),
            until: Timestamp::from_millis(until_ms),
            warm_up,
            ..Stage::default()
        };
        assert_eq!(steady(&[], Duration::from_millis(29_999)), 0..30);
        assert_eq!(steady(&[], Duration::from_millis(29_500)), 0..29);
        let stages = [stage(0, 2_500, true), stage(2_500, 12_500, false)];
        assert_eq!(steady(&stages, Duration::from_secs(10)), 3..12);
        assert_eq!(within(&stages[1]), 3..12);
        assert!(within(&stage(100, 900, false)).is_empty());
    }

    #[test]
    fn an_endpoint_is_counted_by_its_cells() {
        let times = |count: u64| {
            let mut times = Histogram::new();
            (0..count).for_each(|_| times.record(Duration::from_millis(7)));
            times.sparse()
        };
        let cell = |endpoint, outcome, count| Cell { endpoint, outcome, times: times(count) };
        let second = Second {
            accounting: Accounting {
                scheduled: 20,
                answered: 15,
                shed: 2,
                failed: 3,
                ..Accounting::default()
            },
            response: times(15),
            cells: vec![
                cell(0, Outcome::Success, 10),
                cell(0, Outcome::Shed, 2),
                cell(1, Outcome::ServerError, 5),
                cell(1, Outcome::Failed, 3),
            ],
            ..Second::default()
        };
        let series = Series { seconds: vec![second; 3] };
        let counts = |blocks: Blocks| {
            let Block { arrivals, answered, errors, shed, times, .. } = blocks.seconds[0].clone();
            (blocks.len(), arrivals, answered, errors, shed, times.iter().map(|&(_, count)| count).sum())
        };
        assert_eq!(counts(Blocks::of(&series, 1..3)), (2, 20, 15, 8, 2, 15_u64));
        assert_eq!(counts(Blocks::of_endpoint(&series, 0..9, 0)), (3, 12, 10, 0, 2, 10));
        assert_eq!(counts(Blocks::of_endpoint(&series, 0..3, 1)), (3, 8, 5, 8, 0, 5));
        assert!(Blocks::of_endpoint(&series, 0..3, 7).seconds.iter().all(|block| block.arrivals == 0));
    }
}
