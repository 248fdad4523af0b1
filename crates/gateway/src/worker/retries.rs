//! A request whose instance dies gets a response from another one as long as there is one, whatever happens to the
//! others. In virtual time.
//!
//! Each seed makes a pool, lets clients use it over kept connections, and kills some instances with requests in flight,
//! or starts with them dead. The invariants: every GET gets a 200, and a service level class counts each request once.

use super::{Ends, LISTENER, Worker};
use crate::control_room::ControlRoom;
use crate::settings::{Affinity, Balance, Class, Instance as Place, KeyBy, PathMatch, Pool, Route, Settings};
use crate::shared::Shared;
use control::service_level::ServiceLevelSettings;
use http::reactor::virtual_net::{Peer, Reach, VirtualNet, World};
use stats::Rng;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::{Ratio, Timestamp};

/// What an instance does with requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Answers,
    /// Reads them and sends nothing.
    Holds,
    Nothing,
}

struct Instance {
    address: SocketAddr,
    does: Does,
    connections: Vec<(Peer, Vec<u8>)>,
    held: usize,
}

impl Instance {
    fn act(&mut self, world: &World) {
        while let Some(peer) = world.accept(self.address) {
            self.connections.push((peer, Vec::new()));
        }
        for (peer, input) in &mut self.connections {
            input.extend(peer.receive(10_000).0);
            if input.ends_with(b"\r\n\r\n") {
                match self.does {
                    Does::Answers => peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
                    Does::Holds => self.held += 1,
                    Does::Nothing => {}
                }
                input.clear();
            }
        }
    }

    /// Its process is killed: connections break or end, new ones are refused.
    fn die(&mut self, world: &World, rng: &mut Rng) {
        self.does = Does::Nothing;
        world.set_reach(self.address, Reach::Refuses);
        self.act(world);
        for (peer, _) in self.connections.drain(..) {
            if rng.below(2) == 0 { peer.reset() } else { peer.close() }
        }
    }
}

struct Client {
    peer: Peer,
    input: Vec<u8>,
    waits: bool,
    statuses: Vec<u16>,
}

impl Client {
    fn ask(&mut self) {
        self.peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        self.waits = true;
    }

    fn act(&mut self) {
        let (bytes, end) = self.peer.receive(10_000);
        self.input.extend(bytes);
        let text = String::from_utf8_lossy(&self.input);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        if end.is_some() || body.is_some_and(|body| body == "ok" || body.ends_with("}\n")) {
            let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
            self.statuses.push(status.unwrap_or(0));
            self.waits = false;
            self.input.clear();
        }
    }
}

struct Story {
    world: World,
    worker: Worker<VirtualNet>,
    instances: Vec<Instance>,
    clients: Vec<Client>,
}

fn address(number: usize) -> SocketAddr {
    SocketAddr::from(([10, 2, 0, number as u8], 80))
}

impl Story {
    fn new(seed: u64, pool: Pool, clients: u8) -> Self {
        let level = ServiceLevelSettings::within(LATE);
        let instances: Vec<Instance> = pool
            .instances
            .iter()
            .map(|instance| Instance {
                address: instance.address,
                does: Does::Answers,
                connections: Vec::new(),
                held: 0,
            })
            .collect();
        let route =
            Route { service_level: Some(0), ..Route::new("all", PathMatch::Prefix("/".to_owned()), 0) };
        let settings = Settings {
            pools: vec![pool],
            service_levels: vec![Class::new("level", level)],
            routes: vec![route],
            ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
        };
        let world = World::new(seed);
        instances.iter().for_each(|instance| world.set_reach(instance.address, Reach::Accepts));
        let shared = Shared::new(settings, None, Timestamp::ZERO).unwrap();
        let ends = Ends::quiet(world.net(), world.listen(LISTENER), seed);
        let worker = Worker::new(ends, 0, Arc::new(ControlRoom::new(shared, 1))).unwrap();
        let connect = |number: u8| {
            let peer = world.connect(SocketAddr::from(([10, 1, 0, number], 1_000))).unwrap();
            Client { peer, input: Vec::new(), waits: false, statuses: Vec::new() }
        };
        let clients = (0..clients).map(connect).collect();
        Story { world, worker, instances, clients }
    }

    /// Runs until `done` holds, for a minute at most.
    fn until(&mut self, done: impl Fn(&Story) -> bool) {
        let (mut ready, end) = (Vec::new(), self.world.now() + Duration::from_secs(60));
        while !done(self) {
            assert!(self.world.now() < end, "it does not come to that");
            self.clients.iter_mut().filter(|client| client.waits).for_each(Client::act);
            self.instances.iter_mut().for_each(|instance| instance.act(&self.world));
            self.world.wake_at(self.world.now() + Duration::from_millis(1));
            self.worker.step(&mut ready).unwrap();
        }
    }

    fn ask(&mut self) {
        self.clients.iter_mut().for_each(Client::ask);
    }

    fn is_answered(&self) -> bool {
        !self.clients.iter().any(|client| client.waits)
    }
}

/// The statuses that clients saw when all instances but one die, and how many instances there were.
fn survived(seed: u64) -> (usize, Vec<u16>) {
    let rng = &mut Rng::new(seed, "retries");
    let count = 2 + rng.below(7);
    let balance = match rng.below(4) {
        0 => Balance::RoundRobin,
        1 => Balance::PeakEwma,
        2 => Balance::Hash(KeyBy::Client),
        _ => Balance::LeastOutstanding,
    };
    let sticky = !matches!(balance, Balance::Hash(_)) && rng.below(3) == 0;
    let mut pool = Pool::new("pool", (0..count).map(address).collect());
    pool.affinity = sticky.then(|| Affinity { cookie: "at".to_owned() });
    pool.balance = balance;
    // The retry budget is not tested here.
    pool.retries.budget = Ratio::ONE;
    pool.retries.least = units::Rate::per_second_of(100.0);
    let mut story = Story::new(seed, pool, 12);
    let survivor = rng.below(count);
    if rng.below(3) == 0 {
        for (number, instance) in story.instances.iter_mut().enumerate().filter(|(n, _)| *n != survivor) {
            instance.does = Does::Nothing;
            let reach = [Reach::Refuses, Reach::Fails][number % 2];
            story.world.set_reach(instance.address, reach);
        }
        story.ask();
        story.until(Story::is_answered);
    } else {
        for _ in 0..2 {
            story.ask();
            story.until(Story::is_answered);
        }
        for (_, instance) in story.instances.iter_mut().enumerate().filter(|(n, _)| *n != survivor) {
            instance.does = Does::Holds;
        }
        story.ask();
        story.until(|story| {
            let held: usize = story.instances.iter().map(|instance| instance.held).sum();
            held == story.clients.iter().filter(|client| client.waits).count()
        });
        let world = story.world.clone();
        for (_, instance) in story.instances.iter_mut().enumerate().filter(|(n, _)| *n != survivor) {
            instance.die(&world, rng);
        }
        story.until(Story::is_answered);
        story.ask();
        story.until(Story::is_answered);
    }
    (count, story.clients.into_iter().flat_map(|client| client.statuses).collect())
}

#[test]
fn a_request_is_answered_as_long_as_one_instance_lives() {
    let seeds = match std::env::var("HEADROOM_SIM_SEED").ok().and_then(|text| text.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..300,
    };
    for seed in seeds {
        let (instances, statuses) = survived(seed);
        let failed = statuses.iter().filter(|&&status| status != 200).count();
        let all = statuses.len();
        assert_eq!(
            failed, 0,
            "HEADROOM_SIM_SEED={seed}: {failed} of {all}, {instances} instances: {statuses:?}"
        );
    }
}

#[test]
fn a_retry_that_finds_no_instance_counts_one_late_response() {
    let mut pool = Pool::new("pool", vec![address(0), address(1)]);
    pool.instances[1] = Place { draining: true, ..Place::new(address(1)) };
    let mut story = Story::new(1, pool, 1);
    story.instances[0].does = Does::Holds;
    story.ask();
    story.until(|story| story.instances[0].held == 1);
    // Already late, and counted as late, before it fails.
    let later = story.world.now() + LATE * 4;
    story.until(|story| story.world.now() > later);
    let world = story.world.clone();
    story.instances[0].die(&world, &mut Rng::new(1, "death"));
    story.until(Story::is_answered);
    assert_eq!(story.clients[0].statuses, [502]);
    let later = story.world.now() + LATE * 4;
    story.until(|story| story.world.now() > later);
    let (_, shared) = story.worker.room.current();
    let ever = shared.levels[0].ever();
    assert_eq!((ever.conforming, ever.total), (0, 1));
}

/// The target of the service level class: longer than the network delays, so that only requests that wait are late.
const LATE: Duration = Duration::from_millis(200);
