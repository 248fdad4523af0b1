//! Properties of every system: random systems with random actions.

use super::super::Requests;
use super::world::*;
use crate::plant::{InstanceId, Plant, Window};
use crate::settings::*;
use control::admission::WaitingSettings;
use control::balance::ejection;
use control::concurrency::{AdaptiveSettings, Priorities, Priority};
use control::policy::PolicySettings;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use units::{InstanceCount, Rate, Ratio, Timestamp};

fn any_time() -> impl Strategy<Value = Distribution> {
    let mean = |millis: u64| Duration::from_micros(millis * 100);
    prop_oneof![
        Just(Distribution::ZERO),
        (1_u64..200).prop_map(move |m| Distribution::Constant(mean(m))),
        (1_u64..200).prop_map(move |m| Distribution::Exponential { mean: mean(m) }),
        (1_u64..200).prop_map(move |m| Distribution::LogNormal { mean: mean(m), cv: 1.0 }),
    ]
}

/// A step of a service that may call the services after it.
fn any_step(number: u16, services: u16) -> impl Strategy<Value = Step> {
    let incidents =
        proptest::option::of(Just(Incidents { per_hour: 600.0, duration: ms(2000), factor: 3.0 }));
    let work = (any_time(), any_time(), 1_u32..4, incidents)
        .prop_map(|(cpu, wait, bursts, incidents)| Step::Work { cpu, wait, bursts, incidents });
    let hold = (0_u16..2, any_time()).prop_map(|(pool, time)| Step::Hold { pool: PoolId(pool), time });
    let call = move |service| Call { service: ServiceId(service), endpoint: 0 };
    let calls =
        proptest::collection::vec((number + 1).min(services - 1)..services, 0..3).prop_map(move |called| {
            let last = number + 1 >= services;
            Step::Calls(if last { Vec::new() } else { called.into_iter().map(call).collect() })
        });
    prop_oneof![3 => work, 1 => hold, 1 => calls]
}

fn any_server() -> impl Strategy<Value = Server> {
    let bound = prop_oneof![Just(0_u32), 1_u32..5, Just(1000)];
    let accept =
        (0..3, bound.clone(), 0_u64..300, 0_u32..12).prop_map(|(kind, bound, linger, inline)| match kind {
            0 => Accept::Shared { bound },
            1 => Accept::PerProcess { bound },
            _ => Accept::Kept { bound, linger: ms(linger), inline },
        });
    let lock =
        prop_oneof![Just(None), (1_u64..20).prop_map(|quantum| Some(ms(quantum))), Just(Some(Duration::MAX))];
    let front = (1_u32..4, any_time(), any_time(), bound).prop_map(|(workers, cpu, wait, bound)| Front {
        workers,
        cpu,
        wait,
        bound,
    });
    let front = proptest::option::weighted(0.3, front);
    (1_u32..5, 1_u32..6, lock, accept, front).prop_map(|(processes, threads, lock, accept, front)| Server {
        processes,
        threads,
        lock,
        accept,
        front,
        memory_per_process: units::Bytes::new(0),
    })
}

fn any_host() -> impl Strategy<Value = Host> {
    let quota = proptest::option::of(
        (30_u32..150).prop_map(|cores| Quota { cores: f64::from(cores) / 100.0, period: ms(100) }),
    );
    (1_u32..4, 1_u32..30, 0_u32..20, quota).prop_map(|(cores, speed, background, quota)| Host {
        speed: f64::from(speed) / 10.0,
        background: f64::from(background) / 100.0,
        quota,
        ..host(cores)
    })
}

fn any_balancing() -> impl Strategy<Value = Balancing> {
    let algorithm = prop_oneof![
        Just(Algorithm::RoundRobin),
        Just(Algorithm::WeightedRoundRobin),
        Just(Algorithm::LeastOutstanding),
        Just(Algorithm::PeakEwma),
        Just(Algorithm::ConsistentHash { key: KeyId(0) }),
    ];
    let affinity = proptest::option::weighted(0.2, Just(KeyId(1)));
    let ejection = proptest::option::weighted(0.2, Just(ejection::Settings::default()));
    let managed = (affinity, ejection, 0_u32..3);
    let reuse = prop_oneof![Just(Reuse::Random), Just(Reuse::MostRecent), Just(Reuse::LeastRecent)];
    let kept =
        (reuse, 1_u64..5000).prop_map(|(reuse, idle)| Connections::Kept { reuse, idle_timeout: ms(idle) });
    let per_call = (0_u64..3, 0_u64..3, 0_u64..3).prop_map(|(caller, server, delay)| Connections::PerCall {
        caller_cpu: ms(caller),
        server_cpu: ms(server),
        delay: ms(delay),
    });
    let timeout = proptest::option::of((1_u64..500).prop_map(ms));
    let retries =
        proptest::option::of((0_u32..4, 0_u32..11, 0_u64..50).prop_map(|(most, budget, backoff)| Retries {
            most,
            budget: f64::from(budget) / 10.0,
            backoff: ms(backoff),
        }));
    let limit = proptest::option::of(1_u32..20);
    let slow = proptest::option::of((1_u64..5000).prop_map(ms));
    let plain = (algorithm, 1_u32..4, prop_oneof![kept, per_call], timeout, retries, limit, slow, 0_u64..4);
    let plain = plain.prop_map(
        |(algorithm, nodes, connections, timeout, retries, instance_limit, slow_start, network)| Balancing {
            algorithm,
            nodes,
            connections,
            timeout,
            retries,
            instance_limit,
            slow_start,
            network: ms(network),
            ..Balancing::default()
        },
    );
    let queue = proptest::option::of((1_u32..10, 1_u64..500, 1_u8..3));
    let queue = queue.prop_map(|found| {
        found.map(|(capacity, longest, classes)| SlotQueue {
            settings: WaitingSettings::bounded(capacity, ms(longest)),
            classes,
        })
    });
    (plain, managed, queue).prop_map(|(plain, (affinity, ejection, panic), queue)| Balancing {
        queue: queue.filter(|_| plain.instance_limit.is_some()),
        affinity,
        ejection,
        panic_below: Ratio::new(f64::from(panic) / 2.0).unwrap(),
        ..plain
    })
}

fn any_admission() -> impl Strategy<Value = Admission> {
    let rate = (1_u32..300, 0_u32..5, 1_u64..500).prop_map(|(rate, backlog, longest)| RateSettings {
        per_second: Some(Limit { rate: Rate::per_second_of(f64::from(rate)), burst: 2 }),
        per_minute: None,
        backlog,
        longest_wait: ms(longest),
    });
    let keyed = proptest::option::of((0_u16..2, 1_u32..5))
        .prop_map(|keyed| keyed.map(|(by, keys)| Keyed { by: KeyId(by), otherwise: Some(KeyId(1)), keys }));
    let rate = (rate, keyed, any::<bool>()).prop_map(|(rate, keyed, shadow)| RateLimit {
        keyed,
        shadow,
        ..rate.into()
    });
    let bound = prop_oneof![
        (1_u32..30).prop_map(Bound::Fixed),
        (1_u32..30).prop_map(|initial| {
            Bound::Adaptive(AdaptiveSettings { initial, least: 1, most: 100, prior: None })
        }),
    ];
    let queue = proptest::option::of((1_u32..20, 1_u64..500));
    let half = Priorities::new(&[Ratio::new(0.5).unwrap(), Ratio::ONE]).unwrap();
    let priorities = prop_oneof![Just((Priorities::NONE, 1)), Just((half, 2))];
    let concurrency = (bound, queue, priorities, any::<bool>());
    let concurrency =
        concurrency.prop_map(|(bound, queue, (priorities, classes), shadow)| ConcurrencyLimit {
            priorities,
            classes,
            shadow,
            queue: queue.map(|(places, longest)| WaitingSettings::bounded(places, ms(longest))),
            ..bound.into()
        });
    let limits = (proptest::option::of(rate), proptest::option::of(concurrency))
        .prop_map(|(rate, concurrency)| Limits { rate, concurrency });
    let gated = proptest::option::of((1_u64..200, limits.clone())).prop_map(|gated| {
        gated.map(|(target, limits)| Gated {
            service_level: ServiceLevelSettings {
                window: ms(1000),
                ..ServiceLevelSettings::within(ms(target))
            },
            policy: PolicySettings::default(),
            limits,
        })
    });
    let by_key = RequestPriority::ByKey {
        key: KeyId(0),
        classes: Arc::from([Priority(0), Priority(1)]),
        otherwise: Priority(0),
    };
    let priority = prop_oneof![Just(RequestPriority::None), Just(by_key)];
    (limits, gated, priority).prop_map(|(always, policy, priority)| Admission {
        always,
        policy,
        priority,
        deadline: None,
    })
}

fn any_service(number: u16, services: u16) -> impl Strategy<Value = Service> {
    let steps = move || proptest::collection::vec(any_step(number, services), 0..4);
    let endpoints = proptest::collection::vec((steps(), 0_u32..2), 1..3).prop_map(|endpoints| {
        let one = |(steps, errors)| Endpoint { errors: f64::from(errors) * 0.1, ..endpoint(steps) };
        endpoints.into_iter().map(one).collect::<Vec<_>>()
    });
    let hosts = proptest::collection::vec(any_host(), 1..3);
    let admission = prop_oneof![2 => Just(Admission::default()), 1 => any_admission()];
    (endpoints, any_server(), hosts, admission, any_balancing(), 0_u32..4, 0_u64..3).prop_map(
        |(endpoints, server, hosts, admission, balancing, instances, warm)| {
            let mut service = service(1, Vec::new());
            service.start.warm_up = ms(1000 * warm);
            service.start.warm_up_factor = 3.0;
            Service {
                endpoints,
                server,
                hosts,
                admission,
                balancing,
                instances: InstanceCount::new(instances),
                ..service
            }
        },
    )
}

fn any_system() -> impl Strategy<Value = System> {
    let services = (1_u16..4).prop_flat_map(|n| (0..n).map(|i| any_service(i, n)).collect::<Vec<_>>());
    let pool = (1_u32..4, 0_u32..4).prop_map(|(places, bound)| Pool { name: "pool".into(), places, bound });
    let open = (1_u32..300).prop_map(|rate| Traffic::Open {
        // Ten seconds of arrivals, and then none.
        rates: Arc::from([f64::from(rate), 0.0]),
        bin: Duration::from_secs(10),
        arrivals: Arrivals::Poisson,
        noise: Some(Noise { sigma: 0.2, phi: 0.5 }),
    });
    (services, proptest::collection::vec(pool, 2..3), open, any::<u64>()).prop_map(
        |(services, pools, traffic, seed)| System { keys: keys(), pools, seed, ..system(traffic, services) },
    )
}

/// One that half of the requests have, and one that all have.
fn keys() -> Vec<Key> {
    let values = [Values::Shares(Arc::from([0.2, 0.3])), Values::Zipf { count: 9, exponent: 1.0 }];
    values.into_iter().map(|values| Key { name: "key".to_owned(), values }).collect()
}

/// An action on an instance, or a new one.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Launch,
    Serve,
    Drain,
    Fail,
    Stop,
    Cores(u32),
}

fn any_deeds() -> impl Strategy<Value = Vec<(u64, Deed, u32)>> {
    let deed = prop_oneof![
        3 => Just(Deed::Launch),
        3 => Just(Deed::Serve),
        1 => Just(Deed::Drain),
        1 => Just(Deed::Fail),
        1 => Just(Deed::Stop),
        1 => (1_u32..10).prop_map(Deed::Cores),
    ];
    proptest::collection::vec((0_u64..1500, deed, any::<u32>()), 0..20)
}

struct Fleet {
    plant: Requests,
    /// With its service and its known state.
    instances: Vec<(InstanceId, u16, bool)>,
}

impl Fleet {
    fn new(system: &System) -> Self {
        let mut fleet = Fleet { plant: Requests::new(system), instances: Vec::new() };
        for (number, service) in (0..).zip(&system.services) {
            for n in 0..service.instances.get() {
                let instance = fleet.plant.launch(ServiceId(number), n as usize);
                fleet.plant.serve(instance);
                fleet.instances.push((instance, number, true));
            }
        }
        fleet
    }

    fn act(&mut self, system: &System, deed: Deed, which: u32) {
        if let Deed::Launch = deed {
            let service = (which as usize % system.services.len()) as u16;
            let instance = self.plant.launch(ServiceId(service), which as usize % 3);
            return self.instances.push((instance, service, false));
        }
        if self.instances.is_empty() {
            return;
        }
        let at = which as usize % self.instances.len();
        let (instance, _, served) = self.instances[at];
        match deed {
            Deed::Launch => {}
            Deed::Serve if served => {}
            Deed::Serve => {
                self.plant.serve(instance);
                self.instances[at].2 = true;
            }
            Deed::Drain => self.plant.drain(instance),
            Deed::Fail => self.plant.fail(instance),
            Deed::Stop => {
                self.plant.stop(instance);
                self.instances.swap_remove(at);
            }
            Deed::Cores(tenths) => self.plant.set_cores(instance, f64::from(tenths) / 10.0),
        }
    }
}

/// All events, in words.
fn story(system: &System, deeds: &[(u64, Deed, u32)], cut: u64) -> String {
    let mut fleet = Fleet::new(system);
    let mut totals = vec![Window::default(); system.services.len()];
    let mut window = Window::default();
    let mut deeds = deeds.to_vec();
    deeds.sort_by_key(|&(at, ..)| at);
    let mut next = deeds.into_iter().peekable();
    let mut now = 0;
    // Until all work was completed one step before.
    let mut was_quiet = false;
    while now < HOURS && !was_quiet {
        was_quiet = now >= 20_000 && fleet.plant.is_quiet();
        // In small steps during actions, then in long ones that end at the same times for every split.
        let deed = next.peek().map(|&(at, ..)| at * 10);
        let step = if now < 20_000 { cut } else { MINUTES };
        let until = (now / step + 1) * step;
        let until = deed.map_or(until, |at| at.max(now).min(until));
        fleet.plant.run_until(Timestamp::from_millis(until));
        now = until;
        while let Some((_, deed, which)) = next.next_if(|&(at, ..)| at * 10 <= now) {
            fleet.act(system, deed, which);
        }
        for (number, total) in (0..).zip(&mut totals) {
            fleet.plant.take_window(ServiceId(number), &mut window);
            total.arrived += window.arrived;
            total.answered += window.answered;
            total.errors += window.errors;
            total.refused += window.refused;
            total.timed_out += window.timed_out;
            total.failed += window.failed;
            total.retried += window.retried;
            total.balancer.add(&window.balancer);
            total.application.add(&window.application);
            let in_system = fleet.plant.in_system(ServiceId(number));
            assert_eq!(total.arrived, total.ended() + in_system, "service {number} at {now} ms: {total:?}");
            let (areas, stays) = fleet.plant.little(ServiceId(number));
            assert_eq!(areas, stays, "Little's law at service {number} at {now} ms");
        }
    }
    fleet.plant.assert_idle();
    let mut cpu = Vec::new();
    for &(instance, service, _) in &fleet.instances {
        assert_eq!(fleet.plant.in_flight(instance), 0, "service {service}");
        cpu.push(format!("{:.6}", fleet.plant.take_cpu(instance)));
    }
    let lines = totals.iter().map(|total| {
        let Window { arrived, answered, errors, refused, timed_out, failed, retried, .. } = total;
        let tail = total.balancer.quantile(0.99);
        format!(
            "{arrived} {answered} {errors} {refused} {timed_out} {failed} {retried} {tail:?} {:?}",
            total.balancer.most()
        )
    });
    format!("{:?} {cpu:?}", lines.collect::<Vec<_>>())
}

impl Requests {
    /// No request is anywhere.
    fn is_quiet(&self) -> bool {
        self.visits.slots.iter().all(|visit| visit.at == super::super::visit::At::Free)
    }

    /// No request has left any state behind.
    fn assert_idle(&self) {
        use super::super::admission::AdmissionControl;
        use super::super::instance::State;
        use super::super::list::NONE;
        use super::super::visit::At;
        let busy: Vec<_> = self.visits.slots.iter().filter(|visit| visit.at != At::Free).collect();
        assert!(busy.is_empty(), "{busy:?}");
        for instance in self.instances.iter().filter(|instance| instance.state != State::Free) {
            let service = &self.services[instance.service as usize];
            assert_eq!((instance.in_flight, instance.queue.len(), instance.front_queue.len()), (0, 0, 0));
            assert_eq!(instance.front_free, service.front.as_ref().map_or(0, |front| front.workers));
            let first = instance.processes as usize;
            for process in &self.processes[first..first + service.processes as usize] {
                assert_eq!((process.free, process.holder), (service.threads, NONE), "{process:?}");
                assert_eq!((process.queue.len(), process.lock.len()), (0, 0));
            }
        }
        assert!(self.ready.is_empty() && self.front_ready.is_empty());
        assert!(
            self.services.iter().all(|service| service.in_system == 0 && service.lingering.first().is_none())
        );
        self.assert_pools_free();
        self.services.iter().flat_map(|service| &service.admission).for_each(AdmissionControl::assert_empty);
        let idle = self.pools.iter().flatten().filter(|&&(_, connection)| connection != NONE).count();
        assert_eq!(self.connections.open_now(), idle, "connections that nobody knows");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_accounted_for_and_nothing_is_left_of_it(system in any_system(), deeds in any_deeds()) {
        story(&system, &deeds, 100);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_same_seed_gives_the_same_run_however_it_is_cut(system in any_system(), deeds in any_deeds()) {
        let one = story(&system, &deeds, 10);
        prop_assert_eq!(&one, &story(&system, &deeds, 10));
        prop_assert_eq!(&one, &story(&system, &deeds, 1000));
    }
}

#[test]
fn memory_is_for_what_is_in_flight_and_not_for_time() {
    let mut service =
        service(2, vec![work(Distribution::ZERO, Distribution::Exponential { mean: ms(40) }, 3)]);
    service.server.processes = 3;
    service.server.accept = Accept::Kept { bound: 1000, linger: ms(200), inline: 10 };
    service.instances = InstanceCount::new(4);
    service.balancing.nodes = 3;
    service.balancing.timeout = Some(ms(500));
    service.balancing.retries = Some(Retries { most: 2, budget: 0.5, backoff: ms(10) });
    service.balancing.connections = Connections::Kept { reuse: Reuse::Random, idle_timeout: ms(5000) };
    let mut fleet = Fleet::new(&system(poisson(50.0), vec![service]));
    let size = |plant: &Requests| {
        let pools: usize = plant.pools.iter().map(|pool| pool.capacity()).sum();
        (
            plant.visits.slots.len(),
            plant.connections.open_now(),
            plant.instances.len(),
            plant.processes.len(),
            pools,
        )
    };
    let mut sizes = Vec::new();
    for hour in 1..=8_u64 {
        // Instances come and go all the time.
        for minute in 0..60 {
            fleet.plant.run_until(Timestamp::from_secs(hour * 3600 + minute * 60));
            let new = fleet.plant.launch(ServiceId(0), 0);
            fleet.plant.serve(new);
            let (old, ..) = std::mem::replace(&mut fleet.instances[(minute % 4) as usize], (new, 0, true));
            fleet.plant.stop(old);
        }
        sizes.push(size(&fleet.plant));
    }
    let (early, late) = (sizes[1], sizes[7]);
    assert!(late.0 < 2 * early.0 && late.1 < 2 * early.1 && late.4 < 2 * early.4, "{sizes:?}");
    assert_eq!((early.2, early.3), (late.2, late.3));
}

/// Long enough for all remaining work, in milliseconds.
const HOURS: u64 = 300_000_000;

/// Long enough for everything that continues after the last request, in milliseconds.
const MINUTES: u64 = 600_000;
