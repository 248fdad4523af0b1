//! Instances that refuse, hang, break off or send invalid data.

use crate::support::{
    Peer, Upstream, before, client, eventually, eventually_metric, get, metric, nobody, ok, settings, started,
};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn one_that_refuses_is_a_502() {
    let gateway = started(settings(&[nobody()]));
    let mut client = client(&gateway);
    let answer = client.ask(get("/"));
    assert_eq!(answer.status(), 502);
    assert!(answer.text().contains("\"reason\":\"upstream_unreachable\""), "{}", answer.text());
    assert_eq!(client.ask(get("/")).status(), 502, "the connection goes on");
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"upstream_unreachable\"}", 2.0);
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 0.0);
}

#[test]
fn one_that_refuses_is_passed_over_while_another_serves() {
    let upstream = Upstream::hello();
    let gateway = started(settings(&[nobody(), upstream.address]));
    let mut client = client(&gateway);
    for _ in 0..10 {
        assert_eq!(client.ask(get("/")).text(), "hello");
    }
}

#[test]
fn one_that_hangs_is_a_504_in_time() {
    let upstream = Upstream::start(|peer, _| while peer.request().is_some() {});
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].answer_timeout = Duration::from_millis(200);
    let gateway = started(settings);
    let begin = Instant::now();
    let answer = client(&gateway).ask(get("/"));
    assert_eq!(answer.status(), 504);
    let took = begin.elapsed();
    assert!((200..1_000).contains(&(took.as_millis() as u64)), "{took:?}");
}

#[test]
fn one_that_hangs_in_the_middle_of_an_answer_breaks_the_clients_connection() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        peer.request();
    });
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].answer_timeout = Duration::from_millis(200);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send(get("/"));
    assert!(client.try_answer(false).is_none());
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"upstream_timeout\"}", 1.0);
}

#[test]
fn one_that_hangs_after_the_client_was_slow_is_noticed_all_the_same() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9000001\r\n\r\n");
        peer.send(vec![b'x'; 9_000_000]);
        peer.request();
    });
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].answer_timeout = Duration::from_millis(300);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send(get("/"));
    std::thread::sleep(Duration::from_millis(500));
    assert!(client.try_answer(false).is_none(), "the last byte never came");
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"upstream_timeout\"}", 1.0);
}

#[test]
fn one_that_closes_before_it_answers_is_a_502() {
    for beginning in ["", "HTTP/1.1 200 OK\r\nContent-"] {
        let upstream = Upstream::start(move |peer, _| {
            peer.request();
            peer.send(beginning);
        });
        let gateway = before(&upstream);
        let answer = client(&gateway).ask(get("/"));
        assert_eq!(answer.status(), 502);
        assert_eq!(upstream.connections(), 1, "a new connection that breaks is no reason to try again");
    }
}

#[test]
fn one_that_talks_nonsense_is_a_502() {
    for nonsense in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ] {
        let upstream = Upstream::answering(move |_| nonsense.into());
        let gateway = before(&upstream);
        let answer = client(&gateway).ask(get("/"));
        assert_eq!(answer.status(), 502, "{nonsense:?}");
        assert!(answer.text().contains("upstream_malformed"), "{nonsense:?}");
    }
}

/// Some servers of embedded devices write this, with blanks up to a fixed width.
#[test]
fn a_chunk_size_that_is_padded_is_a_502_and_the_log_says_why() {
    let upstream = Upstream::answering(|_| {
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n0\r\n\r\n".to_vec()
    });
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut settings = settings(&[upstream.address]);
    settings.access_log = gateway::settings::AccessLog::File(log.path().to_owned());
    let gateway = started(settings);
    let mut client = client(&gateway);
    for _ in 0..2 {
        let answer = client.ask(get("/"));
        assert_eq!(answer.status(), 502, "{answer:?}");
        assert!(answer.text().contains("upstream_malformed"), "{answer:?}");
    }
    let mut noted = None;
    eventually("the violation is reported", || {
        noted = noted.take().or(gateway.take_malformed_answer());
        noted.is_some()
    });
    let noted = noted.unwrap();
    assert_eq!((noted.instance, noted.rule), (upstream.address, "chunk-size"));
    assert!(noted.detail.contains("0x20"), "{}", noted.detail);
    let said = format!(" reason=upstream_malformed rule=chunk-size instance={}\n", upstream.address);
    eventually("the log says so", || {
        std::fs::read_to_string(log.path()).unwrap().matches(&said).count() == 2
    });
    assert_eq!(metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"upstream_malformed\"}"), 2.0);
}

#[test]
fn heads_are_as_large_as_the_settings_say() {
    // A content security policy of 30 KiB, and 200 cookies.
    let policy = format!("Content-Security-Policy: {}\r\n", "a".repeat(30 * 1024));
    let cookies: String = (0..200).map(|number| format!("Set-Cookie: c{number}=1\r\n")).collect();
    let upstream = Upstream::answering(move |request| {
        let fields = if request.start_line().contains("/policy") { &policy } else { &cookies };
        format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok").into_bytes()
    });
    let wide = http::codec::Limits { headers_max: 300, head_bytes_max: 64 * 1024, ..Default::default() };
    let cookie = format!("GET /policy HTTP/1.1\r\nHost: test\r\nCookie: {}\r\n\r\n", "a".repeat(40 * 1024));
    let fields: String = (0..250).map(|number| format!("X-{number}: 1\r\n")).collect();
    let many = format!("GET /cookies HTTP/1.1\r\nHost: test\r\n{fields}\r\n");
    let gateway = before(&upstream);
    assert_eq!(client(&gateway).ask(&cookie).status(), 431);
    assert_eq!(client(&gateway).ask(&many).status(), 431);
    for path in ["/policy", "/cookies"] {
        assert_eq!(client(&gateway).ask(get(path)).status(), 502);
    }
    let mut settings = settings(&[upstream.address]);
    (settings.limits.request_head, settings.limits.answer_head) = (wide, wide);
    let gateway = started(settings);
    let mut client = client(&gateway);
    for request in [cookie, many] {
        let answer = client.ask(request);
        assert_eq!((answer.status(), answer.text().as_str()), (200, "ok"));
    }
    let seen = upstream.seen();
    assert!(seen.contains("X-249: 1\r\n") && seen.contains(&"a".repeat(40 * 1024)));
}

#[test]
fn half_an_answer_breaks_the_clients_connection() {
    for (half, more) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", ""),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", ""),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "nonsense"),
    ] {
        let upstream = Upstream::start(move |peer, _| {
            peer.request();
            peer.send(half);
            // The invalid part arrives when the client has the beginning.
            std::thread::sleep(Duration::from_millis(100));
            peer.send(more);
        });
        let gateway = before(&upstream);
        let mut client = client(&gateway);
        client.send(get("/"));
        assert!(client.try_answer(false).is_none(), "{half:?}");
        eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 0.0);
    }
}

/// For a client of HTTP/1.0 the end of the connection is the end of the response: only a reset shows that it is not.
#[test]
fn half_an_answer_that_looks_whole_ends_with_a_reset() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert!(client.is_reset());
}

#[test]
fn a_stale_connection_is_no_failure_where_the_request_may_be_sent_again() {
    // The first connection breaks at its second request, like one that its server was closing.
    let upstream = Upstream::start(|peer, number| {
        peer.request();
        peer.send(ok("hello"));
        if number == 0 {
            peer.head();
            return;
        }
        while peer.request().is_some() {
            peer.send(ok("hello"));
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    for _ in 0..3 {
        assert_eq!(client.ask(get("/")).text(), "hello");
    }
    assert_eq!(upstream.connections(), 2);
    assert_eq!(metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"upstream_broke\"}"), 0.0);
}

#[test]
fn a_stale_connection_is_retried_on_a_new_one_whichever_instance_it_is() {
    let stale = || {
        Upstream::start(|peer, number| {
            peer.request();
            peer.send(ok("hello"));
            if number == 0 {
                peer.head();
                return;
            }
            while peer.request().is_some() {
                peer.send(ok("hello"));
            }
        })
    };
    let (one, other) = (stale(), stale());
    let gateway = started(settings(&[one.address, other.address]));
    let mut client = client(&gateway);
    for _ in 0..6 {
        assert_eq!(client.ask(get("/")).text(), "hello");
    }
}

/// One of two is killed like a process: its connections break, new ones are refused.
#[test]
fn requests_in_flight_on_a_killed_instance_are_answered_by_the_other() {
    let doomed = Killable::start();
    let other = Upstream::hello();
    let mut settings = settings(&[doomed.address, other.address]);
    settings.pools[0].retries.budget = units::Ratio::ONE;
    // Round robin, so that half of the requests go there, however fast the other one responds.
    settings.pools[0].balance = gateway::settings::Balance::RoundRobin;
    let gateway = started(settings);
    let mut clients: Vec<_> = (0..100).map(|_| client(&gateway)).collect();
    // By then all connections are kept ones.
    for _ in 0..2 {
        clients.iter_mut().for_each(|client| client.send(get("/")));
        clients.iter_mut().for_each(|client| assert_eq!(client.answer().text(), "hello"));
    }
    doomed.hold();
    clients.iter_mut().for_each(|client| client.send(get("/")));
    eventually("the other half has its responses", || doomed.held() >= 40);
    doomed.kill();
    let failed: Vec<_> = clients
        .iter_mut()
        .map(Peer::answer)
        .filter(|answer| answer.status() != 200)
        .map(|answer| answer.text())
        .collect();
    assert!(failed.is_empty(), "{} of 100 failed: {failed:?}", failed.len());
}

#[test]
fn one_healthy_instance_is_found_behind_three_dead_ones() {
    let upstream = Upstream::hello();
    let gateway = started(settings(&[nobody(), nobody(), upstream.address, nobody()]));
    let mut client = client(&gateway);
    for number in 0..50 {
        assert_eq!(client.ask(get("/")).text(), "hello", "request {number}");
    }
    // Only connecting was retried: that does not use the budget.
    let spent = "headroom_retries_total{pool=\"pool\",reason=\"unreachable\",outcome=\"out_of_budget\"}";
    assert_eq!(metric(&gateway, spent), 0.0);
}

/// A server that sends responses, or holds requests, until its process is killed.
struct Killable {
    address: SocketAddr,
    state: Arc<(AtomicBool, AtomicUsize)>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    listener: TcpListener,
}

impl Killable {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let killable = Killable {
            address: listener.local_addr().unwrap(),
            state: Arc::default(),
            streams: Arc::default(),
            listener: listener.try_clone().unwrap(),
        };
        let (state, streams) = (Arc::clone(&killable.state), Arc::clone(&killable.streams));
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                streams.lock().unwrap().push(stream.try_clone().unwrap());
                let state = Arc::clone(&state);
                std::thread::spawn(move || {
                    let mut buffer = [0; 4 * 1024];
                    while let Ok(1..) = stream.read(&mut buffer) {
                        if state.0.load(Ordering::SeqCst) {
                            state.1.fetch_add(1, Ordering::SeqCst);
                        } else if stream.write_all(&ok("hello")).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        killable
    }

    fn hold(&self) {
        self.state.0.store(true, Ordering::SeqCst);
    }

    fn held(&self) -> usize {
        self.state.1.load(Ordering::SeqCst)
    }

    fn kill(&self) {
        // Ends the accepting thread, which closes the port: a listener that is shut down refuses.
        let listener = socket2::SockRef::from(&self.listener);
        let _ = listener.shutdown(Shutdown::Both);
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn a_post_is_not_sent_twice() {
    let upstream = Upstream::start(|peer, number| {
        peer.request();
        peer.send(ok("hello"));
        if number == 0 {
            peer.head();
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.ask(get("/"));
    let answer = client.ask("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(answer.status(), 502);
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn bytes_that_nobody_asked_for_are_nobodys_answer() {
    let upstream = Upstream::start(|peer, number| {
        while peer.request().is_some() {
            peer.send(ok("hello"));
            if number == 0 {
                std::thread::sleep(Duration::from_millis(50));
                peer.send(ok("poison"));
            }
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    assert_eq!(client.ask(get("/")).text(), "hello");
    std::thread::sleep(Duration::from_millis(150));
    for _ in 0..3 {
        assert_eq!(client.ask(get("/")).text(), "hello");
    }
}

#[test]
fn a_slow_upload_is_not_the_instances_fault() {
    let upstream = Upstream::answering(|request| ok(&request.text()));
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].answer_timeout = Duration::from_millis(200);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n");
    std::thread::sleep(Duration::from_millis(500));
    client.send("hi");
    assert_eq!(client.answer().text(), "hi");
}

#[test]
fn an_instance_that_takes_no_more_of_a_body_is_a_504() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let upstream = Upstream::start(|peer, _| {
        peer.head();
        while !DONE.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].answer_timeout = Duration::from_millis(2_000);
    settings.limits.idle_timeout = Duration::from_millis(1_000);
    let gateway = started(settings);
    let mut client = client(&gateway);
    let mut writer = client.stream.try_clone().unwrap();
    // Built before it is sent: building it takes as long as a client may be idle here.
    let mut request = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 90000000\r\n\r\n".to_vec();
    request.resize(request.len() + 90_000_000, b'x');
    let upload = std::thread::spawn(move || {
        use std::io::Write;
        let _ = writer.write_all(&request);
    });
    let answer = client.answer();
    DONE.store(true, Ordering::SeqCst);
    assert_eq!(answer.status(), 504, "{answer:?}");
    drop(client);
    upload.join().unwrap();
}
