//! A user who sends one request after another: by a scenario, or by the spans in which it runs.

use crate::UserSpan;
use crate::scenario::{self, Scenario, StepId};
use std::collections::VecDeque;
use units::Timestamp;

/// One user.
#[derive(Debug)]
pub(crate) struct User {
    /// The spans in which it runs; empty for a user that executes the scenario once and leaves.
    spans: VecDeque<UserSpan>,
    /// The state of its scenario; `None` for a user that sends prepared requests.
    pub(crate) walk: Option<Box<Walk>>,
}

/// A user's state in a scenario.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) user: scenario::User,
    /// The number of the current iteration, over all users; `None` between iterations.
    pub(crate) iteration: Option<u64>,
    /// When it began.
    pub(crate) began: Timestamp,
    /// The step of its current request.
    pub(crate) step: Option<StepId>,
}

impl User {
    /// A user that runs in these spans.
    pub(crate) fn running(spans: impl Iterator<Item = UserSpan>, walk: Option<Walk>) -> Self {
        User { spans: spans.collect(), walk: walk.map(Box::new) }
    }

    /// A user that executes the scenario once.
    pub(crate) fn passing(walk: Walk) -> Self {
        User { spans: VecDeque::new(), walk: Some(Box::new(walk)) }
    }

    /// Whether it executes the scenario once and leaves.
    pub(crate) fn is_passing(&self) -> bool {
        self.spans.is_empty()
    }

    /// When its next iteration starts, if it is free from `now` on; `None` if it has left.
    pub(crate) fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.spans.iter().find(|span| now < span.stop).map(|span| span.start.max(now))
    }
}

impl Walk {
    /// The initial state of user `number`.
    pub(crate) fn new(scenario: &Scenario, number: u64, seed: u64) -> Self {
        let user = scenario::User::new(scenario, number, seed);
        Walk { user, iteration: None, began: Timestamp::ZERO, step: None }
    }
}
