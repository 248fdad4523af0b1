//! The worker in a virtual network with faults of every kind, in virtual time.
//!
//! Each seed makes a plan and servers with faults of every kind, and runs the plan to its end. The invariants: the run
//! ends in time and does not spin; every arrival has one fate; seconds, stages and endpoints add up to the whole; there
//! are never more requests in flight than allowed.
//!
//! `HEADROOM_SIM_SEED=n` replays one seed; `HEADROOM_SIM_SEEDS=10000` runs that many.

mod plan;
mod server;

use super::Worker;
use crate::plan::{Plan, Work};
use crate::run::{Slot, Watch};
use http::dial::Address;
use http::reactor::virtual_net::{Reach, VirtualListener, VirtualNet, VirtualStream, World};
use http::reactor::{Net, Ready, Token};
use measure::{Fate, Measurement, Outcome};
use server::Server;
use stats::Rng;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::Timestamp;

/// The virtual network, with servers that act whenever the worker waits.
struct Played<'a> {
    net: VirtualNet,
    world: World,
    servers: Vec<Server>,
    slot: &'a Slot,
    /// When the run is stopped.
    stop_at: Timestamp,
    /// The latest end of the run.
    bound: Timestamp,
    waits: (Timestamp, u32),
}

impl Net for Played<'_> {
    type Stream = VirtualStream;
    type Listener = VirtualListener;

    fn now(&mut self) -> Timestamp {
        self.net.now()
    }

    fn connect(&mut self, to: SocketAddr, token: Token) -> io::Result<VirtualStream> {
        self.net.connect(to, token)
    }

    fn connect_to(&mut self, to: &Address, from: Option<IpAddr>, token: Token) -> io::Result<VirtualStream> {
        self.net.connect_to(to, from, token)
    }

    fn connected(&mut self, stream: &VirtualStream) -> io::Result<bool> {
        self.net.connected(stream)
    }

    fn accept(
        &mut self,
        listener: &VirtualListener,
        token: Token,
    ) -> io::Result<(VirtualStream, SocketAddr)> {
        self.net.accept(listener, token)
    }

    fn stop_listening(&mut self, listener: VirtualListener) {
        self.net.stop_listening(listener);
    }

    fn read(&mut self, stream: &mut VirtualStream, into: &mut [u8]) -> io::Result<usize> {
        self.net.read(stream, into)
    }

    fn write(&mut self, stream: &mut VirtualStream, bytes: &[u8]) -> io::Result<usize> {
        self.net.write(stream, bytes)
    }

    fn reset(&mut self, stream: VirtualStream) {
        self.net.reset(stream);
    }

    fn shut_down(&mut self, stream: &mut VirtualStream) {
        self.net.shut_down(stream);
    }

    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()> {
        let now = self.world.now();
        self.waits = if self.waits.0 == now { (now, self.waits.1 + 1) } else { (now, 0) };
        assert!(self.waits.1 < 5_000, "the loop spins at {now}");
        assert!(now <= self.bound, "the run continues at {now}, beyond {}", self.bound);
        if now >= self.stop_at {
            self.slot.stop.store(true, Ordering::Relaxed);
        }
        let world = &self.world;
        let acts = self.servers.iter_mut().map(|server| server.play(world));
        self.world.wake_at(acts.min().unwrap_or(Timestamp::NEVER).min(now + Duration::from_millis(20)));
        self.net.wait(until, ready)
    }
}

fn simulate(seed: u64) {
    let rng = &mut Rng::new(seed, "load simulation");
    let mut plan = plan::drawn(rng);
    let world = World::new(seed);
    let h2 = plan.connecting.protocol.streams() > 1;
    let calm = rng.below(4) == 0;
    if calm {
        // Longer times are a bug of the worker.
        plan.timeout = Duration::from_secs(20);
    }
    let servers: Vec<Server> = (0..3).map(|number| Server::new(number, rng, h2, calm)).collect();
    for server in &servers {
        let reach = [Reach::Refuses, Reach::Ignores, Reach::Fails];
        let reach = if !calm && rng.below(5) == 0 { reach[rng.below(3)] } else { Reach::Accepts };
        world.set_reach(server.address, reach);
    }
    let slot = Slot::default();
    if std::env::var_os("HEADROOM_SIM_SEED").is_some() {
        println!("{plan:#?}");
    }
    // If only a number of requests ends it, each of them may time out.
    let longest = plan.requests.map_or(Duration::ZERO, |requests| plan.timeout * (2 * requests as u32 + 10));
    let scheduled = if plan.end() == Timestamp::NEVER { Timestamp::ZERO + longest } else { plan.end() };
    let stop_at =
        if rng.below(4) == 0 { Timestamp::from_millis(rng.below(1_500) as u64) } else { Timestamp::NEVER };
    let net = Played {
        net: world.net(),
        world: world.clone(),
        servers,
        slot: &slot,
        stop_at,
        bound: scheduled + plan.timeout + Duration::from_millis(200),
        waits: (Timestamp::ZERO, 0),
    };
    let watch = Watch { bounds: vec![Duration::from_millis(10)], ..Watch::default() };
    let home = Worker::new(net, &plan, &watch, 0, None).run(&slot).unwrap();
    check(&plan, &home.finished.measurement, calm && stop_at == Timestamp::NEVER);
}

/// The invariants of every run.
fn check(plan: &Plan, measured: &Measurement, calm: bool) {
    let accounting = measured.accounting;
    assert!(accounting.balances(), "{accounting:?}");
    let mut whole = measure::Accounting::default();
    measured.stages.iter().for_each(|stage| whole += stage.part.accounting);
    let mut seconds = measure::Accounting::default();
    for second in &measured.series.seconds {
        seconds += second.accounting;
        assert!(second.accounting.balances(), "{:?}", second.accounting);
    }
    assert_eq!(whole, seconds, "stages and seconds");
    let mut by_stage = measure::Accounting::default();
    measured.stages.iter().filter(|stage| !stage.warm_up).for_each(|stage| by_stage += stage.part.accounting);
    let mut by_endpoint = measure::Accounting::default();
    measured.endpoints.iter().for_each(|endpoint| by_endpoint += endpoint.part.accounting);
    assert_eq!((by_stage, by_endpoint), (accounting, accounting));
    assert_eq!(measured.response.count(), accounting.answered + accounting.timed_out);
    assert_eq!(measured.response.censored(), accounting.timed_out);
    assert_eq!(measured.failures.values().sum::<u64>(), accounting.failed);
    assert_eq!(measured.statuses.values().sum::<u64>(), accounting.answered + accounting.shed);
    for (status, count) in &measured.statuses {
        assert!(Fate::of_status(*status) != Fate::Shed || *count <= accounting.shed);
    }
    for (index, second) in measured.series.seconds.iter().enumerate() {
        let timed: u64 = second.cells.iter().map(|cell| cell.times.count()).sum();
        let fates = second.accounting;
        assert_eq!(timed, fates.answered + fates.shed + fates.failed + fates.timed_out, "second {index}");
        let cells = second
            .cells
            .iter()
            .filter(|cell| cell.outcome != Outcome::Shed && cell.outcome != Outcome::Failed);
        assert_eq!(cells.map(|cell| cell.times.count()).sum::<u64>(), second.response.count());
    }
    let iterations = &measured.iterations;
    assert!(iterations.completed + iterations.broken <= iterations.started, "{iterations:?}");
    if !calm {
        return;
    }
    assert_eq!(whole.failed, 0, "{:?} {:?}", measured.failures, measured.first_failures);
    assert_eq!(whole.timed_out + whole.unsent + whole.in_flight, 0, "{whole:?}");
    // An iteration that becomes due after the end is left out.
    let walks = matches!(plan.work, Work::Scenario { .. });
    if let Some(requests) =
        plan.requests.filter(|_| plan.duration.is_none() && plan.end() == Timestamp::NEVER)
    {
        assert_eq!(if walks { iterations.started } else { whole.scheduled }, requests);
    }
    if walks && plan.end() == Timestamp::NEVER {
        assert_eq!(iterations.completed + iterations.broken, iterations.started);
    }
}

#[test]
fn whatever_servers_do_every_arrival_has_its_fate() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("HEADROOM_SIM_SEED") {
        return simulate(seed);
    }
    for seed in 0..number("HEADROOM_SIM_SEEDS").unwrap_or(200) {
        if let Err(cause) = std::panic::catch_unwind(|| simulate(seed)) {
            let said = cause.downcast_ref::<String>().cloned();
            let said = said.or_else(|| cause.downcast_ref::<&str>().map(|said| (*said).to_owned()));
            panic!("seed {seed} (HEADROOM_SIM_SEED={seed}): {}", said.unwrap_or_default());
        }
    }
}
