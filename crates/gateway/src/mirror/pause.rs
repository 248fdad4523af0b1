//! A pause of all copies, for as long as its holder renews it: an experiment compares the gateway with and without them.
//!
//! As with a squeeze, the gateway ends it: each worker compares the end with the time at each request, so that nothing has
//! to happen for the copies to begin again. It belongs to the process and not to a configuration, so a reload keeps it.

use crate::shared::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;
use units::Timestamp;

/// The pause of a gateway, in force or not.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// Its end, in nanoseconds since the start of the gateway; 0 if there was none yet.
    until: AtomicU64,
    /// Who holds it, or held the last one.
    holder: Mutex<String>,
}

/// A pause in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paused {
    pub(crate) holder: String,
    pub(crate) left: Duration,
}

/// Another pause is in force.
#[derive(Debug, Error)]
#[error("copies are paused by {}, for {} more unless it is renewed; wait for its end", .0.holder, units::show_duration(.0.left))]
pub(crate) struct PauseHeld(Paused);

impl Pause {
    /// Whether nothing is copied now.
    #[inline]
    pub(crate) fn is_in_force(&self, now: Timestamp) -> bool {
        now.as_nanos() < self.until.load(Ordering::Relaxed)
    }

    /// The pause in force.
    pub(crate) fn held(&self, now: Timestamp) -> Option<Paused> {
        let holder = lock(&self.holder);
        let left = self.left(now);
        (!left.is_zero()).then(|| Paused { holder: holder.clone(), left })
    }

    /// Begins a pause, or renews it.
    pub(crate) fn hold(&self, holder: String, lasts: Duration, now: Timestamp) -> Result<(), PauseHeld> {
        let mut known = lock(&self.holder);
        let left = self.left(now);
        if !left.is_zero() && *known != holder {
            return Err(PauseHeld(Paused { holder: known.clone(), left }));
        }
        *known = holder;
        self.until.store((now + lasts).as_nanos(), Ordering::Relaxed);
        Ok(())
    }

    /// Ends the pause that `holder` has. Returns whether there was one: it may have ended by itself.
    pub(crate) fn end(&self, holder: &str, now: Timestamp) -> bool {
        let known = lock(&self.holder);
        let is_held = self.is_in_force(now) && *known == holder;
        if is_held {
            self.until.store(0, Ordering::Relaxed);
        }
        is_held
    }

    fn left(&self, now: Timestamp) -> Duration {
        Timestamp::from_nanos(self.until.load(Ordering::Relaxed)).since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_belongs_to_its_holder_and_ends_by_itself() {
        let (pause, at, lasts) = (Pause::default(), Timestamp::from_millis, Duration::from_secs(5));
        assert!(!pause.is_in_force(at(0)) && pause.held(at(0)).is_none());
        pause.hold("a".to_owned(), lasts, at(1_000)).unwrap();
        let refused = pause.hold("b".to_owned(), lasts, at(2_000)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "copies are paused by a, for 4.00 s more unless it is renewed; wait for its end"
        );
        pause.hold("a".to_owned(), lasts, at(2_000)).unwrap();
        assert_eq!(
            pause.held(at(6_000)),
            Some(Paused { holder: "a".to_owned(), left: Duration::from_secs(1) })
        );
        assert!(pause.is_in_force(at(6_999)) && !pause.is_in_force(at(7_000)));
        assert!(!pause.end("a", at(7_000)), "it has ended already");
        pause.hold("b".to_owned(), lasts, at(7_000)).unwrap();
        assert!(!pause.end("a", at(7_001)) && pause.end("b", at(7_001)));
        assert!(!pause.is_in_force(at(7_001)));
    }
}
