//! A user of the closed model whose turns follow a plan of their own.

use crate::UserSpan;
use std::collections::VecDeque;
use units::Timestamp;

/// One user.
#[derive(Debug)]
pub(crate) struct User {
    /// When it runs.
    spans: VecDeque<UserSpan>,
    /// How many requests it has sent.
    sent: u64,
}

impl User {
    /// A user who runs in these spans.
    pub(crate) fn staged(spans: impl Iterator<Item = UserSpan>) -> Self {
        User { spans: spans.collect(), sent: 0 }
    }

    /// When its next request is due, if it is free from `now` on; `None` where it has left.
    pub(crate) fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.spans.iter().find(|span| now < span.stop).map(|span| span.start.max(now))
    }

    /// The number of its next request.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }
}
