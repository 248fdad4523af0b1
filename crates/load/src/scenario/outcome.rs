//! The messages between a user and the event loop: the next action, and the evaluation of a response.

use super::{CheckId, StepId};
use std::time::Duration;

/// What a user does next.
#[derive(Debug)]
pub enum Next<'a> {
    /// Send this.
    Request {
        /// The step that it belongs to; a redirect belongs to the step that it follows from.
        step: StepId,
        /// The request.
        request: Rendered<'a>,
        /// The time from the end of the previous response to sending it; zero for the first of an iteration.
        after: Duration,
    },
    /// The request of this step cannot be written. It is counted, nothing is sent, and the iteration is over: the next
    /// call reports that. A user of the closed model without think times may fail for ever in this way; the event loop
    /// checks its clock in between.
    Failed {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
    },
    /// The iteration is over.
    IterationDone {
        /// Whether all its steps had responses and no value was missing.
        completed: bool,
        /// The think time after the last step: how long a user of the closed model waits before the next iteration. In
        /// the open model, where each iteration is another arrival, it has no effect.
        after: Duration,
    },
    /// The data has ended: no iteration begins.
    Stop,
}

/// A rendered request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rendered<'a> {
    /// The method.
    pub method: &'a str,
    /// A path with query at the base, which begins with `/`; or an absolute URL.
    pub url: &'a str,
    /// Lines `Name: value`, each with CR and LF.
    pub fields: &'a [u8],
    /// The line `Cookie: …` with CR and LF, or nothing.
    pub cookie: &'a [u8],
    /// The body; empty for none.
    pub body: &'a [u8],
}

impl<'a> Rendered<'a> {
    /// All header fields as name and value.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let lines =
            [self.fields, self.cookie].into_iter().flat_map(|lines| lines.split(|&byte| byte == b'\n'));
        lines.filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }
}

/// The scenario's evaluation of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// The checks of the step and whether each passed. Empty for a redirect that is followed.
    pub checks: Vec<(CheckId, bool)>,
    /// Why the iteration ends here.
    pub failure: Option<StepFailure>,
    /// The response is a redirect, and the next request follows it.
    pub redirected: bool,
}

/// Why a step failed although its response arrived, or before it could be sent. Counted by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepFailure {
    /// The response does not contain the value to extract.
    NotExtracted {
        /// The value: an index of [`super::Definition::names`].
        slot: usize,
    },
    /// The request needs a value that no earlier response of this iteration contained.
    Missing {
        /// The value: an index of [`super::Definition::names`].
        slot: usize,
    },
    /// A header value contains a line break.
    LineBreak,
    /// The URL is neither a path nor an `http` or `https` URL once its placeholders are filled in.
    BadUrl,
    /// More redirects than the scenario allows; this ends loops.
    TooManyRedirects,
    /// A redirect to something that is not HTTP, or that cannot be read.
    BadRedirect,
}

impl StepFailure {
    /// A short name for counters and tables.
    pub fn kind(self) -> &'static str {
        match self {
            StepFailure::NotExtracted { .. } => "not extracted",
            StepFailure::Missing { .. } => "missing value",
            StepFailure::LineBreak => "line break in a header",
            StepFailure::BadUrl => "bad URL",
            StepFailure::TooManyRedirects => "too many redirects",
            StepFailure::BadRedirect => "bad redirect",
        }
    }
}
