//! The gateway and the simulator make the same decisions. Both get the same requests and the same service, with one
//! worker; the outcomes are compared one by one, in the order in which they happened.
//!
//! A request gets a response, or is refused for a reason, at a time. The times may differ by 2 ms, because slots that
//! another worker, a limit or a policy has freed are found by polling.

use super::{Ends, LISTENER, Worker};
use crate::control_room::ControlRoom;
use crate::settings::{
    AccessLog, Adaptive, Class, ConcurrencySettings, KeyBy, Keyed, PathMatch, Policy, Pool, Queue,
    RateClassSettings, Route, RoutePriority, Settings,
};
use crate::shared::Shared;
use control::admission::WaitingSettings;
use control::concurrency::{AdaptiveSettings, Priorities, Priority};
use control::policy::PolicySettings;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use http::reactor::virtual_net::{Peer, Reach, VirtualNet, World};
use sim::plant::{Plant, Window};
use sim::settings as simulated;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::{Rate, Ratio, Timestamp};

/// The largest difference between the times of the same decision.
const APART: Duration = Duration::from_millis(2);
/// Iterations of the loop without outside events, though work may remain in the loop.
const ROUNDS: u32 = 8;
/// The header in which clients say how long they wait.
const PATIENCE: &str = "x-request-timeout";
/// Keys that are remembered.
const KEYS: u32 = 100;
/// Interval at which the simulator is polled.
const LOOK: Duration = Duration::from_micros(250);

/// Limits, in a form that both understand.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    rate: Option<RateSettings>,
    /// Requests in flight: the first value, and the bounds of an adaptive limit.
    concurrency: Option<(u32, Option<[u32; 2]>)>,
    queue: Option<Queue>,
    /// The rate class is one of each client; all requests are of the same client.
    keyed: bool,
    /// All requests are of the lower one of two priority classes, which may fill this share of the concurrency limit.
    share: Option<f64>,
    /// How long all clients wait, as they say in a header.
    patience: Option<&'static str>,
}

impl Limits {
    fn shares(&self) -> Vec<Ratio> {
        self.share.map_or_else(Vec::new, |share| vec![Ratio::new(share).unwrap(), Ratio::ONE])
    }
}

/// A service with its limits and its load.
#[derive(Debug, Clone)]
struct Story {
    name: &'static str,
    /// Requests that the service processes at once, and the time for each; the others queue in it.
    slots: usize,
    work: Duration,
    /// Instances of the service.
    instances: u8,
    /// The limit of requests in flight at each instance, and the queue of the pool.
    places: Option<(u32, Option<Queue>)>,
    /// Requests a second, in each second.
    rates: Vec<f64>,
    always: Limits,
    /// Limits of a policy on a service level class with this target.
    gated: Option<(Duration, Limits)>,
}

/// The times at which requests ended, by outcome.
type Decisions = BTreeMap<String, Vec<Duration>>;

impl Story {
    fn addresses(&self) -> Vec<SocketAddr> {
        (1..=self.instances).map(|host| SocketAddr::from(([10, 2, 0, host], 80))).collect()
    }

    fn arrivals(&self) -> Vec<Timestamp> {
        let (mut all, mut left) = (Vec::new(), 1.0);
        for (second, rate) in self.rates.iter().enumerate() {
            let mut passed = 0.0;
            while passed + left / rate < 1.0 {
                passed += left / rate;
                left = 1.0;
                all.push(Timestamp::ZERO + Duration::from_secs_f64(second as f64 + passed));
            }
            left -= (1.0 - passed) * rate;
        }
        all
    }

    /// Leaves some time for the last requests.
    fn end(&self) -> Timestamp {
        Timestamp::from_secs(self.rates.len() as u64 + 5)
    }

    fn simulated(&self) -> Decisions {
        let limits = |limits: &Limits| simulated::Limits {
            rate: limits.rate.map(|rate| simulated::RateLimit {
                keyed: limits.keyed.then_some(simulated::Keyed {
                    by: simulated::KeyId(0),
                    otherwise: None,
                    keys: KEYS,
                }),
                ..rate.into()
            }),
            concurrency: limits.concurrency.map(|(limit, adapts)| simulated::ConcurrencyLimit {
                bound: match adapts {
                    None => simulated::Bound::Fixed(limit),
                    Some([least, most]) => simulated::Bound::Adaptive(AdaptiveSettings {
                        initial: limit,
                        least,
                        most,
                        prior: None,
                    }),
                },
                queue: limits
                    .queue
                    .map(|Queue { places, longest_wait }| WaitingSettings::bounded(places, longest_wait)),
                priorities: Priorities::new(&limits.shares()).unwrap_or(Priorities::NONE),
                classes: limits.shares().len().max(1) as u8,
                shadow: false,
            }),
        };
        let (cpu, wait) = (simulated::Distribution::ZERO, simulated::Distribution::Constant(self.work));
        let work = simulated::Step::Work { cpu, wait, bursts: 1, incidents: None };
        let endpoint = simulated::Endpoint::new("all", vec![work]);
        let server = simulated::Server::new(1, self.slots as u32);
        let mut service =
            simulated::Service::new("service", server, simulated::Host::new("host", 1), vec![endpoint]);
        if let Some((limit, queue)) = self.places {
            let bounded = |Queue { places, longest_wait }| WaitingSettings::bounded(places, longest_wait);
            let queue = queue.map(|queue| simulated::SlotQueue { settings: bounded(queue), classes: 1 });
            service.balancing.instance_limit = Some(limit);
            service.balancing.queue = queue;
        }
        service.admission.always = limits(&self.always);
        service.admission.policy = self.gated.as_ref().map(|(target, gated)| simulated::Gated {
            service_level: ServiceLevelSettings::within(*target),
            policy: PolicySettings::default(),
            limits: limits(gated),
        });
        // The last rate continues.
        let rates = self.rates.iter().copied().chain([0.0]).collect();
        let bin = Duration::from_secs(1);
        let arrivals = simulated::Arrivals::Even;
        let traffic = simulated::Traffic::Open { rates, bin, arrivals, noise: None };
        if self.always.share.is_some() {
            service.admission.priority = simulated::RequestPriority::Class(Priority(0));
        }
        let one_client = simulated::Key { name: "client".to_owned(), values: simulated::Values::Even(1) };
        service.admission.deadline = self.always.patience.map(|patience| simulated::RequestDeadline {
            key: simulated::KeyId(0),
            values: [control::admission::patience(PATIENCE, patience.as_bytes())].into(),
        });
        let system =
            simulated::System { keys: vec![one_client], ..simulated::System::new(traffic, vec![service]) };
        let mut plant = sim::Requests::new(&system);
        let id = simulated::ServiceId(0);
        for _ in 0..self.instances {
            let instance = plant.launch(id, 0);
            plant.serve(instance);
        }
        let (mut decisions, mut window) = (Decisions::new(), Window::default());
        let mut now = Timestamp::ZERO;
        while now < self.end() {
            now += LOOK;
            plant.run_until(now);
            plant.take_window(id, &mut window);
            let mut note = |name: &str, count: u64| {
                for _ in 0..count {
                    decisions.entry(name.to_owned()).or_default().push(now.since(Timestamp::ZERO));
                }
            };
            note("answered", window.answered);
            window.shed.iter().for_each(|(reason, count)| note(reason, *count));
            window.clear();
        }
        decisions
    }

    fn settings(&self) -> Settings {
        let mut route = Route::new("all", PathMatch::Prefix("/".to_owned()), 0);
        let mut settings = Settings {
            access_log: AccessLog::Off,
            pools: vec![Pool::new("pool", self.addresses())],
            ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
        };
        if let Some((limit, queue)) = self.places {
            (settings.pools[0].instance_concurrency, settings.pools[0].queue) = (Some(limit), queue);
        }
        let mut add = |name: &str, limits: &Limits| {
            let rate = limits.rate.map(|rate| {
                let keyed = limits.keyed.then_some(Keyed { by: KeyBy::Client, keys: KEYS });
                settings.rate_classes.push(Class::new(name, RateClassSettings { keyed, ..rate.into() }));
                settings.rate_classes.len() - 1
            });
            let concurrency = limits.concurrency.map(|(limit, adapts)| {
                let adaptive = adapts.map(|[least, most]| Adaptive { least, most, prior: None });
                let priorities = limits.shares();
                let limit = ConcurrencySettings { adaptive, queue: limits.queue, priorities, ..limit.into() };
                settings.concurrency_limits.push(Class::new(name, limit));
                settings.concurrency_limits.len() - 1
            });
            (rate, concurrency)
        };
        (route.rate_class, route.concurrency) = add("always", &self.always);
        if let Some((target, gated)) = &self.gated {
            let (rate_class, concurrency) = add("gated", gated);
            settings.service_levels = vec![Class::new("level", ServiceLevelSettings::within(*target))];
            settings.policies = vec![Policy { rate_class, concurrency, ..Policy::new("policy", 0) }];
            route.policy = Some(0);
        }
        route.deadline_header = self.always.patience.map(|_| PATIENCE.to_owned());
        if self.always.share.is_some() {
            settings.priorities = vec!["low".to_owned(), "high".to_owned()];
            route.priority = Some(RoutePriority::Class(0));
        }
        settings.routes = vec![route];
        settings
    }

    fn live(&self) -> Decisions {
        let world = World::exact();
        self.addresses().into_iter().for_each(|address| world.set_reach(address, Reach::Accepts));
        let room =
            Arc::new(ControlRoom::new(Shared::new(self.settings(), None, Timestamp::ZERO).unwrap(), 1));
        let ends = Ends::quiet(world.net(), world.listen(LISTENER), 1);
        let mut worker: Worker<VirtualNet> = Worker::new(ends, 0, room).unwrap();
        let services = self.addresses().into_iter();
        let mut services: Vec<Service> =
            services.map(|address| Service::new(address, self.slots, self.work)).collect();
        let mut arrivals: VecDeque<Timestamp> = self.arrivals().into();
        let (mut waiting, mut ready): (Vec<(Peer, Vec<u8>)>, _) = (Vec::new(), Vec::new());
        let mut decisions = Decisions::new();
        let mut quiet = 0;
        while world.now() < self.end() {
            let now = world.now();
            let before = (waiting.len(), arrivals.len());
            let acted = services.iter_mut().fold(false, |acted, service| service.act(&world) | acted);
            while arrivals.front().is_some_and(|at| *at <= now) {
                arrivals.pop_front();
                let peer = world.connect(SocketAddr::from(([10, 1, 0, 0], 1))).unwrap();
                let patience = self.always.patience.map(|said| format!("{PATIENCE}: {said}\r\n"));
                let patience = patience.unwrap_or_default();
                peer.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{patience}\r\n").as_bytes());
                waiting.push((peer, Vec::new()));
            }
            waiting.retain_mut(|(peer, said)| {
                said.extend(peer.receive(10_000).0);
                let Some(outcome) = outcome(&String::from_utf8_lossy(said)) else { return true };
                decisions.entry(outcome).or_default().push(now.since(Timestamp::ZERO));
                peer.close();
                false
            });
            // Time does not advance until all consequences of the last event are done.
            quiet = if acted || before != (waiting.len(), arrivals.len()) { 0 } else { quiet + 1 };
            let done = services.iter().filter_map(Service::next);
            let next = arrivals.front().copied().into_iter().chain(done).min();
            world.wake_at(if quiet < ROUNDS { now } else { next.unwrap_or(Timestamp::NEVER) });
            assert!(!worker.step(&mut ready).unwrap());
        }
        assert!(waiting.is_empty(), "{}: {} without a response", self.name, waiting.len());
        decisions
    }
}

/// The outcome of a request, once it is known.
fn outcome(said: &str) -> Option<String> {
    if said.starts_with("HTTP/1.1 204") && said.ends_with("\r\n\r\n") {
        return Some("answered".to_owned());
    }
    let names = [
        "priority",
        "rate_class",
        "backlog_full",
        "wait_too_long",
        "concurrency",
        "deadline",
        "standing_queue",
    ];
    let refused = said.starts_with("HTTP/1.1 503") && said.ends_with("}\n");
    refused.then(|| names.into_iter().find(|name| said.contains(name)).unwrap_or("unknown").to_owned())
}

/// Processes this many requests at once, for this long each; the others queue in it.
pub(super) struct Service {
    pub(super) slots: usize,
    address: SocketAddr,
    work: Duration,
    connections: Vec<(Peer, Vec<u8>)>,
    queue: VecDeque<usize>,
    busy: VecDeque<(Timestamp, usize)>,
}

impl Service {
    pub(super) fn new(address: SocketAddr, slots: usize, work: Duration) -> Self {
        let (connections, queue, busy) = (Vec::new(), VecDeque::new(), VecDeque::new());
        Service { slots, address, work, connections, queue, busy }
    }

    /// Whether there was work to do.
    pub(super) fn act(&mut self, world: &World) -> bool {
        let now = world.now();
        let before = (self.connections.len(), self.queue.len(), self.busy.len());
        let mut said = false;
        while let Some(peer) = world.accept(self.address) {
            self.connections.push((peer, Vec::new()));
        }
        for (index, (peer, input)) in self.connections.iter_mut().enumerate() {
            input.extend(peer.receive(10_000).0);
            if input.ends_with(b"\r\n\r\n") {
                input.clear();
                self.queue.push_back(index);
                said = true;
            }
        }
        while let Some((_, done)) = self.busy.pop_front_if(|(at, _)| *at <= now) {
            said = true;
            self.connections[done].0.send(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
        while self.busy.len() < self.slots
            && let Some(next) = self.queue.pop_front()
        {
            self.busy.push_back((now + self.work, next));
        }
        said || before != (self.connections.len(), self.queue.len(), self.busy.len())
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.busy.front().map(|(at, _)| *at)
    }
}

fn rate(per_second: f64, backlog: u32, longest_wait: u64) -> RateSettings {
    RateSettings {
        per_second: Some(Limit { rate: Rate::per_second_of(per_second), burst: 1 }),
        per_minute: None,
        backlog,
        longest_wait: Duration::from_millis(longest_wait),
    }
}

fn queue(places: u32, longest_wait: u64) -> Option<Queue> {
    Some(Queue { places, longest_wait: Duration::from_millis(longest_wait) })
}

/// No value is a multiple of another: the order of two events at the same instant is undefined.
fn stories() -> Vec<Story> {
    let usual = Story {
        name: "",
        slots: 8,
        work: Duration::from_micros(47_300),
        instances: 1,
        places: None,
        // The service carries 169 a second.
        rates: [101.3, 163.7, 311.9, 307.1, 83.3].repeat(3),
        always: Limits::default(),
        gated: None,
    };
    let limits =
        |concurrency, queue| Limits { concurrency: Some((concurrency, None)), queue, ..Limits::default() };
    let ms = Duration::from_millis;
    vec![
        Story { name: "a concurrency limit", always: limits(7, None), ..usual.clone() },
        Story { name: "full instances", instances: 2, places: Some((3, None)), ..usual.clone() },
        Story {
            name: "full instances with a short queue",
            instances: 2,
            places: Some((3, queue(5, 173))),
            ..usual.clone()
        },
        Story {
            name: "full instances with a queue that stands",
            instances: 3,
            places: Some((1, queue(40, 311))),
            ..usual.clone()
        },
        Story { name: "a short line", always: limits(7, queue(5, 173)), ..usual.clone() },
        Story { name: "a line that stands", always: limits(3, queue(40, 311)), ..usual.clone() },
        Story {
            name: "a rate class with a backlog",
            always: Limits { rate: Some(rate(131.7, 9, 59)), ..Limits::default() },
            ..usual.clone()
        },
        Story {
            name: "a rate class before a line",
            always: Limits { rate: Some(rate(151.3, 20, 90)), ..limits(5, queue(6, 97)) },
            ..usual.clone()
        },
        Story {
            name: "an adaptive limit with a line",
            always: Limits {
                concurrency: Some((5, Some([2, 60]))),
                queue: queue(12, 211),
                ..Limits::default()
            },
            ..usual.clone()
        },
        Story {
            name: "a rate class by key before a concurrency limit",
            always: Limits { rate: Some(rate(151.3, 20, 90)), keyed: true, ..limits(7, None) },
            ..usual.clone()
        },
        Story {
            name: "a rate class by key before a line",
            always: Limits { rate: Some(rate(151.3, 20, 90)), keyed: true, ..limits(5, queue(6, 97)) },
            ..usual.clone()
        },
        Story {
            name: "a line that clients leave",
            always: Limits { patience: Some("131ms"), ..limits(7, queue(20, 311)) },
            ..usual.clone()
        },
        Story {
            name: "a rate class that clients leave, before a line",
            always: Limits {
                rate: Some(rate(151.3, 20, 90)),
                patience: Some("71ms"),
                ..limits(5, queue(6, 97))
            },
            ..usual.clone()
        },
        Story {
            name: "a low priority class",
            always: Limits { share: Some(0.6), ..limits(7, None) },
            ..usual.clone()
        },
        Story {
            name: "a low priority class before a line",
            always: Limits { share: Some(0.6), ..limits(7, queue(5, 173)) },
            ..usual.clone()
        },
        Story {
            name: "a rate class by key, and one of a policy",
            always: Limits { rate: Some(rate(163.3, 3, 31)), keyed: true, ..Limits::default() },
            gated: Some((ms(61), Limits { rate: Some(rate(141.9, 7, 53)), keyed: true, ..limits(8, None) })),
            ..usual.clone()
        },
        Story {
            name: "a policy with a rate class and a line",
            gated: Some((ms(61), Limits { rate: Some(rate(149.9, 7, 53)), ..limits(8, queue(5, 71)) })),
            ..usual.clone()
        },
        Story {
            name: "limits that always apply, and a policy's",
            always: Limits {
                concurrency: Some((20, Some([4, 60]))),
                queue: queue(9, 131),
                ..Limits::default()
            },
            gated: Some((ms(83), Limits { rate: Some(rate(139.3, 0, 53)), ..limits(8, None) })),
            ..usual
        },
    ]
}

#[test]
fn every_decision_is_the_simulator_s() {
    let mut seen = Decisions::new();
    for story in stories() {
        let (live, simulated) = (story.live(), story.simulated());
        let counts = |all: &Decisions| -> Vec<(String, usize)> {
            all.iter().map(|(name, times)| (name.clone(), times.len())).collect()
        };
        println!("{}: {:?}", story.name, counts(&live));
        assert_eq!(counts(&live), counts(&simulated), "{}: gateway, simulator", story.name);
        // Where no unconditional limit refuses, the policy did.
        assert!(live.len() > 1, "{}: nobody was refused", story.name);
        for (name, times) in &live {
            for (number, (live, simulated)) in times.iter().zip(&simulated[name]).enumerate() {
                let apart = live.abs_diff(*simulated);
                assert!(
                    apart <= APART + LOOK,
                    "{}: {name} {number}: {live:?} in the gateway, {simulated:?} simulated",
                    story.name
                );
            }
        }
        seen.extend(live);
    }
    // Every reason was compared at least once.
    for name in [
        "answered",
        "priority",
        "rate_class",
        "backlog_full",
        "wait_too_long",
        "concurrency",
        "deadline",
        "standing_queue",
    ] {
        assert!(seen.contains_key(name), "{name} in no story");
    }
}
