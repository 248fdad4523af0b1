//! When to eject, for how long, and how many.

use crate::SettingsError;
use core::time::Duration;
use units::Ratio;

/// When to eject, for how long, and how many. The default is Envoy's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    pub(super) consecutive_failures: u32,
    pub(super) interval: Duration,
    pub(super) min_requests: u32,
    pub(super) min_instances: u32,
    pub(super) deviations: f64,
    pub(super) base: Duration,
    pub(super) longest: Duration,
    pub(super) max_share: Ratio,
}

impl Settings {
    /// The number of consecutive failures that ejects (default 5).
    ///
    /// # Errors
    /// Zero.
    pub fn consecutive_failures(self, failures: u32) -> Result<Self, SettingsError> {
        if failures == 0 {
            return Err(SettingsError::ZeroCount { field: "consecutive_failures" });
        }
        Ok(Settings { consecutive_failures: failures, ..self })
    }

    /// How often success rates are compared (default 10 s).
    ///
    /// # Errors
    /// Zero.
    pub fn interval(self, interval: Duration) -> Result<Self, SettingsError> {
        if interval.is_zero() {
            return Err(SettingsError::ZeroSpan { field: "interval" });
        }
        Ok(Settings { interval, ..self })
    }

    /// Success rates are compared if at least `instances` (default 5) had at least `requests` (default 100) each.
    ///
    /// # Errors
    /// Zero requests.
    pub fn compare_from(self, instances: u32, requests: u32) -> Result<Self, SettingsError> {
        if requests == 0 {
            return Err(SettingsError::ZeroCount { field: "min_requests" });
        }
        Ok(Settings { min_instances: instances, min_requests: requests, ..self })
    }

    /// The first ejection takes `base` (default 30 s), the second twice as long, none longer than `longest` (default
    /// 300 s).
    ///
    /// # Errors
    /// A base of zero.
    pub fn times(self, base: Duration, longest: Duration) -> Result<Self, SettingsError> {
        if base.is_zero() {
            return Err(SettingsError::ZeroSpan { field: "base" });
        }
        Ok(Settings { base, longest: longest.max(base), ..self })
    }

    /// At most this share of the instances is ejected at once (default 10 %), but at least one of a small fleet; zero
    /// disables ejection.
    pub fn max_share(self, max_share: Ratio) -> Self {
        Settings { max_share, ..self }
    }

    /// How many of this many instances may be ejected.
    pub(super) fn most_of(&self, instances: u32) -> u32 {
        let share = (self.max_share.get() * f64::from(instances)) as u32;
        share.max(u32::from(self.max_share > Ratio::ZERO))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            consecutive_failures: 5,
            interval: Duration::from_secs(10),
            min_requests: 100,
            min_instances: 5,
            deviations: 1.9,
            base: Duration::from_secs(30),
            longest: Duration::from_secs(300),
            max_share: Ratio::new(0.1).unwrap_or_default(),
        }
    }
}
