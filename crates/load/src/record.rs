//! Records what became of every arrival of one worker.
//!
//! ## Why open seconds
//! An answer may come long after the second in which its request was due, and counts in that second. So the last
//! seconds stay open, with histograms that record in nanoseconds; a second that no answer can reach any more is
//! closed into a sparse one, and the histograms are used again. Memory is bounded by the time-out, not by the run.

use measure::{Accounting, Failure, Fate, Histogram, Measurement, Second};
use std::collections::VecDeque;
use std::time::Duration;
use units::Timestamp;

/// The times of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) intended: Timestamp,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
}

#[derive(Debug, Default)]
struct OpenSecond {
    accounting: Accounting,
    good: u64,
    good_response: Histogram,
    response: Histogram,
}

/// One worker's record.
#[derive(Debug)]
pub(crate) struct Recorder {
    good_within: Duration,
    /// When the schedule ends.
    end: Timestamp,
    open: VecDeque<OpenSecond>,
    spare: Vec<OpenSecond>,
    whole: Measurement,
    /// Response times since the last progress report.
    recent: Histogram,
    recent_good: u64,
    /// Answers with a status from 200 to 399, and how many of them came below each of the bounds.
    succeeded: u64,
    bounds: Vec<Duration>,
    within: Vec<u64>,
    /// How late the loop looked at each due arrival.
    pub(crate) lag: Histogram,
    /// Arrivals that waited for a free connection.
    pub(crate) waited: u64,
}

impl Recorder {
    pub(crate) fn new(good_within: Duration, end: Timestamp, bounds: &[Duration]) -> Self {
        Recorder {
            good_within,
            end,
            open: VecDeque::new(),
            spare: Vec::new(),
            whole: Measurement::default(),
            recent: Histogram::new(),
            recent_good: 0,
            succeeded: 0,
            bounds: bounds.to_vec(),
            within: vec![0; bounds.len()],
            lag: Histogram::new(),
            waited: 0,
        }
    }

    fn second(&mut self, intended: Timestamp) -> &mut OpenSecond {
        let index = (intended.as_nanos() / 1_000_000_000) as usize;
        let closed = self.whole.series.seconds.len();
        // Nothing comes for a closed second: it is closed only when nothing of it is left.
        let offset = index.saturating_sub(closed);
        while self.open.len() <= offset {
            self.open.push_back(self.spare.pop().unwrap_or_default());
        }
        &mut self.open[offset]
    }

    /// An arrival is due.
    pub(crate) fn scheduled(&mut self, intended: Timestamp) {
        self.whole.accounting.scheduled += 1;
        self.second(intended).accounting.scheduled += 1;
    }

    /// A scheduled arrival that was answered, with any status.
    pub(crate) fn answered(&mut self, times: Times, status: u16) {
        let fate = Fate::of_status(status);
        *self.whole.statuses.entry(status).or_default() += 1;
        self.whole.accounting.enter(fate);
        let response = times.ended.since(times.intended);
        let good = (200..300).contains(&status) && response <= self.good_within;
        if (200..400).contains(&status) {
            self.succeeded += 1;
            for (within, &bound) in self.within.iter_mut().zip(&self.bounds) {
                *within += u64::from(response < bound);
            }
        }
        let second = self.second(times.intended);
        second.accounting.enter(fate);
        if fate == Fate::Shed {
            self.whole.shed_response.record(response);
            return;
        }
        second.response.record(response);
        if good {
            second.good += 1;
            second.good_response.record(response);
            self.recent_good += 1;
        }
        self.whole.completed += u64::from(times.ended <= self.end);
        self.recent.record(response);
        self.whole.service.record(times.ended.since(times.started));
        self.whole.dispatch.record(times.started.since(times.intended));
    }

    /// A scheduled arrival that was sent and given up.
    pub(crate) fn timed_out(&mut self, times: Times) {
        self.enter(times.intended, Fate::TimedOut);
        let response = times.ended.since(times.intended);
        self.second(times.intended).response.record_censored(response);
        self.recent.record_censored(response);
        self.whole.service.record_censored(times.ended.since(times.started));
        self.whole.dispatch.record(times.started.since(times.intended));
    }

    /// A scheduled arrival that got no answer.
    pub(crate) fn failed(&mut self, intended: Timestamp, failure: Failure) {
        *self.whole.failures.entry(failure).or_default() += 1;
        self.enter(intended, Fate::Failed(failure));
    }

    /// A scheduled arrival that was never sent, or is still in flight when all ends.
    pub(crate) fn enter(&mut self, intended: Timestamp, fate: Fate) {
        self.whole.accounting.enter(fate);
        self.second(intended).accounting.enter(fate);
    }

    pub(crate) fn received(&mut self, bytes: usize) {
        self.whole.bytes_received += bytes as u64;
    }

    pub(crate) fn connected(&mut self) {
        self.whole.connections += 1;
    }

    pub(crate) fn accounting(&self) -> Accounting {
        self.whole.accounting
    }

    /// Answers with a status from 200 to 399, and how many of them came below each bound.
    pub(crate) fn succeeded(&self) -> (u64, &[u64]) {
        (self.succeeded, &self.within)
    }

    /// What was answered or given up since the last call: the distribution, and how many were good.
    pub(crate) fn take_recent(&mut self) -> (Histogram, u64) {
        let recent = self.recent.clone();
        self.recent.clear();
        (recent, std::mem::take(&mut self.recent_good))
    }

    /// Closes the seconds that end before `oldest`, the intended start of the oldest unfinished arrival.
    pub(crate) fn close_before(&mut self, oldest: Timestamp) {
        let first_open = (oldest.as_nanos() / 1_000_000_000) as usize;
        while self.whole.series.seconds.len() < first_open && !self.open.is_empty() {
            self.close_first();
        }
    }

    fn close_first(&mut self) {
        let Some(mut second) = self.open.pop_front() else { return };
        self.whole.response.add(&second.response);
        self.whole.series.seconds.push(Second {
            accounting: second.accounting,
            good: second.good,
            good_response: second.good_response.sparse(),
            response: second.response.sparse(),
            cells: Vec::new(),
        });
        second.accounting = Accounting::default();
        second.good = 0;
        second.good_response.clear();
        second.response.clear();
        self.spare.push(second);
    }

    /// All that this worker measured.
    pub(crate) fn finish(mut self, elapsed: Duration, cpu: Duration) -> Finished {
        while !self.open.is_empty() {
            self.close_first();
        }
        self.whole.elapsed = elapsed;
        self.whole.cpu = cpu;
        Finished { measurement: self.whole, lag: self.lag, waited: self.waited }
    }
}

/// What one worker brings home.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) measurement: Measurement,
    pub(crate) lag: Histogram,
    pub(crate) waited: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn an_answer_counts_in_the_second_of_its_intended_start() {
        let mut recorder = Recorder::new(Duration::from_secs(3), at(2_000), &[]);
        for millis in [500, 1_500] {
            recorder.scheduled(at(millis));
        }
        recorder.close_before(at(500));
        recorder.answered(Times { intended: at(500), started: at(500), ended: at(2_600) }, 200);
        recorder.close_before(at(1_500));
        recorder.answered(Times { intended: at(1_500), started: at(1_600), ended: at(5_000) }, 200);
        let measured = recorder.finish(Duration::from_secs(2), Duration::ZERO).measurement;
        assert!(measured.accounting.balances());
        assert_eq!(measured.series.seconds.len(), 2);
        assert_eq!(measured.series.seconds[0].good, 1);
        assert_eq!(measured.series.seconds[1].good, 0, "3.5 s is not within 3 s");
        assert_eq!(measured.response.count(), 2);
        assert_eq!(measured.completed, 0, "both answers came after the schedule");
    }

    #[test]
    fn shed_answers_stand_apart() {
        let mut recorder = Recorder::new(Duration::from_secs(3), at(2_000), &[]);
        recorder.scheduled(at(0));
        recorder.answered(Times { intended: at(0), started: at(0), ended: at(1) }, 503);
        let measured = recorder.finish(Duration::from_secs(1), Duration::ZERO).measurement;
        assert_eq!(
            (measured.accounting.shed, measured.response.count(), measured.shed_response.count()),
            (1, 0, 1)
        );
        assert_eq!(measured.statuses[&503], 1);
    }
}
