//! The two kinds of connections and what they are about.

use super::gather::Gathering;
use super::mirror::Copies;
use super::pace::Pace;
use crate::local::Local;
use crate::outbox::Outbox;
use crate::pool::Attempt;
use crate::queues::At;
use control::admission::{self, Admitted, Ticket, Watched};
use control::balance::{InstanceId, Placed};
use control::concurrency::{Concurrency, Priority};
use control::rate::{RateClass, Turn};
use http::codec::Body;
use http::codec::body::Decoder;
use http::reactor::Deadline;
use rule::Suspended;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use units::Timestamp;

/// What has been said of a socket's readiness.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Readable {
    /// A read may succeed.
    pub(super) now: bool,
    /// The end of the stream may stand behind a short read.
    pub(super) closing: bool,
}

impl Readable {
    /// A read gave `count` of at most `room` bytes.
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
    /// The trailers of the request's body, as far as they have come.
    pub(super) trailers: Vec<u8>,
    pub(super) outbox: Outbox,
    pub(super) phase: Phase,
    /// The client will send no more; what it has sent whole is answered.
    pub(super) ended: bool,
    /// When the first byte of a head came that is not whole yet.
    pub(super) head_since: Option<Timestamp>,
    pub(super) accepted: Timestamp,
    /// When its last exchange ended, or it was accepted.
    pub(super) idle_since: Timestamp,
    /// It has sent nothing yet.
    pub(super) silent: bool,
    /// It counts among those of its address.
    pub(super) counted: bool,
    /// How many requests it has carried.
    pub(super) requests: u32,
    pub(super) pace: Pace,
    /// The request at hand is read whole before it begins.
    pub(super) gathering: Option<Box<Gathering>>,
    pub(super) exchange: Exchange,
}

/// What a client's connection is doing.
#[derive(Debug)]
pub(super) enum Phase {
    /// Waits for a request.
    Head,
    /// Its request waits for its turn.
    Waiting(Pause),
    /// Its request is at an upstream.
    Active,
    /// Sends its last bytes, then closes.
    Closing,
    /// All is sent; reads on until the client has seen it (RFC 9112, 9.6).
    Lingering,
}

/// What a request waits for.
#[derive(Debug)]
pub(super) enum Pause {
    /// A turn at the limits of its route.
    Limits(Ticket),
    /// A turn at the rate class that its rule uses; then the rule goes on.
    Rule(RuleTurn),
    /// A turn at the rate class of its key; then the limits of its route are asked.
    Key(KeyTurn),
    /// A place at a limit or an instance.
    Queue(Queued),
}

impl Pause {
    /// Since when the request waits.
    pub(super) fn since(&self) -> Timestamp {
        match self {
            Pause::Limits(ticket) => ticket.since(),
            Pause::Rule(waiting) => waiting.since,
            Pause::Key(waiting) => waiting.since,
            Pause::Queue(queued) => queued.since,
        }
    }
}

/// A request that waits for its turn at the rate class of its key.
#[derive(Debug)]
pub(super) struct KeyTurn {
    pub(super) class: Arc<RateClass<AtomicU64>>,
    pub(super) turn: Turn,
    /// The class that is asked next.
    pub(super) next: usize,
    pub(super) since: Timestamp,
}

/// A request that waits for a place.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) at: At,
    pub(super) place: admission::Queued,
    pub(super) since: Timestamp,
    /// Its turn at the rate classes has come before.
    pub(super) had_turn: bool,
}

/// What a request carries along where its route has more than plain limits.
#[derive(Debug)]
pub(super) struct Claims {
    pub(super) priority: Priority,
    /// When its client will have gone.
    pub(super) deadline: Timestamp,
    /// The rate classes of its keys.
    pub(super) keyed: [Option<Arc<RateClass<AtomicU64>>>; 2],
    /// What the limits in shadow made of it.
    pub(super) watched: [Option<Watched>; 2],
    pub(super) admitted_at: Timestamp,
    /// The place that it holds at its instance, where those are limited.
    pub(super) held: Option<Arc<Concurrency<AtomicU64>>>,
    /// What was picked for it before it had to wait for an instance.
    pub(super) picked: Option<Placed>,
}

impl Default for Claims {
    fn default() -> Self {
        Claims {
            priority: Priority::HIGHEST,
            deadline: Timestamp::NEVER,
            keyed: [None, None],
            watched: [None, None],
            admitted_at: Timestamp::ZERO,
            held: None,
            picked: None,
        }
    }
}

/// A rule that waits.
#[derive(Debug)]
pub(super) struct RuleTurn {
    pub(super) class: Arc<RateClass<AtomicU64>>,
    pub(super) turn: Turn,
    pub(super) suspended: Suspended,
    /// The head that the rule may ask about.
    pub(super) head: Vec<u8>,
    pub(super) since: Timestamp,
}

/// One request and its answer.
pub(super) struct Exchange {
    /// The configuration that it began with; `None` between requests.
    pub(super) local: Option<Rc<Local>>,
    pub(super) route: usize,
    /// The pool of the route, or the one that a rule has chosen.
    pub(super) pool: usize,
    pub(super) level: Option<usize>,
    pub(super) arrived: Timestamp,
    pub(super) arrived_us: u64,
    /// The client, beyond the trusted hops: whom logs, keys and hashes are to mean.
    pub(super) client: IpAddr,
    /// Counted in by the limits.
    pub(super) admitted: Option<Admitted>,
    pub(super) claims: Claims,
    pub(super) waited: Duration,
    /// The request line, for the log.
    pub(super) method: Vec<u8>,
    pub(super) target: Vec<u8>,
    /// The head as it came, where a response rule may ask about it; otherwise empty.
    pub(super) head: Vec<u8>,
    /// Referer and user agent, with a zero byte between them, where the log wants them.
    pub(super) agent: Vec<u8>,
    /// The head for the upstream, with as much of the body as came with it.
    pub(super) request: Vec<u8>,
    /// Where in `request` a field may be added.
    pub(super) place: usize,
    pub(super) body: Decoder,
    /// The whole request is in `request`: it could be sent again.
    pub(super) replayable: bool,
    pub(super) idempotent: bool,
    pub(super) head_only: bool,
    /// The client speaks HTTP/1.0 and understands no chunks.
    pub(super) old: bool,
    pub(super) keep_alive: bool,
    /// The client waits for 100 (Continue), and nobody has said it yet.
    pub(super) expects_continue: bool,
    pub(super) upstream: Option<usize>,
    /// What its pool balances by.
    pub(super) key: Option<u64>,
    pub(super) instance: InstanceId,
    /// The instance counts it as in flight.
    pub(super) placed: bool,
    /// The client has to be told its instance.
    pub(super) sets_cookie: bool,
    pub(super) attempt: Attempt,
    /// The instances that have failed it, none of them twice. A stale connection says nothing of its instance.
    pub(super) failed: Vec<InstanceId>,
    /// How often the whole of it, as far as it had come, was handed to a connection; a stale one does not count.
    pub(super) sends: u32,
    /// How long the instance wants to be left alone.
    pub(super) stay_away: Option<Duration>,
    pub(super) sent: Timestamp,
    pub(super) first_byte: Option<Timestamp>,
    /// Counted as late before it was answered.
    pub(super) late: bool,
    pub(super) answer: Option<Answer>,
    pub(super) status: u16,
    pub(super) body_bytes: u64,
    /// The rule that the answer broke, and the instance that gave it.
    pub(super) broken: Option<(&'static str, SocketAddr)>,
    pub(super) copies: Copies,
}

/// An answer whose head has gone out.
#[derive(Debug)]
pub(super) struct Answer {
    /// What the instance said, whatever a rule made of it.
    pub(super) status: u16,
    /// The client has been sent something of it.
    pub(super) begun: bool,
    pub(super) body: Decoder,
    /// Chunks are taken apart for a client that does not know them.
    pub(super) unchunk: bool,
    /// The client's connection closes after it.
    pub(super) close: bool,
    /// The client knows the end of the answer by the end of the connection.
    pub(super) until_close: bool,
    /// The upstream's connection may carry another request.
    pub(super) reusable: bool,
}

impl Default for Exchange {
    fn default() -> Self {
        Exchange {
            local: None,
            route: 0,
            pool: 0,
            level: None,
            arrived: Timestamp::ZERO,
            arrived_us: 0,
            client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            admitted: None,
            claims: Claims::default(),
            waited: Duration::ZERO,
            method: Vec::new(),
            target: Vec::new(),
            head: Vec::new(),
            agent: Vec::new(),
            request: Vec::new(),
            place: 0,
            body: Decoder::new(Body::None),
            replayable: true,
            idempotent: false,
            head_only: false,
            old: false,
            keep_alive: true,
            expects_continue: false,
            upstream: None,
            key: None,
            instance: InstanceId(0),
            placed: false,
            sets_cookie: false,
            attempt: Attempt::First,
            failed: Vec::new(),
            sends: 0,
            stay_away: None,
            sent: Timestamp::ZERO,
            first_byte: None,
            late: false,
            answer: None,
            status: 0,
            body_bytes: 0,
            broken: None,
            copies: Copies::Unasked,
        }
    }
}

/// A connection to an instance.
pub(super) struct Upstream<S> {
    pub(super) stream: S,
    pub(super) generation: u32,
    pub(super) deadline: Deadline,
    pub(super) readable: Readable,
    /// The beginning of an answer's head.
    pub(super) input: Vec<u8>,
    pub(super) outbox: Outbox,
    /// The worker's number of the instance.
    pub(super) instance: usize,
    pub(super) state: UpstreamState,
    /// It has carried an answer before.
    pub(super) reused: bool,
    /// When it was asked for.
    pub(super) since: Timestamp,
}

/// What an upstream connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpstreamState {
    /// For this client.
    Connecting(usize),
    /// Waits for a request.
    Idle,
    /// Carries the request of this client.
    Busy(usize),
}
