//! How like two recordings of a workload are.
//!
//! ## Why several distances
//! A copy of a workload can be wrong in one way only: a generator at a constant rate has the mix of the log and none of
//! its bursts. So each [`Aspect`] has a distance of its own, and a copy is as good as the worst of them.
//!
//! ## Why the same span of both
//! A replay of the first minute of a day is not unlike the day because it is short. Both recordings begin with their first
//! request, and are compared as far as the shorter one goes.

use super::recording::{Recording, RecordingError};
use crate::{Entry, endpoint};
use stats::{Count, Distance};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// What is compared of a recording.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its requests are the keys of the endpoints.
    recording: Recording,
    /// The names of the endpoints by their keys.
    names: HashMap<String, String>,
    /// When a request began, in nanoseconds after the first, and the bytes of its response.
    sizes: Vec<(u64, u64)>,
    whole_seconds: bool,
    /// Most requests have a user.
    has_users: bool,
}

/// What a workload is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect {
    /// Requests in each second, or in longer parts of time where they are few.
    Rate,
    /// Times between one request and the next.
    Gaps,
    /// The shares of the endpoints.
    Mix,
    /// Requests of a session: of one user, without half an hour between two of them.
    SessionLength,
    /// Bytes of responses.
    AnswerSizes,
}

/// Two workloads beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Likeness {
    /// The time that was compared, from the first request of each.
    pub span: Duration,
    /// Requests in that time.
    pub requests: [usize; 2],
    /// Each aspect, in the order of [`Aspect`].
    pub parts: Vec<(Aspect, Result<Part, Incomparable>)>,
    /// The endpoints with their shares in both, those that differ most first.
    pub mix: Vec<(String, [f64; 2])>,
    /// The length of a part of time by which the rate is compared.
    pub bin: Duration,
}

/// An aspect that was compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// How far apart the workloads are.
    pub distance: Distance,
    /// What is compared, as a figure of each: requests a second of the rate, the number of endpoints of the mix, otherwise the
    /// median.
    pub middle: [f64; 2],
    /// The 99th percentile of gaps (in seconds), lengths and sizes.
    pub p99: Option<[f64; 2]>,
}

/// Why an aspect is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// Chance would hide all but large differences.
    #[error("{} and {} are too few, at least {LEAST} are needed", found[0], found[1])]
    TooFew {
        /// How many there are in each.
        found: [usize; 2],
    },
    /// Within a second, nothing is known of the order.
    #[error("{which} has times in whole seconds")]
    WholeSeconds {
        /// The recording.
        which: Which,
    },
    /// Nobody knows who sent the requests.
    #[error("most requests of {which} have no user")]
    NoUsers {
        /// The recording.
        which: Which,
    },
    /// Sizes were not recorded.
    #[error("{which} has no sizes of responses")]
    NoSizes {
        /// The recording.
        which: Which,
    },
}

/// One of two workloads that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The first.
    Original,
    /// The second.
    Copy,
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Which::Original => "the original",
            Which::Copy => "the copy",
        })
    }
}

/// The user of a request: the value of this header where it has that header, otherwise the one that the source names.
pub fn user_of(entry: &Entry, header: &str) -> Option<String> {
    let found = entry.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(header));
    found.map(|(_, value)| value.clone()).or_else(|| entry.user.clone())
}

impl Workload {
    /// From the requests of a recording. The user of a request is the value of the header `user_header` where it has that
    /// header. The seed is for times within whole seconds.
    ///
    /// # Errors
    /// Those of [`Recording::new`].
    pub fn new(
        entries: impl IntoIterator<Item = Entry>,
        user_header: &str,
        seed: u64,
    ) -> Result<Workload, RecordingError> {
        let (mut sizes, mut whole_seconds, mut all, mut of_users) = (Vec::new(), false, 0_usize, 0_usize);
        let mut names = HashMap::new();
        let entries = entries.into_iter().map(|entry| {
            let name = endpoint(&entry);
            let url = key(&name);
            names.entry(url.clone()).or_insert(name);
            let user = user_of(&entry, user_header);
            if let Some(at) = entry.at {
                all += 1;
                of_users += usize::from(user.is_some());
                whole_seconds |= at.whole_second;
                sizes.extend(entry.bytes.map(|bytes| (at.start(entry.response_time), bytes)));
            }
            let (at, response_time) = (entry.at, entry.response_time);
            Entry { at, url, user, response_time, ..Entry::default() }
        });
        let recording = Recording::new(entries, seed)?;
        let after_first =
            |micros: i64| 1_000 * micros.saturating_sub(recording.start()).max(0).unsigned_abs();
        let sizes = sizes.into_iter().map(|(at, bytes)| (after_first(at), bytes)).collect();
        Ok(Workload { sizes, whole_seconds, has_users: 2 * of_users > all, recording, names })
    }

    /// The number of requests.
    pub fn requests(&self) -> usize {
        self.recording.len()
    }

    /// From the first request to the last.
    pub fn length(&self) -> Duration {
        self.recording.length()
    }

    /// How like a copy of this workload is, in the first `most` of both. With `any_rate`, only the course of the rate is
    /// compared, whatever its level: for a copy of a part of the users.
    pub fn compare(&self, copy: &Workload, most: Option<Duration>, any_rate: bool) -> Likeness {
        let both = [self, copy];
        let span = self.length().min(copy.length()).min(most.unwrap_or(Duration::MAX));
        let until = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let starts = both.map(|one| one.starts(until));
        let requests = [0, 1].map(|of| starts[of].len());
        let bin = bin(span, requests);
        let per_second = requests.map(|count| count as f64 / span.as_secs_f64().max(1e-9));
        let (mut mix, distance) = mix(both.map(|one| one.endpoints(until)));
        for (name, _) in &mut mix {
            if let Some(known) = both.iter().find_map(|one| one.names.get(name)) {
                name.clone_from(known);
            }
        }
        let kinds = [0, 1].map(|of| mix.iter().filter(|(_, shares)| shares[of] > 0.0).count() as f64);
        let parts = vec![
            (
                Aspect::Rate,
                enough(requests).and_then(|()| {
                    let counts = both.map(|one| one.counts(until, bin, span));
                    let distance = match any_rate {
                        true => Distance::of_shares(&counts[0], &counts[1]),
                        false => Distance::of_series(&counts[0], &counts[1]),
                    };
                    of(distance, requests, per_second, None)
                }),
            ),
            (Aspect::Gaps, self.gaps(copy, &starts, any_rate)),
            (Aspect::Mix, enough(requests).and_then(|()| of(distance, requests, kinds, None))),
            (
                Aspect::SessionLength,
                match both.map(|one| one.has_users) {
                    [true, true] => samples(both.map(|one| one.session_lengths(until))),
                    [false, _] => Err(Incomparable::NoUsers { which: Which::Original }),
                    [true, false] => Err(Incomparable::NoUsers { which: Which::Copy }),
                },
            ),
            (
                Aspect::AnswerSizes,
                match both.map(|one| one.sizes.is_empty()) {
                    [false, false] => samples(both.map(|one| one.sizes_until(until))),
                    [true, _] => Err(Incomparable::NoSizes { which: Which::Original }),
                    [false, true] => Err(Incomparable::NoSizes { which: Which::Copy }),
                },
            ),
        ];
        Likeness { span, requests, parts, mix, bin }
    }

    /// When requests began, in nanoseconds.
    fn starts(&self, until: u64) -> Vec<u64> {
        self.recording.events.iter().map(|event| event.at).take_while(|at| *at <= until).collect()
    }

    /// Requests in each part of time; those of a user come together.
    fn counts(&self, until: u64, bin: Duration, span: Duration) -> Vec<Count> {
        let length = bin.as_nanos().max(1);
        // The request at the very end is of the last part.
        let last = (span.as_nanos().saturating_sub(1) / length) as usize;
        let mut counts = vec![Count::default(); last + 1];
        // The part of time of a user's last request, and how many it has there.
        let mut clusters: HashMap<u32, (usize, u64)> = HashMap::new();
        for event in self.recording.events.iter().take_while(|event| event.at <= until) {
            let place = ((u128::from(event.at) / length) as usize).min(last);
            let cluster = clusters.entry(event.user).or_default();
            if cluster.0 != place {
                *cluster = (place, 0);
            }
            cluster.1 += 1;
            counts[place].all += 1;
            // From the square of one less.
            counts[place].squares += 2 * cluster.1 - 1;
        }
        counts
    }

    fn endpoints(&self, until: u64) -> BTreeMap<&str, u64> {
        let mut counts = vec![0; self.recording.requests.len()];
        let events = self.recording.events.iter().take_while(|event| event.at <= until);
        events.for_each(|event| counts[event.request as usize] += 1);
        self.recording
            .requests
            .iter()
            .zip(counts)
            .map(|(request, count)| (request.url.as_str(), count))
            .collect()
    }

    fn session_lengths(&self, until: u64) -> Vec<f64> {
        let mut open: HashMap<u32, (u64, u32)> = HashMap::new();
        let mut ended = Vec::new();
        for event in self.recording.events.iter().take_while(|event| event.at <= until) {
            let (last, length) = open.entry(event.user).or_insert((event.at, 0));
            if event.at - *last > SESSION_PAUSE {
                ended.push(f64::from(std::mem::take(length)));
            }
            (*last, *length) = (event.at, *length + 1);
        }
        ended.extend(open.into_values().map(|(_, length)| f64::from(length)));
        ended
    }

    fn sizes_until(&self, until: u64) -> Vec<f64> {
        self.sizes.iter().filter(|(at, _)| *at <= until).map(|(_, bytes)| *bytes as f64).collect()
    }

    fn gaps(&self, copy: &Workload, starts: &[Vec<u64>; 2], any_rate: bool) -> Result<Part, Incomparable> {
        for (one, which) in [(self, Which::Original), (copy, Which::Copy)] {
            if one.whole_seconds {
                return Err(Incomparable::WholeSeconds { which });
            }
        }
        let gaps = |starts: &Vec<u64>| -> Vec<f64> {
            starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect()
        };
        let mut gaps = [gaps(&starts[0]), gaps(&starts[1])];
        let part = samples(gaps.clone())?;
        if !any_rate {
            return Ok(part);
        }
        for gaps in &mut gaps {
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            gaps.iter_mut().for_each(|gap| *gap /= mean.max(1e-9));
        }
        samples(gaps).map(|relative| Part { distance: relative.distance, ..part })
    }
}

/// The shortest part of time with enough requests on average; otherwise the longest that fits several times.
fn bin(span: Duration, requests: [usize; 2]) -> Duration {
    let mean_per_second = (requests[0] + requests[1]) as f64 / 2.0 / span.as_secs_f64().max(1e-9);
    let enough = BINS.into_iter().find(|seconds| mean_per_second * *seconds as f64 >= PER_BIN);
    let fits = |seconds: &u64| Duration::from_secs(*seconds) * LEAST_BINS <= span;
    let longest = BINS.into_iter().rev().find(fits).unwrap_or(BINS[0]);
    Duration::from_secs(enough.unwrap_or(longest).min(longest))
}

/// The name of an endpoint as a case file has it: `GET /products/:id` is `GET-products-id` there.
fn key(name: &str) -> String {
    let words = name.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

type Shares = Vec<(String, [f64; 2])>;

/// The shares of all endpoints by their keys, those that differ most first, and the distance.
fn mix(counts: [BTreeMap<&str, u64>; 2]) -> (Shares, Option<Distance>) {
    let mut all: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (of, counts) in counts.iter().enumerate() {
        counts.iter().for_each(|(name, count)| all.entry(name).or_default()[of] = *count);
    }
    let both = [0, 1].map(|of| all.values().map(|counts| counts[of]).collect::<Vec<u64>>());
    let sums = [0, 1].map(|of| both[of].iter().sum::<u64>().max(1) as f64);
    let shares = |counts: [u64; 2]| [0, 1].map(|of| counts[of] as f64 / sums[of]);
    let mut mix: Shares = all.iter().map(|(name, counts)| ((*name).to_owned(), shares(*counts))).collect();
    let apart = |shares: &[f64; 2]| (shares[0] - shares[1]).abs();
    mix.sort_by(|one, other| apart(&other.1).total_cmp(&apart(&one.1)));
    let [one, other] = both.map(|counts| counts.into_iter().map(Count::independent).collect::<Vec<_>>());
    (mix, Distance::of_shares(&one, &other))
}

fn samples(mut both: [Vec<f64>; 2]) -> Result<Part, Incomparable> {
    let found = [both[0].len(), both[1].len()];
    enough(found)?;
    both.iter_mut().for_each(|sample| sample.sort_by(f64::total_cmp));
    // The least value that at least this share of the values does not exceed.
    let at = |share: f64| {
        [0, 1].map(|of| both[of][((share * found[of] as f64).ceil() as usize).clamp(1, found[of]) - 1])
    };
    of(Distance::of_samples(&both[0], &both[1]), found, at(0.5), Some(at(0.99)))
}

fn enough(found: [usize; 2]) -> Result<(), Incomparable> {
    if found.iter().all(|count| *count >= LEAST) { Ok(()) } else { Err(Incomparable::TooFew { found }) }
}

fn of(
    distance: Option<Distance>,
    found: [usize; 2],
    middle: [f64; 2],
    p99: Option<[f64; 2]>,
) -> Result<Part, Incomparable> {
    distance.map(|distance| Part { distance, middle, p99 }).ok_or(Incomparable::TooFew { found })
}

impl Aspect {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Aspect::Rate => "rate",
            Aspect::Gaps => "gaps",
            Aspect::Mix => "mix",
            Aspect::SessionLength => "session_length",
            Aspect::AnswerSizes => "answer_sizes",
        }
    }
}

impl Part {
    /// From 0 (nothing in common) to 1 (no further apart than two recordings of the same workload).
    pub fn fidelity(&self) -> f64 {
        1.0 - self.distance.excess()
    }

    /// The 95 % confidence interval of the fidelity.
    pub fn interval(&self) -> (f64, f64) {
        let (least, most) = self.distance.bounds();
        (1.0 - most, 1.0 - least)
    }
}

impl Likeness {
    /// The aspect that is least alike; `None` if none was compared.
    pub fn worst(&self) -> Option<(Aspect, Part)> {
        let compared = self.parts.iter().filter_map(|(aspect, part)| part.ok().map(|part| (*aspect, part)));
        compared.min_by(|one, other| one.1.fidelity().total_cmp(&other.1.fidelity()))
    }
}

/// A session ends after this time without a request, in nanoseconds: the half hour of web analytics.
const SESSION_PAUSE: u64 = 30 * 60 * 1_000_000_000;
/// The least observations of each recording.
const LEAST: usize = 30;
/// Requests in a part of time from which chance is small beside a rate.
const PER_BIN: f64 = 20.0;
/// The least parts of time in a span.
const LEAST_BINS: u32 = 5;
/// Lengths of parts of time, in seconds.
const BINS: [u64; 9] = [1, 2, 5, 10, 30, 60, 300, 600, 3_600];

#[cfg(test)]
mod tests;
