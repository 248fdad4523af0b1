//! Retry budget: may a failed request be repeated?
//!
//! ## Why not a number of tries
//! Three tries for each request triple the load at the time when instances can handle it least. A budget limits retries
//! to a share of the requests, regardless of how many fail.
//!
//! ## The law
//! ```text
//! in any span:  retries ≤ share × requests + minimum × span
//! ```
//! A token bucket with expiry, as in Finagle and linkerd (20 %, 10 a second, over 10 s): a request adds `share` tokens,
//! a retry takes one, and both expire after the span. The minimum allows retries for a service with little traffic. The
//! span slides in tenths, so it may be up to a tenth shorter.

use crate::SettingsError;
use core::fmt;
use core::time::Duration;
use units::{Rate, Ratio, Timestamp};

/// Bounds retries to a share of the requests.
#[derive(Debug, Clone)]
pub struct RetryBudget {
    share: Ratio,
    /// Retries that the minimum rate adds over the span.
    reserve: f64,
    tenth: Duration,
    tenths: [Tenth; TENTHS],
    /// The index of the current tenth, from the beginning of time.
    current: u64,
    sum: Tenth,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tenth {
    requests: u64,
    retries: u64,
}

/// The budget is exhausted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetSpent {
    /// Requests in the span.
    pub requests: u64,
    /// Their retries.
    pub retries: u64,
    /// Retries that would have been allowed.
    pub allowed: f64,
}

impl BudgetSpent {
    /// The name in metrics and logs. It is stable.
    pub const fn name(&self) -> &'static str {
        "retry_budget"
    }
}

impl fmt::Display for BudgetSpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BudgetSpent { requests, retries, allowed } = self;
        write!(f, "{retries} retries of {requests} requests, where {allowed:.1} are allowed")
    }
}

impl RetryBudget {
    /// Retries up to `share` of the requests and `minimum`, counted over `span`.
    ///
    /// # Errors
    /// A span of zero.
    pub fn new(share: Ratio, minimum: Rate, span: Duration) -> Result<Self, SettingsError> {
        let tenth = span / TENTHS as u32;
        if tenth.is_zero() {
            return Err(SettingsError::ZeroSpan { field: "retry_budget" });
        }
        let reserve = minimum.per_second() * span.as_secs_f64();
        let (tenths, sum) = ([Tenth::default(); TENTHS], Tenth::default());
        Ok(RetryBudget { share, reserve, tenth, tenths, current: 0, sum })
    }

    /// Counts a request; its retries are not counted.
    #[inline]
    pub fn request(&mut self, now: Timestamp) {
        self.requests(now, 1);
    }

    /// Counts the requests of other workers since their last report.
    #[inline]
    pub fn requests(&mut self, now: Timestamp, count: u64) {
        self.slide(now).requests += count;
        self.sum.requests += count;
    }

    /// Decides about a retry, and counts it if it is allowed.
    ///
    /// # Errors
    /// The budget is exhausted.
    pub fn retry(&mut self, now: Timestamp) -> Result<(), BudgetSpent> {
        self.slide(now);
        let Tenth { requests, retries } = self.sum;
        let allowed = self.share.get() * requests as f64 + self.reserve;
        // A fifth of five requests is one, even with a rounding error.
        if (retries + 1) as f64 > allowed + 1e-9 {
            return Err(BudgetSpent { requests, retries, allowed });
        }
        self.slide(now).retries += 1;
        self.sum.retries += 1;
        Ok(())
    }

    /// Drops what is older than the span; returns the current tenth.
    #[inline]
    fn slide(&mut self, now: Timestamp) -> &mut Tenth {
        let number = now.as_nanos() / self.tenth.as_nanos().min(u128::from(u64::MAX)) as u64;
        let gone = number.saturating_sub(self.current);
        for step in 1..=gone.min(TENTHS as u64) {
            let old = &mut self.tenths[((self.current + step) % TENTHS as u64) as usize];
            self.sum.requests -= old.requests;
            self.sum.retries -= old.retries;
            *old = Tenth::default();
        }
        self.current = self.current.max(number);
        &mut self.tenths[(self.current % TENTHS as u64) as usize]
    }
}

const TENTHS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};
    use std::string::ToString;
    use std::vec::Vec;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn budget(share: f64, minimum: f64) -> RetryBudget {
        let span = Duration::from_secs(10);
        RetryBudget::new(Ratio::new(share).unwrap(), Rate::per_second_of(minimum), span).unwrap()
    }

    #[test]
    fn allows_a_share_of_the_requests_and_the_minimum() {
        // (share, minimum a second, requests, retries in ten seconds)
        for (share, minimum, requests, allowed) in [
            (0.2, 0.0, 5, 1),
            (0.2, 0.0, 4, 0),
            (0.2, 0.0, 1_000, 200),
            (0.0, 1.0, 1_000, 10),
            (0.2, 1.0, 100, 30),
        ] {
            let mut budget = budget(share, minimum);
            (0..requests).for_each(|_| budget.request(at(0)));
            let retries = (0..2_000).filter(|_| budget.retry(at(1)).is_ok()).count();
            assert_eq!(retries, allowed, "{share}, {minimum}/s, {requests}");
        }
    }

    #[test]
    fn a_refusal_says_why() {
        let mut budget = budget(0.2, 0.0);
        (0..4).for_each(|_| budget.request(at(0)));
        let spent = budget.retry(at(0)).unwrap_err();
        assert_eq!(spent.to_string(), "0 retries of 4 requests, where 0.8 are allowed");
    }

    #[test]
    fn what_was_not_used_is_forgotten() {
        let mut budget = budget(0.2, 0.0);
        (0..1_000).for_each(|_| budget.request(at(500)));
        assert!(budget.retry(at(9_999)).is_ok());
        assert!(budget.retry(at(10_000)).is_err());
        // Also long after.
        assert!(budget.retry(at(1_000_000_000)).is_err());
    }

    #[test]
    fn refuses_a_span_of_nothing() {
        assert!(RetryBudget::new(Ratio::ONE, Rate::ZERO, Duration::ZERO).is_err());
    }

    proptest! {
        /// In any span that ends with a retry, and over the whole run.
        #[test]
        fn holds_its_law(steps in proptest::collection::vec((any::<bool>(), 0_u64..800), 1..400)) {
            let mut budget = budget(0.2, 0.3);
            let (mut now, mut log) = (0, Vec::new());
            for (retry, gap) in steps {
                now += gap;
                if !retry {
                    budget.request(at(now));
                    log.push((now, false));
                } else if budget.retry(at(now)).is_ok() {
                    log.push((now, true));
                    let count = |from: u64, kind: bool| {
                        log.iter().filter(|&&(at, retry)| retry == kind && at >= from).count() as f64
                    };
                    // The span as it slides: this tenth and the nine before.
                    let from = (now / 1_000).saturating_sub(9) * 1_000;
                    prop_assert!(count(from, true) <= 0.2 * count(from, false) + 3.0 + 1e-6);
                    let spans = (now as f64 / 10_000.0).ceil() + 1.0;
                    prop_assert!(count(0, true) <= 0.2 * count(0, false) + 3.0 * spans + 1e-6);
                }
            }
        }
    }
}
