//! When each request of a recording is due again.
//!
//! ## More users, not the same ones twice
//! Sending every request twice at the same instant makes pairs that no traffic has, and hits caches that two clients
//! would not share. So multiplication copies whole users: each copy has a number of its own and is shifted by a
//! span of its own, from the seed. The span of copy c of n lies in the c-th of n equal parts of the longest shift,
//! so no copy of a user ever sends at the instant at which the original or another copy sends the same request. The
//! longest shift is 5 s, a twelfth of a minute (of a shorter recording, a twelfth of that): what a minute gives to
//! the next, it receives from the one before, so minutes keep their rate but for a part of what they differ by.
//! A factor between whole numbers copies a seeded share of the users, below one it keeps a share; always whole
//! users, as many as the factor says, to the nearest.
//!
//! ## Order
//! A shift is one for all requests of a user and is never negative. So each user's own order is kept, and
//! copies wait in a heap for at most 5 s of the recording: the dues are merged as they are asked for
//! and never stored.

use super::recording::{Event, Recording};
use stats::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

/// How a recording is to happen again. Cheap to clone: the recording is shared.
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

/// One request that is due.
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

/// Why a recording cannot be replayed like that.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// The speed makes no sense.
    #[error(
        "speed is {found}, expected a number above 0 and at most 1000000; 1 is as recorded, 2 is twice as fast"
    )]
    Speed {
        /// What was asked for.
        found: f64,
    },
    /// The factor makes no sense.
    #[error("the factor of users is {found}, expected a number above 0 and at most 10000; 1 is as recorded")]
    Users {
        /// What was asked for.
        found: f64,
    },
    /// No user is left.
    #[error("a share of {factor} of {users} users is none; use a factor of at least {}", 0.5 / f64::from(*users))]
    Nobody {
        /// What was asked for.
        factor: f64,
        /// How many there are.
        users: u32,
    },
    /// Copies that do not fit into memory.
    #[error("{factor} times {users} users are more than {MOST_USERS}; use a smaller factor")]
    TooMany {
        /// What was asked for.
        factor: f64,
        /// How many there are.
        users: u32,
    },
}

impl Replay {
    /// A replay `speed` times as fast with `users` times the users.
    ///
    /// # Errors
    /// Where a factor is out of its range, removes all users, or makes more users than fit.
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

    /// The part of worker `shard` of `shards`: users stay whole, and every user belongs to exactly one.
    pub fn shard(mut self, shard: u32, shards: u32) -> Self {
        self.shard = shard;
        self.shards = shards.max(1);
        self
    }

    /// What is replayed.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// How many users there are, in all shards together.
    pub fn users(&self) -> u32 {
        self.users
    }

    /// How many requests are due, in all shards together.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// What is due, in order of time. Asked for again, it is the same again.
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
        // At the speed of the recording no digit is lost.
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
    // Fisher and Yates: the first of a shuffled list are a fair choice of any size.
    for left in (1..chosen.len()).rev() {
        chosen.swap(left, rng.below(left + 1));
    }
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
            // The first of all is the original, where it was.
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

/// What is due, merged as it is asked for.
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
        // What is due at or after the next event cannot be handed out before its copies wait too.
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

/// How far a copy of a user may be shifted, in the time of the recording; less in one of less than a minute.
const LONGEST_SHIFT: Duration = Duration::from_secs(5);
/// Even in a recording of one instant copies differ by some nanoseconds.
const SHORTEST_SHIFT: Duration = Duration::from_millis(1);
/// Each takes 24 bytes.
const MOST_USERS: u32 = 50_000_000;
