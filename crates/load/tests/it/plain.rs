//! HTTP/1.1 without TLS, constant rates and constant users.

use crate::servers::{
    adds_up, answer_each, closed, get, header, ok, open, plan, run, run_plan, server, slow,
    stop_in_the_middle,
};
use load::{Arrivals, Collected, Collector, Course, Model, Plan, Targets, Work, start};
use std::io::Write;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::{Quantile, Timestamp};

#[test]
fn open_model_keeps_its_rate() {
    let address = server(|stream| answer_each(stream, |stream, _| ok(stream)));
    let measured = run(address, open(200.0, 0), |_| {});
    assert_eq!(measured.accounting.scheduled, 300);
    assert_eq!(measured.accounting.answered, 300);
    assert_eq!(measured.statuses[&200], 300);
    assert_eq!(measured.response.count(), 300);
}

#[test]
fn the_last_gap_belongs_to_the_schedule() {
    let address = server(|stream| answer_each(stream, |stream, _| ok(stream)));
    let measured = run(address, open(2.0, 0), |_| {});
    assert_eq!(measured.accounting.scheduled, 3);
    assert_eq!(measured.elapsed, Duration::from_millis(1_500));
    assert_eq!(measured.offered().per_second(), 2.0);
    assert_eq!(measured.achieved(), measured.offered());
}

#[test]
fn closed_model_goes_as_fast_as_the_service() {
    let address = server(|stream| answer_each(stream, |stream, _| ok(stream)));
    let measured = run(address, closed(4), |plan| plan.workers = NonZeroU32::new(2).unwrap());
    assert!(measured.accounting.answered > 100, "{:?}", measured.accounting);
    assert_eq!(measured.connections, 4);
    assert_eq!(measured.accounting.answered, measured.accounting.scheduled);
}

#[test]
fn a_number_of_requests_ends_the_run() {
    let address = server(|stream| answer_each(stream, |stream, _| ok(stream)));
    for model in [closed(3), open(5_000.0, 2)] {
        let measured = run(address, model, |plan| {
            plan.duration = None;
            plan.requests = Some(100);
            plan.workers = NonZeroU32::new(2).unwrap();
        });
        assert_eq!(measured.accounting.answered, 100);
    }
}

#[test]
fn a_collector_has_the_first_responses_and_those_that_never_came() {
    let count = Arc::new(Mutex::new(0));
    let address = server(move |stream| {
        answer_each(stream, |stream, _| {
            let mut count = count.lock().unwrap();
            *count += 1;
            // The second gets no response, and the others a body that is longer than what is kept.
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; a=b\r\nTransfer-Encoding: chunked\r\n\r\n\
                          4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n";
            *count != 2 && stream.write_all(answer.as_bytes()).is_ok()
        });
    });
    let collector = Collector::new(3, 5);
    let measured = run(address, closed(1), |plan| {
        plan.requests = Some(4);
        plan.connecting.no_resend = true;
        plan.collector = Some(collector.clone());
    });
    assert_eq!((measured.accounting.answered, measured.accounting.failed), (3, 1));
    let good = Collected {
        endpoint: 0,
        status: Some(200),
        content_type: Some("Text/Plain; a=b".to_owned()),
        body: b"abcde".to_vec(),
        body_bytes: 6,
    };
    let none =
        Collected { status: None, content_type: None, body: Vec::new(), body_bytes: 0, ..good.clone() };
    assert_eq!(collector.take(), [good.clone(), none, good]);
    assert_eq!(collector.take(), []);
}

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_waited() {
    // One connection; every response takes 20 ms; arrivals every 10 ms. The wait grows by 10 ms with each arrival.
    let address = server(|stream| {
        answer_each(stream, |stream, _| {
            std::thread::sleep(Duration::from_millis(20));
            ok(stream)
        });
    });
    let measured = run(address, open(100.0, 1), |plan| plan.timeout = Duration::from_secs(5));
    let response = measured.response.quantile(Quantile::P50).unwrap().at;
    let service = measured.service.quantile(Quantile::P50).unwrap().at;
    assert!(response > Duration::from_millis(500), "half of 150 arrivals waited long: {response:?}");
    assert!(service < Duration::from_millis(60), "{service:?}");
    assert!(
        measured.validity.reasons.iter().any(|reason| reason.to_string().contains("connections were busy"))
    );
}

#[test]
fn time_outs_stay_in_the_distribution() {
    let address = server(|stream| answer_each(stream, |_, _| true));
    let measured = run(address, open(20.0, 0), |_| {});
    assert_eq!(measured.accounting.timed_out, 30, "{:?}", measured.accounting);
    assert!(measured.response.quantile(Quantile::P50).unwrap().censored);
}

#[test]
fn a_service_that_closes_after_each_answer_is_no_failure() {
    let address = server(|stream| {
        answer_each(stream, |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
            false
        });
    });
    let measured = run(address, closed(2), |plan| plan.duration = Some(Duration::from_millis(300)));
    assert_eq!(measured.accounting.failed, 0);
    assert_eq!(measured.connections, measured.accounting.answered);
}

#[test]
fn an_idle_connection_that_the_service_closed_costs_no_request() {
    // Closes silently after the response: some requests are sent to a closed connection.
    let address = server(|stream| {
        answer_each(stream, |stream, _| {
            ok(stream);
            false
        });
    });
    let measured = run(address, open(200.0, 0), |_| {});
    assert_eq!(measured.accounting.failed, 0, "{:?}", measured.failures);
    assert_eq!(measured.accounting.answered, 300);
}

#[test]
fn stopping_accounts_for_what_is_under_way() {
    let address = server(|stream| answer_each(stream, |_, _| true));
    let plan = Plan {
        duration: Some(Duration::from_secs(60)),
        timeout: Duration::from_secs(60),
        good_within: Duration::from_secs(60),
        ..Plan::new(get(address), open(100.0, 3))
    };
    let running = start(plan).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let progress = running.progress();
    assert_eq!(progress.in_flight, 3);
    assert!(progress.waiting > 10 && progress.oldest.is_some(), "{progress:?}");
    running.stop();
    let measured = running.finish().unwrap();
    adds_up(&measured);
    assert_eq!(measured.accounting.in_flight, 3);
    assert!(measured.accounting.unsent > 10, "{:?}", measured.accounting);
}

#[test]
fn a_run_can_be_looked_at_and_stopped_in_the_middle() {
    let address = slow(Duration::from_millis(5));
    for model in [closed(3), open(300.0, 0), open(300.0, 1)] {
        let measured =
            stop_in_the_middle(Plan { duration: Some(Duration::from_secs(60)), ..plan(get(address), model) });
        assert!(measured.accounting.answered > 0, "{:?}", measured.accounting);
    }
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    let address = server(|stream| {
        answer_each(stream, |stream, head| head.contains("Connection: close\r\n") && ok(stream));
    });
    for model in [closed(2), open(100.0, 0), open(100.0, 1)] {
        let measured = run(address, model, |plan| {
            plan.keep_alive = false;
            plan.requests = Some(100);
        });
        assert_eq!(measured.accounting.answered, 100, "{:?}", measured.failures);
        assert_eq!((measured.connections, measured.connect.count()), (100, 100));
    }
}

#[test]
fn a_bound_below_the_number_of_workers_leaves_nothing_undone() {
    let address = slow(Duration::ZERO);
    for model in [closed(1), open(500.0, 1)] {
        let measured = run(address, model, |plan| {
            plan.requests = Some(101);
            plan.workers = NonZeroU32::new(4).unwrap();
        });
        assert_eq!(measured.accounting.answered, 101, "{:?}", measured.accounting);
        assert_eq!(measured.connections, 1);
    }
}

#[test]
fn requests_go_in_turn_to_more_servers_than_there_may_be_connections() {
    let targets: Vec<_> =
        (0..4).map(|number| get(slow(Duration::ZERO)).named(&format!("server {number}"))).collect();
    for (model, workers) in [(closed(2), 1), (closed(3), 2), (open(200.0, 2), 1), (open(200.0, 0), 2)] {
        let mut plan = plan(Work::Targets(Targets::new(targets.clone())), model);
        plan.requests = Some(200);
        plan.workers = NonZeroU32::new(workers).unwrap();
        let measured = run_plan(plan);
        assert_eq!(measured.accounting.answered, 200, "{:?} {:?}", measured.accounting, measured.failures);
        let each: Vec<_> =
            measured.endpoints.iter().map(|endpoint| endpoint.part.accounting.answered).collect();
        assert_eq!(each, [50; 4]);
    }
}

#[test]
fn each_arrival_has_a_number_of_its_own() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let address = {
        let seen = Arc::clone(&seen);
        server(move |stream| {
            answer_each(stream, |stream, head| {
                seen.lock().unwrap().push(header(head, "x-arrival").unwrap().parse::<u64>().unwrap());
                ok(stream)
            });
        })
    };
    for model in [closed(3), open(500.0, 0)] {
        run(address, model, |plan| {
            plan.requests = Some(300);
            plan.workers = NonZeroU32::new(2).unwrap();
            plan.arrival_header = Some("X-Arrival".to_owned());
        });
        let mut numbers = std::mem::take(&mut *seen.lock().unwrap());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..300).collect::<Vec<u64>>());
    }
}

/// A recording ends with its last arrival, but the response to it belongs to the run.
#[test]
fn a_recording_achieves_what_was_answered() {
    let address = server(|stream| {
        answer_each(stream, |stream, _| {
            std::thread::sleep(Duration::from_millis(100));
            ok(stream)
        });
    });
    let times: Vec<Timestamp> = [0, 100, 300].map(Timestamp::from_millis).into();
    let course = Course::Recorded(times.into());
    let model = Model::Open { course, arrivals: Arrivals::Even, connections: None };
    for duration in [None, Some(Duration::from_secs(60))] {
        let mut plan = plan(get(address), model.clone());
        plan.duration = duration;
        let measured = run_plan(plan);
        assert_eq!((measured.accounting.answered, measured.completed), (3, 3));
        assert_eq!(measured.endpoints[0].part.completed, 3);
        assert!(measured.elapsed >= Duration::from_millis(400), "{:?}", measured.elapsed);
        assert!(measured.elapsed < Duration::from_secs(30), "{:?}", measured.elapsed);
    }
    let mut cut = plan(get(address), model);
    cut.duration = Some(Duration::from_millis(350));
    let measured = run_plan(cut);
    assert_eq!((measured.accounting.answered, measured.elapsed), (3, Duration::from_millis(350)));
    assert!(measured.completed < 3, "the last came after the end");
}
