//! An adaptive limit in the loop itself, in virtual time: it follows a service whose capacity changes.

use super::{Ends, LISTENER, Worker};
use crate::access_log::Log;
use crate::control_room::ControlRoom;
use crate::settings::{
    AccessLog, Adaptive, Class, ConcurrencySettings, PathMatch, Pool, Queue, Route, Settings,
};
use crate::shared::Shared;
use http::reactor::virtual_net::{Peer, Reach, VirtualNet, World};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 2, 0, 1)), 80);

/// Far above what the virtual net delays.
const SERVICE: Duration = Duration::from_millis(500);

/// Works on so many requests at once; the others queue in it.
struct Service {
    slots: usize,
    connections: Vec<(Peer, Vec<u8>)>,
    queue: VecDeque<usize>,
    busy: Vec<(Timestamp, usize)>,
}

impl Service {
    fn act(&mut self, world: &World) {
        let now = world.now();
        while let Some(peer) = world.accept(ADDRESS) {
            self.connections.push((peer, Vec::new()));
        }
        for (index, (peer, input)) in self.connections.iter_mut().enumerate() {
            input.extend(peer.receive(10_000).0);
            if input.ends_with(b"\r\n\r\n") {
                input.clear();
                self.queue.push_back(index);
            }
        }
        for (_, done) in self.busy.extract_if(.., |(at, _)| *at <= now) {
            self.connections[done].0.send(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
        while self.busy.len() < self.slots
            && let Some(next) = self.queue.pop_front()
        {
            self.busy.push((now + SERVICE, next));
        }
    }

    fn next(&self) -> Option<Timestamp> {
        self.busy.iter().map(|(at, _)| *at).min()
    }
}

/// Asks again as soon as it is answered, or a second after it was refused.
struct User {
    peer: Peer,
    input: Vec<u8>,
    asks_at: Option<Timestamp>,
    answered: u32,
    refused: u32,
}

impl User {
    fn act(&mut self, now: Timestamp) {
        if self.asks_at.is_some_and(|at| at <= now) {
            self.asks_at = None;
            self.peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        self.input.extend(self.peer.receive(10_000).0);
        if self.input.starts_with(b"HTTP/1.1 204") && self.input.ends_with(b"\r\n\r\n") {
            (self.asks_at, self.answered) = (Some(now), self.answered + 1);
            self.input.clear();
        } else if self.input.starts_with(b"HTTP/1.1 503") && self.input.ends_with(b"}\n") {
            (self.asks_at, self.refused) = (Some(now + Duration::from_secs(1)), self.refused + 1);
            self.input.clear();
        }
    }
}

#[test]
fn an_adaptive_limit_follows_a_service_whose_capacity_changes() {
    let limit = ConcurrencySettings {
        adaptive: Some(Adaptive { least: 2, most: 200, prior: None }),
        queue: Some(Queue { places: 10, longest_wait: Duration::from_secs(2) }),
        ..6.into()
    };
    let settings = Settings {
        access_log: AccessLog::Off,
        pools: vec![Pool::new("pool", vec![ADDRESS])],
        concurrency_limits: vec![Class::new("limit", limit)],
        routes: vec![Route {
            concurrency: Some(0),
            ..Route::new("all", PathMatch::Prefix("/".to_owned()), 0)
        }],
        ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
    };
    let world = World::new(1);
    world.set_reach(ADDRESS, Reach::Accepts);
    let shared = Shared::new(settings, None, Timestamp::ZERO).unwrap();
    let room = Arc::new(ControlRoom::new(shared, 1));
    let ends = Ends {
        net: world.net(),
        listener: world.listen(LISTENER),
        log: Log::open(&AccessLog::Off).unwrap(),
        wall_clock: || 1_800_000_000_000_000,
        seed: 1,
    };
    let mut worker: Worker<VirtualNet> = Worker::new(ends, 0, Arc::clone(&room)).unwrap();
    let mut service =
        Service { slots: 16, connections: Vec::new(), queue: VecDeque::new(), busy: Vec::new() };
    let connect = |number: u16| {
        let peer = world.connect(SocketAddr::from(([10, 1, 0, 0], number))).unwrap();
        User { peer, input: Vec::new(), asks_at: Some(Timestamp::ZERO), answered: 0, refused: 0 }
    };
    let mut users: Vec<User> = (1..=60).map(connect).collect();

    let mut ready = Vec::new();
    let mut limits = Vec::new();
    for (slots, until) in [(16, 60), (4, 160), (16, 240)] {
        service.slots = slots;
        while world.now() < Timestamp::from_secs(until) {
            users.iter_mut().for_each(|user| user.act(world.now()));
            service.act(&world);
            let next = users.iter().filter_map(|user| user.asks_at).chain(service.next()).min();
            world.wake_at(next.unwrap_or(Timestamp::NEVER));
            assert!(!worker.step(&mut ready).unwrap());
        }
        limits.push(worker.local.shared.concurrency[0].count.limit());
    }
    // It settles where `limit = 1.25 · slots + √limit`.
    let [first, second, third] = limits[..] else { panic!("{limits:?}") };
    assert!((18..=34).contains(&first) && (5..=12).contains(&second), "{limits:?}");
    assert!((18..=34).contains(&third), "{limits:?}");
    let answered: u32 = users.iter().map(|user| user.answered).sum();
    let refused: u32 = users.iter().map(|user| user.refused).sum();
    // As much as the service can: 16 slots for 140 s, 4 for 100 s, half a second each.
    let most = (16 * 140 + 4 * 100) * 2;
    assert!(answered > most * 8 / 10, "{answered} of {most}");
    assert!(refused > 0 && worker.line.waiting <= 10);
    let changes = room.take_limit_changes();
    assert!(changes.windows(2).all(|pair| pair[0].change.to == pair[1].change.from), "{changes:?}");
}
