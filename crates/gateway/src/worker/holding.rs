//! Clients that hold resources: connections without a request, bodies that arrive very slowly, responses that are read
//! very slowly. In virtual time.

use super::{Ends, LISTENER, Worker};
use crate::control_room::ControlRoom;
use crate::settings::{Class, ConnectionLimits, PathMatch, Pool, Route, Settings};
use crate::shared::Shared;
use http::codec::Body;
use http::codec::body::Decoder;
use http::reactor::virtual_net::{Peer, Reach, VirtualNet, World};
use http::reactor::{Net, Ready, Token};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, Timestamp};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn instance() -> SocketAddr {
    SocketAddr::from(([10, 2, 0, 0], 80))
}

/// Workers of one gateway, each with a virtual network of its own, and an instance that answers complete requests with
/// 204.
struct Stage {
    workers: Vec<(World, Worker<VirtualNet>)>,
    instances: Vec<(Peer, Vec<u8>)>,
    /// The instance's response to each request; none if empty.
    answer: &'static [u8],
    now: Timestamp,
}

impl Stage {
    fn new(limits: ConnectionLimits) -> Self {
        Stage::with(limits, 1, |_| {})
    }

    fn with(limits: ConnectionLimits, workers: u32, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            limits,
            workers: NonZeroU32::new(workers).unwrap(),
            pools: vec![Pool::new("pool", vec![instance()])],
            concurrency_limits: vec![Class::new("one", 1)],
            routes: vec![Route {
                concurrency: None,
                ..Route::new("all", PathMatch::Prefix("/".to_owned()), 0)
            }],
            ..Settings::new(instance())
        };
        change(&mut settings);
        let shared = Shared::new(settings, None, Timestamp::ZERO).unwrap();
        let room = Arc::new(ControlRoom::new(shared, workers as usize));
        let workers = (0..workers).map(|index| {
            let world = World::new(u64::from(index));
            world.set_reach(instance(), Reach::Accepts);
            let ends = Ends::quiet(world.net(), world.listen(LISTENER), 1);
            let worker = Worker::new(ends, index as usize, Arc::clone(&room)).unwrap();
            (world, worker)
        });
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        Stage { workers: workers.collect(), instances: Vec::new(), answer, now: Timestamp::ZERO }
    }

    fn connect_to(&self, worker: usize, number: u8) -> Client {
        let from = SocketAddr::from(([10, 1, 0, number], 1_000));
        Client { peer: self.workers[worker].0.connect(from).unwrap(), received: Vec::new(), ended: false }
    }

    fn connect(&self, number: u8) -> Client {
        self.connect_to(0, number)
    }

    /// Advances time in small steps.
    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        let mut ready = Vec::new();
        while self.now < end {
            self.now = end.min(self.now + Duration::from_millis(20));
            for (world, worker) in &mut self.workers {
                while world.now() < self.now {
                    world.wake_at(self.now);
                    worker.step(&mut ready).unwrap();
                }
                self.instances.extend(world.accept(instance()).map(|peer| (peer, Vec::new())));
            }
            for (peer, input) in &mut self.instances {
                input.extend(peer.receive(usize::MAX).0);
                let end: &[u8] = if input.starts_with(b"GET") { b"\r\n\r\n" } else { b"the end" };
                let whole = input.ends_with(end);
                if whole && !self.answer.is_empty() {
                    input.clear();
                    peer.send(self.answer);
                }
            }
        }
    }

    fn millis(&mut self, millis: u64) {
        self.pass(Duration::from_millis(millis));
    }

    fn given_up(&self) -> usize {
        let (accepted, refused, open) = self.workers.iter().fold((0, 0, 0), |sum, (_, worker)| {
            let counts = &worker.counts;
            let (accepted, refused) = (counts.connections_accepted, counts.connections_refused);
            (sum.0 + accepted, sum.1 + refused, sum.2 + counts.connections_open)
        });
        (accepted - refused - open) as usize
    }
}

struct Client {
    peer: Peer,
    received: Vec<u8>,
    ended: bool,
}

impl Client {
    fn look(&mut self) {
        let (bytes, end) = self.peer.receive(usize::MAX);
        self.received.extend(bytes);
        self.ended |= end.is_some();
    }

    fn is_closed(&mut self) -> bool {
        self.look();
        self.ended
    }

    /// The status of the last response; 0 if there is none.
    fn status(&mut self) -> u16 {
        self.look();
        let text = String::from_utf8_lossy(&self.received);
        text.rsplit("HTTP/1.1 ").next().and_then(|last| last.get(..3)?.parse().ok()).unwrap_or(0)
    }
}

fn closed(clients: &mut [Client]) -> Vec<bool> {
    clients.iter_mut().map(Client::is_closed).collect()
}

const FEW: ConnectionLimits = ConnectionLimits { connections: 3, ..ConnectionLimits::DEFAULT };

#[test]
fn who_has_sent_nothing_gives_way_the_oldest_first() {
    let mut stage = Stage::new(FEW);
    let mut held: Vec<Client> = Vec::new();
    for number in 0..3 {
        held.push(stage.connect(number));
        stage.millis(100);
    }
    for (number, expected) in [(3, [true, false, false]), (4, [true, true, false])] {
        let mut good = stage.connect(number);
        good.peer.send(GET);
        stage.millis(300);
        assert_eq!(good.status(), 204);
        assert_eq!(closed(&mut held), expected);
    }
}

#[test]
fn ten_thousand_that_are_silent_keep_nobody_out() {
    let mut stage = Stage::new(ConnectionLimits { connections: 200, ..FEW });
    let mut held = Vec::new();
    for round in 0..20 {
        held.extend((0..100).map(|number| stage.connect(number)));
        let mut good = stage.connect(200 + round);
        good.peer.send(GET);
        stage.millis(300);
        assert_eq!(good.status(), 204, "round {round}");
    }
}

#[test]
fn then_whoever_has_waited_longest_gives_way() {
    let mut stage = Stage::new(FEW);
    let mut held: Vec<Client> = (0..3).map(|number| stage.connect(number)).collect();
    for number in [0, 1, 2, 0] {
        held[number].peer.send(GET);
        stage.millis(300);
    }
    let mut good = stage.connect(3);
    good.peer.send(GET);
    stage.millis(300);
    assert_eq!(good.status(), 204);
    assert_eq!(closed(&mut held), [false, true, false], "the one of the longest wait");
    // An incomplete head counts as waiting as well, and it has waited since before the other responses.
    let mut half = stage.connect(4);
    half.peer.send(b"GET / HT");
    stage.millis(300);
    held[0].peer.send(GET);
    good.peer.send(GET);
    stage.millis(300);
    let mut another = stage.connect(5);
    another.peer.send(GET);
    stage.millis(300);
    assert!(half.is_closed() && another.status() == 204);
    assert_eq!(closed(&mut held), [false, true, true]);
}

#[test]
fn a_connection_with_a_request_is_not_given_up() {
    let mut stage = Stage::new(FEW);
    stage.answer = b"";
    let mut held: Vec<Client> = (0..3).map(|number| stage.connect(number)).collect();
    held.iter().for_each(|client| client.peer.send(GET));
    stage.millis(300);
    let mut late = stage.connect(3);
    late.peer.send(GET);
    stage.millis(300);
    assert!(late.is_closed());
    assert_eq!(closed(&mut held), [false; 3]);
    assert_eq!(stage.workers[0].1.counts.connections_refused, 1);
}

#[test]
fn what_was_sent_and_not_read_yet_counts() {
    for seed in 0..20 {
        let mut stage = Stage::new(ConnectionLimits { connections: 1, ..FEW });
        let mut first = stage.connect(seed);
        first.peer.send(GET);
        // Its bytes have arrived, and are not read yet.
        stage.workers[0].0.wake_at(Timestamp::from_millis(10));
        let mut second = stage.connect(100 + seed);
        stage.millis(500);
        assert_eq!(first.status(), 204);
        second.is_closed();
    }
}

#[test]
fn those_of_another_worker_give_way_too() {
    for speaks in [false, true] {
        let mut stage = Stage::with(FEW, 2, |_| {});
        let mut held: Vec<Client> = (0..3).map(|number| stage.connect_to(0, number)).collect();
        if speaks {
            held.iter().for_each(|client| client.peer.send(GET));
        }
        stage.millis(300);
        let mut good = stage.connect_to(1, 3);
        good.peer.send(GET);
        stage.millis(300);
        assert_eq!(good.status(), 204);
        assert_eq!(closed(&mut held).iter().filter(|closed| **closed).count(), 1);
        assert_eq!(stage.given_up(), 1);
    }
}

#[test]
fn a_first_head_has_its_time_from_the_beginning() {
    let mut stage = Stage::new(FEW);
    let (mut silent, mut half) = (stage.connect(0), stage.connect(1));
    stage.millis(9_000);
    half.peer.send(b"GET / HTTP/1.1\r\n");
    assert_eq!(closed(&mut [stage.connect(2)]), [false]);
    stage.millis(500);
    assert!(!silent.is_closed() && half.status() == 0);
    stage.millis(1_000);
    assert!(silent.is_closed() && silent.received.is_empty(), "nothing was asked");
    assert_eq!(half.status(), 408);
}

#[test]
fn an_address_has_its_bound_unless_it_is_trusted() {
    let limits = ConnectionLimits { connections_per_client: Some(2), connections: 100, ..FEW };
    let mut stage = Stage::with(limits, 1, |settings| {
        settings.trusted_hops = vec!["10.1.0.9".parse().unwrap()];
    });
    let mut same: Vec<Client> = (0..3).map(|_| stage.connect(1)).collect();
    let mut hop: Vec<Client> = (0..3).map(|_| stage.connect(9)).collect();
    stage.millis(300);
    assert_eq!(closed(&mut same), [false, false, true]);
    assert_eq!(closed(&mut hop), [false; 3]);
    same[0].peer.close();
    stage.millis(300);
    let mut next = stage.connect(1);
    stage.millis(300);
    assert!(!next.is_closed());
}

fn upload(length: usize) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}

/// A limit of one request in flight.
fn limited(limits: ConnectionLimits, buffer_body: Option<u64>) -> Stage {
    Stage::with(ConnectionLimits { connections: 100, ..limits }, 1, |settings| {
        settings.routes[0].concurrency = Some(0);
        settings.routes[0].buffer_body = buffer_body.map(Bytes::new);
    })
}

#[test]
fn a_body_that_hardly_comes_ends_and_its_place_is_free() {
    let mut stage = limited(FEW, None);
    let mut slow = stage.connect(1);
    slow.peer.send(&upload(1_000));
    let mut good = stage.connect(2);
    for second in 0..4 {
        stage.millis(1_000);
        slow.peer.send(b"x");
        good.peer.send(GET);
        assert_eq!((slow.status(), second), (0, second));
    }
    stage.millis(500);
    assert_eq!(good.status(), 503, "the slow one has the place");
    stage.millis(2_000);
    assert_eq!(slow.status(), 408);
    good.peer.send(GET);
    stage.millis(300);
    assert_eq!(good.status(), 204);
}

#[test]
fn a_slow_body_above_the_least_rate_is_whole() {
    let mut stage = limited(FEW, None);
    let mut slow = stage.connect(1);
    slow.peer.send(&upload(50 * 300 + 7));
    for _ in 0..50 {
        stage.millis(1_000);
        slow.peer.send(&[b'x'; 300]);
    }
    slow.peer.send(b"the end");
    stage.millis(500);
    assert_eq!(slow.status(), 204);
}

#[test]
fn a_body_has_a_whole_time_and_a_largest_size_where_they_are_set() {
    let limits = ConnectionLimits {
        body_timeout: Some(Duration::from_secs(10)),
        body_max: Some(Bytes::new(5_000)),
        ..FEW
    };
    for buffer in [None, Some(6_000)] {
        let mut stage = limited(limits, buffer);
        let mut slow = stage.connect(1);
        slow.peer.send(&upload(4_000));
        for _ in 0..11 {
            stage.millis(1_000);
            slow.peer.send(&[b'x'; 300]);
        }
        assert_eq!(slow.status(), 408);
        let mut large = stage.connect(2);
        large.peer.send(&upload(5_001));
        let mut chunked = stage.connect(3);
        chunked.peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        stage.millis(500);
        for _ in 0..6 {
            chunked.peer.send(b"3e8\r\n");
            chunked.peer.send(&[b'x'; 1_000]);
            chunked.peer.send(b"\r\n");
            stage.millis(500);
        }
        assert_eq!((large.status(), chunked.status()), (413, 413));
    }
}

#[test]
fn a_body_that_is_read_first_holds_no_place() {
    let mut stage = limited(FEW, Some(10_000));
    let mut slow: Vec<Client> = (1..10).map(|number| stage.connect(number)).collect();
    for client in &slow {
        client.peer.send(&upload(1_007));
    }
    let mut good = stage.connect(200);
    for _ in 0..4 {
        stage.millis(500);
        slow.iter().for_each(|client| client.peer.send(&[b'x'; 250]));
        good.peer.send(GET);
        stage.millis(300);
        assert_eq!(good.status(), 204);
        good.received.clear();
    }
    slow[0].peer.send(b"the end");
    stage.millis(300);
    assert_eq!(slow[0].status(), 204, "it is passed on when it is whole");
    // The others do not end.
    stage.millis(20_000);
    assert!(slow[1..].iter_mut().all(|client| client.status() == 408));
    // A body longer than the buffer is not admitted instead.
    let mut large = stage.connect(201);
    large.peer.send(&upload(10_001));
    stage.millis(300);
    assert_eq!(large.status(), 413);
    let worker = &stage.workers[0].1;
    assert_eq!(worker.gathered, 0);
}

/// Each part of a buffered body is decoded once, as it arrives: wherever the body is cut, the next part continues there.
#[test]
fn a_chunked_body_that_is_read_first_is_whole_wherever_it_is_cut() {
    let head: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body: &[u8] = b"5;x=y\r\nthe e\r\n2\r\nnd\r\n0\r\nA: b\r\n\r\n";
    let whole = head.len() + body.len();
    let bytes = [head, body, b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
    for cut in head.len()..=bytes.len() {
        let mut stage = limited(FEW, Some(10_000));
        stage.answer = b"";
        let mut client = stage.connect(1);
        for part in [&bytes[..cut], &bytes[cut..]] {
            assert!(stage.instances.is_empty() || cut >= whole, "cut at {cut}: not all of the body is there");
            client.peer.send(part);
            stage.millis(300);
        }
        let (peer, input) = &mut stage.instances[0];
        let sent = String::from_utf8(std::mem::take(input)).unwrap();
        assert!(sent.starts_with("POST / HTTP/1.1\r\n"), "cut at {cut}: {sent}");
        let (_, body) = sent.split_once("\r\n\r\n").unwrap();
        assert_eq!(decoded(body.as_bytes()), b"the end", "cut at {cut}: {sent}");
        peer.send(b"HTTP/1.1 204 No Content\r\n\r\n");
        stage.millis(300);
        assert_eq!(client.status(), 204, "cut at {cut}");
        assert!(stage.instances[0].1.starts_with(b"GET /next "), "cut at {cut}: the next request follows");
        assert_eq!(stage.workers[0].1.gathered, 0);
    }
}

/// The data of a whole chunked body.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let (mut decoder, mut used, mut data) = (Decoder::new(Body::Chunked), 0, Vec::new());
    while !decoder.is_done() {
        let step = decoder.decode(&bytes[used..]).unwrap();
        assert!(step.consumed > 0, "the body is incomplete");
        data.extend_from_slice(&bytes[used..][step.data]);
        used += step.consumed;
    }
    assert_eq!(used, bytes.len(), "nothing follows the body");
    data
}

#[test]
fn leave_for_a_body_that_is_read_first_is_given_here() {
    let mut stage = limited(FEW, Some(10_000));
    let mut client = stage.connect(1);
    client.peer.send(b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n");
    stage.millis(300);
    assert_eq!(client.status(), 100);
    client.peer.send(b"the end");
    stage.millis(300);
    assert_eq!(client.status(), 204);
}

#[test]
fn bodies_that_are_read_first_have_a_memory_of_their_own() {
    let mut stage = limited(FEW, Some(16 << 20));
    let size = 13 << 20;
    let mut clients: Vec<Client> = (1..8).map(|number| stage.connect(number)).collect();
    for client in &clients {
        client.peer.send(&upload(size));
        client.peer.send(&vec![b'x'; size - 1]);
    }
    stage.millis(1_000);
    let told: Vec<u16> = clients.iter_mut().map(Client::status).collect();
    assert_eq!(told.iter().filter(|status| **status == 503).count(), 3, "four have room in 64 MiB: {told:?}");
    clients.iter().for_each(|client| client.peer.close());
    stage.millis(1_000);
    assert_eq!(stage.workers[0].1.gathered, 0);
}

#[test]
fn events_with_long_pauses_live_and_who_takes_nothing_ends() {
    let mut stage = Stage::new(ConnectionLimits { connections: 100, ..FEW });
    stage.answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let (mut takes, lazy) = (stage.connect(1), stage.connect(2));
    takes.peer.send(GET);
    lazy.peer.send(GET);
    stage.millis(300);
    assert_eq!(takes.status(), 200);
    let fill = vec![b'x'; 300_000];
    // One response has more waiting than its socket holds; the other client reads everything after a pause of 50 s
    // each.
    for minute in 0..6 {
        for (peer, _) in &stage.instances {
            peer.send(if minute == 0 { &fill } else { b"data: x\n\n" });
        }
        for _ in 0..50 {
            stage.millis(1_000);
            takes.look();
            // A byte a second is less than the minimum rate.
            lazy.peer.receive(1);
        }
    }
    assert!(!takes.is_closed());
    assert_eq!(stage.workers[0].1.counts.connections_open, 1);
}

#[test]
fn what_was_reset_before_it_was_read_is_not_begun() {
    let mut stage = Stage::new(ConnectionLimits { connections: 100, ..FEW });
    let mut clients: Vec<Client> = (0..2).map(|number| stage.connect(number)).collect();
    stage.millis(200);
    clients[0].peer.send(GET);
    clients[0].peer.reset();
    let (world, worker) = &mut stage.workers[0];
    // All of it arrives before the worker reads.
    let until = world.now() + Duration::from_secs(1);
    while world.now() < until {
        world.wake_at(until);
        world.net().wait(until, &mut Vec::new()).unwrap();
    }
    for index in 0..2 {
        let token = Token(2 * index);
        let said = Ready { token, readable: true, writable: true, closed: true, broken: true };
        worker.downstream_ready(index, said);
    }
    assert_eq!(worker.counts.upstream_opened, 0, "the client is gone");
    assert_eq!(worker.counts.connections_open, 1, "and of the other it was not true");
    assert!(!clients[1].is_closed());
}
