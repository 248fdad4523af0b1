//! Limits before the balancer: which requests pass, wait or are refused, and why.

use super::world::*;
use crate::plant::{Plant, Window};
use crate::settings::*;
use control::admission::WaitingSettings;
use control::concurrency::{AdaptiveSettings, Prior, Priorities, Priority};
use control::policy::PolicySettings;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use std::sync::Arc;
use std::time::Duration;
use units::{Rate, Ratio, Timestamp};

fn rate(per_second: f64, backlog: u32) -> RateSettings {
    RateSettings {
        per_second: Some(Limit { rate: Rate::per_second_of(per_second), burst: 1 }),
        per_minute: None,
        backlog,
        longest_wait: secs(10.0),
    }
}

fn at_most(limit: u32, queue: Option<WaitingSettings>) -> Limits {
    Limits { rate: None, concurrency: Some(ConcurrencyLimit { queue, ..Bound::Fixed(limit).into() }) }
}

/// One service whose requests take this long, exponentially, behind limits that always apply.
fn behind(limits: Limits, mean: f64) -> Service {
    let wait = Distribution::Exponential { mean: secs(mean) };
    let mut service = service(10_000, vec![work(Distribution::ZERO, wait, 1)]);
    service.admission.always = limits;
    service
}

#[test]
fn a_rate_class_lets_its_rate_pass_and_a_turn_is_waited_for() {
    let limits = Limits { rate: Some(rate(100.0, 5).into()), concurrency: None };
    let window = measure(&system(poisson(110.0), vec![behind(limits, 0.02)]), 10.0, 1000.0);
    // M/D/1 with six places at a load of 1.1: one request in 7.44 is lost.
    assert_close("admitted", window.answered as f64 / 1000.0, 95.218, 0.005);
    assert_eq!(
        window.shed.iter().map(|(reason, &count)| (*reason, count)).collect::<Vec<_>>(),
        [("backlog_full", window.refused)]
    );
    // Most of the five places are taken most of the time, at 10 ms each.
    let waited = window.balancer.mean().unwrap() - window.application.mean().unwrap();
    assert!((0.02..0.05).contains(&waited), "{waited}");
}

#[test]
fn a_concurrency_limit_loses_what_erlang_says() {
    let window = measure(&system(poisson(5.0), vec![behind(at_most(6, None), 1.0)]), 100.0, 200_000.0);
    assert_close("loss", window.refused as f64 / window.arrived as f64, 0.1918473, 0.01);
    assert_eq!(window.shed.get("concurrency"), Some(&window.refused));
}

#[test]
fn a_queue_before_a_limit_is_the_finite_queue_of_the_books() {
    // M/M/16/32 at a load of 1.1: loss, and time in the system of the admitted requests.
    let queue = WaitingSettings::bounded(16, Duration::from_secs(3600));
    let service = behind(at_most(16, Some(queue)), 1.0);
    let window = measure(&system(poisson(17.6), vec![service]), 100.0, 100_000.0);
    assert_close("loss", window.refused as f64 / window.arrived as f64, 0.1044036, 0.02);
    assert_close("response", window.balancer.mean().unwrap(), 1.59572, 0.01);
    assert_eq!(window.shed.get("backlog_full"), Some(&window.refused));
}

#[test]
fn nobody_waits_longer_than_allowed() {
    let queue = WaitingSettings::bounded(1000, ms(200));
    let mut service = behind(at_most(2, Some(queue)), 1.0);
    service.endpoints = vec![endpoint(vec![work(Distribution::ZERO, Distribution::Constant(ms(100)), 1)])];
    let window = measure(&system(poisson(40.0), vec![service]), 10.0, 1000.0);
    assert!(window.balancer.most().unwrap() <= 0.3001, "{:?}", window.balancer.most());
    // All requests that can be served are served.
    assert_close("answered", window.answered as f64 / 1000.0, 20.0, 0.02);
    assert!(window.shed.contains_key("deadline"), "{:?}", window.shed);
}

/// 10 ms of one processor; the limits apply while responses are late.
fn protected(limits: Limits) -> Service {
    let cpu = Distribution::LogNormal { mean: ms(10), cv: 0.05 };
    let mut service = service(1000, vec![work(cpu, Distribution::ZERO, 1)]);
    service.admission.policy = Some(Gated {
        service_level: ServiceLevelSettings::within(ms(100)),
        policy: PolicySettings::default(),
        limits,
    });
    service
}

fn minutes(rates: &[f64]) -> Traffic {
    Traffic::Open {
        rates: Arc::from(rates),
        bin: Duration::from_secs(60),
        arrivals: Arrivals::Even,
        noise: None,
    }
}

/// The counts of each minute.
fn by_minute(system: &System, count: u64) -> Vec<Window> {
    let (mut plant, _) = plant(system);
    let each = (1..=count).map(|minute| {
        let mut window = Window::default();
        plant.run_until(Timestamp::from_secs(60 * minute));
        plant.take_window(ServiceId(0), &mut window);
        window
    });
    each.collect()
}

#[test]
fn a_policy_sheds_while_its_class_is_late_and_not_before_or_after() {
    let service = protected(Limits { rate: Some(rate(90.0, 0).into()), concurrency: None });
    let system = system(minutes(&[80.0, 140.0, 140.0, 80.0, 80.0]), vec![service]);
    let found = by_minute(&system, 5);
    let refused: Vec<u64> = found.iter().map(|window| window.refused).collect();
    assert_eq!((refused[0], refused[4]), (0, 0), "{refused:?}");
    // Every second one of evenly spaced arrivals: two thirds of the rate arrive too early.
    assert!(refused[1] > 1000 && refused[2] > 3000, "{refused:?}");
    assert!(found[2].balancer.quantile(0.99).unwrap() < 0.1, "{:?}", found[2].balancer.quantile(0.99));
    // The first minute of the overload was bad until the policy engaged.
    assert!(found[1].balancer.most().unwrap() > 0.1);
}

#[test]
fn a_service_that_fails_at_once_is_limited_where_statuses_count() {
    let refused_by_service = |not_conforming: &str| {
        let mut service = protected(Limits { rate: Some(rate(90.0, 0).into()), concurrency: None });
        // It refuses at once requests that find one in service and one waiting, so none is late.
        service.server = Server { accept: Accept::Shared { bound: 1 }, ..Server::new(1, 1) };
        let gated = service.admission.policy.as_mut().unwrap();
        gated.policy.min_samples = 20;
        gated.policy.enter = Ratio::new(0.99).unwrap();
        gated.policy.leave = gated.policy.enter;
        if !not_conforming.is_empty() {
            gated.service_level.not_conforming = not_conforming.parse().unwrap();
        }
        let found = by_minute(&system(minutes(&[80.0, 140.0, 140.0]), vec![service]), 3);
        assert_eq!(found[0].refused, 0, "{found:?}");
        let by_limit: u64 = found[2].shed.values().sum();
        (by_limit, found[2].refused - by_limit)
    };
    let (by_limit, by_service) = refused_by_service("");
    assert!(by_limit == 0 && by_service > 2_000, "{by_limit} {by_service}");
    let (by_limit, by_service) = refused_by_service("5xx");
    assert!(by_limit > 2_000 && by_service < by_limit / 20, "{by_limit} {by_service}");
}

#[test]
fn a_hanging_service_is_late_before_it_answers() {
    // No response within a minute: only the count of late requests can show it.
    let mut service = protected(at_most(5, None));
    service.endpoints =
        vec![endpoint(vec![work(Distribution::ZERO, Distribution::Constant(secs(100.0)), 1)])];
    let found = by_minute(&system(minutes(&[10.0]), vec![service]), 1);
    assert!(found[0].answered == 0 && found[0].refused > 500, "{found:?}");
}

#[test]
fn an_adaptive_limit_keeps_an_overloaded_service_at_its_best() {
    let cpu = Distribution::Exponential { mean: ms(10) };
    let prior = Prior { rate: Rate::per_second_of(90.0), response_time: ms(10), weight: 500 };
    let with = |bound: Option<Bound>| {
        let mut service = service(10_000, vec![work(cpu.clone(), Distribution::ZERO, 1)]);
        service.admission.always.concurrency = bound.map(ConcurrencyLimit::from);
        service.balancing.timeout = Some(secs(1.0));
        measure(&system(poisson(200.0), vec![service]), 60.0, 600.0)
    };
    // Unlimited, all 200 a second share the processor until they time out: hardly any gets a response.
    assert!(with(None).answered < 6_000);
    let settings = AdaptiveSettings { initial: 4, least: 1, most: 200, prior: Some(prior) };
    let window = with(Some(Bound::Adaptive(settings)));
    assert!(window.answered as f64 / 600.0 > 85.0, "{}", window.answered);
    assert!(window.balancer.quantile(0.95).unwrap() < 0.5, "{:?}", window.balancer.quantile(0.95));
    assert!(window.timed_out * 100 < window.answered, "{}", window.timed_out);
}

#[test]
fn a_policy_lifts_while_limits_that_always_apply_refuse() {
    // Late for a minute now and then. Of 80 evenly spaced a second, 60/s always admits every second one: at most three
    // are in flight. Of 59 it admits all, and there are four: unless the policy is still engaged.
    let mut service = protected(at_most(3, None));
    service.admission.always.rate = Some(rate(60.0, 0).into());
    service.endpoints[0].steps = vec![Step::Work {
        cpu: Distribution::ZERO,
        wait: Distribution::Constant(ms(60)),
        bursts: 1,
        incidents: Some(Incidents { per_hour: 6.0, duration: secs(60.0), factor: 5.0 }),
    }];
    let day = [80.0, 80.0, 80.0, 59.0].repeat(20);
    let found = by_minute(&system(minutes(&day), vec![service]), 80);
    let refused: Vec<[u64; 4]> =
        found.chunks(4).map(|found| [0, 1, 2, 3].map(|minute| found[minute].refused)).collect();
    assert!(refused.iter().all(|refused| refused[..3].iter().all(|refused| *refused > 2000)), "{refused:?}");
    let (engaged, lifted): (Vec<_>, Vec<_>) = (
        refused.iter().filter(|refused| refused[..3].iter().any(|refused| *refused > 3000)).collect(),
        refused.iter().filter(|refused| refused[3] == 0).collect(),
    );
    assert!(engaged.len() > 3 && lifted.len() > 10, "{refused:?}");
    assert!(engaged.iter().any(|refused| refused[3] == 0), "{refused:?}");
}

#[test]
fn users_who_are_refused_come_back_a_little_later() {
    let mut service = behind(at_most(2, None), 0.1);
    service.balancing.network = ms(1);
    let traffic = Traffic::Closed { users: 10, think: Distribution::ZERO };
    let window = measure(&system(traffic, vec![service]), 1.0, 100.0);
    assert!(window.answered > 1_500 && window.refused > 100_000, "{window:?}");
}

#[test]
fn limits_that_contradict_themselves_are_named() {
    let mut service = behind(at_most(0, None), 1.0);
    let settings = RateSettings { longest_wait: Duration::ZERO, ..rate(1.0, 1) };
    service.admission.always.rate = Some(settings.into());
    let problems: Vec<String> =
        system(poisson(1.0), vec![service]).problems().iter().map(ToString::to_string).collect();
    for place in ["admission.always.concurrency.bound", "admission.always.rate"] {
        assert!(problems.iter().any(|said| said.contains(place)), "{problems:?}");
    }
}

/// Values of a key, and a system of one service whose requests have them.
fn keyed(rate_of_traffic: f64, values: Values, service: Service) -> System {
    let key = Key { name: "client".to_owned(), values };
    System { keys: vec![key], ..system(poisson(rate_of_traffic), vec![service]) }
}

/// A rate class for each value of the first key.
fn each(per_second: f64, keys: u32) -> Limits {
    let keyed = Some(Keyed { by: KeyId(0), otherwise: None, keys });
    let rate = RateLimit { keyed, ..rate(per_second, 0).into() };
    Limits { rate: Some(rate), concurrency: None }
}

#[test]
fn a_rate_class_by_key_limits_each_client_alone() {
    // One client sends 90 % of 100/s, nine others about 1/s each; each may send 20/s.
    let mut shares = vec![0.9];
    shares.resize(10, 0.1 / 9.0);
    let system = keyed(100.0, Values::Shares(Arc::from(shares)), behind(each(20.0, 100), 0.001));
    let window = measure(&system, 10.0, 1000.0);
    // A Poisson stream of 90/s through 20/s without a burst: each passed request closes the door for 50 ms.
    let greedy = 90.0 / (1.0 + 90.0 / 20.0);
    let others = 9.0 * 1.111 / (1.0 + 1.111 / 20.0);
    assert_close("answered", window.answered as f64 / 1000.0, greedy + others, 0.01);
    assert_eq!(window.shed.get("rate_class"), Some(&window.refused));
    // A common limit of the same rate would refuse the others as well.
    let mut common = system;
    common.services[0].admission.always.rate = Some(rate(20.0, 0).into());
    assert!(measure(&common, 10.0, 1000.0).answered < 18_000);
}

#[test]
fn clients_beyond_the_remembered_keys_share_limits() {
    // A thousand clients at 1/s each, of which every second request passes a limit of 1/s.
    let fits = keyed(1000.0, Values::Even(1000), behind(each(1.0, 1000), 0.001));
    let crowded = keyed(1000.0, Values::Even(1000), behind(each(1.0, 10), 0.001));
    let (fits, crowded) = (measure(&fits, 10.0, 100.0), measure(&crowded, 10.0, 100.0));
    assert_close("answered", fits.answered as f64 / 100.0, 500.0, 0.02);
    assert!(crowded.answered < 4_000, "{}", crowded.answered);
}

#[test]
fn a_request_without_the_key_is_limited_by_its_client() {
    let mut service = behind(each(10.0, 100), 0.001);
    let Some(RateLimit { keyed: Some(limit), .. }) = &mut service.admission.always.rate else { panic!() };
    limit.otherwise = Some(KeyId(1));
    let key = |name: &str, values| Key { name: name.to_owned(), values };
    // Half of the requests have no header, and come from very many clients.
    let keys = vec![key("x-api-key", Values::Shares(Arc::from([0.5]))), key("client", Values::Even(100_000))];
    let system = System { keys, ..system(poisson(200.0), vec![service]) };
    let window = measure(&system, 10.0, 100.0);
    let with_key = 100.0 / (1.0 + 100.0 / 10.0);
    assert_close("answered", window.answered as f64 / 100.0, 100.0 + with_key, 0.03);
}

#[test]
fn a_low_class_is_shed_first() {
    let half = Ratio::new(0.5).unwrap();
    let mut service = behind(at_most(10, None), 0.1);
    let limit = service.admission.always.concurrency.as_mut().unwrap();
    limit.priorities = Priorities::new(&[half, Ratio::ONE]).unwrap();
    limit.classes = 2;
    let classes: Arc<[Priority]> = Arc::from([Priority(0), Priority(1)]);
    service.admission.priority = RequestPriority::ByKey { key: KeyId(0), classes, otherwise: Priority(1) };
    // 10 erlangs for 10 slots.
    let run = |shares: [f64; 2]| {
        let values = Values::Shares(Arc::from(shares));
        measure(&keyed(100.0, values, service.clone()), 10.0, 1000.0)
    };
    let (low, high, both) = (run([1.0, 0.0]), run([0.0, 1.0]), run([0.5, 0.5]));
    // Erlang's loss formula with 5 and with 10 slots.
    let lost = |window: &Window| window.refused as f64 / window.arrived as f64;
    assert_close("low", lost(&low), 0.5640, 0.02);
    assert_close("high", lost(&high), 0.2146, 0.02);
    assert!(both.shed.contains_key("priority"), "{:?}", both.shed);
    assert!(lost(&high) < lost(&both) && lost(&both) < lost(&low));
}

#[test]
fn an_endpoint_may_have_a_class_of_its_own() {
    let half = Ratio::new(0.5).unwrap();
    let mut service = behind(at_most(10, None), 0.1);
    let limit = service.admission.always.concurrency.as_mut().unwrap();
    (limit.priorities, limit.classes) = (Priorities::new(&[half, Ratio::ONE]).unwrap(), 2);
    let run = |service: Service| measure(&system(poisson(100.0), vec![service]), 10.0, 1000.0);
    // Half of the requests are of the lower class: by a key, or by their endpoint, over the class of the others.
    let mut by_key = service.clone();
    let classes: Arc<[Priority]> = Arc::from([Priority(0)]);
    by_key.admission.priority = RequestPriority::ByKey { key: KeyId(0), classes, otherwise: Priority(1) };
    let values = Values::Shares(Arc::from([0.5]));
    let by_key = measure(&keyed(100.0, values, by_key), 10.0, 1000.0);
    service.admission.priority = RequestPriority::Class(Priority(1));
    let usual = run(service.clone());
    assert!(!usual.shed.contains_key("priority"), "{:?}", usual.shed);
    let low = RequestPriority::Class(Priority(0));
    service.endpoints.push(Endpoint { priority: low, ..service.endpoints[0].clone() });
    let by_endpoint = run(service);
    for reason in ["priority", "concurrency"] {
        let [found, expected] = [&by_endpoint, &by_key].map(|window| window.shed[reason] as f64);
        assert_close(reason, found, expected, 0.1);
    }
}

#[test]
fn requests_that_cannot_pass_before_their_client_leaves_are_refused() {
    let queue = WaitingSettings::bounded(100, secs(10.0));
    let run = |values: &[Option<Duration>]| {
        let mut service = behind(at_most(5, Some(queue)), 0.1);
        service.admission.deadline = Some(RequestDeadline { key: KeyId(0), values: values.into() });
        measure(&keyed(60.0, Values::Shares(Arc::from([1.0])), service), 10.0, 100.0)
    };
    let patient = run(&[None]);
    assert!(patient.queueing.most().unwrap() > 0.4, "{:?}", patient.queueing.most());
    let hurried = run(&[Some(ms(300))]);
    assert!(hurried.queueing.most().unwrap() <= 0.301, "{:?}", hurried.queueing.most());
    assert!(hurried.shed["deadline"] > 500, "{:?}", hurried.shed);
    assert_close("served", hurried.answered as f64, patient.answered as f64, 0.05);
}

#[test]
fn limits_in_shadow_count_and_refuse_nobody() {
    let mut service = behind(Limits { rate: Some(rate(50.0, 0).into()), ..at_most(2, None) }, 0.1);
    let always = &mut service.admission.always;
    always.rate.as_mut().unwrap().shadow = true;
    always.concurrency.as_mut().unwrap().shadow = true;
    let window = measure(&system(poisson(100.0), vec![service]), 10.0, 100.0);
    assert_eq!((window.refused, window.answered), (0, window.ended()));
    assert!(window.shed.is_empty());
    let would: u64 = window.would_shed.values().sum();
    assert!(window.would_shed.contains_key("concurrency"), "{:?}", window.would_shed);
    assert!((window.arrived / 2..window.arrived).contains(&would), "{would} of {}", window.arrived);
}

#[test]
fn a_keyed_class_in_shadow_counts_as_it_would_refuse() {
    let run = |shadow: bool| {
        let mut service = behind(each(20.0, 100), 0.001);
        service.admission.always.rate.as_mut().unwrap().shadow = shadow;
        measure(&keyed(100.0, Values::Zipf { count: 50, exponent: 1.2 }, service), 10.0, 100.0)
    };
    let (live, shadow) = (run(false), run(true));
    assert_eq!((shadow.refused, shadow.would_shed.get("rate_class")), (0, live.shed.get("rate_class")));
}

#[test]
fn users_are_clients() {
    let traffic = Traffic::Closed { users: 10, think: Distribution::Constant(ms(1)) };
    let key = Key { name: "client".to_owned(), values: Values::Users };
    let service = behind(each(5.0, 100), 0.001);
    let system = System { keys: vec![key], ..system(traffic, vec![service]) };
    let window = measure(&system, 10.0, 100.0);
    assert_close("answered", window.answered as f64 / 100.0, 50.0, 0.01);
}
