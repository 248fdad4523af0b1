//! Whether a period held the goal, such as `p(95)<300ms`.
//!
//! A request without a good response counts as too slow, so that refusing requests never looks like serving them.

use core::time::Duration;
use stats::Sketch;
use units::Quantile;

/// The requests of a period.
#[derive(Debug, Clone, Copy)]
pub struct Period<'a> {
    /// Requests that arrived.
    pub arrived: u64,
    /// Ended with a good response.
    pub answered: u64,
    /// Ended with a server error.
    pub errors: u64,
    /// Refused, failed or timed out.
    pub lost: u64,
    /// Requests in the service, averaged over the period.
    pub in_system: f64,
    /// Response times, including those of errors, in seconds.
    pub times: &'a Sketch,
}

/// Whether the quantile of all requests is below the bound; none for a period without requests.
pub fn is_held(quantile: Quantile, below: Duration, period: &Period<'_>) -> Option<bool> {
    time(quantile, period).map(|time| time < below.as_secs_f64())
}

/// The quantile of the response times of all requests, in seconds; infinite if more requests than that had no good response.
/// None for a period without requests.
pub fn time(quantile: Quantile, period: &Period<'_>) -> Option<f64> {
    let all = period.answered + period.errors + period.lost;
    if all == 0 {
        // A period with arrivals in which none ended is not a good one.
        return (period.arrived > 0 || period.in_system > 1.0).then_some(f64::INFINITY);
    }
    // Errors are among the times, and assumed to be the fastest: they come before the successful requests.
    let wanted = quantile.get() * all as f64;
    if wanted > period.answered as f64 {
        return Some(f64::INFINITY);
    }
    // In the minute model there may be one time fewer than requests, because both are rounded.
    let share = (wanted + period.errors as f64) / period.times.count().max(1) as f64;
    period.times.quantile(share.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_a_good_response_are_too_slow() {
        let mut times = Sketch::new();
        times.record_many(0.1, 95);
        let of = |answered, errors, lost| Period {
            arrived: answered + errors + lost,
            answered,
            errors,
            lost,
            in_system: 0.0,
            times: &times,
        };
        let held = |period: &Period<'_>, millis| {
            is_held(Quantile::new(0.95).unwrap(), Duration::from_millis(millis), period)
        };
        assert_eq!(held(&of(95, 0, 0), 200), Some(true));
        assert_eq!(held(&of(95, 0, 0), 100), Some(false), "not below the bound");
        assert_eq!(held(&of(95, 0, 5), 200), Some(true));
        assert_eq!(held(&of(90, 0, 10), 200), Some(false));
        assert_eq!(held(&of(89, 6, 0), 200), Some(false));
        assert_eq!(held(&of(0, 0, 0), 200), None);
        let stuck = Period { arrived: 3, ..of(0, 0, 0) };
        assert_eq!(held(&stuck, 200), Some(false), "none of the arrivals has ended");
    }
}
