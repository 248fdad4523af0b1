//! Requests with times of their own: which of them a block has.

use super::{Arm, Failed, Wanted};
use ::load::{Arrivals, Course, Model, Target, Targets, Work};
use config::experiment::Pace;
use std::time::Duration;
use units::Timestamp;

/// The name of the endpoint of live requests whose own was not seen when the experiment began: the last one.
pub const OTHER: &str = "other";

/// A recording whose parts are the load of blocks.
pub trait Recording {
    /// Prepares the load of a block of this length: the times of its requests from its beginning on, sorted. With the same
    /// number as before it is the same load: arms that take turns get the same requests.
    ///
    /// # Errors
    /// The recording cannot be read, in words.
    fn part(&self, number: u64, length: Duration) -> Result<Vec<Duration>, String>;

    /// The requests of the part that was prepared last, for an arm.
    ///
    /// # Errors
    /// A request cannot be sent, in words.
    fn targets(&self, arm: &Arm) -> Result<Targets, String>;

    /// The requests that are kept for the comparison of answers, by the endpoint of each as in [`Recording::targets`]. More come
    /// with each part, and those that are there keep their places. `None` if the list of an arm has all of them.
    fn kept(&self) -> Option<Vec<usize>> {
        None
    }

    /// The kept requests at these places, for an arm.
    ///
    /// # Errors
    /// A request cannot be sent, in words.
    fn kept_targets(&self, arm: &Arm, places: &[usize]) -> Result<Vec<Target>, String> {
        let _ = (arm, places);
        Ok(Vec::new())
    }

    /// The share (0 to 1) of the requests of the latest part that were lost before they were recorded.
    fn lost(&self) -> f64 {
        0.0
    }

    /// What the reader of the result has to know of what was sent.
    fn note(&self) -> Option<String> {
        None
    }
}

/// The part of a recording that lasts `length` from `start` on, with the places of its requests and their times from `start`
/// on. `times` are sorted and within `span`; after its end the recording begins again.
pub fn part(times: &[Duration], span: Duration, start: Duration, length: Duration) -> Vec<(u32, Duration)> {
    let mut found = Vec::new();
    if times.is_empty() || span.is_zero() {
        return found;
    }
    let mut begins = Duration::ZERO;
    let mut at = times.partition_point(|time| *time < start);
    loop {
        while let Some(time) = times.get(at) {
            let due = (begins + *time).saturating_sub(start);
            if due >= length || found.len() >= REQUESTS_MAX {
                return found;
            }
            found.push((at as u32, due));
            at += 1;
        }
        (at, begins) = (0, begins + span);
    }
}

/// The model and the requests of an arm in a block.
pub(super) fn load(
    wanted: &Wanted<'_>,
    arm: &Arm,
    number: u64,
    length: Duration,
) -> Result<(Model, Work), Failed> {
    let seed = number;
    match wanted.file.pace {
        Pace::Rate(rate) => Ok((Model::open(rate, Arrivals::Poisson { seed }, None), arm.work.clone())),
        Pace::Users(users) => Ok((Model::closed(users), arm.work.clone())),
        Pace::Recorded | Pace::Live => {
            let recording = wanted.recording.expect("a pace of a recording has one");
            let times = recording.part(number, length).map_err(Failed::Recording)?;
            let times: Vec<Timestamp> = times.into_iter().map(|time| Timestamp::ZERO + time).collect();
            let work = Work::Targets(recording.targets(arm).map_err(Failed::Recording)?);
            let course = Course::Recorded(times.into());
            Ok((Model::Open { course, arrivals: Arrivals::Even, connections: None }, work))
        }
    }
}

/// A block has at most this many requests: their times are held in memory.
const REQUESTS_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_begin_again() {
        let times = [0, 1, 1, 4].map(Duration::from_secs);
        let part = |start: u64, length: u64| {
            let found =
                part(&times, Duration::from_secs(5), Duration::from_secs(start), Duration::from_secs(length));
            found.into_iter().map(|(place, due)| (place, due.as_secs())).collect::<Vec<_>>()
        };
        assert_eq!(part(0, 2), [(0, 0), (1, 1), (2, 1)]);
        assert_eq!(part(2, 2), []);
        assert_eq!(part(4, 3), [(3, 0), (0, 1), (1, 2), (2, 2)]);
        // A recording that is shorter than a block is repeated within it.
        assert_eq!(part(3, 12), [(3, 1), (0, 2), (1, 3), (2, 3), (3, 6), (0, 7), (1, 8), (2, 8), (3, 11)]);
        assert_eq!(super::part(&[], Duration::from_secs(1), Duration::ZERO, Duration::from_secs(1)), []);
    }
}
