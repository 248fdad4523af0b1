//! One request and its answer.

use super::mirror::Copies;
use crate::local::Local;
use crate::pool::Attempt;
use control::admission::{Admitted, Watched};
use control::balance::{InstanceId, Placed};
use control::concurrency::{Concurrency, Priority};
use control::rate::RateClass;
use http::codec::Body;
use http::codec::body::Decoder;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use units::Timestamp;

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
