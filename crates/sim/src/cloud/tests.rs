//! The cloud on a plant of fluid.

use super::testing::*;
use crate::outcome::{Happening, Outcome, Row};
use crate::plant::{InstanceId, Plant, Window};
use crate::run::{run_on, run_parallel};
use crate::settings::*;
use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use units::{InstanceCount, Quantile, Timestamp};

fn run(system: &System) -> Outcome {
    run_on(system, Fluid::new(system), &mut |_| {})
}

fn rows(outcome: &Outcome) -> &[Row] {
    &outcome.services[0].rows
}

fn happened(outcome: &Outcome) -> Vec<String> {
    outcome.services[0].happenings.notes().iter().map(|note| note.what.to_string()).collect()
}

#[test]
fn an_instance_is_provisioned_boots_and_serves() {
    let mut service = service(1);
    service.scaling.policy = by_hand(&[(1, 2)]);
    let outcome = run(&system(service, &[10.0; 4]));
    let rows = rows(&outcome);
    // Asked for at 60 s, provisioned until 105 s, boots until 145 s.
    assert_eq!((rows[0].counts.running, rows[0].counts.desired), (1, 1));
    let second = rows[1].counts;
    assert_eq!(
        (second.desired, second.running, second.booting, second.serving, second.pending),
        (2, 2, 1, 1, 0)
    );
    assert_eq!(rows[2].counts.serving, 2);
    // 15 s of boot at the whole processor, in the part of the minute in which it ran.
    assert_eq!(rows[1].cpu_maximum, Some(1.0));
    assert!((rows[1].cpu_average.expect("two run") - 0.55).abs() < 1e-9);
    assert!((rows[3].cpu_average.expect("two run") - 0.05).abs() < 1e-9);
}

#[test]
fn shorter_rows_show_more_and_change_nothing() {
    let mut service = service(2);
    service.scaling.policy = by_hand(&[(1, 4), (3, 1)]);
    let minutes = System { warm_up: Duration::from_secs(60), ..system(service, &[40.0; 6]) };
    let minutes = System { measured: Duration::from_secs(300), ..minutes };
    let seconds = System { row: Duration::from_secs(1), ..minutes.clone() };
    let (whole, fine) = (run(&minutes), run(&seconds));
    assert_eq!((rows(&whole).len(), rows(&fine).len()), (5, 300));
    let of_minute = rows(&fine).chunks(60);
    for (row, parts) in rows(&whole).iter().zip(of_minute) {
        assert_eq!(row.counts, parts[59].counts);
        assert_eq!(row.arrived, parts.iter().map(|part| part.arrived).sum::<u64>());
        assert!((row.cost - parts.iter().map(|part| part.cost).sum::<f64>()).abs() < 1e-9);
        assert!((row.rate() - parts.iter().map(|part| part.rate()).sum::<f64>() / 60.0).abs() < 1e-9);
    }
    let (whole, fine) = (&whole.services[0], &fine.services[0]);
    assert_eq!(whole.decisions, fine.decisions);
    assert_eq!(whole.happenings, fine.happenings);
    assert!((whole.totals.cost - fine.totals.cost).abs() < 1e-9);
    assert!((whole.totals.busy.unwrap() - fine.totals.busy.unwrap()).abs() < 1e-9);
    // An instance that boots for 40 s: seen by seconds.
    let booting = fine.rows.iter().filter(|row| row.counts.booting > 0).count();
    assert_eq!(booting, 40);
}

#[test]
fn rows_divide_a_minute_and_the_measured_time() {
    let problems = |row: u64, measured: u64| {
        let whole = System {
            row: Duration::from_secs(row),
            measured: Duration::from_secs(measured),
            ..system(service(1), &[10.0])
        };
        whole.problems().into_iter().map(|problem| problem.place).collect::<Vec<_>>()
    };
    assert_eq!(problems(1, 90), Vec::<String>::new());
    assert_eq!(problems(7, 70), ["rows"]);
    assert_eq!(problems(30, 70), ["measured"]);
    assert_eq!(problems(60, 90), ["measured"]);
}

#[test]
fn provisioning_is_billed_and_not_in_the_metrics() {
    let mut service = service(1);
    service.start.provision = Duration::from_secs(120);
    service.scaling.policy = by_hand(&[(1, 2)]);
    let outcome = run(&system(service, &[10.0; 3]));
    let row = &rows(&outcome)[2];
    assert_eq!((row.counts.running, row.counts.provisioning, row.counts.pending), (1, 1, 1));
    assert!((row.cost - 2.0 / 60.0).abs() < 1e-12);
    assert!((row.cpu_average.expect("one runs") - 0.1).abs() < 1e-9);
}

#[test]
fn draining_ends_when_the_last_request_does() {
    let mut service = service(3);
    service.scaling.policy = by_hand(&[(1, 1)]);
    let outcome = run(&system(service, &[10.0; 3]));
    // Two drain for 2.5 s; seen to have ended after 3 s.
    let row = &rows(&outcome)[1];
    assert_eq!((row.counts.running, row.counts.draining), (1, 0));
    assert!((row.cost * 3600.0 - (60.0 + 2.0 * 3.0)).abs() < 1e-6, "{}", row.cost * 3600.0);
}

#[test]
fn draining_is_cut_off_at_its_bound() {
    let mut service = service(2);
    service.start.drain = Duration::from_secs(1);
    service.scaling.policy = by_hand(&[(1, 1)]);
    let outcome = run(&system(service, &[10.0; 2]));
    assert!((rows(&outcome)[1].cost * 3600.0 - 61.0).abs() < 1e-6);
}

#[test]
fn what_does_not_run_yet_ends_first() {
    let mut service = service(2);
    service.scaling.policy = by_hand(&[(1, 4), (2, 3), (3, 2)]);
    service.start.provision = Duration::from_secs(90);
    service.scaling.ends = Ends::Oldest;
    let outcome = run(&system(service, &[10.0; 6]));
    assert!(rows(&outcome).iter().all(|row| row.counts.draining == 0 && row.counts.serving >= 2));
    assert_eq!(outcome.services[0].totals.actions, 3);
    // The first reverses nothing, the second does; the third continues in its direction.
    assert_eq!(outcome.services[0].totals.flaps, 1);
}

#[test]
fn a_short_life_is_billed_for_the_minimum() {
    let mut service = service(1);
    service.prices = vec![Price { per_hour: 1.0, minimum: Duration::from_secs(600) }];
    service.scaling.policy = by_hand(&[(1, 2), (2, 1)]);
    let outcome = run(&system(service, &[10.0; 20]));
    assert!((outcome.services[0].totals.cost * 3600.0 - (1200.0 + 600.0)).abs() < 1e-6);
}

#[test]
fn quotas_hold_and_are_named() {
    let mut service = service(2);
    service.scaling.policy = by_hand(&[(1, 10), (5, 4), (8, 10)]);
    let mut system = system(service, &[10.0; 12]);
    system.quotas.addresses = Some(5);
    let outcome = run(&system);
    assert!(
        rows(&outcome)
            .iter()
            .all(|row| row.counts.running + row.counts.provisioning + row.counts.draining <= 5)
    );
    assert_eq!(rows(&outcome)[3].counts.pending, 5);
    let unfulfilled = "Unfulfilled: no address left in the subnet (5 of 5); 5 not launched";
    assert_eq!(happened(&outcome), [unfulfilled, unfulfilled]);
}

#[test]
fn launches_that_a_quota_refused_are_counted_once_and_in_the_measured_time() {
    for (warm_up, changes, expected) in [
        // Five of ten are missing; then two more; then none.
        (0, vec![(1, 10), (3, 12), (6, 5)], 7),
        // Ended and requested again.
        (0, vec![(1, 10), (3, 5), (5, 10)], 10),
        // Attempted again when instances fail and are replaced.
        (0, vec![(1, 10)], 5),
        // Refusals in the warm-up are not counted.
        (2, vec![(1, 10), (3, 12)], 2),
        (4, vec![(1, 10), (3, 12)], 0),
    ] {
        let mut service = service(2);
        service.scaling.policy = by_hand(&changes);
        service.start.provision = Duration::from_secs(10);
        service.failures =
            vec![Failure { at: Duration::from_secs(270), instances: 2, noticed_after: Duration::ZERO }];
        let mut system = system(service, &[10.0; 12]);
        system.quotas.addresses = Some(5);
        system.warm_up = Duration::from_secs(60 * warm_up);
        system.measured -= system.warm_up;
        let outcome = run(&system);
        assert_eq!(outcome.services[0].totals.unfulfilled, expected, "{warm_up} {changes:?}");
    }
}

#[test]
fn what_one_service_gives_back_another_gets() {
    let (mut one, mut other) = (service(4), service(1));
    one.scaling.policy = by_hand(&[(5, 1)]);
    other.scaling.policy = by_hand(&[(1, 3)]);
    other.start.provision = Duration::from_secs(10);
    let mut system = system(one, &[10.0; 10]);
    system.services.push(other);
    system.quotas.vcpus = Some(5);
    let outcome = run(&system);
    assert_eq!(outcome.services[1].rows[4].counts.running, 1);
    assert_eq!(outcome.services[1].rows[6].counts.running, 3);
}

#[test]
fn launches_wait_for_the_rate() {
    let mut service = service(1);
    service.start = Start {
        provision: Duration::ZERO,
        boot: Duration::from_secs(1),
        launches_per_second: Some(0.1),
        launch_burst: 2,
        ..start()
    };
    service.scaling.policy = by_hand(&[(1, 9)]);
    let outcome = run(&system(service, &[10.0; 4]));
    // Two at once, then one every 10 s: at 120 s (whose launch is in the minute after the row) there are 2 + 5.
    let running: Vec<u32> = rows(&outcome).iter().map(|row| row.counts.running).collect();
    assert_eq!(running, [1, 8, 9, 9]);
}

fn deployment(least_healthy: f64, most: f64) -> Outcome {
    let mut service = service(4);
    service.deployments = vec![Deployment { at: Duration::from_secs(90), least_healthy, most }];
    run(&system(service, &[10.0; 20]))
}

#[test]
fn a_deployment_replaces_all_and_keeps_enough() {
    for (least, most) in [(1.0, 2.0), (1.0, 1.25), (0.5, 1.0), (0.75, 1.5)] {
        let outcome = deployment(least, most);
        let counts = || rows(&outcome).iter().map(|row| row.counts);
        assert!(counts().all(|counts| f64::from(counts.serving) >= 4.0 * least), "{least} {most}");
        let all = |counts: crate::cloud::Counts| counts.running + counts.provisioning;
        assert!(counts().all(|counts| f64::from(all(counts)) <= 4.0 * most), "{least} {most}");
        assert_eq!(
            happened(&outcome),
            ["deployment 1 began", "deployment 1 ended: all instances replaced"],
            "{least} {most}"
        );
        assert_eq!(counts().next_back().expect("rows").serving, 4);
    }
}

#[test]
fn a_deployment_without_room_says_so() {
    let outcome = deployment(1.0, 1.0);
    assert!(happened(&outcome)[1].starts_with("deployment 1 cannot begin"), "{:?}", happened(&outcome));
}

#[test]
fn failed_instances_are_replaced_when_noticed() {
    let mut service = service(3);
    service.failures =
        vec![Failure { at: Duration::from_secs(90), instances: 2, noticed_after: Duration::from_secs(60) }];
    let outcome = run(&system(service, &[10.0; 6]));
    let serving: Vec<u32> = rows(&outcome).iter().map(|row| row.counts.serving).collect();
    // Detected at 150 s, provisioned until 195 s, booted at 235 s.
    assert_eq!(serving, [3, 1, 1, 3, 3, 3]);
    assert_eq!(rows(&outcome)[1].counts.running, 3);
    assert_eq!(happened(&outcome), ["2 failed"]);
}

#[test]
fn a_burstable_fleet_looks_idle_when_it_is_held_back() {
    let mut service = service(2);
    let kind = crate::credits::burstable_type("t2.small").expect("in the table");
    service.hosts = vec![Host { credits: Some(kind.credits(false)), ..host() }];
    service.scaling.goal = Some(Goal { quantile: Quantile::P95, below: Duration::from_millis(300) });
    // Each needs 0.6 cores and may use 0.2 in the long run.
    let outcome = run(&system(service, &[120.0; 240]));
    let service = &outcome.services[0];
    let (first, last) = (&service.rows[10], service.rows.last().expect("rows"));
    assert!((first.cpu_average.expect("runs") - 0.6).abs() < 0.01 && first.within_goal == Some(true));
    assert!((last.cpu_average.expect("runs") - 0.2).abs() < 0.01, "{last:?}");
    assert!(last.busy_average.expect("runs") > 0.99 && last.within_goal == Some(false));
    assert_eq!(last.held_back, 2);
    assert!(last.credits.expect("published") < 1.0);
    assert!(
        service.happenings.notes().iter().any(|note| note.what == Happening::HeldAtBaseline { instances: 2 })
    );
    assert!(service.remarks[0].starts_with("throttled, not idle"), "{:?}", service.remarks);
}

#[test]
fn unlimited_credits_are_paid_for() {
    let kind = crate::credits::burstable_type("t3.nano").expect("in the table");
    let mut service = service(1);
    service.hosts = vec![Host { credits: Some(kind.credits(true)), cores: 2, ..host() }];
    // 150 % of a core for ten hours at 10 % of baseline: 15 core hours used, 1 earned, all of it surplus.
    let outcome = run(&system(service, &[150.0; 600]));
    let totals = &outcome.services[0].totals;
    assert!((totals.cost - (10.0 + 14.0 * 0.05)).abs() < 0.01, "{}", totals.cost);
    assert_eq!(totals.held_back, 0.0);
    assert_eq!(rows(&outcome)[599].busy_average, rows(&outcome)[599].cpu_average);
}

#[test]
fn stolen_time_looks_idle() {
    let mut service = service(1);
    service.hosts = vec![Host { steal: Some(Steal { share: 0.4 }), ..host() }];
    let outcome = run(&system(service, &[100.0; 5]));
    let row = &rows(&outcome)[4];
    assert!((row.cpu_average.expect("runs") - 0.6).abs() < 1e-9, "{row:?}");
    assert!(row.busy_average > Some(0.999), "{row:?}");
}

#[test]
fn a_quota_is_what_use_is_measured_against() {
    let mut service = service(1);
    service.hosts =
        vec![Host { quota: Some(Quota { cores: 0.25, period: Duration::from_millis(100) }), ..host() }];
    let outcome = run(&system(service, &[10.0; 2]));
    assert!((rows(&outcome)[1].cpu_average.expect("runs") - 0.4).abs() < 1e-9);
}

#[test]
fn requests_that_are_not_answered_are_outside_the_goal() {
    let mut service = service(0);
    service.scaling.goal = Some(Goal { quantile: Quantile::P95, below: Duration::from_secs(1) });
    let outcome = run(&system(service, &[10.0, 0.0]));
    assert_eq!(rows(&outcome)[0].within_goal, Some(false));
    assert_eq!(rows(&outcome)[1].within_goal, None);
    assert_eq!(outcome.services[0].totals.minutes_outside, 1);
}

#[test]
fn warm_up_is_simulated_and_not_reported() {
    let mut system = system(service(2), &[10.0; 10]);
    system.warm_up = Duration::from_secs(240);
    system.measured = Duration::from_secs(360);
    let outcome = run(&system);
    assert_eq!(rows(&outcome).len(), 6);
    assert_eq!(rows(&outcome)[0].at, Timestamp::from_secs(300));
    assert!((outcome.services[0].totals.cost - 0.2).abs() < 1e-9);
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let systems: Vec<System> = (1..6)
        .map(|n| {
            let mut service = service(n);
            service.failures =
                vec![Failure { at: Duration::from_secs(70), instances: 1, noticed_after: Duration::ZERO }];
            system(service, &[50.0; 5])
        })
        .collect();
    let one = run_parallel(&systems, 1, run);
    assert_eq!(one, run_parallel(&systems, 4, run));
}

/// A plant without processor use.
struct Still(InstanceId);

impl Plant for Still {
    fn launch(&mut self, _: ServiceId, _: usize) -> InstanceId {
        self.0.0 += 1;
        self.0
    }
    fn serve(&mut self, _: InstanceId) {}
    fn drain(&mut self, _: InstanceId) {}
    fn fail(&mut self, _: InstanceId) {}
    fn stop(&mut self, _: InstanceId) {}
    fn in_flight(&self, _: InstanceId) -> u32 {
        0
    }
    fn set_cores(&mut self, _: InstanceId, _: f64) {}
    fn run_until(&mut self, _: Timestamp) {}
    fn take_window(&mut self, _: ServiceId, into: &mut Window) {
        into.arrived = 20;
        into.answered = 20;
        (0..20).for_each(|n| into.balancer.record(0.05 + 0.01 * f64::from(n)));
        (0..20).for_each(|n| into.application.record(0.05 + 0.01 * f64::from(n)));
    }
    fn take_cpu(&mut self, _: InstanceId) -> f64 {
        20.0
    }
}

#[test]
fn a_week_of_minutes_costs_the_cloud_little() {
    let mut service = service(20);
    service.scaling.policy = by_hand(&[(100, 25), (5000, 20)]);
    let mut system = system(service, &[20.0]);
    system.measured = Duration::from_secs(7 * 86_400);
    let spent = || clock_gettime(ClockId::ThreadCPUTime);
    let began = spent();
    let outcome = run_on(&system, Still(InstanceId(0)), &mut |_| {});
    assert_eq!(rows(&outcome).len(), 10_080);
    let seconds = (spent() - began).tv_sec as f64 + (spent() - began).tv_nsec as f64 * 1e-9;
    println!("{seconds:.3} s");
    assert!(seconds < 0.5, "{seconds} s");
}

/// Manual changes: counts and minutes.
fn changes() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((1_u64..30, 0_u32..25), 0..12).prop_map(|mut changes| {
        changes.sort_by_key(|(minute, _)| *minute);
        changes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn quotas_are_never_exceeded_and_no_instance_is_lost(
        changes in changes(),
        addresses in 1_u32..20,
        failures in prop::collection::vec((0_u64..1800, 1_u32..5, 0_u64..200), 0..4),
        deployments in prop::collection::vec((0_u64..1800, 0_u32..5, 4_u32..9), 0..3),
        rate in prop::option::of(0.01_f64..2.0),
        newest in any::<bool>(),
    ) {
        let mut service = service(3);
        service.scaling.policy = by_hand(&changes);
        service.scaling.ends = if newest { Ends::Newest } else { Ends::Oldest };
        service.start.launches_per_second = rate;
        service.failures = failures
            .iter()
            .map(|(at, instances, noticed)| Failure {
                at: Duration::from_secs(*at),
                instances: *instances,
                noticed_after: Duration::from_secs(*noticed),
            })
            .collect();
        service.deployments = deployments
            .iter()
            .map(|(at, least, most)| Deployment {
                at: Duration::from_secs(*at),
                least_healthy: f64::from(*least) / 4.0,
                most: f64::from(*most) / 4.0,
            })
            .collect();
        let last = changes.last().map_or(3, |(_, count)| *count);
        let mut system = system(service, &[20.0; 31]);
        // Long enough for all changes to complete.
        system.measured = Duration::from_secs(3 * 3600);
        system.quotas.addresses = Some(addresses);
        let outcome = run(&system);
        for row in rows(&outcome) {
            let counts = row.counts;
            prop_assert!(counts.running + counts.provisioning + counts.draining <= addresses);
        }
        let end = rows(&outcome).last().expect("rows").counts;
        prop_assert_eq!(end.desired, last);
        // A deployment without addresses for new instances keeps the old ones.
        prop_assert_eq!(end.serving, last.min(addresses), "{:?} {:?}", end, happened(&outcome));
        prop_assert_eq!(end.draining, 0);
    }

    #[test]
    fn cost_is_the_sum_of_lifetimes(
        changes in changes(),
        minimum in 0_u64..600,
        deployments in prop::collection::vec((0_u64..1800, 2_u32..5, 5_u32..9), 0..3),
        failures in prop::collection::vec((0_u64..1800, 1_u32..5, 0_u64..200), 0..4),
    ) {
        let mut service = service(5);
        // The plant does not see provisioning, so there is none.
        service.start.provision = Duration::ZERO;
        service.prices = vec![Price { per_hour: 3600.0, minimum: Duration::from_secs(minimum) }];
        service.scaling.policy = by_hand(&changes);
        service.failures = failures
            .iter()
            .map(|(at, instances, noticed)| Failure {
                at: Duration::from_secs(*at),
                instances: *instances,
                noticed_after: Duration::from_secs(*noticed),
            })
            .collect();
        service.deployments = deployments
            .iter()
            .zip([250, 500, 750])
            .map(|((at, least, most), millis)| Deployment {
                // Never at the time of another launch: an instance that is launched and ended at the same time is
                // charged the minimum, and the plant never sees it.
                at: Duration::from_millis(1000 * at + millis),
                least_healthy: f64::from(*least) / 4.0,
                most: f64::from(*most) / 4.0,
            })
            .collect();
        let system = system(service, &[20.0; 60]);
        let plant = Fluid::new(&system);
        let lives = std::rc::Rc::clone(&plant.lives);
        let outcome = run_on(&system, plant, &mut |_| {});
        let totals = &outcome.services[0].totals;
        let by_row: f64 = rows(&outcome).iter().map(|row| row.cost).sum();
        prop_assert!((totals.cost - by_row).abs() < 1e-6);
        // All changes are in the first half hour, so instances that still run at the end exceed the minimum.
        let lived: f64 = lives.borrow().iter().map(|life| life.as_secs_f64().max(minimum as f64)).sum();
        prop_assert!((totals.cost - lived).abs() < 1e-6, "{} {lived}", totals.cost);
    }
}

#[test]
fn instances_at_the_beginning_must_fit_too() {
    let mut system = system(service(8), &[1.0; 2]);
    system.quotas.instances = Some(6);
    let outcome = run(&system);
    assert_eq!(rows(&outcome)[0].counts.running, 6);
    assert_eq!(rows(&outcome)[0].counts.desired, InstanceCount::new(8).get());
    assert_eq!(
        happened(&outcome),
        ["Unfulfilled: the quota of instances is used up (6 of 6); 2 not launched"]
    );
}
