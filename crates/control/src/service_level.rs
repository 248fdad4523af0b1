//! Service level class: the share of recent responses that conformed.
//!
//! ## What conforms
//! A response within the time-to-first-byte target, with a status that is not counted as a failure. Either may be left
//! out: a service that quickly responds with 500 or 429 above its limit is in time and still fails. A request without a
//! response does not conform, whatever the class measures.
//!
//! ## What is measured
//! The time from the admission of the upstream request to the first byte of its response, so that neither a client's
//! slow download nor the gateway's own queue counts: a queue that counts its own wait never empties. Refusals by the
//! gateway are not responses; they are counted separately, as shed.
//!
//! ## Why a ring of buckets
//! The window slides in steps of a hundredth: recording is an addition instead of a list of samples, and so is reading.
//! The newest bucket is still being filled, so the window covers 99 to 100 hundredths of its length.
//!
//! ## Why tallies
//! Cores must not write to the same ring. Each keeps a [`Tally`], which takes three additions, and the ring's owner
//! [absorbs](ServiceLevel::absorb) them, every 100 ms for a window of ten seconds.
//!
//! Follows the service level monitoring of the search-cgi account: conforming is at most the target, measured to the
//! first byte, over ten seconds.

use crate::error::Span;
use crate::{SettingsError, Statuses};
use alloc::boxed::Box;
use core::ops::{AddAssign, SubAssign};
use core::time::Duration;
use units::{Ratio, Timestamp};

/// The number of steps in which the window slides.
pub const BUCKETS: usize = 100;

/// The shortest window: a bucket of ten microseconds.
const LEAST_WINDOW: Duration = Duration::from_millis(1);

/// What a service level class measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceLevelSettings {
    /// The time-to-first-byte target; above zero. `None` where only statuses count.
    pub target: Option<Duration>,
    /// The length of the window; at least 1 ms. It is rounded down to a multiple of 100 ns.
    pub window: Duration,
    /// A response with one of these statuses does not conform, however fast it was.
    pub not_conforming: Statuses,
}

impl ServiceLevelSettings {
    /// The account's window of ten seconds.
    pub const DEFAULT_WINDOW: Duration = Duration::from_secs(10);

    /// A class with only a target, over the default window.
    pub const fn within(target: Duration) -> Self {
        ServiceLevelSettings {
            target: Some(target),
            window: Self::DEFAULT_WINDOW,
            not_conforming: Statuses::NONE,
        }
    }

    /// Whether a response with this status and this time to first byte conforms.
    #[inline]
    pub fn conforms(&self, status: u16, elapsed: Duration) -> bool {
        self.target.is_none_or(|target| elapsed <= target) && !self.not_conforming.contains(status)
    }

    /// Whether a request without a response after this time can no longer conform.
    #[inline]
    pub fn is_late(&self, elapsed: Duration) -> bool {
        self.target.is_some_and(|target| elapsed > target)
    }
}

/// Counts of responses and refusals; additive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Responses that conformed.
    pub conforming: u64,
    /// Responses, and requests without a response that are already late.
    pub total: u64,
    /// Requests refused by a limit; not included in the total.
    pub shed: u64,
}

impl Tally {
    /// Counts a response that [conforms](ServiceLevelSettings::conforms), or does not.
    #[inline]
    pub fn record(&mut self, conforms: bool) {
        self.conforming += u64::from(conforms);
        self.total += 1;
    }

    /// Counts a request that has failed without a response, or is past the target without one: it can no longer
    /// conform, and a service that hangs would otherwise look idle. Call it once for a request, and then do not
    /// [record](Self::record) its response.
    #[inline]
    pub fn record_late(&mut self) {
        self.total += 1;
    }

    /// Counts a request that was refused.
    #[inline]
    pub fn record_shed(&mut self) {
        self.shed += 1;
    }

    /// The share that conformed; `None` without samples, which a percentage shows as 100.
    pub fn share(&self) -> Option<Ratio> {
        Ratio::of(self.conforming, self.total)
    }
}

impl AddAssign for Tally {
    #[inline]
    fn add_assign(&mut self, other: Tally) {
        self.conforming += other.conforming;
        self.total += other.total;
        self.shed += other.shed;
    }
}

impl SubAssign for Tally {
    #[inline]
    fn sub_assign(&mut self, other: Tally) {
        self.conforming -= other.conforming;
        self.total -= other.total;
        self.shed -= other.shed;
    }
}

/// A service level class: one target, one sliding window.
///
/// Time does not run backwards here: a record with an earlier time than the newest one counts at the newest.
#[derive(Debug, Clone)]
pub struct ServiceLevel {
    settings: ServiceLevelSettings,
    buckets: Box<[Tally; BUCKETS]>,
    /// The sum of all buckets.
    sum: Tally,
    newest: usize,
    /// The end of the newest bucket, in ns: the hot path compares and does not divide.
    newest_ends: u64,
    /// The length of a bucket, in ns.
    width: u64,
}

impl ServiceLevel {
    /// An empty window.
    ///
    /// # Errors
    /// A target of zero, neither target nor statuses, or a window below 1 ms.
    pub fn new(settings: ServiceLevelSettings) -> Result<Self, SettingsError> {
        match settings.target {
            Some(target) if target.is_zero() => return Err(SettingsError::ZeroTarget),
            None if settings.not_conforming.is_empty() => return Err(SettingsError::NothingToMiss),
            _ => {}
        }
        if settings.window < LEAST_WINDOW {
            let (found, least) = (Span(settings.window), Span(LEAST_WINDOW));
            return Err(SettingsError::WindowTooShort { found, least });
        }
        let width = u64::try_from(settings.window.as_nanos() / BUCKETS as u128).unwrap_or(u64::MAX);
        Ok(ServiceLevel {
            settings,
            buckets: Box::new([Tally::default(); BUCKETS]),
            sum: Tally::default(),
            newest: 0,
            newest_ends: width,
            width,
        })
    }

    /// Counts a response by its status and the time to its first byte.
    #[inline]
    pub fn record(&mut self, now: Timestamp, status: u16, elapsed: Duration) {
        let mut tally = Tally::default();
        tally.record(self.settings.conforms(status, elapsed));
        self.absorb(now, tally);
    }

    /// Counts a request that is already late, see [`Tally::record_late`].
    #[inline]
    pub fn record_late(&mut self, now: Timestamp) {
        self.absorb(now, Tally { total: 1, ..Tally::default() });
    }

    /// Counts a request that was refused.
    #[inline]
    pub fn record_shed(&mut self, now: Timestamp) {
        self.absorb(now, Tally { shed: 1, ..Tally::default() });
    }

    /// Adds what a core has counted since the last call.
    #[inline]
    pub fn absorb(&mut self, now: Timestamp, tally: Tally) {
        if now.as_nanos() >= self.newest_ends {
            self.slide(now.as_nanos());
        }
        self.buckets[self.newest] += tally;
        self.sum += tally;
    }

    /// The share of the window's responses that conformed; `None` where there were none.
    pub fn conforming(&self, now: Timestamp) -> Option<Ratio> {
        self.tally(now).share()
    }

    /// The counts in the window.
    pub fn tally(&self, now: Timestamp) -> Tally {
        let mut tally = self.sum;
        let expired = self.steps_to(now.as_nanos()).min(BUCKETS as u64) as usize;
        for age in 1..=expired {
            tally -= self.buckets[(self.newest + age) % BUCKETS];
        }
        tally
    }

    /// Its settings.
    pub fn settings(&self) -> &ServiceLevelSettings {
        &self.settings
    }

    /// How many buckets the window has to slide, so that the newest one contains `nanos`.
    fn steps_to(&self, nanos: u64) -> u64 {
        if nanos < self.newest_ends { 0 } else { (nanos - self.newest_ends) / self.width + 1 }
    }

    #[cold]
    fn slide(&mut self, nanos: u64) {
        let steps = self.steps_to(nanos);
        for _ in 0..steps.min(BUCKETS as u64) {
            self.newest = (self.newest + 1) % BUCKETS;
            self.sum -= core::mem::take(&mut self.buckets[self.newest]);
        }
        self.newest_ends = self.newest_ends.saturating_add(steps.saturating_mul(self.width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    const TARGET: Duration = Duration::from_millis(50);

    fn class() -> ServiceLevel {
        ServiceLevel::new(ServiceLevelSettings::within(TARGET)).unwrap()
    }

    #[test]
    fn a_response_at_the_target_conforms() {
        let mut class = class();
        let now = Timestamp::from_secs(1);
        assert_eq!(class.conforming(now), None);
        class.record(now, 200, TARGET);
        assert_eq!(class.conforming(now), Some(Ratio::ONE));
        class.record(now, 200, TARGET + Duration::from_nanos(1));
        assert_eq!(class.conforming(now), Ratio::new(0.5));
    }

    #[test]
    fn a_status_may_keep_a_quick_response_from_conforming() {
        let now = Timestamp::from_secs(1);
        let not_conforming: Statuses = "5xx, 429".parse().unwrap();
        let both = ServiceLevelSettings { not_conforming, ..ServiceLevelSettings::within(TARGET) };
        let by_status = ServiceLevelSettings { target: None, ..both };
        let late = TARGET * 2;
        for (settings, status, elapsed, conforms) in [
            (both, 200, TARGET, true),
            (both, 404, TARGET, true),
            (both, 500, Duration::ZERO, false),
            (both, 429, Duration::ZERO, false),
            (both, 200, late, false),
            (by_status, 200, late, true),
            (by_status, 503, Duration::ZERO, false),
        ] {
            let mut class = ServiceLevel::new(settings).unwrap();
            class.record(now, status, elapsed);
            assert_eq!(class.tally(now).conforming == 1, conforms, "{status} {elapsed:?}");
        }
        assert!(both.is_late(late) && !both.is_late(TARGET) && !by_status.is_late(Duration::MAX));
        let nothing = ServiceLevelSettings { not_conforming: Statuses::NONE, ..by_status };
        let error = ServiceLevel::new(nothing).unwrap_err().to_string();
        assert!(error.contains("`target`") && error.contains("`not_conforming`"), "{error}");
    }

    #[test]
    fn a_late_request_counts_before_it_is_answered() {
        let mut class = class();
        class.record_late(Timestamp::ZERO);
        assert_eq!(class.conforming(Timestamp::ZERO), Some(Ratio::ZERO));
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let mut class = class();
        class.record_shed(Timestamp::from_millis(50));
        assert_eq!(class.tally(Timestamp::from_millis(9_999)).shed, 1);
        assert_eq!(class.tally(Timestamp::from_millis(10_000)).shed, 0);
        class.record(Timestamp::from_secs(1_000_000), 200, TARGET);
        assert_eq!(class.tally(Timestamp::NEVER), Tally::default());
    }

    #[test]
    fn settings_that_measure_nothing_are_refused() {
        let refused = |target, window| {
            let settings = ServiceLevelSettings { window, ..ServiceLevelSettings::within(target) };
            ServiceLevel::new(settings).unwrap_err().to_string()
        };
        assert!(refused(Duration::ZERO, Duration::from_secs(10)).contains("`target` is 0"));
        let message = refused(TARGET, Duration::from_micros(10));
        assert!(message.contains("10.0 µs") && message.contains("1.00 ms"), "{message}");
    }

    proptest! {
        /// Compared with a list of all samples, to the resolution of a bucket; per-core tallies give the same result.
        #[test]
        fn agrees_with_a_list_of_samples(
            window_ms in 1_u64..20_000,
            events in proptest::collection::vec((0_u64..3_000_000_000, 0_u64..100, 0_u8..3), 1..300),
        ) {
            let window = Duration::from_millis(window_ms);
            let mut class = ServiceLevel::new(ServiceLevelSettings { window, ..ServiceLevelSettings::within(TARGET) }).unwrap();
            let width = window_ms * 1_000_000 / BUCKETS as u64;
            let mut samples: Vec<(u64, Tally)> = Vec::new();
            let mut now = 0;
            for (gap, elapsed_ms, kind) in events {
                // Mostly short gaps, sometimes longer than the window.
                now += if gap % 7 == 0 { gap * 10 } else { gap / 1_000 };
                let at = Timestamp::from_nanos(now);
                let mut tally = Tally::default();
                match kind {
                    0 => tally.record_shed(),
                    1 => tally.record_late(),
                    _ => tally.record(elapsed_ms <= 50),
                }
                match kind {
                    0 => class.record_shed(at),
                    1 => class.absorb(at, tally),
                    _ => class.record(at, 200, Duration::from_millis(elapsed_ms)),
                }
                samples.push((now, tally));
                for later in [0, width / 2, width * 50, width * 99] {
                    let mut expected = Tally::default();
                    for (at, tally) in &samples {
                        if at / width + BUCKETS as u64 > (now + later) / width {
                            expected += *tally;
                        }
                    }
                    prop_assert_eq!(class.tally(Timestamp::from_nanos(now + later)), expected);
                }
            }
        }
    }
}
