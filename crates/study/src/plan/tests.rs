use super::formulas::{View, meets, predict};
use super::parts::{Part, Parts};
use super::*;
use documents::plan::Kind;
use measure::queueing::{Centre, Network, Servers, Users};
use sim::settings::{Distribution, Endpoint, Host, PoolId, Server, Service, Step, System, Traffic};
use stats::Rng;
use units::InstanceCount;

fn asked(load: Load, goal: Option<Goal>) -> Asked {
    Asked { load: Some(load), growth: 0.0, goal, version: "1" }
}

fn p95(ms: u64) -> Goal {
    Goal { quantile: Quantile::P95, below: Duration::from_millis(ms) }
}

/// One part with exponential times.
fn station(name: &str, kind: Kind, demand: f64, servers: u32) -> Part {
    Part {
        name: name.to_owned(),
        kind,
        demand,
        service: demand,
        servers,
        copies: 1,
        variation: 1.0,
        inside: false,
    }
}

fn network(delay: f64, stations: Vec<Part>) -> Parts {
    let alone = delay + stations.iter().map(|part| part.service).sum::<f64>();
    Parts { parts: stations, delay, alone: (alone, alone * alone), service: Vec::new() }
}

#[test]
fn a_rate_at_one_station_is_m_m_c() {
    // Rate, service time, servers.
    for (rate, time, servers) in [(8.0, 0.1, 1), (8.0, 1.0, 10), (300.0, 0.01, 4), (1.0, 0.5, 2)] {
        let parts = network(0.0, vec![station("one", Kind::Replica, time, servers)]);
        let exact = Servers::new(rate, 1.0 / time, servers).unwrap();
        for view in [View::Favourable, View::Unfavourable] {
            let found = predict(&parts, Load::Rate(rate), Quantile::P95, view);
            assert!((found.mean - exact.mean_response()).abs() < 1e-9, "{rate} {time} {servers}");
        }
        let low = predict(&parts, Load::Rate(rate), Quantile::P95, View::Favourable).quantile;
        let high = predict(&parts, Load::Rate(rate), Quantile::P95, View::Unfavourable).quantile;
        // The log-normal stands for an exponential service time: 8 % below it at p95.
        let exact = exact.response_quantile(Quantile::P95);
        assert!(0.88 * exact <= low && low <= high && exact <= 1.08 * high, "{low} {exact} {high}");
    }
    let parts = network(0.0, vec![station("one", Kind::Replica, 0.1, 1)]);
    assert!(!meets(&parts, Load::Rate(10.0), None, View::Favourable));
    assert!(meets(&parts, Load::Rate(9.0), None, View::Favourable));
}

#[test]
fn users_of_one_station_are_the_machine_repair_model() {
    // Users, think time, service time, servers, error of the approximation for several servers.
    for (users, think, time, servers, error) in [
        (1, 1.0, 0.1, 1, 1e-9),
        (10, 1.0, 0.1, 1, 1e-9),
        (50, 1.0, 0.1, 1, 1e-9),
        (20, 1.0, 0.1, 2, 0.06),
        (100, 1.0, 0.1, 8, 0.06),
    ] {
        let parts = network(0.0, vec![station("one", Kind::Replica, time, servers)]);
        let load = Load::Users { users, think: Duration::from_secs_f64(think) };
        let found = predict(&parts, load, Quantile::P95, View::Favourable);
        let exact = Users::new(users, think, 1.0 / time, servers).unwrap();
        assert!((found.per_second / exact.throughput() - 1.0).abs() <= error, "{users} {servers}");
        // The interactive response time law.
        let law = f64::from(users) / found.per_second - think;
        assert!((found.mean - law).abs() < 1e-9, "{} {law}", found.mean);
    }
}

#[test]
fn a_shared_station_stays_when_replicas_are_added() {
    let users = 40;
    let load = Load::Users { users, think: Duration::from_millis(500) };
    let with = |replicas: u32| {
        let own = Part { copies: replicas, ..station("own", Kind::Replica, 0.1, 1) };
        network(0.0, vec![own, station("shared", Kind::Shared, 0.03, 1)])
    };
    let exact = Network::new(vec![Centre::Delay(0.5), Centre::Queue(0.1), Centre::Queue(0.03)]).unwrap();
    let found = predict(&with(1), load, Quantile::P95, View::Unfavourable);
    assert!((found.per_second - exact.with(users).throughput).abs() < 1e-9);
    assert_eq!(with(1).tightest(None).unwrap().name, "own");
    assert_eq!(with(8).tightest(None).unwrap().name, "shared");
    let many = predict(&with(50), load, Quantile::P95, View::Unfavourable);
    assert!(many.per_second > 3.0 * found.per_second && many.per_second <= 1.0 / 0.03);
}

/// A service with processors and waits, from a seed.
fn drawn(seed: u64) -> (System, f64, Goal) {
    let mut rng = Rng::new(seed, "cases of a plan");
    let mut between = |low: f64, high: f64| low + (high - low) * rng.uniform();
    let cpu = between(0.004, 0.04);
    let wait = between(0.0, 0.06);
    let cores = between(1.0, 4.99) as u32;
    let replicas = between(2.0, 9.0);
    let rate = replicas * 0.7 * f64::from(cores) / cpu;
    let goal =
        Goal { quantile: Quantile::P95, below: Duration::from_secs_f64((cpu + wait) * between(3.5, 7.0)) };
    let time = Duration::from_secs_f64;
    let steps = vec![Step::Work {
        cpu: Distribution::Exponential { mean: time(cpu) },
        wait: Distribution::LogNormal { mean: time(wait.max(1e-4)), cv: 0.5 },
        bursts: 2,
        incidents: None,
    }];
    let host = Host::new("host", cores);
    let service = Service::new("shop", Server::new(1, 1000), host, vec![Endpoint::new("all", steps)]);
    let traffic = Traffic::Open {
        rates: [rate].into(),
        bin: Duration::from_secs(3600),
        arrivals: sim::settings::Arrivals::Poisson,
        noise: None,
    };
    let mut system = System::new(traffic, vec![service]);
    system.warm_up = Duration::from_secs(60);
    system.measured = Duration::from_secs(120);
    (system, rate, goal)
}

#[test]
fn replicas_are_within_one_of_what_simulate_needs() {
    for seed in 1..=10 {
        let (system, rate, goal) = drawn(seed);
        let plan = of_case(&system, "drawn", None, &asked(Load::Rate(rate), Some(goal)), 2).unwrap();
        let found = plan.answer.replicas.unwrap();
        let holds = |replicas: u32| {
            let mut system = System { seed: 100 + seed, ..system.clone() };
            system.services[0].instances = InstanceCount::new(replicas);
            let outcome = sim::run(&system, sim::Fidelity::Request);
            let totals = &outcome.services[0].totals;
            totals.balancer.is_some_and(|times| times.p95 < goal.seconds())
                && totals.answered as f64 >= 0.97 * totals.arrived as f64
        };
        assert!(holds(found + 1), "seed {seed}: {found} replicas, and one more is not enough");
        assert!(found <= 2 || !holds(found - 2), "seed {seed}: {found} replicas, and two fewer are enough");
    }
}

/// A service whose requests hold the only place of a pool.
fn with_pool() -> System {
    let hold = Distribution::Exponential { mean: Duration::from_millis(10) };
    let work = Step::Work {
        cpu: Distribution::Exponential { mean: Duration::from_millis(20) },
        wait: Distribution::ZERO,
        bursts: 1,
        incidents: None,
    };
    let steps = vec![work, Step::Hold { pool: PoolId(0), time: hold }];
    let service =
        Service::new("shop", Server::new(1, 1000), Host::new("host", 1), vec![Endpoint::new("all", steps)]);
    let traffic = Traffic::Closed { users: 100, think: Distribution::ZERO };
    let mut system = System::new(traffic, vec![service]);
    system.pools.push(sim::settings::Pool { name: "terminal".into(), places: 1, bound: u32::MAX });
    system
}

#[test]
fn the_bottleneck_is_the_replica_until_it_is_the_shared_part() {
    let system = with_pool();
    let at = |replicas: u32, rate: f64| {
        let mut system = system.clone();
        system.services[0].instances = InstanceCount::new(replicas);
        of_case(&system, "shop", None, &asked(Load::Rate(rate), None), 2).unwrap()
    };
    let one = at(1, 80.0);
    assert_eq!(one.bottleneck.kind, Kind::Replica);
    assert_eq!(one.bottleneck.name.as_deref(), Some("processors of `shop`"));
    assert_eq!(one.answer.replicas, Some(2));
    let change = |plan: &documents::plan::Plan, what: &str| {
        plan.changes.iter().find(|change| change.what.starts_with(what)).unwrap().limit_percent
    };
    assert!(change(&one, "replica").value > 80.0, "{:?}", change(&one, "replica"));
    assert!(change(&one, "place").value < 5.0);
    let four = at(4, 95.0);
    assert_eq!(four.bottleneck.kind, Kind::Shared);
    assert_eq!(four.bottleneck.name.as_deref(), Some("pool `terminal`"));
    assert!(change(&four, "replica").value < 5.0);
    assert!(change(&four, "place").value > 60.0);
    let too_much = at(4, 150.0);
    assert_eq!(too_much.answer.replicas, None);
    assert!(too_much.answer.why.contains("pool `terminal`"), "{}", too_much.answer.why);
}

/// A processor limit of a twentieth of a core: formulas spread it, the simulation has its periods.
fn throttled() -> System {
    let work = Step::Work {
        cpu: Distribution::HyperExponential { mean: Duration::from_micros(68), cv: 3.0 },
        wait: Distribution::LogNormal { mean: Duration::from_millis(12), cv: 0.05 },
        bursts: 1,
        incidents: None,
    };
    let quota = sim::settings::Quota { cores: 0.05, period: Duration::from_millis(100) };
    let host = Host { quota: Some(quota), ..Host::new("host", 4) };
    let service = Service::new("shop", Server::new(1, 1000), host, vec![Endpoint::new("all", vec![work])]);
    System::new(Traffic::Closed { users: 30, think: Distribution::ZERO }, vec![service])
}

#[test]
fn methods_that_disagree_are_named_with_the_trusted_one_and_the_reason() {
    let load = Load::Users { users: 30, think: Duration::ZERO };
    let plan = of_case(&throttled(), "shop", None, &asked(load, Some(p95(30))), 2).unwrap();
    let ends = |method: &documents::plan::Method| (method.low.unwrap_or(1), method.high.unwrap_or(u32::MAX));
    let simulated = &plan.methods[0];
    for method in &plan.methods[1..] {
        let ((low, high), (of_low, of_high)) = (ends(simulated), ends(method));
        let apart = of_high < low || high < of_low;
        assert_eq!(plan.answer.why.contains(&format!("{}: ", method.name)), apart, "{plan:#?}");
    }
    assert!(!plan.answer.agree && plan.answer.trusted == Some("simulation"), "{plan:#?}");
    assert_eq!(plan.answer.replicas, simulated.replicas);
    let why = "trusted: the simulation. Outside its interval: ";
    assert!(plan.answer.why.starts_with(why), "{}", plan.answer.why);
    assert!(plan.answer.why.contains("spread a processor limit evenly"), "{}", plan.answer.why);
    // One processor without a limit: all agree.
    let mut system = System { pools: Vec::new(), ..with_pool() };
    system.services[0].endpoints[0].steps.truncate(1);
    let plan = of_case(&system, "shop", None, &asked(Load::Rate(30.0), None), 2).unwrap();
    assert!(plan.answer.agree && plan.answer.why.starts_with("the methods agree"), "{plan:#?}");
}

#[test]
fn measured_points_and_the_law_that_disagree_are_told_apart() {
    // The law has no corner: where the points have one, it is below them.
    let corner: Vec<_> =
        (1..=16).map(|at| (f64::from(at), (100.0 * f64::from(at)).min(600.0), None)).collect();
    let plan = of_points(&points(Axis::Replicas, &corner), &asked(Load::Rate(598.0), None)).unwrap();
    assert_eq!((plan.answer.trusted, plan.answer.replicas), (Some("measured points"), Some(6)));
    assert!(!plan.answer.agree && plan.methods[1].low > Some(6), "{plan:#?}");
    let why = "trusted: the measured points, because the load lies within the measured replicas; outside their interval: \
               scalability law";
    assert_eq!(plan.answer.why, why);
}

#[test]
fn the_response_time_is_divided_into_queues_and_service() {
    let plan = of_case(&with_pool(), "shop", None, &asked(Load::Rate(35.0), None), 2).unwrap();
    let response = plan.response.unwrap();
    let sum = |shares: &[documents::plan::Share]| shares.iter().map(|share| share.ms).sum::<f64>();
    assert!((response.service_ms - 30.0).abs() < 0.1 && (sum(&response.service) - 30.0).abs() < 0.1);
    assert!((response.queue_ms + response.service_ms - response.mean_ms).abs() < 1e-6);
    assert!((sum(&response.queue) - response.queue_ms).abs() < 0.02 * response.mean_ms);
    // M/M/1 with 35/s: 46.7 ms in the queue of the processor, 5.4 ms in that of the pool.
    assert_eq!(response.queue[0].name, "processors of `shop`");
    assert!((response.queue_ms / 52.1 - 1.0).abs() < 0.15, "{}", response.queue_ms);
}

#[test]
fn a_case_that_cannot_be_planned_is_refused() {
    let system = with_pool();
    let asked = Asked { load: None, growth: 0.0, goal: None, version: "1" };
    let error = of_case(&system, "shop", Some("shpo"), &asked, 1).unwrap_err();
    assert_eq!(error.to_string(), "the case has no service `shpo`; use --service with one of: shop");
    let idle = System { traffic: Traffic::Closed { users: 0, think: Distribution::ZERO }, ..system };
    assert_eq!(of_case(&idle, "shop", None, &asked, 1).unwrap_err(), NoPlan::NoLoad);
}

fn points(axis: Axis, points: &[(f64, f64, Option<f64>)]) -> Points {
    let points = points.iter().map(|&(at, per_second, ms)| {
        let time = ms.map(|ms| ms / 1e3);
        Point { at, per_second, mean: time, quantile: time }
    });
    Points { kind: "table", name: "points.csv".to_owned(), axis, points: points.collect(), notes: Vec::new() }
}

#[test]
fn four_points_give_a_wide_interval_and_no_peak() {
    let account = points(
        Axis::Concurrency,
        &[
            (1.0, 128.86, Some(9.67)),
            (10.0, 983.65, Some(25.08)),
            (100.0, 1539.6, Some(174.03)),
            (1000.0, 2316.3, Some(1160.0)),
        ],
    );
    let plan = of_points(&account, &asked(Load::Rate(2000.0), Some(p95(100)))).unwrap();
    let law = plan.law.as_ref().unwrap();
    assert_eq!(law.peak, None);
    assert!(law.refused.as_ref().unwrap().contains("needs 6"));
    let by_law = plan.methods[1].per_second.unwrap();
    assert!(by_law.high.unwrap() > 2.0 * by_law.low.unwrap(), "{by_law:?}");
    // Between 10 and 100 in flight.
    assert_eq!((plan.answer.low, plan.answer.replicas, plan.answer.high), (Some(2), Some(2), Some(3)));
    assert_eq!(plan.answer.trusted, Some("measured points"));
    assert_eq!(plan.bottleneck.kind, Kind::Unknown);
    let strict = of_points(&account, &asked(Load::Rate(2000.0), Some(p95(5)))).unwrap();
    assert_eq!(strict.answer.replicas, None);
    assert!(strict.answer.why.contains("no point meets p(95)<5ms"), "{}", strict.answer.why);
}

#[test]
fn replicas_that_share_a_part_are_told_from_those_that_do_not() {
    let law = measure::scalability::Law::new(0.02, 0.001, 100.0).unwrap();
    let of = |throughput: &dyn Fn(f64) -> f64| {
        let at = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
        points(Axis::Replicas, &at.map(|at| (at, throughput(at), None)))
    };
    let plan = |throughput: &dyn Fn(f64) -> f64, rate| {
        of_points(&of(throughput), &asked(Load::Rate(rate), None)).unwrap()
    };
    let scales = plan(&|at| law.throughput(at), 650.0);
    assert_eq!((scales.bottleneck.kind, scales.answer.replicas), (Kind::Replica, Some(8)));
    // Beyond the measured replicas the law is trusted, because the points follow it.
    let beyond = plan(&|at| law.throughput(at), 800.0);
    assert_eq!((beyond.answer.trusted, beyond.answer.replicas), (Some("scalability law"), Some(11)));
    assert!((law.throughput(11.0) >= 800.0) && (law.throughput(10.0) < 800.0));
    let shared = plan(&|at| (100.0 * at).min(120.0), 200.0);
    assert_eq!((shared.bottleneck.kind, shared.answer.replicas), (Kind::Shared, None));
    assert!(shared.bottleneck.said.contains("more than 2 replicas bring nothing"), "{:?}", shared.bottleneck);
    // The replica was the limit until the shared part was.
    let later = of_points(
        &points(Axis::Replicas, &[(1.0, 100.0, None), (2.0, 150.0, None), (3.0, 151.0, None)]),
        &asked(Load::Rate(120.0), None),
    )
    .unwrap();
    assert_eq!((later.bottleneck.kind, later.answer.replicas), (Kind::Shared, Some(2)), "{later:?}");
    // The interactive response time law: 1,000 users with 5 s, who wait for nothing else.
    let load = Load::Users { users: 1000, think: Duration::from_secs(5) };
    let users = of_points(&of(&|at| law.throughput(at)), &asked(load, None)).unwrap();
    assert_eq!((users.load.per_second, users.answer.replicas), (None, Some(3)));
}

#[test]
fn bad_points_are_named() {
    let rate = asked(Load::Rate(10.0), None);
    let said = |text: &str, asked: &Asked| {
        let points = table("points.csv", text).and_then(|points| of_points(&points, asked));
        points.err().map_or("accepted".to_owned(), |error| error.to_string())
    };
    for (text, part) in [
        ("", "line 1: the table is empty; the first line names the columns"),
        ("rps,users\n1,2\n", "line 1: the first column is `rps`"),
        ("users\n1\n", "line 1: 1 columns"),
        ("users,throughput\n1,100\n2\n", "line 3: 1 cells, but the first line has 2 names"),
        (
            "# measured\n\nusers,throughput\n1,fast\n",
            "line 4: `fast` in column `throughput` is not a number above 0",
        ),
        ("users,throughput\n0,100\n", "line 2: `0` in column `users`"),
        ("users,throughput,time\n1,100,-3ms\n", "line 2: `-3ms` in column `time` is not a time above 0"),
        (
            "users,throughput\n1,100\n2,200\n2,210\n",
            "2 different concurrencies were measured, and a plan needs at least 3",
        ),
        ("replicas,throughput\n1,100\n", "1 different numbers of replicas"),
    ] {
        let found = said(text, &rate);
        assert!(found.contains(part), "{text:?}: {found}");
    }
    let good = "\u{feff}Users,Throughput\r\n1,100/s\r\n2,200\r\n4,390\r\n";
    assert_eq!(said(good, &rate), "accepted");
    assert!(said(good, &asked(Load::Rate(10.0), Some(p95(50)))).contains("have no response times"));
    assert_eq!(said(good, &Asked { load: None, ..rate }), NoPoints::NoLoad.to_string());
}
