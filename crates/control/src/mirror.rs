//! Mirror: is this request copied to a shadow pool?
//!
//! ## Why a hash and not a random draw
//! A shadow pool needs whole sessions, and two shadow pools can be compared only if they get the same requests. So the
//! choice depends only on the session's key: it is the same for every request of the session, on every core and for
//! every pool with the same salt. A session is chosen if its hash is below the fraction, so the sessions chosen at 10 %
//! are a subset of those at 20 %, and a fraction can be raised at run time.
//!
//! ## The order
//! Requests that are not chosen are the most frequent and the cheapest to detect. The absolute limit comes last,
//! because it consumes a turn. A copy never waits: copies above the limit are dropped. Their session is then no longer
//! complete, which the counter shows.
//!
//! ## The breaker
//! Copies take time of the gateway that live requests need, so they stop while its event loops lag. The breaker *trips*
//! at once and *admits* again only after the lag has been low for a while; between the two bounds it keeps its state,
//! otherwise it would react to its own effect on the lag.

use crate::error::Span;
use crate::rate::{Limit, RateClass, RateSettings};
use crate::{ClassId, SettingsError, Word};
use core::fmt;
use core::time::Duration;
use units::{Ratio, Timestamp, show_duration};

/// Which requests are copied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MirrorSettings {
    /// The share of the sessions.
    pub fraction: Ratio,
    /// Copies over time, regardless of the fraction; none for no limit.
    pub limit: Option<Limit>,
    /// Which methods.
    pub methods: Methods,
    /// When the gateway itself is too busy.
    pub breaker: BreakerSettings,
    /// Another salt chooses other sessions. Pools that are to be compared need the same salt.
    pub salt: u64,
}

/// Which methods may be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Methods {
    /// Safe methods: GET, HEAD, OPTIONS, TRACE (RFC 9110, 9.2.1).
    #[default]
    Safe,
    /// All methods: the shadow pool can handle writes.
    All,
}

/// Whether a request's method is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// It is safe.
    Safe,
    /// It is not.
    Unsafe,
}

/// How late an event loop may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// The breaker trips at this lag; above `admit_below`.
    pub trip_at: Duration,
    /// The breaker admits again once the lag has stayed below this.
    pub admit_below: Duration,
    /// How long the lag has to stay below `admit_below`.
    pub admit_after: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        let (trip_at, admit_below) = (Duration::from_millis(5), Duration::from_millis(1));
        BreakerSettings { trip_at, admit_below, admit_after: Duration::from_secs(5) }
    }
}

/// Why a request is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMirrored {
    /// Its session is not within the fraction.
    NotChosen,
    /// Its method is not safe.
    UnsafeMethod,
    /// The gateway itself is too busy.
    Tripped {
        /// The lag at which the breaker trips.
        trip_at: Duration,
    },
    /// The absolute limit is exhausted.
    OverLimit {
        /// The time until the next copy.
        wait: Duration,
    },
}

impl NotMirrored {
    /// The name of [`NotMirrored::NotChosen`].
    pub const NOT_CHOSEN: &str = "not_chosen";
    /// The name of [`NotMirrored::UnsafeMethod`].
    pub const UNSAFE_METHOD: &str = "unsafe_method";
    /// The name of [`NotMirrored::Tripped`].
    pub const TRIPPED: &str = "tripped";
    /// The name of [`NotMirrored::OverLimit`].
    pub const OVER_LIMIT: &str = "over_limit";

    /// The name in metrics and logs. It is stable.
    pub const fn name(&self) -> &'static str {
        match self {
            NotMirrored::NotChosen => Self::NOT_CHOSEN,
            NotMirrored::UnsafeMethod => Self::UNSAFE_METHOD,
            NotMirrored::Tripped { .. } => Self::TRIPPED,
            NotMirrored::OverLimit { .. } => Self::OVER_LIMIT,
        }
    }
}

impl fmt::Display for NotMirrored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NotMirrored::NotChosen => f.write_str("the session is not among those that are copied"),
            NotMirrored::UnsafeMethod => f.write_str("the method may change something"),
            NotMirrored::Tripped { trip_at } => {
                write!(f, "the gateway itself is late by {} or more", show_duration(trip_at))
            }
            NotMirrored::OverLimit { wait } => write!(f, "copies are used up for {}", show_duration(wait)),
        }
    }
}

/// A change of the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    /// No copies from now on.
    Tripped {
        /// The lag that was found.
        lag: Duration,
    },
    /// Copies again.
    Admitting,
}

/// The decision for one shadow pool, shared by all cores.
///
/// ```
/// use control::mirror::{Methods, MirrorChoice, MirrorSettings, NotMirrored, Safety};
/// use std::cell::Cell;
/// use units::{Ratio, Timestamp};
///
/// let settings = MirrorSettings {
///     fraction: Ratio::ONE,
///     limit: None,
///     methods: Methods::Safe,
///     breaker: Default::default(),
///     salt: 0,
/// };
/// let choice = MirrorChoice::<Cell<u64>>::new(settings)?;
/// let now = Timestamp::ZERO;
/// assert_eq!(choice.decide(now, b"session 7", Safety::Safe), Ok(()));
/// assert_eq!(choice.decide(now, b"session 7", Safety::Unsafe), Err(NotMirrored::UnsafeMethod));
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug)]
pub struct MirrorChoice<W> {
    /// The highest hash that is chosen; with `None` no session is.
    highest: Option<u64>,
    limit: Option<RateClass<W>>,
    /// 0 while the breaker admits; otherwise the last time, in ns, at which the lag was not low, plus one.
    tripped: W,
    settings: MirrorSettings,
}

impl<W: Word> MirrorChoice<W> {
    /// A decision whose breaker admits.
    ///
    /// # Errors
    /// A limit that admits nothing, or a breaker whose admit bound is not below its trip bound.
    pub fn new(settings: MirrorSettings) -> Result<Self, SettingsError> {
        let BreakerSettings { trip_at, admit_below, .. } = settings.breaker;
        if admit_below >= trip_at {
            let (admit_below, trip_at) = (Span(admit_below), Span(trip_at));
            return Err(SettingsError::AdmitsAboveTrip { admit_below, trip_at });
        }
        let class = |limit| {
            let (backlog, longest_wait) = (0, Duration::ZERO);
            let settings = RateSettings { per_second: Some(limit), per_minute: None, backlog, longest_wait };
            RateClass::new(ClassId::default(), settings)
        };
        // 2^64 times the fraction, minus one; the conversion saturates a fraction of 1 at the maximum.
        let share = settings.fraction.get() * TWO_TO_64;
        let highest = if share >= TWO_TO_64 { Some(u64::MAX) } else { (share as u64).checked_sub(1) };
        let limit = settings.limit.map(class).transpose()?;
        Ok(MirrorChoice { highest, limit, tripped: W::new(0), settings })
    }

    /// Decides about a live request. The configuration defines the session's key (a cookie, a header, the client's
    /// address).
    ///
    /// # Errors
    /// Why it is not copied.
    #[inline]
    pub fn decide(&self, now: Timestamp, session: &[u8], method: Safety) -> Result<(), NotMirrored> {
        if self.highest.is_none_or(|highest| hash(self.settings.salt, session) > highest) {
            return Err(NotMirrored::NotChosen);
        }
        if method == Safety::Unsafe && self.settings.methods == Methods::Safe {
            return Err(NotMirrored::UnsafeMethod);
        }
        if self.tripped.load() != 0 {
            return Err(NotMirrored::Tripped { trip_at: self.settings.breaker.trip_at });
        }
        let Some(limit) = &self.limit else { return Ok(()) };
        limit.claim_no_queue(now).map_err(|reason| NotMirrored::OverLimit { wait: reason.wait() })
    }

    /// Reports the lag of an event loop to the breaker. Every core may report, at each iteration or a few times a
    /// second.
    pub fn lagged(&self, now: Timestamp, lag: Duration) -> Option<BreakerChange> {
        let BreakerSettings { trip_at, admit_below, admit_after } = self.settings.breaker;
        let stamp = now.as_nanos().saturating_add(1);
        let next = |since: u64| match since {
            0 => (lag >= trip_at).then_some(stamp),
            _ if lag >= admit_below => Some(stamp.max(since)),
            _ => (now.since(Timestamp::from_nanos(since - 1)) >= admit_after).then_some(0),
        };
        // Of the cores that report the same, the one that changes the word returns the change.
        let before = self.tripped.update(next).ok()?;
        match (before, next(before)?) {
            (0, _) => Some(BreakerChange::Tripped { lag }),
            (_, 0) => Some(BreakerChange::Admitting),
            _ => None,
        }
    }

    /// Whether the breaker has stopped all copies.
    pub fn is_tripped(&self) -> bool {
        self.tripped.load() != 0
    }

    /// Which requests are copied.
    pub fn settings(&self) -> &MirrorSettings {
        &self.settings
    }
}

/// FNV-1a over the salt and the key, and the finaliser of SplitMix64, because the high bits of FNV alone hardly change
/// with the last bytes of a key. It is not secret: a client can choose to be copied.
fn hash(salt: u64, key: &[u8]) -> u64 {
    let salt = salt.to_le_bytes();
    let mut hash = salt.iter().chain(key).fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use core::sync::atomic::AtomicU64;
    use proptest::prelude::*;
    use std::format;
    use std::string::ToString;
    use std::vec::Vec;
    use units::Rate;

    fn settings(fraction: f64) -> MirrorSettings {
        let fraction = Ratio::new(fraction).unwrap();
        let breaker = BreakerSettings::default();
        MirrorSettings { fraction, limit: None, methods: Methods::Safe, breaker, salt: 0 }
    }

    fn choice(settings: MirrorSettings) -> MirrorChoice<Cell<u64>> {
        MirrorChoice::new(settings).unwrap()
    }

    fn chosen(choice: &MirrorChoice<Cell<u64>>, session: &[u8]) -> bool {
        choice.decide(Timestamp::ZERO, session, Safety::Safe).is_ok()
    }

    #[test]
    fn the_ends_are_none_and_all() {
        for session in 0..10_000_u32 {
            assert!(!chosen(&choice(settings(0.0)), &session.to_le_bytes()));
            assert!(chosen(&choice(settings(1.0)), &session.to_le_bytes()));
        }
    }

    #[test]
    fn unsafe_methods_are_copied_where_that_is_allowed() {
        let all = choice(MirrorSettings { methods: Methods::All, ..settings(1.0) });
        assert_eq!(all.decide(Timestamp::ZERO, b"", Safety::Unsafe), Ok(()));
    }

    #[test]
    fn an_absolute_limit_holds_and_the_rest_uses_up_nothing_of_it() {
        let limit = Some(Limit { rate: Rate::per_second_of(10.0), burst: 1 });
        let choice = choice(MirrorSettings { limit, ..settings(1.0) });
        let now = Timestamp::from_secs(1);
        assert_eq!(choice.decide(now, b"a", Safety::Unsafe), Err(NotMirrored::UnsafeMethod));
        assert_eq!(choice.decide(now, b"a", Safety::Safe), Ok(()));
        let over = NotMirrored::OverLimit { wait: Duration::from_millis(100) };
        assert_eq!(choice.decide(now, b"a", Safety::Safe), Err(over));
        assert_eq!(choice.decide(Timestamp::from_millis(1_100), b"a", Safety::Safe), Ok(()));
    }

    #[test]
    fn the_breaker_trips_at_once_and_admits_after_a_while_of_calm() {
        let choice = choice(settings(1.0));
        let (at, lag) = (Timestamp::from_millis, Duration::from_micros);
        assert_eq!(choice.lagged(at(0), lag(4_999)), None);
        assert_eq!(choice.lagged(at(1), lag(5_000)), Some(BreakerChange::Tripped { lag: lag(5_000) }));
        let tripped = NotMirrored::Tripped { trip_at: lag(5_000) };
        assert_eq!(choice.decide(at(1), b"a", Safety::Safe), Err(tripped));
        // A lag between the bounds restarts the wait.
        assert_eq!(choice.lagged(at(4_000), lag(2_000)), None);
        assert_eq!(choice.lagged(at(8_999), lag(500)), None);
        assert!(choice.is_tripped());
        assert_eq!(choice.lagged(at(9_000), lag(500)), Some(BreakerChange::Admitting));
        assert_eq!(choice.decide(at(9_000), b"a", Safety::Safe), Ok(()));
    }

    #[test]
    fn one_core_says_that_the_breaker_has_tripped() {
        let choice = MirrorChoice::<AtomicU64>::new(settings(1.0)).unwrap();
        let lagged = || choice.lagged(Timestamp::from_secs(1), Duration::from_secs(1)).is_some();
        let said = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(lagged)).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        });
        assert_eq!(said, 1);
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        let admit_below = Duration::from_millis(5);
        let breaker = BreakerSettings { admit_below, ..BreakerSettings::default() };
        let refused =
            MirrorChoice::<Cell<u64>>::new(MirrorSettings { breaker, ..settings(1.0) }).unwrap_err();
        assert!(refused.to_string().contains("lower `admit_below`"), "{refused}");
    }

    #[test]
    fn reasons_say_what_was_found() {
        let span = Duration::from_millis(5);
        for (reason, name, text) in [
            (NotMirrored::NotChosen, "not_chosen", "the session is not among those that are copied"),
            (NotMirrored::UnsafeMethod, "unsafe_method", "the method may change something"),
            (
                NotMirrored::Tripped { trip_at: span },
                "tripped",
                "the gateway itself is late by 5.00 ms or more",
            ),
            (NotMirrored::OverLimit { wait: span }, "over_limit", "copies are used up for 5.00 ms"),
        ] {
            assert_eq!((reason.name(), reason.to_string().as_str()), (name, text));
        }
    }

    proptest! {
        /// For sessions with similar keys; five standard deviations.
        #[test]
        fn the_fraction_holds_within_chance(fraction in 0.0..1.0_f64, salt in any::<u64>(), start in any::<u32>()) {
            let choice = choice(MirrorSettings { salt, ..settings(fraction) });
            let count = 4_000;
            let keys = (0..count).map(|index| format!("user-{}", u64::from(start) + index));
            let found = keys.filter(|key| chosen(&choice, key.as_bytes())).count() as f64;
            let (expected, deviation) = (fraction * 4_000.0, libm::sqrt(4_000.0 * fraction * (1.0 - fraction)));
            prop_assert!(libm::fabs(found - expected) <= 5.0 * deviation + 1.0, "{} of {}", found, expected);
        }

        #[test]
        fn what_a_small_fraction_copies_a_large_one_copies_too(
            small in 0.0..1.0_f64,
            more in 0.0..1.0_f64,
            salt in any::<u64>(),
            session in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let large = small + (1.0 - small) * more;
            let of = |fraction| choice(MirrorSettings { salt, ..settings(fraction) });
            prop_assert!(!chosen(&of(small), &session) || chosen(&of(large), &session));
            // The whole session, in every pool.
            prop_assert_eq!(chosen(&of(small), &session), chosen(&of(small), &session));
        }
    }
}
