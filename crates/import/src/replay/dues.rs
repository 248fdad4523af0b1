//! The times of the requests of a replay.
//!
//! ## Why whole users are copied
//! Sending every request twice at the same time makes pairs that real traffic does not have, and hits caches that two
//! clients would not share. So multiplication copies whole users: each copy has its own number and its own shift, from
//! the seed. The shift of copy c of n is in the c-th of n equal parts of the longest shift, so no copy of a user sends
//! a request at the same time as the original or another copy. The longest shift is 5 s, a twelfth of a minute (for a
//! shorter recording, a twelfth of its length): a minute loses as many requests to the next as it gets from the
//! previous one, so minutes keep their rate except for a part of their difference. A factor between whole numbers
//! copies a seeded share of the users, below one it keeps a share; always whole users, rounded to the nearest number.
//!
//! ## Order
//! All requests of a user have the same shift, which is never negative. So each user's own order is kept, and copies
//! wait in a heap for at most 5 s of the recording: the requests are merged on demand and never stored.

use super::recording::{Event, Recording};
use stats::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

/// How a recording is repeated. Cheap to clone: the recording is shared.
#[derive(Debug, Clone)]
pub struct Replay {
    recording: Arc<Recording>,
    speed: f64,
    copies: Arc<[Copied]>,
    users: u32,
    requests: u64,
    shard: u32,
    shards: u32,
}

/// One due request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The intended start, from the start of the replay.
    pub at: Duration,
    /// Index of [`Recording::requests`].
    pub request: u32,
    /// From 0 to the number of [`Replay::users`], without gaps.
    pub user: u32,
}

/// All users once, or some of them.
#[derive(Debug)]
struct Copied {
    /// For each user of the recording its number in the replay, if it is copied, and its shift in nanoseconds.
    users: Vec<Option<(u32, u64)>>,
}

/// Why a recording cannot be replayed with these settings.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// An invalid speed.
    #[error(
        "speed is {found}, expected a number above 0 and at most 1000000; 1 is as recorded, 2 is twice as fast"
    )]
    Speed {
        /// The requested value.
        found: f64,
    },
    /// An invalid factor.
    #[error("the factor of users is {found}, expected a number above 0 and at most 10000; 1 is as recorded")]
    Users {
        /// The requested value.
        found: f64,
    },
    /// No user remains.
    #[error("a share of {factor} of {users} users is none; use a factor of at least {}", 0.5 / f64::from(*users))]
    Nobody {
        /// The requested value.
        factor: f64,
        /// How many there are.
        users: u32,
    },
    /// Copies that do not fit into memory.
    #[error("{factor} times {users} users are more than {MOST_USERS}; use a smaller factor")]
    TooMany {
        /// The requested value.
        factor: f64,
        /// How many there are.
        users: u32,
    },
}

impl Replay {
    /// A replay `speed` times as fast with `users` times the users.
    ///
    /// # Errors
    /// A factor is out of its range, removes all users, or makes more users than fit.
    pub fn new(recording: Arc<Recording>, speed: f64, users: f64, seed: u64) -> Result<Replay, ReplayError> {
        if !(speed > 0.0 && speed <= 1e6) {
            return Err(ReplayError::Speed { found: speed });
        }
        if !(users > 0.0 && users <= 1e4) {
            return Err(ReplayError::Users { found: users });
        }
        let there = recording.users();
        let wanted = (f64::from(there) * users).round();
        if wanted > f64::from(MOST_USERS) {
            return Err(ReplayError::TooMany { factor: users, users: there });
        }
        if wanted == 0.0 {
            return Err(ReplayError::Nobody { factor: users, users: there });
        }
        // Exact: between 1 and `MOST_USERS`.
        let wanted = wanted as u32;
        let longest = (recording.length() / 12).clamp(SHORTEST_SHIFT, LONGEST_SHIFT);
        let copies: Arc<[Copied]> = copies(there, wanted, longest, seed).into();
        let mut of_user = vec![0_u64; there as usize];
        recording.events.iter().for_each(|event| of_user[event.user as usize] += 1);
        let kept = |copy: &Copied| -> u64 {
            copy.users.iter().zip(&of_user).filter(|(user, _)| user.is_some()).map(|(_, count)| count).sum()
        };
        let requests = copies.iter().map(kept).sum();
        Ok(Replay { recording, speed, copies, users: wanted, requests, shard: 0, shards: 1 })
    }

    /// The part of worker `shard` of `shards`: users are not split, and every user belongs to exactly one.
    pub fn shard(mut self, shard: u32, shards: u32) -> Self {
        self.shard = shard;
        self.shards = shards.max(1);
        self
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The number of users, in all shards together.
    pub fn users(&self) -> u32 {
        self.users
    }

    /// The number of requests, in all shards together.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The due requests in order of time. Repeated calls give the same.
    pub fn dues(&self) -> Dues {
        Dues { replay: self.clone(), next: 0, waiting: BinaryHeap::new() }
    }

    /// The copies of an event that are this shard's.
    fn copies_of(&self, event: Event) -> impl Iterator<Item = (u64, u32)> {
        self.copies
            .iter()
            .filter_map(move |copy| copy.of(&event))
            .filter(|(user, _)| user % self.shards == self.shard)
            .map(move |(user, shift)| (event.at.saturating_add(shift), user))
    }

    fn at(&self, nanos: u64) -> Duration {
        // At the original speed there is no rounding.
        let scaled = if self.speed == 1.0 { nanos } else { (nanos as f64 / self.speed).round() as u64 };
        Duration::from_nanos(scaled)
    }
}

impl Copied {
    fn of(&self, event: &Event) -> Option<(u32, u64)> {
        self.users.get(event.user as usize).copied().flatten()
    }
}

/// The users' copies: whole ones, and one of a share where `wanted` is no multiple.
fn copies(there: u32, wanted: u32, longest: Duration, seed: u64) -> Vec<Copied> {
    let mut chosen: Vec<u32> = (0..there).collect();
    let mut rng = Rng::new(seed, "users of a replay");
    // The first of a shuffled list are a fair choice of any size.
    rng.shuffle(&mut chosen);
    let share = (wanted % there) as usize;
    let rounds = wanted.div_ceil(there);
    let part = longest.as_nanos() as u64 / u64::from(rounds);
    let mut rng = Rng::new(seed, "shifts of users");
    let mut next = 0;
    let mut copies = Vec::new();
    for round in 0..rounds {
        let mut takes = vec![round < wanted / there; there as usize];
        if round == wanted / there {
            chosen[..share].iter().for_each(|user| takes[*user as usize] = true);
        }
        let copy = |takes: bool| {
            // The first copy is the original, without shift.
            let shift =
                if round == 0 { 0 } else { u64::from(round) * part + rng.below(part as usize) as u64 };
            let number = next;
            next += u32::from(takes);
            takes.then_some((number, shift))
        };
        copies.push(Copied { users: takes.into_iter().map(copy).collect() });
    }
    copies
}

/// The due requests, merged on demand.
#[derive(Debug, Clone)]
pub struct Dues {
    replay: Replay,
    /// The next event of the recording.
    next: usize,
    /// Copies that are due later than the event they copy: time, event, user.
    waiting: BinaryHeap<Reverse<(u64, usize, u32)>>,
}

impl Iterator for Dues {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        // Requests due at or after the next event cannot be returned before its copies are in the heap.
        while let Some(event) = self.replay.recording.events.get(self.next).copied() {
            if self.waiting.peek().is_some_and(|Reverse((at, _, _))| *at < event.at) {
                break;
            }
            self.waiting
                .extend(self.replay.copies_of(event).map(|(at, user)| Reverse((at, self.next, user))));
            self.next += 1;
        }
        let Reverse((at, event, user)) = self.waiting.pop()?;
        Some(Due { at: self.replay.at(at), request: self.replay.recording.events[event].request, user })
    }
}

/// The longest shift of a copied user, in the time of the recording; shorter for recordings of less than a minute.
const LONGEST_SHIFT: Duration = Duration::from_secs(5);
/// Copies differ by some nanoseconds even in a recording of a single time.
const SHORTEST_SHIFT: Duration = Duration::from_millis(1);
/// Each takes 24 bytes.
const MOST_USERS: u32 = 50_000_000;
