//! The closed model: how many users there are.

use crate::servers::{Gauge, answer_each, get, ok, plan, run_plan, server, slow, stop_in_the_middle};
use load::{Model, Plan, Protocol, UserProfile, UserStage, Users, start};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Timestamp;

fn profile(stages: &[(u64, u32, u32)]) -> Arc<UserProfile> {
    let stages = stages.iter().enumerate().map(|(number, &(millis, from, to))| UserStage {
        length: Duration::from_millis(millis),
        from,
        to,
        name: format!("stage {number}").into(),
    });
    Arc::new(UserProfile::new(stages.collect()).unwrap())
}

fn users(profile: &Arc<UserProfile>) -> Model {
    Model::Closed { users: Users::Stages(Arc::clone(profile)) }
}

/// A server that takes 20 ms for each response, and counts the requests in progress.
fn counted() -> (std::net::SocketAddr, Arc<Gauge>) {
    let gauge = Arc::new(Gauge::default());
    let at_it = Arc::clone(&gauge);
    let address = server(move |stream| {
        answer_each(stream, |stream, _| {
            at_it.enter();
            std::thread::sleep(Duration::from_millis(20));
            at_it.leave();
            ok(stream)
        });
    });
    (address, gauge)
}

#[test]
fn there_are_never_more_requests_in_flight_than_users() {
    let profile = profile(&[(400, 2, 2), (500, 2, 9), (400, 3, 3), (500, 9, 0)]);
    for workers in [1, 2] {
        let (address, gauge) = counted();
        let mut plan = plan(get(address), users(&profile));
        plan.duration = None;
        plan.workers = NonZeroU32::new(workers).unwrap();
        let began = Instant::now();
        let running = start(plan).unwrap();
        let mut seen = 0;
        while !running.is_finished() {
            let before = began.elapsed();
            let now = gauge.now();
            let after = began.elapsed();
            // A user that leaves still gets the response to its request; clocks and threads of a test are not exact.
            let from = (before.as_millis() as u64).saturating_sub(70);
            let times = from..=after.as_millis() as u64 + 20;
            let most = times.map(|millis| profile.users_at(Timestamp::from_millis(millis))).max().unwrap();
            assert!(now <= u64::from(most), "{now} of {most} at {before:?}");
            seen = seen.max(now);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(seen >= 7, "only {seen} were seen");
        let measured = running.finish().unwrap();
        crate::servers::adds_up(&measured);
        assert_eq!(measured.accounting.answered, measured.accounting.scheduled, "{:?}", measured.accounting);
        let rates: Vec<f64> = measured.stages.iter().map(|stage| stage.achieved().per_second()).collect();
        assert!(rates[0] < 105.0, "two users, 20 ms: {rates:?}");
        assert!(rates[2] < 155.0, "three users, 20 ms: {rates:?}");
        assert_eq!(measured.stages.len(), 4);
    }
}

#[test]
fn a_duration_that_is_shorter_than_the_stages_lets_nobody_begin_later() {
    let profile = profile(&[(300, 1, 1), (300, 5, 5)]);
    let mut plan = plan(get(slow(Duration::from_millis(5))), users(&profile));
    plan.duration = Some(Duration::from_millis(250));
    let measured = run_plan(plan);
    assert_eq!(measured.connections, 1);
    assert_eq!(measured.elapsed, Duration::from_millis(250));
}

#[test]
fn a_number_of_requests_ends_the_run_of_users_before_its_time() {
    let profile = profile(&[(60_000, 3, 3)]);
    for workers in [1, 2, 5] {
        let mut plan = plan(get(slow(Duration::from_millis(1))), users(&profile));
        plan.duration = None;
        plan.requests = Some(50);
        plan.workers = NonZeroU32::new(workers).unwrap();
        let began = Instant::now();
        let measured = run_plan(plan);
        assert_eq!(measured.accounting.answered, 50, "{workers} workers");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn users_can_be_looked_at_and_stopped_in_the_middle() {
    let profile = profile(&[(60_000, 3, 3)]);
    let plan = plan(get(slow(Duration::from_millis(5))), users(&profile));
    let measured = stop_in_the_middle(Plan { duration: None, ..plan });
    assert!(measured.accounting.answered > 0 && measured.accounting.in_flight <= 3);
}

#[test]
fn users_share_the_streams_of_http2_connections() {
    let profile = profile(&[(400, 6, 6), (400, 2, 2)]);
    let gauge = Arc::new(Gauge::default());
    let mut plan = plan(crate::http2::waiting(&gauge), users(&profile));
    plan.duration = None;
    let streams = NonZeroU32::new(4).unwrap();
    plan.connecting.protocol = Protocol::Http2 { streams, prior_knowledge: false };
    let measured = run_plan(plan);
    assert_eq!(measured.accounting.answered, measured.accounting.scheduled, "{:?}", measured.first_failures);
    assert_eq!(gauge.most(), 6);
    let rates: Vec<f64> = measured.stages.iter().map(|stage| stage.achieved().per_second()).collect();
    assert!(rates[0] > rates[1] && rates[1] < 205.0, "10 ms per response: {rates:?}");
}
