//! An adaptive limit in the event loop, in virtual time: it follows a service whose capacity changes.

use super::as_simulated::Service;
use super::{Ends, LISTENER, Worker};
use crate::control_room::ControlRoom;
use crate::settings::{
    AccessLog, Adaptive, Class, ConcurrencySettings, PathMatch, Policy, Pool, Queue, Route, Settings,
};
use crate::shared::Shared;
use control::service_level::ServiceLevelSettings;
use http::reactor::virtual_net::{Peer, Reach, VirtualNet, World};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 2, 0, 1)), 80);

/// Far longer than the delays of the virtual network.
const SERVICE: Duration = Duration::from_millis(500);

const LEVEL: ServiceLevelSettings = ServiceLevelSettings::within(Duration::from_secs(1));

/// Sends its next request as soon as it has a response, or a second after a refusal.
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

/// A gateway with one adaptive limit before a service, and its users.
struct Story {
    world: World,
    room: Arc<ControlRoom>,
    worker: Worker<VirtualNet>,
    service: Service,
    users: Vec<User>,
}

impl Story {
    fn new(limit: ConcurrencySettings, edit: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            access_log: AccessLog::Off,
            pools: vec![Pool::new("pool", vec![ADDRESS])],
            concurrency_limits: vec![Class::new("limit", limit)],
            routes: vec![Route {
                concurrency: Some(0),
                ..Route::new("all", PathMatch::Prefix("/".to_owned()), 0)
            }],
            ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
        };
        edit(&mut settings);
        let world = World::new(1);
        world.set_reach(ADDRESS, Reach::Accepts);
        let shared = Shared::new(settings, None, Timestamp::ZERO).unwrap();
        let room = Arc::new(ControlRoom::new(shared, 1));
        let ends = Ends::quiet(world.net(), world.listen(LISTENER), 1);
        let worker: Worker<VirtualNet> = Worker::new(ends, 0, Arc::clone(&room)).unwrap();
        let service = Service::new(ADDRESS, 16, SERVICE);
        Story { world, room, worker, service, users: Vec::new() }
    }

    /// Adds `count` users.
    fn users(&mut self, count: u16) {
        let connect = |number: u16| {
            let peer = self.world.connect(SocketAddr::from(([10, 1, 0, 0], number))).unwrap();
            User { peer, input: Vec::new(), asks_at: Some(self.world.now()), answered: 0, refused: 0 }
        };
        let there = self.users.len() as u16;
        self.users.extend((there + 1..=there + count).map(connect));
    }

    /// Runs until the given number of seconds has passed; returns the limit at that time.
    fn until(&mut self, seconds: u64) -> u32 {
        let mut ready = Vec::new();
        while self.world.now() < Timestamp::from_secs(seconds) {
            self.users.iter_mut().for_each(|user| user.act(self.world.now()));
            self.service.act(&self.world);
            let next = self.users.iter().filter_map(|user| user.asks_at).chain(self.service.next()).min();
            self.world.wake_at(next.unwrap_or(Timestamp::NEVER));
            assert!(!self.worker.step(&mut ready).unwrap());
        }
        self.worker.local.shared.concurrency[0].count.limit()
    }
}

fn adaptive(limit: u32) -> ConcurrencySettings {
    ConcurrencySettings { adaptive: Some(Adaptive { least: 2, most: 200, prior: None }), ..limit.into() }
}

#[test]
fn an_adaptive_limit_follows_a_service_whose_capacity_changes() {
    let queue = Some(Queue { places: 10, longest_wait: Duration::from_secs(2) });
    let mut story = Story::new(ConcurrencySettings { queue, ..adaptive(6) }, |_| {});
    story.users(60);
    let mut limits = Vec::new();
    for (slots, until) in [(16, 60), (4, 160), (16, 240)] {
        story.service.slots = slots;
        limits.push(story.until(until));
    }
    // It settles where `limit = 1.25 · slots + √limit`.
    let [first, second, third] = limits[..] else { panic!("{limits:?}") };
    assert!((18..=34).contains(&first) && (5..=12).contains(&second), "{limits:?}");
    assert!((18..=34).contains(&third), "{limits:?}");
    let answered: u32 = story.users.iter().map(|user| user.answered).sum();
    let refused: u32 = story.users.iter().map(|user| user.refused).sum();
    // The most that the service can do: 16 slots for 140 s, 4 for 100 s, half a second each.
    let most = (16 * 140 + 4 * 100) * 2;
    assert!(answered > most * 8 / 10, "{answered} of {most}");
    assert!(refused > 0 && story.worker.line.waiting <= 10);
    let changes = story.room.take_limit_changes();
    assert!(changes.windows(2).all(|pair| pair[0].change.to == pair[1].change.from), "{changes:?}");
}

#[test]
fn one_in_shadow_follows_too_and_refuses_nobody() {
    let in_shadow = |settings: &mut Settings| settings.concurrency_limits[0].settings.shadow = true;
    let by_policy = |settings: &mut Settings| {
        settings.routes[0].concurrency = None;
        settings.service_levels = vec![Class::new("level", LEVEL)];
        settings.policies = vec![Policy { shadow: true, concurrency: Some(0), ..Policy::new("policy", 0) }];
        settings.routes[0].policy = Some(0);
    };
    for edit in [in_shadow as fn(&mut Settings), by_policy] {
        let mut story = Story::new(adaptive(6), edit);
        story.users(12);
        let calm = story.until(60);
        assert!((12..=34).contains(&calm), "{calm}: all would pass");
        story.users(48);
        story.service.slots = 4;
        let overload = story.until(160);
        assert!(overload < calm, "{overload} after {calm}");
        assert_eq!(story.users.iter().map(|user| user.refused).sum::<u32>(), 0);
    }
}
