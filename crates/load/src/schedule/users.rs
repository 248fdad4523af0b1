//! How many users the closed model has over time.
//!
//! ## Why each user knows its own times
//! User k runs while there are more than k users. So its start and stop times follow from the profile alone, and
//! workers and machines divide the users by their numbers without communication: together they have exactly the users
//! of the profile at every instant.
//!
//! ## Why a fraction of a user counts as one
//! Between two whole numbers a ramp has the higher one: a ramp up from zero begins with a user and not with a pause,
//! and one down to zero keeps its last user to the end.

use super::ProfileError;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// A part of a profile in which the number of users changes linearly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStage {
    /// How long it lasts, above zero.
    pub length: Duration,
    /// The users at its beginning.
    pub from: u32,
    /// The users at its end.
    pub to: u32,
    /// Its name in results.
    pub name: Arc<str>,
}

/// The span in which a user runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserSpan {
    /// Its first instant.
    pub start: Timestamp,
    /// The first instant at which it no longer runs.
    pub stop: Timestamp,
}

/// The course of the number of users over time: stages one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProfile {
    stages: Vec<UserStage>,
    /// When each stage begins; one more entry than stages, for the end.
    starts: Vec<Timestamp>,
}

impl UserProfile {
    /// Stages one after another.
    ///
    /// # Errors
    /// There is none, one has no length, or all of them together are longer than 584 years.
    pub fn new(stages: Vec<UserStage>) -> Result<Self, ProfileError> {
        if stages.is_empty() {
            return Err(ProfileError::Empty);
        }
        let mut starts = vec![Timestamp::ZERO];
        let mut length = Duration::ZERO;
        for (index, stage) in stages.iter().enumerate() {
            if stage.length.is_zero() {
                return Err(ProfileError::NoLength { stage: index + 1, name: Arc::clone(&stage.name) });
            }
            length = length.checked_add(stage.length).ok_or(ProfileError::TooLong)?;
            starts.push(Timestamp::from_nanos(
                u64::try_from(length.as_nanos()).map_err(|_| ProfileError::TooLong)?,
            ));
        }
        Ok(UserProfile { stages, starts })
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[UserStage] {
        &self.stages
    }

    /// When the last stage ends.
    pub fn end(&self) -> Timestamp {
        *self.starts.last().expect("a profile has an entry for its beginning")
    }

    /// How long all stages last together.
    pub fn length(&self) -> Duration {
        self.end().since(Timestamp::ZERO)
    }

    /// The most users at a time, which is one more than the highest number of a user.
    pub fn users_max(&self) -> u32 {
        self.stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(0)
    }

    /// The stage at an instant, counted from 0; `None` from the end on.
    pub fn stage_at(&self, at: Timestamp) -> Option<usize> {
        let index = self.starts.partition_point(|&start| start <= at) - 1;
        (index < self.stages.len()).then_some(index)
    }

    /// How many users run at an instant; none from the end on.
    pub fn users_at(&self, at: Timestamp) -> u32 {
        let Some(index) = self.stage_at(at) else { return 0 };
        let stage = &self.stages[index];
        let (from, to, length) = (i128::from(stage.from), i128::from(stage.to), stage.nanos());
        let passed = i128::from((at - self.starts[index].since(Timestamp::ZERO)).as_nanos());
        // Rounded up, in whole numbers, so that it agrees with the users' own times to the nanosecond.
        let scaled = from * length + (to - from) * passed;
        u32::try_from((scaled + length - 1) / length).expect("a stage stays between its two ends")
    }

    /// The spans in which user `user` (counted from 0) runs, in order: while there are more users than its number.
    pub fn spans_of(&self, user: u32) -> impl Iterator<Item = UserSpan> + '_ {
        let mut turns = self.turns_of(user).peekable();
        std::iter::from_fn(move || {
            let start = turns.next()?;
            let stop = turns.next().unwrap_or_else(|| self.end());
            Some(UserSpan { start, stop })
        })
    }

    /// When a user starts; see [`UserProfile::spans_of`].
    pub fn starts_of(&self, user: u32) -> impl Iterator<Item = Timestamp> + '_ {
        self.spans_of(user).map(|span| span.start)
    }

    /// When a user stops; see [`UserProfile::spans_of`].
    pub fn stops_of(&self, user: u32) -> impl Iterator<Item = Timestamp> + '_ {
        self.spans_of(user).map(|span| span.stop)
    }

    /// The numbers of the users of worker `shard` of `shards`, counted from 0: every user belongs to exactly one. A
    /// shard that does not exist has none.
    pub fn users_of_shard(&self, shard: u32, shards: u32) -> impl Iterator<Item = u32> + use<> {
        let end = if shard < shards { self.users_max() } else { 0 };
        (shard..end).step_by(shards.max(1) as usize)
    }

    /// The instants at which a user starts and stops, alternating.
    fn turns_of(&self, user: u32) -> impl Iterator<Item = Timestamp> + '_ {
        let mut running = false;
        let stages = self.stages.iter().zip(&self.starts);
        stages.flat_map(move |(stage, &start)| {
            // At most two changes per stage: a jump at its beginning, and one within it.
            let jump = (stage.from > user) != running;
            running ^= jump;
            let turn = stage.turn_of(user);
            running ^= turn.is_some();
            [jump.then_some(start), turn.map(|after| start + after)].into_iter().flatten()
        })
    }
}

impl UserStage {
    /// When the user starts or stops between the first instant of the stage and its last one.
    fn turn_of(&self, user: u32) -> Option<Duration> {
        let (from, to, at) = (i128::from(self.from), i128::from(self.to), i128::from(user));
        let length = self.nanos();
        let after = if self.from <= user && user < self.to {
            // The first nanosecond at which the level is above the user's number.
            (at - from) * length / (to - from) + 1
        } else if self.to <= user && user < self.from {
            // The first one at which it no longer is.
            ((from - at) * length + (from - to) - 1) / (from - to)
        } else {
            return None;
        };
        (after < length).then(|| Duration::from_nanos(after as u64))
    }

    fn nanos(&self) -> i128 {
        i128::try_from(self.length.as_nanos()).expect("the profile was checked to be shorter than 584 years")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile(stages: &[(u64, u32, u32)]) -> UserProfile {
        let stage = |&(nanos, from, to): &(u64, u32, u32)| UserStage {
            length: Duration::from_nanos(nanos),
            from,
            to,
            name: "".into(),
        };
        UserProfile::new(stages.iter().map(stage).collect()).unwrap()
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn users_come_one_after_another_and_leave_in_turn() {
        let profile = profile(&[(10 * SECOND, 0, 5), (10 * SECOND, 5, 5), (10 * SECOND, 5, 0)]);
        let spans = |user| profile.spans_of(user).collect::<Vec<_>>();
        let at = |nanos| Timestamp::from_nanos(nanos);
        assert_eq!(spans(0), [UserSpan { start: at(1), stop: at(30 * SECOND) }]);
        assert_eq!(spans(4), [UserSpan { start: at(8 * SECOND + 1), stop: at(22 * SECOND) }]);
        assert_eq!(spans(5), []);
        assert_eq!(profile.users_at(Timestamp::from_secs(5)), 3);
        assert_eq!(profile.users_at(Timestamp::from_secs(15)), 5);
        assert_eq!(profile.users_at(Timestamp::from_secs(30)), 0);
        assert_eq!(profile.users_max(), 5);
    }

    #[test]
    fn a_user_that_comes_back_has_two_spans() {
        let profile = profile(&[(SECOND, 2, 2), (SECOND, 0, 0), (SECOND, 2, 2)]);
        let starts: Vec<_> = profile.starts_of(1).collect();
        let stops: Vec<_> = profile.stops_of(1).collect();
        assert_eq!(starts, [0, 2].map(Timestamp::from_secs));
        assert_eq!(stops, [1, 3].map(Timestamp::from_secs));
    }

    proptest! {
        #[test]
        fn users_who_run_are_the_users_of_the_profile(
            stages in prop::collection::vec((1_u64..40, 0_u32..12, 0_u32..12), 1..6),
        ) {
            let profile = profile(&stages);
            let spans: Vec<_> = (0..12).flat_map(|user| profile.spans_of(user).collect::<Vec<_>>()).collect();
            prop_assert!(spans.iter().all(|span| span.start < span.stop));
            for nanos in 0..=profile.end().as_nanos() {
                let at = Timestamp::from_nanos(nanos);
                let running = spans.iter().filter(|span| span.start <= at && at < span.stop).count();
                prop_assert_eq!(running as u32, profile.users_at(at), "at {} ns", nanos);
            }
        }

        #[test]
        fn shards_have_all_users_between_them(users in 0_u32..40, shards in 1_u32..9) {
            let profile = profile(&[(SECOND, users, 0)]);
            let mut all: Vec<_> = (0..shards).flat_map(|shard| profile.users_of_shard(shard, shards)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..users).collect::<Vec<_>>());
            prop_assert_eq!(profile.users_of_shard(shards, shards).count(), 0);
        }
    }
}
