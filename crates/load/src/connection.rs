//! One connection of a worker and what it is doing.

use crate::exchange::Exchange;
use crate::streams::Streams;
use http::reactor::Deadline;
use http::tls::Session;
use std::time::Duration;
use units::Timestamp;

/// One request on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) intended: Timestamp,
    pub(crate) started: Timestamp,
    /// The number of its arrival.
    pub(crate) number: u64,
    pub(crate) what: What,
    /// The place of its endpoint in the results.
    pub(crate) endpoint: u32,
    /// How many times it was sent without being worked on: on connections that the other side was closing, or on
    /// streams that it refused.
    pub(crate) resends: u8,
}

/// Where the bytes of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The prepared request at this place.
    Prepared(u32),
    /// A prepared request that a user sends.
    PreparedOf {
        /// Which request.
        wire: u32,
        /// Which user.
        user: u32,
    },
    /// The request that this user's walk through the scenario has come to.
    StepOf(u32),
}

impl What {
    /// The user who sends it, where there is one.
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
    /// The TLS handshake is under way.
    Handshaking(Job),
    /// HTTP/1.1, and free.
    Idle,
    /// HTTP/1.1, and waiting for an answer.
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
    /// Tells this connection apart from a later one in the same place.
    pub(crate) generation: u32,
    pub(crate) deadline: Deadline,
    /// When the attempt to connect began; once there is a connection, when it was there.
    pub(crate) since: Timestamp,
    pub(crate) tls: Option<Box<Session>>,
    /// What waits to be encrypted, in HTTP/2.
    pub(crate) clear: Vec<u8>,
    /// What could not be written yet, and how much of it is written by now.
    pub(crate) out: Vec<u8>,
    pub(crate) written: usize,
    /// The beginning of an answer that waits for more.
    pub(crate) pending: Vec<u8>,
    /// Whether it has carried an answer before.
    pub(crate) reused: bool,
    /// How long the attempt to connect took.
    pub(crate) took: Duration,
}

impl<S> Connection<S> {
    /// What it carries or was opened for.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        let (one, many) = match &self.state {
            State::Connecting(job) | State::Handshaking(job) | State::Busy(job, _) => (Some(*job), None),
            State::Idle => (None, None),
            State::Many(streams) => (None, Some(streams.jobs())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}
