//! Clients that are slow, leave, stop reading, or are too many.

use crate::support::{
    Peer, Upstream, before, client, eventually, eventually_metric, get, metric, ok, rate, settings, started,
    under_rate,
};
use gateway::settings::Class;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

#[test]
fn one_byte_a_second_is_a_408_and_nobody_else_notices() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.limits.head_timeout = Duration::from_millis(600);
    let gateway = started(settings);
    let address = gateway.address();
    let slow: Vec<_> = (0..20)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Peer::connect(address);
                let begin = Instant::now();
                let mut writer = client.stream.try_clone().unwrap();
                std::thread::spawn(move || {
                    use std::io::Write;
                    for byte in get("/slow").bytes() {
                        if writer.write_all(&[byte]).is_err() {
                            return;
                        }
                        std::thread::sleep(Duration::from_millis(100));
                    }
                });
                let answer = client.answer();
                (answer.status(), begin.elapsed())
            })
        })
        .collect();
    let mut client = client(&gateway);
    let mut longest = Duration::ZERO;
    for _ in 0..50 {
        let begin = Instant::now();
        assert_eq!(client.ask(get("/")).text(), "hello");
        longest = longest.max(begin.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(longest < Duration::from_millis(200), "{longest:?}");
    for slow in slow {
        let (status, took) = slow.join().unwrap();
        assert_eq!(status, 408);
        // Counted from when the gateway accepted, which is a little earlier.
        assert!((550..1_500).contains(&(took.as_millis() as u64)), "{took:?}");
    }
    assert!(!upstream.seen().contains("slow"));
}

#[test]
fn the_beginning_of_a_head_and_then_nothing_is_a_408() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.limits.head_timeout = Duration::from_millis(200);
    let gateway = started(settings);
    let mut client = client(&gateway);
    assert_eq!(client.ask(get("/")).status(), 200);
    let begin = Instant::now();
    assert_eq!(client.ask("GET / HTTP/1.1\r\nHo").status(), 408);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn a_body_that_stops_is_a_408() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.limits.idle_timeout = Duration::from_millis(200);
    let gateway = started(settings);
    let answer = client(&gateway).ask("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nab");
    assert_eq!(answer.status(), 408);
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 0.0);
}

#[test]
fn an_idle_connection_is_closed_in_time() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.limits.idle_timeout = Duration::from_millis(200);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.ask(get("/"));
    let begin = Instant::now();
    assert!(client.is_closed());
    assert!((150..1_000).contains(&(begin.elapsed().as_millis() as u64)), "{:?}", begin.elapsed());
}

#[test]
fn who_leaves_during_an_answer_is_let_go() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n");
        for _ in 0..900 {
            peer.send(vec![b'x'; 1_000_000]);
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(get("/"));
    client.head().unwrap();
    drop(client);
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"client_left\"}", 1.0);
    eventually_metric(&gateway, "headroom_connections_open", 0.0);
}

#[test]
fn who_closes_its_half_after_the_answer_began_is_not_kept() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
        std::thread::sleep(Duration::from_millis(200));
        peer.send("lf");
        peer.request();
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(get("/"));
    let head = client.head().unwrap();
    client.no_more();
    assert!(head.contains("200 OK"));
    assert_eq!(client.until_end(), b"half");
    eventually_metric(&gateway, "headroom_connections_open", 0.0);
}

#[test]
fn whose_turn_has_not_come_gives_it_back_by_leaving() {
    let upstream = Upstream::hello();
    let mut settings = under_rate(settings(&[upstream.address]), rate("1/s", 1, 1));
    settings.concurrency_limits = vec![Class::new("few", 2)];
    settings.routes[0].concurrency = Some(0);
    let gateway = started(settings);
    assert_eq!(client(&gateway).ask(get("/")).status(), 200);
    let mut waiting = client(&gateway);
    waiting.send(get("/waits"));
    eventually_metric(&gateway, "headroom_backlog{class=\"rate\"}", 1.0);
    assert_eq!(client(&gateway).ask(get("/")).status(), 503, "one place to wait");
    drop(waiting);
    eventually_metric(&gateway, "headroom_backlog{class=\"rate\"}", 0.0);
    // The rate class has capacity again as well: this request gets it, within the second.
    let begin = Instant::now();
    assert_eq!(client(&gateway).ask(get("/")).status(), 200);
    assert!(begin.elapsed() < Duration::from_millis(1_200), "{:?}", begin.elapsed());
    assert!(!upstream.seen().contains("waits"));
    eventually_metric(&gateway, "headroom_concurrency{class=\"few\"}", 0.0);
    eventually_metric(&gateway, "headroom_connections_open", 0.0);
}

#[test]
fn too_many_with_requests_are_closed_at_once_and_room_is_found_again() {
    let (held, hold) = std::sync::mpsc::channel::<()>();
    let hold = std::sync::Mutex::new(hold);
    let upstream = Upstream::answering(move |request| {
        if request.start_line().contains("/held") {
            // Until the test releases it.
            let _ = hold.lock().map(|hold| hold.recv());
        }
        ok("hello")
    });
    let mut settings = settings(&[upstream.address]);
    settings.limits.connections = 3;
    // The kernel may give a connection to any worker.
    settings.workers = NonZeroU32::new(3).unwrap();
    let gateway = started(settings);
    let mut clients: Vec<Peer> = (0..3).map(|_| client(&gateway)).collect();
    for client in &mut clients {
        client.send(get("/held"));
    }
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 3.0);
    assert!(client(&gateway).is_closed());
    eventually_metric(&gateway, "headroom_connections_refused_total", 1.0);
    drop(held);
    for client in &mut clients {
        assert_eq!(client.answer().text(), "hello");
    }
    // A worker publishes its idle connections ten times a second.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(client(&gateway).ask(get("/")).status(), 200);
}

#[test]
fn at_the_bound_those_without_a_request_give_way_whichever_worker_has_them() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.limits.connections = 20;
    settings.workers = NonZeroU32::new(3).unwrap();
    let gateway = started(settings);
    let silent: Vec<Peer> = (0..40).map(|_| client(&gateway)).collect();
    for _ in 0..30 {
        assert_eq!(client(&gateway).ask(get("/")).text(), "hello");
    }
    eventually("the silent ones were given up", || {
        metric(&gateway, "headroom_connections_given_up_total{state=\"nothing_sent\"}") >= 20.0
    });
    assert_eq!(metric(&gateway, "headroom_connections_refused_total"), 0.0);
    drop(silent);
}

#[test]
fn a_client_that_reads_nothing_is_let_go_in_time() {
    let body = "x".repeat(20 << 20);
    let upstream = Upstream::answering(move |_| ok(&body));
    let mut settings = settings(&[upstream.address]);
    settings.limits.idle_timeout = Duration::from_millis(300);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send(get("/"));
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"client_left\"}", 1.0);
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 0.0);
    drop(client);
}

#[test]
fn a_client_that_reads_slowly_but_steadily_is_served() {
    use std::io::Read;
    let body = "x".repeat(12 << 20);
    let upstream = Upstream::answering(move |_| ok(&body));
    let mut settings = settings(&[upstream.address]);
    settings.limits.idle_timeout = Duration::from_millis(400);
    settings.pools[0].answer_timeout = Duration::from_secs(5);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send(get("/"));
    let (mut count, mut buffer) = (0, vec![0; 256 * 1024]);
    while count < 12 << 20 {
        let read = client.stream.read(&mut buffer).unwrap();
        assert!(read > 0, "broken off after {count} bytes");
        count += read;
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn counts_return_to_zero_after_a_storm_of_clients_that_leave_anywhere() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let request = "POST /?3 HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n0123456789";
    for cut in 1..=request.len() {
        let mut client = client(&gateway);
        client.send(&request[..cut]);
        if cut % 3 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    eventually("all are gone", || metric(&gateway, "headroom_connections_open") == 0.0);
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 0.0);
    assert_eq!(client(&gateway).ask(get("/")).text(), "hello");
}
