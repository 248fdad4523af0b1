use super::*;
use crate::mirror::{LinkCounts, Live, Mirrors, Place, queue};
use crate::settings::{PathMatch, Pool, Route, Settings};
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use units::Timestamp;

/// A disk that fails on request, after half of what is written.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<(Vec<u8>, bool)>>);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (file, full) = &mut *self.0.lock().unwrap();
        if *full {
            if file.ends_with(b"half") {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.extend_from_slice(b"{\"half");
            return Ok(6.min(bytes.len()));
        }
        file.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct World {
    mirrors: Mirrors,
    counts: Arc<LinkCounts>,
    end: crate::mirror::End,
    writer: Writer<Disk>,
    disk: Disk,
}

fn world() -> World {
    let capture = Capture { mask_query: vec!["token".to_owned()], ..Capture::new("capture.ndjson".into()) };
    let address = SocketAddr::from(([127, 0, 0, 1], 80));
    let settings = Settings {
        pools: vec![Pool::new("pool", vec![address])],
        routes: vec![Route::new("all", PathMatch::Prefix("/".into()), 0)],
        capture: Some(capture.clone()),
        ..Settings::new(address)
    };
    let mirrors = Mirrors::new(&settings, None).unwrap();
    let (end, copies, bell) = queue(None);
    let disk = Disk::default();
    let writer = Writer::new(disk.clone(), &capture, copies, bell);
    let counts = Arc::clone(&mirrors.routes[0][0].counts);
    World { mirrors, counts, end, writer, disk }
}

impl World {
    fn offer(&self, head: &str, body: &[u8]) -> Live {
        let live = Live::default();
        let target = Arc::clone(&self.mirrors.targets[0]);
        let mut held = self.mirrors.budget.nothing();
        assert!(held.grow(body.len()));
        self.end.offer(Box::new(Copy {
            ticket: Ticket::new(&self.counts),
            place: Place::take(&target),
            target,
            head: head.as_bytes().to_vec(),
            body: Some(Arc::new(crate::mirror::Body { bytes: body.to_vec(), _held: held })),
            live: live.slot(),
            sent: Timestamp::ZERO,
            arrived_us: 1_800_000_000_000_001,
            client: IpAddr::from([10, 0, 0, 9]),
            head_only: false,
            repeatable: true,
            held: self.mirrors.budget.nothing(),
        }));
        live
    }

    fn entries(&self) -> Vec<Result<Entry, capture::Fault>> {
        let file = self.disk.0.lock().unwrap().0.clone();
        file.split(|byte| *byte == b'\n').filter_map(|line| capture::read_line(line).transpose()).collect()
    }
}

fn answered() -> Answered {
    let span = Duration::from_millis(20);
    Answered { status: 201, first_byte: span, total: span, elapsed: span, bytes: 7, hash: 0 }
}

#[test]
fn a_request_is_written_when_it_is_answered_without_its_secrets() {
    let mut world = world();
    let live = world.offer(
        "POST /a?token=s3cret&q=1 HTTP/1.1\r\nhost: shop.example\r\ncookie: sid=s3cret\r\naccept: */*\r\n\
         x-forwarded-for: 10.0.0.9\r\nx-request-start: t=1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
    );
    assert!(!world.writer.look());
    assert!(world.entries().is_empty(), "its response is not known yet");
    live.answered(answered());
    world.writer.look();
    let text = String::from_utf8(world.disk.0.lock().unwrap().0.clone()).unwrap();
    assert!(!text.contains("s3cret") && !text.contains("10.0.0.9"), "{text}");
    let entry = world.entries().remove(0).unwrap();
    assert_eq!((entry.method.as_str(), entry.body.as_slice()), ("POST", &b"hello"[..]));
    assert!(entry.url.starts_with("http://shop.example/a?token=masked-") && entry.url.ends_with("&q=1"));
    let names: Vec<&str> = entry.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cookie", "accept"]);
    assert!(entry.headers[0].1.starts_with("sid=masked-"), "{:?}", entry.headers);
    assert_eq!(entry.at.map(|at| at.micros), Some(1_800_000_000_000_001));
    assert_eq!((entry.status, entry.bytes), (Some(201), Some(7)));
    assert_eq!(entry.response_time, Some(Duration::from_millis(20)));
    assert!(world.counts.balance());
    assert_eq!(world.mirrors.budget.held(), 0);
}

#[test]
fn a_request_without_an_answer_is_written_without_one() {
    let mut world = world();
    drop(world.offer("GET / HTTP/1.1\r\nhost: a\r\n\r\n", b""));
    world.writer.look();
    let entry = world.entries().remove(0).unwrap();
    assert_eq!((entry.status, entry.response_time), (None, None));
}

#[test]
fn a_full_disk_loses_lines_counts_them_and_tears_no_other() {
    let mut world = world();
    let ask = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    world.disk.0.lock().unwrap().1 = true;
    (0..3).for_each(|_| world.offer(ask, b"").answered(answered()));
    world.writer.look();
    world.disk.0.lock().unwrap().1 = false;
    (0..2).for_each(|_| world.offer(ask, b"").answered(answered()));
    world.writer.look();
    let (good, bad): (Vec<_>, Vec<_>) = world.entries().into_iter().partition(Result::is_ok);
    let file = world.disk.0.lock().unwrap().0.clone();
    let lost: Vec<u64> = file.split(|byte| *byte == b'\n').map(capture::dropped_before).collect();
    assert_eq!(lost.iter().sum::<u64>(), 3, "{lost:?}");
    assert_eq!((good.len(), bad.len()), (2, 1));
    let count = |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(count(&world.counts.written), 2);
    assert_eq!(count(&world.counts.dropped[Dropped::WriteFailed as usize]), 3);
    assert!(world.counts.balance());
}

#[test]
fn the_end_waits_for_what_is_under_way() {
    let mut world = world();
    let live = world.offer("GET / HTTP/1.1\r\nhost: a\r\n\r\n", b"");
    world.end.end();
    assert!(!world.writer.look());
    live.answered(answered());
    assert!(world.writer.look());
    assert_eq!(world.entries().len(), 1);
}
