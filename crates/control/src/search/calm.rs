//! Is a service calm again? Between two trials a few single requests are sent, one after the other, until their
//! responses are successful and as fast as on the calm service.

use core::time::Duration;

/// The result of single requests, sent one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lone {
    /// How many of the [`LONE_REQUESTS`] got a response.
    pub answered: u64,
    /// Whether all responses had a status from 200 to 399.
    pub well: bool,
    /// Their median response time; `None` where it is unknown, for example because requests timed out.
    pub median: Option<Duration>,
}

impl Lone {
    /// Whether a service whose calm median response time is `calm` is calm now.
    pub fn is_calm(&self, calm: Duration) -> bool {
        let most = calm * 3 / 2 + SLACK;
        self.well && self.answered == LONE_REQUESTS && self.median.is_some_and(|median| median <= most)
    }
}

/// Single requests in one check.
pub const LONE_REQUESTS: u64 = 3;
/// The pause between two checks.
pub const CALM_PAUSE: Duration = Duration::from_millis(100);
/// A service that is not calm after this time is assumed to stay overloaded.
pub const CALM_AGAIN_MAX: Duration = Duration::from_secs(60);
/// A calm service may be slower than its calm median by half of it plus this.
const SLACK: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_to_be_answered_well_and_about_as_fast_as_before() {
        let calm = Duration::from_millis(20);
        let after = |micros| Some(Duration::from_micros(micros));
        for (answered, well, median, is_calm) in [
            (3, true, after(20_000), true),
            (3, true, after(35_000), true),
            (3, true, after(35_001), false),
            (3, false, after(1_000), false),
            (2, true, after(20_000), false),
            (3, true, None, false),
        ] {
            let lone = Lone { answered, well, median };
            assert_eq!(lone.is_calm(calm), is_calm, "{lone:?}");
        }
    }
}
