//! The two kinds of connections and their states.

use super::exchange::Exchange;
use super::gather::Gathering;
use super::pace::Pace;
use crate::outbox::Outbox;
use crate::queues::At;
use control::admission::{self, KeyTurn, Ticket};
use control::rate::{RateClass, Turn};
use http::reactor::Deadline;
use rule::Suspended;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use units::Timestamp;

/// What is known of a socket's readiness.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Readable {
    /// A read may succeed.
    pub(super) now: bool,
    /// The end of the stream may follow a short read.
    pub(super) closing: bool,
}

impl Readable {
    /// A read returned `count` of at most `room` bytes.
    pub(super) fn took(&mut self, count: usize, room: usize) {
        self.now = count == room || self.closing;
    }
}

/// A client's connection.
pub(super) struct Downstream<S> {
    pub(super) stream: S,
    pub(super) client: SocketAddr,
    pub(super) generation: u32,
    pub(super) deadline: Deadline,
    pub(super) readable: Readable,
    /// Received and not used yet.
    pub(super) input: Vec<u8>,
    /// The trailers of the request's body, as far as they have arrived.
    pub(super) trailers: Vec<u8>,
    pub(super) outbox: Outbox,
    pub(super) phase: Phase,
    /// The client will send no more; its complete requests still get responses.
    pub(super) ended: bool,
    /// When the first byte of an incomplete head arrived.
    pub(super) head_since: Option<Timestamp>,
    pub(super) accepted: Timestamp,
    /// When its last exchange ended, or it was accepted.
    pub(super) idle_since: Timestamp,
    /// It has sent nothing yet.
    pub(super) silent: bool,
    /// It is included in the count of its client address.
    pub(super) counted: bool,
    /// How many requests it has carried.
    pub(super) requests: u32,
    pub(super) pace: Pace,
    /// The current request is buffered whole before it begins.
    pub(super) gathering: Option<Box<Gathering>>,
    pub(super) exchange: Exchange,
}

/// The state of a client connection.
#[derive(Debug)]
pub(super) enum Phase {
    /// Ready for a request.
    Head,
    /// Its request waits for a limit.
    Waiting(Pause),
    /// Its request is at an upstream.
    Active,
    /// Sends its last bytes, then closes.
    Closing,
    /// All is sent; reads on until the client has received it (RFC 9112, 9.6).
    Lingering,
}

impl Phase {
    /// Whether its request continues at a known time: it waits for a rate class.
    pub(super) fn waits_for_turn(&self) -> bool {
        matches!(self, Phase::Waiting(Pause::Limits(_) | Pause::Rule(_) | Pause::Key(_)))
    }
}

/// What a request waits for.
#[derive(Debug)]
pub(super) enum Pause {
    /// The delay of the rate classes of its route.
    Limits(Ticket),
    /// The delay of the rate class that its rule uses; then the rule resumes.
    Rule(RuleTurn),
    /// The delay of the rate class of its key; then the limits of its route are checked.
    Key(KeyTurn<AtomicU64>),
    /// A slot under a concurrency limit or at an instance.
    Queue(Queued),
}

impl Pause {
    /// Since when the request waits.
    pub(super) fn since(&self) -> Timestamp {
        match self {
            Pause::Limits(ticket) => ticket.since(),
            Pause::Rule(waiting) => waiting.since,
            Pause::Key(waiting) => waiting.since(),
            Pause::Queue(queued) => queued.since,
        }
    }
}

/// A request that waits for a slot.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) at: At,
    pub(super) place: admission::Queued,
    pub(super) since: Timestamp,
    /// It has already waited for the rate classes.
    pub(super) had_turn: bool,
}

/// A suspended rule.
#[derive(Debug)]
pub(super) struct RuleTurn {
    pub(super) class: Arc<RateClass<AtomicU64>>,
    pub(super) turn: Turn,
    pub(super) suspended: Suspended,
    /// The head that the rule may read.
    pub(super) head: Vec<u8>,
    pub(super) since: Timestamp,
}

/// A connection to an instance.
pub(super) struct Upstream<S> {
    pub(super) stream: S,
    pub(super) generation: u32,
    pub(super) deadline: Deadline,
    pub(super) readable: Readable,
    /// The beginning of a response head.
    pub(super) input: Vec<u8>,
    pub(super) outbox: Outbox,
    /// The worker's index of the instance.
    pub(super) instance: usize,
    pub(super) state: UpstreamState,
    /// It has carried a response before.
    pub(super) reused: bool,
    /// When it was requested.
    pub(super) since: Timestamp,
}

/// The state of an upstream connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpstreamState {
    /// For this client.
    Connecting(usize),
    /// Ready for a request.
    Idle,
    /// Carries the request of this client.
    Busy(usize),
}
