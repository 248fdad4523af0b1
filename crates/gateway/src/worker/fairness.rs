//! However much data one connection has, the others are served: tested in a world whose bytes never run out and always
//! fit, unlike any network.

use super::{Ends, LISTENER, Worker};
use crate::control_room::ControlRoom;
use crate::settings::{PathMatch, Pool, Route, Settings};
use crate::shared::Shared;
use http::reactor::{Net, Ready, Token};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use units::Timestamp;

/// The flood ends here at the latest, so that a loop that serves only one connection is detected.
const READS: usize = 10_000;

/// One end of a connection: it sends these bytes, and the second ones again and again.
#[derive(Debug, Clone, Default)]
struct Speaker {
    once: Vec<u8>,
    forever: Vec<u8>,
    /// The bytes that it receives are kept.
    listens: bool,
    /// It sends only after it has received something, and is then readable under this token.
    waits: Option<Token>,
}

/// Everything that happened, and the clients to come.
#[derive(Debug, Default)]
struct Story {
    clients: VecDeque<Speaker>,
    instance: Speaker,
    ready: Vec<Ready>,
    reads: usize,
    /// The bytes received by the end that listens.
    heard: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
struct Plenty(Rc<RefCell<Story>>);

impl Net for Plenty {
    type Stream = Speaker;
    type Listener = ();

    fn now(&mut self) -> Timestamp {
        Timestamp::ZERO
    }

    fn connect(&mut self, _: SocketAddr, token: Token) -> io::Result<Speaker> {
        let mut story = self.0.borrow_mut();
        story.ready.push(Ready { token, readable: false, writable: true, closed: false, broken: false });
        Ok(Speaker { waits: Some(token), ..story.instance.clone() })
    }

    fn connected(&mut self, _: &Speaker) -> io::Result<bool> {
        Ok(true)
    }

    fn accept(&mut self, _: &(), token: Token) -> io::Result<(Speaker, SocketAddr)> {
        let mut story = self.0.borrow_mut();
        let client = story.clients.pop_front().ok_or(ErrorKind::WouldBlock)?;
        story.ready.push(Ready { token, readable: true, writable: true, closed: false, broken: false });
        Ok((client, ([10, 1, 0, 0], 1_000).into()))
    }

    fn stop_listening(&mut self, (): ()) {}

    fn read(&mut self, stream: &mut Speaker, into: &mut [u8]) -> io::Result<usize> {
        let once = std::mem::take(&mut stream.once);
        into[..once.len()].copy_from_slice(&once);
        let mut story = self.0.borrow_mut();
        if stream.forever.is_empty() || story.reads == READS {
            return if once.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { Ok(once.len()) };
        }
        story.reads += 1;
        let parts = into[once.len()..].chunks_mut(stream.forever.len());
        parts.for_each(|part| part.copy_from_slice(&stream.forever[..part.len()]));
        Ok(into.len())
    }

    fn write(&mut self, stream: &mut Speaker, bytes: &[u8]) -> io::Result<usize> {
        let mut story = self.0.borrow_mut();
        if let Some(token) = stream.waits.take() {
            story.ready.push(Ready { token, readable: true, writable: false, closed: false, broken: false });
        }
        if stream.listens {
            story.heard.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn reset(&mut self, _: Speaker) {}

    fn shut_down(&mut self, _: &mut Speaker) {}

    fn wait(&mut self, _: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.append(&mut self.0.borrow_mut().ready);
        Ok(())
    }
}

/// Lets one client begin an endless exchange, and another send a small request once it is under way: how much of the
/// first was processed before the second had its response, in reads of its bytes and in requests with responses.
fn before_the_other(flood: Speaker, instance: Speaker) -> (usize, u64) {
    let world = Plenty::default();
    world.0.borrow_mut().instance = instance;
    let address = SocketAddr::from(([10, 2, 0, 0], 80));
    let settings = Settings {
        pools: vec![Pool::new("pool", vec![address])],
        routes: vec![Route::new("flood", PathMatch::Prefix("/flood".to_owned()), 0)],
        ..Settings::new(address)
    };
    let shared = Shared::new(settings, None, Timestamp::ZERO).unwrap();
    let ends = Ends::quiet(world.clone(), (), 1);
    let mut worker = Worker::new(ends, 0, Arc::new(ControlRoom::new(shared, 1))).unwrap();
    let mut ready = Vec::new();
    let comes = |speaker: Speaker| {
        let mut story = world.0.borrow_mut();
        story.clients.push_back(speaker);
        story.ready.push(Ready {
            token: LISTENER,
            readable: true,
            writable: false,
            closed: false,
            broken: false,
        });
        story.reads
    };
    comes(flood);
    let mut until = |done: &dyn Fn(&Story) -> bool, worker: &mut Worker<Plenty>| {
        (0..READS).find(|_| {
            worker.step(&mut ready).unwrap();
            done(&world.0.borrow())
        })
    };
    until(&|story| story.reads > 16, &mut worker).expect("the flood begins");
    let once = b"GET / HTTP/1.1\r\nHost: other\r\n\r\n".to_vec();
    let (reads, answers) =
        (comes(Speaker { once, listens: true, ..Speaker::default() }), worker.counts.unrouted);
    until(&|story| !story.heard.is_empty(), &mut worker).expect("the other has its response");
    let story = world.0.borrow();
    assert!(story.heard.starts_with(b"HTTP/1.1 404"), "{}", story.heard.escape_ascii());
    (story.reads - reads, worker.counts.unrouted - answers)
}

/// A turn is 16 reads or requests: one may come before the other client is accepted, and one before its request.
const TURNS: usize = 2 * 16;

#[test]
fn an_endless_upload_leaves_others_their_turn() {
    let once = b"POST /flood HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000000000\r\n\r\n".to_vec();
    let flood = Speaker { once, forever: b"x".to_vec(), ..Speaker::default() };
    let (reads, _) = before_the_other(flood, Speaker::default());
    assert!((1..=TURNS).contains(&reads), "{reads} reads of the upload came before another request");
}

#[test]
fn an_endless_answer_leaves_others_their_turn() {
    let once = b"GET /flood HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000\r\n\r\n".to_vec();
    let instance = Speaker { once: answer, forever: b"x".to_vec(), ..Speaker::default() };
    let (reads, _) = before_the_other(Speaker { once, ..Speaker::default() }, instance);
    assert!((1..=TURNS).contains(&reads), "{reads} reads of the response came before another request");
}

#[test]
fn endless_pipelined_requests_leave_others_their_turn() {
    // Their size divides that of a read.
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Fill: {}\r\n\r\n", "x".repeat(27));
    assert_eq!(request.len(), 64);
    let flood = Speaker { forever: request.into_bytes(), ..Speaker::default() };
    let (_, answers) = before_the_other(flood, Speaker::default());
    assert!(
        (1..=1 + TURNS as u64).contains(&answers),
        "{answers} requests came before one of another client"
    );
}
