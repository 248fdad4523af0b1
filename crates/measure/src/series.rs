//! The results of a run by second.
//!
//! Each arrival counts in the second of its *intended* start, even if its response came seconds later: otherwise an
//! overload looks like a service that responds to old requests at full speed.

use crate::{Accounting, Histogram, Outcome, SparseHistogram};
use std::time::Duration;

/// The outcomes of the arrivals of one second.
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// The fates of the arrivals that were due in this second.
    pub accounting: Accounting,
    /// Responses with 2xx within the time limit for good responses.
    pub good: u64,
    /// Response times of the good ones.
    pub good_response: SparseHistogram,
    /// Response times of all responses, with time-outs as censored values.
    pub response: SparseHistogram,
    /// Times by endpoint and outcome; [`Second::response`] is the sum of those that are responses.
    pub cells: Vec<Cell>,
}

/// The times of one endpoint's arrivals with one outcome, of one second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The endpoint's index in [`crate::Measurement::endpoints`].
    pub endpoint: u32,
    /// Their outcome.
    pub outcome: Outcome,
    /// From intended start.
    pub times: SparseHistogram,
}

impl Second {
    fn add_cell(&mut self, theirs: &Cell) {
        let ours = self
            .cells
            .iter_mut()
            .find(|cell| (cell.endpoint, cell.outcome) == (theirs.endpoint, theirs.outcome));
        match ours {
            Some(cell) => cell.times = cell.times.plus(&theirs.times),
            None => self.cells.push(theirs.clone()),
        }
    }
}

/// The seconds of a run; index 0 is the first second of the run.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// One entry for each second.
    pub seconds: Vec<Second>,
}

impl Series {
    /// Adds the seconds of another part of the same run (another worker).
    pub fn add(&mut self, other: &Series) {
        for (index, theirs) in other.seconds.iter().enumerate() {
            if self.seconds.len() <= index {
                self.seconds.push(theirs.clone());
                continue;
            }
            let ours = &mut self.seconds[index];
            ours.accounting += theirs.accounting;
            ours.good += theirs.good;
            ours.good_response = ours.good_response.plus(&theirs.good_response);
            ours.response = ours.response.plus(&theirs.response);
            theirs.cells.iter().for_each(|cell| ours.add_cell(cell));
        }
    }

    /// Appends the seconds of a later part of the same run, shifted by `start`.
    pub fn append(&mut self, start: Duration, other: &Series) {
        let offset = usize::try_from(start.as_secs()).unwrap_or(usize::MAX);
        let mut shifted = Series { seconds: vec![Second::default(); offset] };
        shifted.seconds.extend(other.seconds.iter().cloned());
        self.add(&shifted);
    }

    /// All arrivals of the seconds from `from` (inclusive) to `to` (exclusive), as one, without cells.
    pub fn between(&self, from: usize, to: usize) -> Second {
        let mut whole = Second::default();
        let (mut good, mut response) = (Histogram::new(), Histogram::new());
        for second in self.seconds.iter().take(to).skip(from) {
            whole.accounting += second.accounting;
            whole.good += second.good;
            good.add_sparse(&second.good_response);
            response.add_sparse(&second.response);
        }
        whole.good_response = good.sparse();
        whole.response = response.sparse();
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(scheduled: u64, good_ms: &[u64]) -> Second {
        let mut histogram = Histogram::new();
        good_ms.iter().for_each(|&ms| histogram.record(Duration::from_millis(ms)));
        Second {
            accounting: Accounting { scheduled, answered: scheduled, ..Accounting::default() },
            good: good_ms.len() as u64,
            good_response: histogram.sparse(),
            response: histogram.sparse(),
            cells: vec![Cell { endpoint: 0, outcome: Outcome::Success, times: histogram.sparse() }],
        }
    }

    #[test]
    fn workers_add_up_second_by_second() {
        let mut series = Series { seconds: vec![second(2, &[10, 20])] };
        series.add(&Series { seconds: vec![second(1, &[30]), second(3, &[40])] });
        assert_eq!(series.seconds.len(), 2);
        assert_eq!(series.seconds[0].accounting.scheduled, 3);
        assert_eq!(series.seconds[0].cells.len(), 1);
        assert_eq!(series.seconds[0].cells[0].times, series.seconds[0].response);
        assert_eq!(series.between(0, 2).good, 4);
        assert_eq!(series.between(1, 2).good_response.count(), 1);
    }

    #[test]
    fn a_later_phase_is_shifted() {
        let mut series = Series { seconds: vec![second(2, &[10])] };
        series.append(Duration::from_secs(3), &Series { seconds: vec![second(5, &[])] });
        assert_eq!(series.seconds.len(), 4);
        assert_eq!(series.seconds[3].accounting.scheduled, 5);
    }
}
