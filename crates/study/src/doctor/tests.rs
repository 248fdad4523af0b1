use super::second::inner_ports;
use super::*;
use host::{NetworkCounts, Reading, TcpSocket, TcpState};
use std::collections::{BTreeSet, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_service_that_does_nothing_has_no_finding() {
    let mut command = Command::new("sleep");
    let running = Running(command.arg("60").stdin(Stdio::null()).spawn().unwrap());
    let examined =
        examine(Service::of_process(running.0.id()).unwrap(), Duration::from_secs(3), &|| false).unwrap();
    assert_eq!(examined.findings(), []);
    assert!((2..=3).contains(&examined.seen.len()), "{}", examined.seen.len());
    assert_eq!(examined.budget, None);
    assert!(examined.diagnosis.unknown.contains(&Cause::Upstream), "{:?}", examined.diagnosis.unknown);
}

#[test]
fn a_service_that_ended_is_an_error() {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let service = Service::of_process(child.id()).unwrap();
    let attendance = Attendance::begin(|| Some(service));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(attendance.end(None), None);
}

#[test]
fn a_mode_for_development_is_told() {
    let mut command = Command::new("sleep");
    let running = Running(command.arg("60").env("RAILS_ENV", "development").spawn().unwrap());
    // The process is a copy of this one until it has become `sleep`.
    thread::sleep(Duration::from_millis(200));
    let examined =
        examine(Service::of_process(running.0.id()).unwrap(), Duration::from_millis(1_300), &|| false)
            .unwrap();
    let found = examined.findings();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].sentence, "The service runs in a mode for development: RAILS_ENV=development.");
}

#[test]
fn requests_in_flight_are_seen_without_a_look_into_the_service() {
    // On a full machine this process may not answer for a second.
    let mut seen = Vec::new();
    let is_enough =
        |[in_flight, answered, whole]: &[f64; 3]| *in_flight >= 1.2 && *answered >= 12.0 && *whole >= 0.05;
    while seen.len() < 3 && !seen.last().is_some_and(is_enough) {
        seen.push(in_flight_answered_and_budget());
    }
    // Other tests of this process may serve too: there is at least what this one does. Two of four connections owe an answer nearly
    // all the time.
    assert!(seen.last().is_some_and(is_enough), "{seen:?}");
}

/// This process answers slowly on one thread, while several clients ask: all of it is seen from outside.
fn in_flight_answered_and_budget() -> [f64; 3] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut clients: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut served: Vec<TcpStream> = (0..4).map(|_| listener.accept().unwrap().0).collect();
    let attendance = Attendance::begin(|| Service::of_process(std::process::id()).ok());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        clients.iter_mut().take(2).for_each(|client| client.write_all(b"question").unwrap());
        thread::sleep(Duration::from_millis(100));
        for one in served.iter_mut().take(2) {
            one.read_exact(&mut [0; 8]).unwrap();
            one.write_all(b"answer").unwrap();
        }
        clients.iter_mut().take(2).for_each(|client| client.read_exact(&mut [0; 6]).unwrap());
    }
    let examined = attendance.end(Some(20.0)).unwrap();
    let mean =
        |of: &dyn Fn(&Seen) -> f64| examined.seen.iter().map(of).sum::<f64>() / examined.seen.len() as f64;
    assert!(examined.known.listening.contains(&address.port()));
    let whole = examined.budget.map_or(0.0, |budget| budget.whole);
    [mean(&|one| one.in_flight.unwrap()), mean(&|one| one.requests.unwrap()), whole]
}

/// A proxy at port 80 with its application server at port 81, which nobody else asks.
#[test]
fn what_a_proxy_of_the_service_sends_on_is_one_request() {
    let open = |local: u16, remote: u16, inode: u32| TcpSocket {
        state: TcpState::Open,
        local: SocketAddr::from(([127, 0, 0, 1], local)),
        remote: SocketAddr::from(([127, 0, 0, 1], remote)),
        inode,
        unread: 0,
        unsent: 0,
        carried: None,
    };
    let listening = BTreeSet::from([80, 81]);
    let own = || HashSet::from([1, 2, 3]);
    // The client's end, the proxy's ends, and a connection that is not accepted yet.
    let proxied = [open(5_000, 80, 9), open(80, 5_000, 1), open(5_001, 81, 2), open(81, 5_001, 0)];
    let inner = |all: &[TcpSocket]| inner_ports(&listening, [(all, own())].into_iter());
    assert_eq!(inner(&proxied), HashSet::from([81]));
    let asked_by_others = [&proxied[..], &[open(5_002, 81, 9), open(81, 5_002, 3)]].concat();
    assert_eq!(inner(&asked_by_others), HashSet::new());
    // A service that asks itself, and nobody else does.
    assert_eq!(inner(&proxied[2..]), HashSet::new());
}

/// What a second shows, of changed readings of this process: 100 ports, one destination, and 3 connections that found an accept
/// queue of the namespace full.
fn second_of(change: fn(&mut Reading)) -> Seen {
    let examination = Examination::of(Service::of_process(std::process::id()).unwrap()).unwrap();
    let mut names = Names::of(&examination).unwrap();
    (names.ports, names.destinations) = (Some(100), vec![destination()]);
    let mut first = examination.read().unwrap();
    first.network = Some(NetworkCounts::default());
    change(&mut first);
    let mut second = first.clone();
    second.at += SECOND;
    second.network = Some(NetworkCounts { queue_full: 3, ..NetworkCounts::default() });
    Seconds::begin(first, SECOND).add(second, &mut names).unwrap()
}

fn destination() -> SocketAddr {
    SocketAddr::from(([10, 0, 3, 7], 5_432))
}

/// 95 closed connections to the destination, and a listener of another service with a connection that waits.
fn crowded(reading: &mut Reading) {
    let socket = |state, port: u16, remote, unread| TcpSocket {
        state,
        local: SocketAddr::from(([10, 0, 3, 6], port)),
        remote,
        inode: 0,
        unread,
        unsent: 0,
        carried: None,
    };
    let mut sockets: Vec<TcpSocket> =
        (0..95).map(|port| socket(TcpState::TimeWait, 40_000 + port, destination(), 0)).collect();
    sockets.push(socket(TcpState::Listening, 80, SocketAddr::from(([0; 4], 0)), 1));
    reading.sockets = Some(sockets);
}

#[test]
fn ports_are_known_where_sockets_were_read() {
    let seen = second_of(crowded);
    assert_eq!((seen.ports, seen.overflows), (Some(0.95), Some(0.0)), "the queue is another's");
    let none = second_of(|reading| reading.sockets = Some(Vec::new()));
    assert_eq!((none.ports, none.overflows), (Some(0.0), Some(3.0)));
    // Descriptors of another user's processes are not shown.
    let hidden = second_of(|reading| {
        crowded(reading);
        for process in reading.processes.values_mut() {
            process.descriptors = None;
            process.sockets.clear();
        }
    });
    assert_eq!((hidden.ports, hidden.overflows), (None, Some(3.0)));
}

#[test]
fn a_full_accept_queue_is_found_without_sockets() {
    let seen = second_of(|reading| reading.sockets = None);
    assert_eq!((seen.ports, seen.in_flight, seen.overflows), (None, None, Some(3.0)));
    let diagnosis = Diagnosis::of(&[seen], &[]);
    assert!(diagnosis.findings.iter().any(|found| found.cause == Cause::AcceptQueue), "{diagnosis:?}");
    assert!(diagnosis.unknown.contains(&Cause::Ports), "{diagnosis:?}");
}
