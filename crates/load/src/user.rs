//! A user who goes from request to request: through a scenario, or by a plan of when it runs.

use crate::UserSpan;
use crate::scenario::{self, Scenario, StepId};
use std::collections::VecDeque;
use units::Timestamp;

/// One user.
#[derive(Debug)]
pub(crate) struct User {
    /// When it runs; empty for one who comes once, walks through the scenario and leaves.
    spans: VecDeque<UserSpan>,
    /// Its walk; `None` for one who sends prepared requests.
    pub(crate) walk: Option<Box<Walk>>,
}

/// A walk through a scenario.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) user: scenario::User,
    /// The number of the iteration under way, over all users; `None` between iterations.
    pub(crate) iteration: Option<u64>,
    /// When it began.
    pub(crate) began: Timestamp,
    /// The step whose request it has come to.
    pub(crate) step: Option<StepId>,
}

impl User {
    /// A user who runs in these spans.
    pub(crate) fn running(spans: impl Iterator<Item = UserSpan>, walk: Option<Walk>) -> Self {
        User { spans: spans.collect(), walk: walk.map(Box::new) }
    }

    /// A user who walks through the scenario once.
    pub(crate) fn passing(walk: Walk) -> Self {
        User { spans: VecDeque::new(), walk: Some(Box::new(walk)) }
    }

    /// Whether it walks once and leaves.
    pub(crate) fn is_passing(&self) -> bool {
        self.spans.is_empty()
    }

    /// When its next turn is, if it is free from `now` on; `None` where it has left.
    pub(crate) fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.spans.iter().find(|span| now < span.stop).map(|span| span.start.max(now))
    }
}

impl Walk {
    /// The walk of user `number`.
    pub(crate) fn new(scenario: &Scenario, number: u64, seed: u64) -> Self {
        let user = scenario::User::new(scenario, number, seed);
        Walk { user, iteration: None, began: Timestamp::ZERO, step: None }
    }
}
