//! One exchange, replayed over an I/O seam that costs next to nothing, for counting its instructions.
//!
//! `bench/gateway/instructions` runs this under callgrind with and without the classes. The seam is the cheapest
//! possible one instead of the simulation's virtual network, whose own work would hide what is measured.

use super::{Ends, LISTENER, Worker};
use crate::access_log::Log;
use crate::control_room::ControlRoom;
use crate::settings::{
    AccessLog, Class, KeyBy, Mirror, PathMatch, Policy, Pool, RateClassSettings, Route, Settings,
};
use crate::shared::Shared;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use http::reactor::{Net, Ready, Token};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

const REQUEST: &[u8] = b"GET /search.cgi?q=1 HTTP/1.1\r\nHost: service.example\r\nUser-Agent: replay/1.0\r\n\
    Accept: */*\r\nAccept-Encoding: gzip\r\n\r\n";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 13:00:00 GMT\r\n\
    Content-Type: text/plain\r\nContent-Length: 100\r\nConnection: keep-alive\r\n\r\n\
    0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// One client that sends its next request as soon as it has a response, and one instance that responds at once.
pub(super) struct Replay {
    now: Timestamp,
    accepted: bool,
    /// Requests that were read, and responses that were written.
    requests: usize,
    pub(super) exchanges: usize,
    /// Requests that arrive together.
    pipelined: usize,
    /// Writes to the client.
    writes: usize,
    upstream: Option<Token>,
    /// The request was sent, so the response is next.
    asked: bool,
}

/// The peer of a connection.
pub(super) enum Side {
    Client,
    Instance,
}

impl Net for Replay {
    type Stream = Side;
    type Listener = ();

    fn now(&mut self) -> Timestamp {
        self.now += Duration::from_micros(5);
        self.now
    }

    fn connect(&mut self, _to: SocketAddr, token: Token) -> io::Result<Side> {
        self.upstream = Some(token);
        Ok(Side::Instance)
    }

    fn connected(&mut self, _stream: &Side) -> io::Result<bool> {
        Ok(true)
    }

    fn accept(&mut self, (): &(), _token: Token) -> io::Result<(Side, SocketAddr)> {
        if std::mem::replace(&mut self.accepted, true) {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok((Side::Client, SocketAddr::from(([127, 0, 0, 1], 40_000))))
    }

    fn stop_listening(&mut self, (): ()) {}

    fn read(&mut self, stream: &mut Side, into: &mut [u8]) -> io::Result<usize> {
        let bytes = match stream {
            Side::Client => {
                self.requests += self.pipelined;
                REQUEST
            }
            Side::Instance => ANSWER,
        };
        let count = if matches!(stream, Side::Client) { self.pipelined } else { 1 };
        for part in into.chunks_exact_mut(bytes.len()).take(count) {
            part.copy_from_slice(bytes);
        }
        Ok(bytes.len() * count)
    }

    fn write(&mut self, stream: &mut Side, bytes: &[u8]) -> io::Result<usize> {
        self.asked = matches!(stream, Side::Instance);
        if !self.asked {
            self.writes += 1;
            self.exchanges += match self.pipelined {
                1 => 1,
                _ => memchr::memmem::find_iter(bytes, "HTTP/1.1 ").count(),
            };
        }
        Ok(bytes.len())
    }

    fn reset(&mut self, _stream: Side) {}

    fn shut_down(&mut self, _stream: &mut Side) {}

    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.exchanges > 0 && self.requests > self.exchanges && !self.asked {
            // The request waits for its rate class.
            self.now = self.now.max(until);
            return Ok(());
        }
        let (token, writable) = match (self.accepted, self.upstream) {
            (false, _) => (LISTENER, false),
            (true, None) => (Token(0), false),
            (true, Some(upstream)) if self.asked => (upstream, false),
            (true, Some(upstream)) if self.exchanges == 0 => (upstream, true),
            (true, Some(_)) => (Token(0), false),
        };
        ready.push(Ready { token, readable: !writable, writable, closed: false, broken: false });
        Ok(())
    }
}

/// A mirror that copies this share; the replayed client is one session.
fn mirrors(share: f64) -> Vec<Mirror> {
    let mut mirror = Mirror::new("next", 0);
    mirror.choice.fraction = units::Ratio::new(share).expect("a share");
    mirror.key = KeyBy::Cookie("sid".to_owned());
    vec![mirror]
}

/// A rate class that always applies, chosen by the outcome of nearly all requests.
fn always(fate: &str) -> Class<RateClassSettings> {
    let (rate, burst, backlog) = match fate {
        "refused" => ("1/s", 1, 0),
        "waited" => ("5000/s", 1, 1),
        _ => ("1000000/s", 1_000, 1),
    };
    class("always", rate, burst, backlog)
}

fn class(name: &str, rate: &str, burst: u32, backlog: u32) -> Class<RateClassSettings> {
    let settings = RateSettings {
        per_second: Some(Limit { rate: rate.parse().expect("a rate"), burst }),
        per_minute: None,
        backlog,
        longest_wait: Duration::from_secs(1),
    };
    Class::new(name, settings)
}

pub(super) fn settings(with_classes: bool, fate: &str, mirrors: Vec<Mirror>) -> Settings {
    let only = |count: usize| if with_classes { count } else { 0 };
    Settings {
        access_log: AccessLog::File("/dev/null".into()),
        pools: vec![Pool::new("pool", vec![SocketAddr::from(([127, 0, 0, 1], 80))])],
        service_levels: vec![Class {
            name: "in time".to_owned(),
            settings: ServiceLevelSettings::within(Duration::from_millis(50)),
            provenance: None,
        }],
        rate_classes: vec![always(fate), class("gated", "100/s", 1_000, 1)],
        policies: vec![Policy { rate_class: Some(1), ..Policy::new("protect", 0) }],
        routes: vec![Route {
            mirrors: (0..mirrors.len()).collect(),
            rate_class: (0..only(1)).next(),
            policy: (0..only(1)).next(),
            ..Route::new("search", PathMatch::Exact("/search.cgi".to_owned()), 0)
        }],
        mirrors,
        ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

pub(super) fn worker(settings: Settings, pipelined: usize) -> Worker<Replay> {
    let log = Log::open(&settings.access_log).unwrap();
    let room = Arc::new(ControlRoom::new(Shared::new(settings, None, Timestamp::ZERO).unwrap(), 1));
    let _ = room.mirror.shadows.set(crate::mirror::queue(None).0);
    let net = Replay {
        now: Timestamp::ZERO,
        accepted: false,
        requests: 0,
        exchanges: 0,
        pipelined,
        writes: 0,
        upstream: None,
        asked: false,
    };
    let ends = Ends { log, ..Ends::quiet(net, (), 1) };
    Worker::new(ends, 0, room).unwrap()
}

/// Runs `HEADROOM_EXCHANGES` exchanges (100 if unset), with the classes if `HEADROOM_CLASSES` is `on`; nearly all are
/// admitted, or `refused` or `waited` if `HEADROOM_FATE` is set so. `HEADROOM_MIRROR` adds a mirror: with `passed_over`
/// nothing is chosen, with `chosen` everything is copied, and no thread takes the copies.
#[test]
fn an_exchange_can_be_replayed() {
    let count = std::env::var("HEADROOM_EXCHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let with_classes = std::env::var("HEADROOM_CLASSES").is_ok_and(|text| text == "on");
    let mirrors = match std::env::var("HEADROOM_MIRROR").as_deref() {
        Ok("passed_over") => mirrors(1e-9),
        Ok("chosen") => mirrors(1.0),
        _ => Vec::new(),
    };
    let fate = std::env::var("HEADROOM_FATE").unwrap_or_default();
    let settings = settings(with_classes, &fate, mirrors);
    let mut worker = worker(settings, 1);
    let mut ready = Vec::new();
    while worker.net.exchanges < count {
        assert!(!worker.step(&mut ready).unwrap());
    }
    let counts = worker.local.counts.borrow();
    let [answered, shed, failed, _] = counts.counted(0).totals();
    assert_eq!((answered + shed, failed), (count as u64, 0), "every exchange has a response");
    let refused = if fate == "refused" { answered * 10 < shed } else { shed == 0 };
    assert!(refused, "{answered} answered, {shed} shed");
}

#[test]
fn refusals_of_pipelined_requests_leave_in_one_write() {
    let mut worker = worker(settings(true, "refused", Vec::new()), 8);
    let mut ready = Vec::new();
    while worker.net.exchanges < 800 {
        assert!(!worker.step(&mut ready).unwrap());
    }
    let Replay { exchanges, writes, .. } = worker.net;
    // The first one is admitted, so the seven that follow it have a write of their own.
    assert_eq!((exchanges, writes), (800, 101));
}
