//! Requests that are sent again, against servers that record what they received.

use crate::http2::odd::{Odd, odd};
use crate::http2::streams;
use crate::servers::{answer_each, closed, get, ok, open, plan, run_plan, server};
use load::{Plan, Target};
use measure::{Failure, Measurement, Reason, Verdict};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// An HTTP/1.1 server that closes at every `every`th request of a connection without a response; it counts the
/// requests.
fn closes_every(every: u64) -> (SocketAddr, Arc<AtomicU64>) {
    let received = Arc::new(AtomicU64::new(0));
    let record = Arc::clone(&received);
    let address = server(move |stream| {
        let mut count = 0;
        answer_each(stream, |stream, _| {
            record.fetch_add(1, SeqCst);
            count += 1;
            count < every && ok(stream)
        });
    });
    (address, received)
}

fn thousand(address: SocketAddr, change: impl FnOnce(&mut Plan)) -> Measurement {
    let mut plan = plan(get(address), closed(2));
    plan.duration = None;
    plan.requests = Some(1_000);
    plan.timeout = Duration::from_secs(10);
    change(&mut plan);
    run_plan(plan)
}

#[test]
fn what_a_server_receives_is_what_was_scheduled_and_resent() {
    let (address, received) = closes_every(50);
    let measured = thousand(address, |_| {});
    let accounting = measured.accounting;
    assert_eq!((accounting.answered, accounting.failed), (1_000, 0), "{:?}", measured.failures);
    assert!((15..=25).contains(&accounting.resent), "{accounting:?}");
    assert_eq!(received.load(SeqCst), accounting.scheduled + accounting.resent);
    let seconds = measured.series.seconds.iter().map(|second| second.accounting.resent);
    assert_eq!(seconds.sum::<u64>(), accounting.resent);
    assert_eq!(measured.endpoints[0].part.accounting.resent, accounting.resent);
    // Two in a hundred.
    let expected = Reason::Resent { count: accounting.resent, scheduled: 1_000 };
    assert!(measured.validity.reasons.contains(&expected), "{:?}", measured.validity);
    assert!(measured.validity.verdict >= Verdict::Suspect);
}

#[test]
fn few_that_are_resent_leave_a_run_as_it_is() {
    let (address, received) = closes_every(200);
    let measured = thousand(address, |_| {});
    let resent = measured.accounting.resent;
    assert!((1..=10).contains(&resent), "{resent}");
    assert_eq!(received.load(SeqCst), 1_000 + resent);
    let reasons = &measured.validity.reasons;
    assert!(!reasons.iter().any(|reason| matches!(reason, Reason::Resent { .. })), "{reasons:?}");
}

#[test]
fn without_resending_they_count_as_failed() {
    let (address, received) = closes_every(50);
    let measured = thousand(address, |plan| plan.connecting.no_resend = true);
    let accounting = measured.accounting;
    assert_eq!((accounting.resent, received.load(SeqCst)), (0, 1_000), "{accounting:?}");
    assert!((15..=25).contains(&accounting.failed), "{accounting:?}");
    assert_eq!(
        measured.failures.get(&Failure::KeptClosed),
        Some(&accounting.failed),
        "{:?}",
        measured.failures
    );
}

#[test]
fn what_is_not_safe_to_repeat_is_sent_once() {
    let (address, received) = closes_every(50);
    let post = Target::new(&format!("http://{address}/"), "POST", &[], b"x").unwrap();
    let measured = thousand(address, |plan| plan.work = post.into());
    assert_eq!((measured.accounting.resent, received.load(SeqCst)), (0, 1_000));
    assert!(measured.accounting.failed >= 15, "{:?}", measured.accounting);
}

/// A server of HTTP/2 frames; counts the requests that reached it.
fn frames(kind: Odd) -> (SocketAddr, Arc<AtomicU64>) {
    let heads = Arc::new(AtomicU64::new(0));
    let record = Arc::clone(&heads);
    let address = server(move |stream| odd(stream, kind, &record));
    (address, heads)
}

#[test]
fn refused_streams_are_counted_as_resent() {
    for model in [closed(2), open(200.0, 0)] {
        let (address, heads) = frames(Odd::RefuseThreeOf(20));
        let mut plan = plan(get(address), model);
        plan.connecting.protocol = streams(5);
        plan.requests = Some(100);
        let measured = run_plan(plan.clone());
        let accounting = measured.accounting;
        assert_eq!(accounting.answered, accounting.scheduled, "{:?}", measured.failures);
        assert!((15..=20).contains(&accounting.resent), "{accounting:?}");
        assert_eq!(heads.swap(0, SeqCst), accounting.scheduled + accounting.resent);

        plan.connecting.no_resend = true;
        let measured = run_plan(plan);
        let accounting = measured.accounting;
        assert_eq!((accounting.resent, heads.load(SeqCst)), (0, accounting.scheduled));
        assert_eq!(measured.failures.get(&Failure::StreamRefused), Some(&accounting.failed));
        assert_eq!(accounting.failed, 15, "{accounting:?}");
    }
}

#[test]
fn a_server_that_leaves_again_and_again_fails_no_request() {
    // Twenty at a time meet it again and again; at a rate it depends on the machine how many are sent before the first
    // GOAWAY arrives.
    for (model, at_least) in [(closed(1), 200), (open(2_000.0, 1), 1)] {
        let (address, _) = frames(Odd::GoawayEvery(2));
        let mut plan = plan(get(address), model);
        plan.connecting.protocol = streams(20);
        plan.requests = Some(200);
        plan.duration = None;
        plan.timeout = Duration::from_secs(20);
        let measured = run_plan(plan);
        let accounting = measured.accounting;
        assert_eq!(accounting.answered, 200, "{accounting:?} {:?}", measured.failures);
        assert!(accounting.resent >= at_least && measured.connections >= 50, "{accounting:?}");
    }
}

#[test]
fn a_server_that_never_says_how_many_streams_it_takes_is_not_waited_for_for_ever() {
    let (address, heads) = frames(Odd::Silent);
    let mut plan = plan(get(address), open(200.0, 1));
    plan.connecting.protocol = streams(100);
    plan.duration = Some(Duration::from_millis(400));
    plan.timeout = Duration::from_millis(600);
    let measured = run_plan(plan);
    assert_eq!(measured.accounting.timed_out, measured.accounting.scheduled, "{:?}", measured.accounting);
    assert_eq!(heads.load(SeqCst), measured.accounting.scheduled);
}
