//! Slow start: the share of a new instance grows in steps, while its caches fill and its code warms up.

use crate::SettingsError;
use core::time::Duration;
use units::Ratio;

/// ```text
/// share of the weight = max(floor, (time since the start / span) ^ (1 / aggression))
/// ```
/// as in Envoy. An aggression of 1 is a straight line; above it the share grows faster at first, below it later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowStart {
    span: Duration,
    floor: Ratio,
    aggression: f64,
}

impl SlowStart {
    /// From `floor` to the whole weight over `span`.
    ///
    /// # Errors
    /// A span of zero, or an aggression that is not above zero.
    pub fn new(span: Duration, floor: Ratio, aggression: f64) -> Result<Self, SettingsError> {
        if span.is_zero() {
            return Err(SettingsError::ZeroSpan { field: "slow_start" });
        }
        if !(aggression > 0.0 && aggression.is_finite()) {
            return Err(SettingsError::Aggression { aggression });
        }
        Ok(SlowStart { span, floor, aggression })
    }

    /// The share of its weight that an instance has this long after its start.
    pub fn share(&self, since_start: Duration) -> Ratio {
        let passed = (since_start.as_secs_f64() / self.span.as_secs_f64()).min(1.0);
        let grown = libm::pow(passed, 1.0 / self.aggression);
        Ratio::new(grown.max(self.floor.get())).unwrap_or(Ratio::ONE)
    }

    /// How long it lasts.
    pub const fn span(&self) -> Duration {
        self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn grows_as_the_formula_says() {
        // (aggression, milliseconds of ten seconds, share)
        let table = [
            (1.0, 0, 0.1),
            (1.0, 500, 0.1),
            (1.0, 5_000, 0.5),
            (1.0, 10_000, 1.0),
            (1.0, 99_000, 1.0),
            (2.0, 2_500, 0.5),
            (0.5, 5_000, 0.25),
        ];
        for (aggression, millis, share) in table {
            let floor = Ratio::new(0.1).unwrap();
            let ramp = SlowStart::new(Duration::from_secs(10), floor, aggression).unwrap();
            let found = ramp.share(Duration::from_millis(millis)).get();
            assert!((found - share).abs() < 1e-9, "{aggression}, {millis} ms: {found}");
        }
    }

    #[test]
    fn refuses_what_is_no_ramp() {
        assert!(SlowStart::new(Duration::ZERO, Ratio::ZERO, 1.0).is_err());
        for aggression in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(SlowStart::new(Duration::from_secs(1), Ratio::ZERO, aggression).is_err(), "{aggression}");
        }
    }

    proptest! {
        #[test]
        fn never_falls(aggression in 0.05_f64..20.0, one in 0_u64..20_000, other in 0_u64..20_000) {
            let ramp = SlowStart::new(Duration::from_secs(10), Ratio::ZERO, aggression).unwrap();
            let (early, late) = (one.min(other), one.max(other));
            prop_assert!(ramp.share(Duration::from_millis(early)) <= ramp.share(Duration::from_millis(late)));
        }
    }
}
