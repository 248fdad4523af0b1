//! How slowly a client may send or receive a body.
//!
//! ## A credit of time, not a mean
//! A client has a credit of time. It is used up while the gateway waits for the client, and grows with each byte by the
//! time that the byte may take at the minimum rate. With a mean over the whole body, one fast megabyte would pay for an
//! hour of silence; so the credit never exceeds `idle_timeout`. While the gateway waits for the instance, the credit
//! does not change.
//!
//! An upload begins with the credit `body_grace`, like the grace period of Kestrel's `MinRequestBodyDataRate`. A
//! response begins with all of `idle_timeout`: its bytes move in large steps, because a receiver opens its window in
//! large steps.

use crate::settings::ConnectionLimits;
use std::time::Duration;
use units::Timestamp;

/// The credit of one client for the current body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    left: Duration,
    /// Since when the gateway waits for the client; `NEVER` if it does not.
    since: Timestamp,
    /// Bytes of the request's body, as they are on the wire.
    pub(super) received: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { left: Duration::ZERO, since: Timestamp::NEVER, received: 0 }
    }
}

impl Pace {
    /// For a request body, of which `received` bytes arrived with its head.
    pub(super) fn of_upload(limits: &ConnectionLimits, received: u64) -> Self {
        let most = limits.idle_timeout;
        let left = if limits.body_min_rate == 0 { most } else { limits.body_grace.min(most) };
        Pace { left, received, ..Pace::default() }
    }

    /// For a response.
    pub(super) fn of_answer(limits: &ConnectionLimits) -> Self {
        Pace { left: limits.idle_timeout, ..Pace::default() }
    }

    /// The gateway begins to wait for the client; returns until when.
    pub(super) fn wait(&mut self, now: Timestamp) -> Timestamp {
        self.since = self.since.min(now);
        self.since + self.left
    }

    /// The gateway no longer waits for the client.
    #[inline]
    pub(super) fn pause(&mut self, now: Timestamp) {
        if self.since != Timestamp::NEVER {
            self.left = self.left.saturating_sub(now.since(self.since));
            self.since = Timestamp::NEVER;
        }
    }

    /// The client has sent or received this many bytes.
    pub(super) fn moved(&mut self, now: Timestamp, bytes: usize, limits: &ConnectionLimits) {
        self.pause(now);
        let most = limits.idle_timeout;
        self.left = match (bytes as u64).saturating_mul(1_000_000_000).checked_div(limits.body_min_rate) {
            Some(nanos) => (self.left + Duration::from_nanos(nanos)).min(most),
            // Without a minimum rate, any progress restores the full credit.
            None if bytes > 0 => most,
            None => self.left,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        body_min_rate: 200,
        body_grace: Duration::from_secs(5),
        idle_timeout: Duration::from_secs(60),
        ..ConnectionLimits::DEFAULT
    };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    /// When a client is given up that sends this many bytes at this interval, for a day.
    fn ends(mut pace: Pace, limits: &ConnectionLimits, bytes: usize, every: u64) -> Option<Timestamp> {
        (every..86_400).step_by(every as usize).find_map(|now| {
            let until = pace.wait(at(now - every));
            if until <= at(now) {
                return Some(until);
            }
            pace.moved(at(now), bytes, limits);
            None
        })
    }

    #[test]
    fn a_steady_client_goes_on_for_ever_and_one_that_trickles_ends() {
        let upload = Pace::of_upload(&LIMITS, 0);
        for (bytes, every, expected) in [
            (200, 1, None),
            (800, 4, None),
            (1_000_000, 50, Some(at(5))),
            (1, 1, Some(at(5))),
            (100, 1, Some(at(9))),
            (199, 1, Some(at(801))),
        ] {
            let found = ends(upload, &LIMITS, bytes, every);
            let near = |one: Timestamp, other: Timestamp| {
                one.since(other).max(other.since(one)) <= Duration::from_secs(2)
            };
            let same = match (found, expected) {
                (Some(found), Some(expected)) => near(found, expected),
                (found, expected) => found == expected,
            };
            assert!(same, "{bytes} bytes every {every} s: {found:?}");
        }
    }

    #[test]
    fn a_quick_beginning_pays_for_one_idle_timeout_at_most() {
        let mut pace = Pace::of_upload(&LIMITS, 0);
        pace.wait(at(0));
        pace.moved(at(1), 100_000_000, &LIMITS);
        assert_eq!(pace.wait(at(1)), at(61));
        let found = ends(pace, &LIMITS, 1, 20).unwrap();
        assert!((at(60)..at(63)).contains(&found), "{found:?}");
    }

    #[test]
    fn the_time_of_the_instance_is_not_the_clients() {
        let mut pace = Pace::of_upload(&LIMITS, 0);
        assert_eq!(pace.wait(at(0)), at(5));
        pace.pause(at(2));
        pace.pause(at(1_000));
        assert_eq!(pace.wait(at(1_000)), at(1_003));
        assert_eq!(pace.wait(at(1_001)), at(1_003), "waiting goes on");
    }

    #[test]
    fn without_a_least_rate_any_byte_will_do() {
        let limits = ConnectionLimits { body_min_rate: 0, ..LIMITS };
        assert_eq!(ends(Pace::of_upload(&limits, 0), &limits, 1, 59), None);
        assert_eq!(ends(Pace::of_upload(&limits, 0), &limits, 1, 61), Some(at(60)));
    }

    #[test]
    fn an_answer_may_be_taken_in_lumps() {
        let answer = Pace::of_answer(&LIMITS);
        assert_eq!(ends(answer, &LIMITS, 12_000, 59), None, "more than 200 a second");
        assert!(ends(answer, &LIMITS, 1_000, 59).unwrap() < at(120));
    }
}
