//! The outcomes of copies, by route and mirror.
//!
//! Workers and the mirror's thread count the same copies, so these are atomic words; only chosen copies use them.

use control::mirror::NotMirrored;
use status::reason::{dropped, uncompared};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$reason_meta:meta])* $reason:ident = $text:expr,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$reason_meta])* $reason,)* }

        impl $name {
            /// Names in metrics. They never change.
            pub(crate) const NAMES: &'static [&'static str] = &[$($text),*];
        }
    };
}

reasons! {
    /// Why a chosen copy was not sent to its shadow.
    Dropped {
        /// Its method may change something.
        UnsafeMethod = dropped::UNSAFE_METHOD,
        /// The gateway itself was late.
        Tripped = dropped::TRIPPED,
        /// The absolute limit was used up.
        OverLimit = dropped::OVER_LIMIT,
        /// The queue was full.
        QueueFull = dropped::QUEUE_FULL,
        /// Copies held as many bytes as they may.
        BytesFull = dropped::BYTES_FULL,
        /// The body is longer than the longest that is copied.
        BodyTooLarge = dropped::BODY_TOO_LARGE,
        /// The live request ended before its body did.
        BodyIncomplete = dropped::BODY_INCOMPLETE,
        /// Its deadline passed while it waited.
        Expired = dropped::EXPIRED,
        /// The file could not be written.
        WriteFailed = dropped::WRITE_FAILED,
        /// The gateway ended.
        Ending = dropped::ENDING,
    }
}

reasons! {
    /// Why a copy that was sent to its shadow could not be compared.
    Failed {
        /// No connection.
        Unreachable = uncompared::UNREACHABLE,
        /// The connection ended before the response.
        Broke = uncompared::BROKE,
        /// The response violated HTTP.
        Malformed = uncompared::MALFORMED,
        /// The response was incomplete at the deadline.
        Deadline = uncompared::DEADLINE,
        /// The live request had no complete response.
        LiveIncomplete = uncompared::LIVE_INCOMPLETE,
    }
}

reasons! {
    /// The first property in which the responses differ.
    Difference {
        /// The status.
        Status = "status",
        /// The size of the body.
        Size = "size",
        /// The bytes of the body.
        Body = "body",
    }
}

impl From<NotMirrored> for Dropped {
    fn from(reason: NotMirrored) -> Self {
        match reason {
            NotMirrored::UnsafeMethod => Dropped::UnsafeMethod,
            NotMirrored::Tripped { .. } => Dropped::Tripped,
            NotMirrored::OverLimit { .. } => Dropped::OverLimit,
            // Not chosen is not a drop; the caller has checked for it.
            NotMirrored::NotChosen => Dropped::Ending,
        }
    }
}

/// The outcomes of the copies of one route to one mirror.
#[derive(Debug, Default)]
pub(crate) struct LinkCounts {
    pub(crate) not_chosen: AtomicU64,
    pub(crate) chosen: AtomicU64,
    /// Chosen, without an outcome yet.
    pub(crate) open: AtomicU64,
    /// Requests that were sent to a shadow.
    pub(crate) sent: AtomicU64,
    pub(crate) same: AtomicU64,
    pub(crate) different: [AtomicU64; Difference::NAMES.len()],
    pub(crate) dropped: [AtomicU64; Dropped::NAMES.len()],
    pub(crate) failed: [AtomicU64; Failed::NAMES.len()],
    /// Written to the capture.
    pub(crate) written: AtomicU64,
    /// Of compared copies: times to the first byte, in ns.
    pub(crate) live_ns: AtomicU64,
    pub(crate) shadow_ns: AtomicU64,
    /// The shadow's time divided by the live one, by [`RATIO_BOUNDS`].
    pub(crate) ratios: [AtomicU64; RATIO_BOUNDS.len() + 1],
    /// The sum of those ratios in millionths.
    pub(crate) ratio_millionths: AtomicU64,
}

impl LinkCounts {
    /// How many copies have been compared.
    pub(crate) fn compared(&self) -> u64 {
        sum(&self.different) + self.same.load(Relaxed)
    }

    /// Chosen copies that nobody wanted to lose: there was no room for them, or the gateway or the disk was late.
    pub(crate) fn lost(&self) -> u64 {
        let lost = [Dropped::Tripped, Dropped::QueueFull, Dropped::BytesFull, Dropped::WriteFailed];
        lost.iter().map(|why| self.dropped[*why as usize].load(Relaxed)).sum()
    }

    /// Whether every chosen copy has exactly one outcome.
    #[cfg(test)]
    pub(crate) fn balance(&self) -> bool {
        let ends = self.compared() + sum(&self.dropped) + sum(&self.failed) + self.written.load(Relaxed);
        self.open.load(Relaxed) == 0 && self.chosen.load(Relaxed) == ends
    }
}

fn sum(counts: &[AtomicU64]) -> u64 {
    counts.iter().map(|count| count.load(Relaxed)).sum()
}

/// One chosen copy, to be counted once at its end.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// `None` once it is used up.
    counts: Option<Arc<LinkCounts>>,
}

impl Ticket {
    /// A copy was chosen.
    pub(crate) fn new(counts: &Arc<LinkCounts>) -> Self {
        counts.chosen.fetch_add(1, Relaxed);
        counts.open.fetch_add(1, Relaxed);
        Ticket { counts: Some(Arc::clone(counts)) }
    }

    /// The counts of its route and target.
    pub(crate) fn counts(&self) -> Option<&Arc<LinkCounts>> {
        self.counts.as_ref()
    }

    /// The copy is sent to the shadow.
    pub(crate) fn sent(&self) {
        if let Some(counts) = &self.counts {
            counts.sent.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn dropped(mut self, why: Dropped) {
        self.settle(|counts| &counts.dropped[why as usize]);
    }

    pub(crate) fn failed(mut self, why: Failed) {
        self.settle(|counts| &counts.failed[why as usize]);
    }

    pub(crate) fn written(mut self) {
        self.settle(|counts| &counts.written);
    }

    /// Both responses are complete; `live` and `shadow` are their times to the first byte.
    pub(crate) fn compared(mut self, difference: Option<Difference>, live: Duration, shadow: Duration) {
        if let Some(counts) = &self.counts {
            counts.live_ns.fetch_add(nanos(live), Relaxed);
            counts.shadow_ns.fetch_add(nanos(shadow), Relaxed);
            let ratio = shadow.as_secs_f64() / live.as_secs_f64().max(1e-9);
            let bucket = RATIO_BOUNDS.iter().position(|&bound| ratio <= bound).unwrap_or(RATIO_BOUNDS.len());
            counts.ratios[bucket].fetch_add(1, Relaxed);
            counts.ratio_millionths.fetch_add((ratio.min(1e6) * 1e6) as u64, Relaxed);
        }
        self.settle(|counts| match difference {
            None => &counts.same,
            Some(difference) => &counts.different[difference as usize],
        });
    }

    fn settle(&mut self, what: impl FnOnce(&LinkCounts) -> &AtomicU64) {
        if let Some(counts) = self.counts.take() {
            what(&counts).fetch_add(1, Relaxed);
            counts.open.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.settle(|counts| &counts.dropped[Dropped::Ending as usize]);
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Bucket bounds for the shadow's time divided by the live one.
pub(crate) const RATIO_BOUNDS: [f64; 11] = [0.25, 0.5, 0.75, 0.9, 0.95, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_counted_once_whatever_becomes_of_it() {
        let counts = Arc::new(LinkCounts::default());
        let ticket = || Ticket::new(&counts);
        ticket().dropped(Dropped::QueueFull);
        ticket().failed(Failed::Broke);
        ticket().compared(None, Duration::from_millis(10), Duration::from_millis(10));
        ticket().compared(Some(Difference::Size), Duration::ZERO, Duration::from_millis(10));
        drop(ticket());
        let open = ticket();
        assert!(!counts.balance());
        drop(open);
        assert!(counts.balance(), "{counts:?}");
        assert_eq!((counts.chosen.load(Relaxed), counts.compared()), (6, 2));
        assert_eq!(counts.dropped[Dropped::Ending as usize].load(Relaxed), 2);
        assert_eq!(counts.ratios.iter().map(|count| count.load(Relaxed)).sum::<u64>(), 2);
    }

    #[test]
    fn what_control_says_keeps_its_name() {
        let wait = Duration::ZERO;
        for reason in [
            NotMirrored::UnsafeMethod,
            NotMirrored::Tripped { trip_at: wait },
            NotMirrored::OverLimit { wait },
        ] {
            assert_eq!(Dropped::NAMES[Dropped::from(reason) as usize], reason.name());
        }
    }
}
