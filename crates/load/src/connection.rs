//! One connection of a worker and its state.

use crate::exchange::Exchange;
use crate::streams::Streams;
use http::reactor::Deadline;
use http::tls::Session;
use std::time::Duration;
use units::Timestamp;

/// One request in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) intended: Timestamp,
    pub(crate) started: Timestamp,
    /// The number of its arrival.
    pub(crate) number: u64,
    pub(crate) what: What,
    /// The index of its endpoint in the results.
    pub(crate) endpoint: u32,
    /// How many times it was sent without being processed: on connections that the other side was closing, or on
    /// streams that it refused.
    pub(crate) resends: u8,
}

/// The source of a request's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The prepared request with this index.
    Prepared(u32),
    /// A prepared request that a user sends.
    PreparedOf {
        /// Which request.
        wire: u32,
        /// Which user.
        user: u32,
    },
    /// The request of this user's current step.
    StepOf(u32),
}

impl What {
    /// The user who sends it, if there is one.
    pub(crate) fn user(self) -> Option<u32> {
        match self {
            What::Prepared(_) => None,
            What::PreparedOf { user, .. } | What::StepOf(user) => Some(user),
        }
    }
}

#[derive(Debug)]
pub(crate) enum State {
    /// The socket is not connected yet.
    Connecting(Job),
    /// The TLS handshake is in progress.
    Handshaking(Job),
    /// HTTP/1.1, and free.
    Idle,
    /// HTTP/1.1, and waiting for a response.
    Busy(Job, Exchange),
    /// HTTP/2.
    Many(Box<Streams>),
}

pub(crate) struct Connection<S> {
    pub(crate) stream: S,
    pub(crate) server: u32,
    /// Which of the server's addresses it goes to.
    pub(crate) address: usize,
    pub(crate) state: State,
    /// Tells this connection apart from a later one with the same index.
    pub(crate) generation: u32,
    pub(crate) deadline: Deadline,
    /// When the attempt to connect began; for an open connection, when it was opened.
    pub(crate) since: Timestamp,
    pub(crate) tls: Option<Box<Session>>,
    /// Bytes that wait to be encrypted, in HTTP/2.
    pub(crate) clear: Vec<u8>,
    /// Bytes that could not be written yet, and how many of them are written by now.
    pub(crate) out: Vec<u8>,
    pub(crate) written: usize,
    /// The beginning of an incomplete response.
    pub(crate) pending: Vec<u8>,
    /// Whether it has carried a response before.
    pub(crate) reused: bool,
    /// How long the attempt to connect took.
    pub(crate) took: Duration,
}

impl<S> Connection<S> {
    /// The requests that it carries or was opened for.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        let (one, many) = match &self.state {
            State::Connecting(job) | State::Handshaking(job) | State::Busy(job, _) => (Some(*job), None),
            State::Idle => (None, None),
            State::Many(streams) => (None, Some(streams.jobs())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}
