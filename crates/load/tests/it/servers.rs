//! Servers with blocking sockets, and runs against them with the checks that apply to every run.

use load::{Arrivals, Model, Plan, Running, Target, Work, start};
use measure::{Accounting, Measurement};
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::os::fd::IntoRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use units::Rate;

/// A server that runs `serve` in a thread for each connection, for as long as the test lives.
pub fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// An address without a listener.
pub fn nobody() -> SocketAddr {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = rustix::net::getsockname(&socket).unwrap();
    // It stays bound to the end of the tests, so that no server of another test gets its port.
    let _ = socket.into_raw_fd();
    address.try_into().unwrap()
}

/// Reads requests until the other side closes, and responds to each; `answer` gets its head and returns whether to go
/// on.
pub fn answer_each<S: Read + Write>(mut stream: S, mut answer: impl FnMut(&mut S, &str) -> bool) {
    let (mut buffer, mut pending) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end + 2]).into_owned();
            let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
            if pending.len() < end + 4 + length {
                break;
            }
            pending.drain(..end + 4 + length);
            if !answer(&mut stream, &head) {
                return;
            }
        }
    }
}

/// A header field of a request.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The path of a request.
pub fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

pub fn ok(stream: &mut impl Write) -> bool {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_ok()
}

/// A server that responds to each request after a while.
pub fn slow(wait: Duration) -> SocketAddr {
    server(move |stream| {
        answer_each(stream, |stream, _| {
            std::thread::sleep(wait);
            ok(stream)
        });
    })
}

/// The present and the highest value of a count.
#[derive(Debug, Default)]
pub struct Gauge {
    now: AtomicU64,
    most: AtomicU64,
    all: AtomicU64,
}

impl Gauge {
    pub fn enter(&self) {
        self.all.fetch_add(1, Ordering::SeqCst);
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    pub fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    pub fn most(&self) -> u64 {
        self.most.load(Ordering::SeqCst)
    }

    pub fn all(&self) -> u64 {
        self.all.load(Ordering::SeqCst)
    }
}

pub fn open(rate: f64, connections: u32) -> Model {
    let connections = NonZeroU32::new(connections);
    Model::open(Rate::per_second_of(rate), Arrivals::Even, connections)
}

pub fn closed(connections: u32) -> Model {
    Model::closed(NonZeroU32::new(connections).unwrap())
}

pub fn get(address: SocketAddr) -> Target {
    Target::new(&format!("http://{address}/"), "GET", &[], b"").unwrap()
}

/// A plan that takes 1.5 s and has a time-out of 0.5 s.
pub fn plan(work: impl Into<Work>, model: Model) -> Plan {
    Plan {
        duration: Some(Duration::from_millis(1_500)),
        timeout: Duration::from_millis(500),
        good_within: Duration::from_millis(500),
        ..Plan::new(work, model)
    }
}

/// Runs a plan, and checks the invariants of every run.
pub fn run_plan(plan: Plan) -> Measurement {
    let longest = plan.duration.map(|duration| duration + plan.timeout);
    let began = Instant::now();
    let measured = start(plan).unwrap().finish().unwrap();
    if let Some(longest) = longest {
        assert!(
            began.elapsed() < longest + Duration::from_secs(10),
            "it ends in time: {:?}",
            began.elapsed()
        );
    }
    adds_up(&measured);
    measured
}

pub fn run(address: SocketAddr, model: Model, change: impl FnOnce(&mut Plan)) -> Measurement {
    let mut plan = plan(get(address), model);
    change(&mut plan);
    run_plan(plan)
}

/// Every arrival has one fate, and seconds, stages and endpoints add up to the whole.
pub fn adds_up(measured: &Measurement) {
    let accounting = measured.accounting;
    assert!(accounting.balances(), "{accounting:?}");
    let mut seconds = Accounting::default();
    for second in &measured.series.seconds {
        assert!(second.accounting.balances(), "{:?}", second.accounting);
        seconds += second.accounting;
    }
    let (mut stages, mut counted) = (Accounting::default(), Accounting::default());
    for stage in &measured.stages {
        stages += stage.part.accounting;
        if !stage.warm_up {
            counted += stage.part.accounting;
        }
    }
    let mut endpoints = Accounting::default();
    measured.endpoints.iter().for_each(|endpoint| endpoints += endpoint.part.accounting);
    assert_eq!(seconds, stages, "seconds and stages");
    assert_eq!((counted, endpoints), (accounting, accounting), "stages and endpoints");
    assert_eq!(measured.response.count(), accounting.answered + accounting.timed_out);
    assert_eq!(measured.response.censored(), accounting.timed_out);
    assert_eq!(measured.failures.values().sum::<u64>(), accounting.failed);
    assert_eq!(measured.statuses.values().sum::<u64>(), accounting.answered + accounting.shed);
}

/// Lets a run go on for a while, takes a snapshot in the middle, and stops it.
pub fn stop_in_the_middle(plan: Plan) -> Measurement {
    let running = start(plan).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let so_far = so_far(&running);
    assert!(so_far.accounting.scheduled > 0, "{:?}", so_far.accounting);
    let progress = running.progress();
    assert!(progress.accounting.scheduled >= so_far.accounting.answered, "{progress:?}");
    running.stop();
    let measured = running.finish().unwrap();
    adds_up(&measured);
    assert!(measured.accounting.answered >= so_far.accounting.answered);
    assert!(measured.elapsed < Duration::from_secs(3), "{:?}", measured.elapsed);
    measured
}

fn so_far(running: &Running) -> Measurement {
    for _ in 0..100 {
        if let Some(measured) = running.so_far() {
            return measured;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no worker says how it stands");
}
