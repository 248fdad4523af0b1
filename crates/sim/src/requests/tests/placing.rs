//! Balancing that depends on clients and failures: hashing, affinity, ejection.

use super::world::*;
use crate::plant::{InstanceId, Plant, Window};
use crate::requests::Requests;
use crate::settings::*;
use control::balance::ejection;
use std::sync::Arc;
use units::{InstanceCount, Ratio, Timestamp};

/// Instances of which each takes 10 ms for a request.
fn fleet(instances: u32, balancing: Balancing) -> Service {
    let work = work(Distribution::ZERO, Distribution::Constant(ms(10)), 1);
    Service { instances: InstanceCount::new(instances), balancing, ..service(1000, vec![work]) }
}

/// Clients by their shares.
fn clients(rate: f64, shares: &[f64], service: Service) -> System {
    let key = Key { name: "client".to_owned(), values: Values::Shares(Arc::from(shares)) };
    System { keys: vec![key], ..system(poisson(rate), vec![service]) }
}

/// The instances that were ever seen with a request in flight.
fn used(plant: &mut Requests, instances: &[InstanceId], until: f64) -> Vec<bool> {
    let mut used = vec![false; instances.len()];
    while plant.now() < Timestamp::ZERO + secs(until) {
        plant.run_until(plant.now() + ms(1));
        for (used, instance) in used.iter_mut().zip(instances) {
            *used |= plant.in_flight(*instance) > 0;
        }
    }
    used
}

fn count(used: &[bool]) -> usize {
    used.iter().filter(|used| **used).count()
}

#[test]
fn a_key_is_hashed_to_one_instance() {
    let hash = Algorithm::ConsistentHash { key: KeyId(0) };
    let by_hash = Balancing { algorithm: hash, ..Balancing::default() };
    // 1.5 requests a second of 10 ms: seldom two at once, so the bound of loads seldom matters.
    let system = clients(1.5, &[1.0], fleet(10, by_hash));
    let (mut plant, instances) = plant(&system);
    assert!(count(&used(&mut plant, &instances, 100.0)) <= 3);
    let spread = clients(1.5, &[1.0], fleet(10, Balancing::default()));
    let (mut plant, instances) = super::world::plant(&spread);
    assert_eq!(count(&used(&mut plant, &instances, 100.0)), 10);
}

fn sticky() -> Balancing {
    Balancing { affinity: Some(KeyId(0)), ..Balancing::default() }
}

#[test]
fn a_client_stays_with_its_instance_while_that_drains_and_gets_another_when_it_is_gone() {
    let system = clients(20.0, &[1.0], fleet(4, sticky()));
    let (mut plant, instances) = plant(&system);
    plant.run_until(Timestamp::from_secs(10));
    let first = used(&mut plant, &instances, 20.0);
    assert_eq!(count(&first), 1, "{first:?}");
    let home = first.iter().position(|used| *used).unwrap();
    plant.drain(instances[home]);
    assert_eq!(used(&mut plant, &instances, 30.0), first);
    plant.stop(instances[home]);
    // The slot is used again by another instance, which is not the client's.
    let again = plant.launch(ServiceId(0), 0);
    plant.serve(again);
    plant.run_until(Timestamp::from_secs(31));
    let other = used(&mut plant, &instances, 40.0);
    assert_eq!(count(&other), 1, "{other:?}");
    let mut window = Window::default();
    plant.take_window(ServiceId(0), &mut window);
    assert!(window.failed <= 1, "{}", window.failed);
}

/// The gateway sends a request again only to another instance, and the response names that one in its cookie.
#[test]
fn a_client_moves_with_its_retry_before_the_failure_is_noticed() {
    let run = |retries| {
        let balancing = Balancing { retries, health: Some(CHECKS), ..sticky() };
        let system = clients(20.0, &[1.0], fleet(4, balancing));
        let (mut plant, instances) = plant(&system);
        plant.run_until(Timestamp::from_secs(10));
        let home = used(&mut plant, &instances, 20.0).iter().position(|used| *used).unwrap();
        let mut window = Window::default();
        plant.take_window(ServiceId(0), &mut window);
        plant.fail(instances[home]);
        // The third check fails after 4 s at least.
        let after = used(&mut plant, &instances, 23.0);
        plant.take_window(ServiceId(0), &mut window);
        assert!(!after[home]);
        (window, count(&after))
    };
    // One retry moves the client, and its next requests go to the other instance at once.
    let (window, used) = run(Some(Retries { most: 1, budget: 1.0, backoff: ms(0) }));
    assert_eq!((window.failed, used), (0, 1));
    assert!((1..=3).contains(&window.retried), "{}", window.retried);
    // Without retries, the cookie names the failed instance until the checks have noticed it.
    let (window, used) = run(None);
    assert_eq!((window.answered, used), (0, 0));
    assert!(window.failed > 30, "{}", window.failed);
}

#[test]
fn a_client_whose_instance_is_full_goes_elsewhere_and_returns() {
    // Requests of 10 ms at one instance; a second request at the same time goes to another one.
    let balancing = Balancing { instance_limit: Some(1), ..sticky() };
    let system = clients(20.0, &[1.0], fleet(4, balancing));
    let (mut plant, instances) = plant(&system);
    plant.run_until(Timestamp::from_secs(10));
    let mut most = vec![0; 4];
    let mut busy = vec![0; 4];
    while plant.now() < Timestamp::from_secs(110) {
        plant.run_until(plant.now() + ms(1));
        for (at, instance) in instances.iter().enumerate() {
            let now = plant.in_flight(*instance);
            most[at] = most[at].max(now);
            busy[at] += now;
        }
    }
    assert!(most.iter().all(|most| *most <= 1), "{most:?}");
    // A fifth of the time its own is busy; requests that arrive then go elsewhere.
    let all: u32 = busy.iter().sum();
    let home = *busy.iter().max().unwrap();
    assert!(home * 10 > all * 7 && home < all, "{busy:?}");
}

#[test]
fn requests_without_a_client_are_balanced() {
    let system = clients(20.0, &[0.0], fleet(4, sticky()));
    let (mut plant, instances) = plant(&system);
    assert_eq!(count(&used(&mut plant, &instances, 20.0)), 4);
}

#[test]
fn an_instance_that_fails_is_ejected_and_tried_again() {
    // Round robin over five, of which one is broken and not noticed otherwise.
    let run = |ejection: Option<ejection::Settings>| {
        let system = clients(100.0, &[1.0], fleet(5, Balancing { ejection, ..Balancing::default() }));
        let (mut plant, instances) = plant(&system);
        plant.run_until(Timestamp::from_secs(10));
        plant.fail(instances[0]);
        plant.run_until(Timestamp::from_secs(110));
        let mut window = Window::default();
        plant.take_window(ServiceId(0), &mut window);
        window
    };
    let without = run(None);
    assert_close("failed", without.failed as f64, 2000.0, 0.05);
    // Ejected after 5 failures for 30 s, then for 60 s, then for 90 s.
    let with = run(Some(ejection::Settings::default()));
    assert_eq!(with.ejections, 3);
    assert!((15..=25).contains(&with.failed), "{}", with.failed);
}

/// The defaults of a gateway.
const CHECKS: HealthChecks =
    HealthChecks { interval: ms(2_000), timeout: ms(1_000), healthy_after: 2, unhealthy_after: 3 };

#[test]
fn an_instance_whose_checks_fail_gets_no_requests() {
    let balancing = Balancing { health: Some(CHECKS), ..Balancing::default() };
    let system = clients(100.0, &[1.0], fleet(5, balancing));
    let (mut plant, instances) = plant(&system);
    plant.run_until(Timestamp::ZERO + ms(9_050));
    plant.fail(instances[0]);
    let mut window = Window::default();
    // The checks at 10, 12 and 14 s fail, each after a second.
    plant.run_until(Timestamp::ZERO + ms(15_200));
    plant.take_window(ServiceId(0), &mut window);
    assert_close("failed", window.failed as f64, 20.0 * 5.95, 0.25);
    plant.run_until(Timestamp::from_secs(60));
    plant.take_window(ServiceId(0), &mut window);
    assert_eq!(window.failed, 0);
}

#[test]
fn a_new_instance_gets_requests_once_its_checks_have_passed() {
    let balancing = Balancing { health: Some(CHECKS), ..Balancing::default() };
    let system = clients(100.0, &[1.0], fleet(2, balancing));
    let (mut plant, mut instances) = plant(&system);
    plant.run_until(Timestamp::ZERO + ms(9_050));
    instances.push(plant.launch(ServiceId(0), 0));
    plant.serve(instances[2]);
    // Checked at 9.1 and 11.1 s.
    assert_eq!(used(&mut plant, &instances, 11.09), [true, true, false]);
    assert_eq!(used(&mut plant, &instances, 13.0), [true, true, true]);
}

#[test]
fn all_instances_are_used_if_too_few_are_healthy() {
    let panic_below = Ratio::new(0.5).unwrap();
    let run = |panic_below| {
        let balancing = Balancing { health: Some(CHECKS), panic_below, ..Balancing::default() };
        let system = clients(100.0, &[1.0], fleet(3, balancing));
        let (mut plant, instances) = plant(&system);
        plant.run_until(Timestamp::from_secs(10));
        instances[1..].iter().for_each(|instance| plant.fail(*instance));
        plant.run_until(Timestamp::from_secs(30));
        let mut window = Window::default();
        plant.take_window(ServiceId(0), &mut window);
        plant.run_until(Timestamp::from_secs(60));
        plant.take_window(ServiceId(0), &mut window);
        window.failed
    };
    assert_eq!(run(Ratio::ZERO), 0);
    assert_close("failed", run(panic_below) as f64, 2000.0, 0.1);
}

#[test]
fn the_rows_of_an_unknown_key_are_problems() {
    let system = system(poisson(1.0), vec![fleet(1, sticky())]);
    assert_eq!(system.problems()[0].place, "services[0].balancing.affinity");
}

#[test]
fn zones_of_their_own_are_a_problem() {
    for (across, problems) in [(true, 0), (false, 1)] {
        let zones = Zones { names: ["a", "b"].map(String::from).to_vec(), across, failures: Vec::new() };
        let balancing = Balancing { ejection: Some(ejection::Settings::default()), ..Balancing::default() };
        let found = system(poisson(1.0), vec![Service { zones, ..fleet(2, balancing) }]).problems();
        assert_eq!(found.len(), problems, "{found:?}");
        assert!(found.iter().all(|one| one.place == "services[0].zones.across"), "{found:?}");
    }
}
