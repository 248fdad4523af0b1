//! Past traffic: distinct requests, users, and the time and user of each request.
//!
//! ## Why everything is sorted
//! Logs are written when responses end, one for each machine, and are joined with `cat`; so requests may be out of
//! order by the length of a file, and no window would be wide enough. A recording is in memory anyway, at 16 bytes a
//! request, so it is sorted as a whole. The sort is stable: requests with the same time stay in the order of the
//! source.
//!
//! ## The time of a request within its second
//! Many logs have whole seconds. Replayed unchanged, all requests of a second would be sent at once. So the n requests
//! of one second get n uniform times in that second, drawn from the seed, in the order of the source: the arrivals of a
//! Poisson process, given their number. From end times, the response time is then subtracted.

use crate::Entry;
use stats::Rng;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// A request, without its time and user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Absolute, or a path.
    pub url: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Empty where there is none.
    pub body: Vec<u8>,
}

/// Recorded traffic, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub(super) events: Vec<Event>,
    pub(super) requests: Vec<Request>,
    pub(super) users: u32,
    start: i64,
    without_time: u64,
}

/// One request of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Nanoseconds after the first request.
    pub(super) at: u64,
    pub(super) request: u32,
    pub(super) user: u32,
}

/// Why entries do not form a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// There are none.
    #[error("found no request to replay")]
    Empty,
    /// None of them has a time.
    #[error(
        "none of the {entries} requests has a time, expected some; send them at a rate instead, or take a log that has times"
    )]
    NoTimes {
        /// How many there are.
        entries: u64,
    },
    /// More than fit.
    #[error("found more than {} requests, users or different requests; replay a part of the log", u32::MAX)]
    TooMany,
    /// The first and the last request are further apart than any log: most likely a time is wrong.
    #[error(
        "found {days} days between the first and the last request, expected at most {MOST_DAYS}; is a time wrong?"
    )]
    TooLong {
        /// Whole days.
        days: u64,
    },
}

impl Recording {
    /// Sorts entries by time. The first request begins at zero.
    ///
    /// Entries with the same `user` belong to one user. An entry without one gets its own user, because the other
    /// requests of its client are unknown. Entries without a time are left out and counted.
    ///
    /// # Errors
    /// See [`RecordingError`].
    pub fn new(entries: impl IntoIterator<Item = Entry>, seed: u64) -> Result<Recording, RecordingError> {
        let mut building = Building::default();
        for entry in entries {
            building.take(entry)?;
        }
        building.finish(seed)
    }

    /// The distinct requests; [`Due::request`](crate::Due::request) is an index into these.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The number of users.
    pub fn users(&self) -> u32 {
        self.users
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Always false: a recording has a request.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// When the first request began, in microseconds since 1970.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// From the first request to the last.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.events.last().map_or(0, |event| event.at))
    }

    /// The number of entries without a time, which were left out.
    pub fn without_time(&self) -> u64 {
        self.without_time
    }
}

#[derive(Default)]
struct Building {
    events: Vec<Timed>,
    requests: HashMap<Request, u32>,
    users: HashMap<String, u32>,
    next_user: u32,
    /// The events of each second that has no finer times.
    seconds: BTreeMap<i64, Vec<usize>>,
    without_time: u64,
}

struct Timed {
    /// Nanoseconds since 1970, which vary the draws of seconds.
    start: i128,
    request: u32,
    user: u32,
}

impl Building {
    fn take(&mut self, entry: Entry) -> Result<(), RecordingError> {
        let Some(at) = entry.at else {
            self.without_time += 1;
            return Ok(());
        };
        if at.whole_second {
            self.seconds.entry(at.micros).or_default().push(self.events.len());
        }
        let start = 1_000 * i128::from(at.start(entry.response_time));
        let Entry { method, url, headers, body, user, .. } = entry;
        let next = u32::try_from(self.requests.len()).map_err(|_| RecordingError::TooMany)?;
        let request = *self.requests.entry(Request { method, url, headers, body }).or_insert(next);
        let fresh = self.next_user;
        let user = user.map_or(fresh, |name| *self.users.entry(name).or_insert(fresh));
        if user == fresh {
            self.next_user = fresh.checked_add(1).ok_or(RecordingError::TooMany)?;
        }
        self.events.push(Timed { start, request, user });
        Ok(())
    }

    fn finish(mut self, seed: u64) -> Result<Recording, RecordingError> {
        if self.events.is_empty() {
            return Err(match self.without_time {
                0 => RecordingError::Empty,
                entries => RecordingError::NoTimes { entries },
            });
        }
        let mut rng = Rng::new(seed, "instants within a second");
        for events in self.seconds.values() {
            let mut offsets: Vec<_> = events.iter().map(|_| rng.below(1_000_000_000)).collect();
            offsets.sort_unstable();
            for (event, offset) in events.iter().zip(offsets) {
                self.events[*event].start += offset as i128;
            }
        }
        self.events.sort_by_key(|event| event.start);
        let first = self.events[0].start;
        let length = self.events.last().map_or(0, |event| event.start - first);
        if length > i128::from(MOST_DAYS) * DAY {
            let days = u64::try_from(length / DAY).unwrap_or(u64::MAX);
            return Err(RecordingError::TooLong { days });
        }
        let event = |event: &Timed| {
            let at = u64::try_from(event.start - first).unwrap_or(u64::MAX);
            Event { at, request: event.request, user: event.user }
        };
        let events = self.events.iter().map(event).collect();
        let mut requests: Vec<_> = self.requests.into_iter().collect();
        requests.sort_unstable_by_key(|(_, index)| *index);
        Ok(Recording {
            events,
            requests: requests.into_iter().map(|(request, _)| request).collect(),
            users: self.next_user,
            start: i64::try_from(first.div_euclid(1_000)).unwrap_or(0),
            without_time: self.without_time,
        })
    }
}

/// Nanoseconds.
const DAY: i128 = 86_400_000_000_000;
/// Ten years; nanoseconds in 64 bits hold 584.
const MOST_DAYS: u32 = 3_653;
