use crate::fakes::{Request, start};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;
use watch::{Endpoint, RemoteWrite, Sample, Written};

/// A sample as a receiver reads it.
#[derive(Debug, PartialEq)]
struct Received {
    labels: BTreeMap<String, String>,
    value: f64,
    at_ms: u64,
}

/// Fields of a protobuf message: number, and content or number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8], u64)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, &[][..], varint(&mut bytes)));
                continue;
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            other => panic!("wire type {other}"),
        };
        let (content, rest) = bytes.split_at(length);
        found.push((key >> 3, content, 0));
        bytes = rest;
    }
    found
}

fn decode(request: &Request) -> Vec<Received> {
    assert_eq!(request.header("content-encoding"), Some("snappy"));
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(request.header("x-prometheus-remote-write-version"), Some("0.1.0"));
    let message = snap::raw::Decoder::new().decompress_vec(&request.body).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut all = Vec::new();
    for (_, series, _) in fields(&message) {
        let mut received = Received { labels: BTreeMap::new(), value: 0.0, at_ms: 0 };
        for (field, content, _) in fields(series) {
            let inner = fields(content);
            if field == 1 {
                let name = text(inner[0].1);
                let sorted = received.labels.keys().next_back().is_none_or(|last| *last < name);
                assert!(sorted, "labels are sorted, as the specification wants");
                received.labels.insert(name, text(inner[1].1));
            } else {
                received.value = f64::from_le_bytes(inner[0].1.try_into().unwrap());
                received.at_ms = inner[1].2;
            }
        }
        all.push(received);
    }
    all
}

fn sample(value: f64) -> Sample {
    Sample {
        name: "headroom_load_in_flight",
        labels: vec![("run", "7".to_owned())],
        at_ms: 1_700_000_000_123,
        value,
    }
}

#[test]
fn a_receiver_decodes_what_was_pushed() {
    let fake = start(|_, _| (204, String::new()));
    let endpoint = Endpoint::new(&format!("http://{}/api/v1/write", fake.address)).unwrap();
    let writer = RemoteWrite::new(endpoint.with_header("X-Scope-OrgID", "team").unwrap());
    writer.push(vec![sample(1.0), sample(2.5)]);
    writer.push(vec![sample(-3.0)]);
    assert_eq!(writer.close(Duration::from_secs(10)), Written { sent: 3, dropped: 0, reason: None });
    let asked = fake.asked.lock().unwrap();
    assert_eq!((asked[0].target.as_str(), asked[0].header("x-scope-orgid")), ("/api/v1/write", Some("team")));
    let received: Vec<Received> = asked.iter().flat_map(decode).collect();
    assert_eq!(received.iter().map(|sample| sample.value).collect::<Vec<_>>(), [1.0, 2.5, -3.0]);
    assert_eq!(received[0].at_ms, 1_700_000_000_123);
    assert_eq!(received[0].labels["__name__"], "headroom_load_in_flight");
    assert_eq!(received[0].labels["run"], "7");
}

#[test]
fn a_receiver_that_is_busy_is_tried_again_and_one_that_refuses_is_not() {
    let busy = start(|number, _| (if number < 2 { 503 } else { 200 }, String::new()));
    let writer = RemoteWrite::new(Endpoint::new(&format!("http://{}/", busy.address)).unwrap());
    writer.push(vec![sample(1.0)]);
    assert_eq!(writer.close(Duration::from_secs(10)).sent, 1);
    assert_eq!(busy.asked.lock().unwrap().len(), 3);

    let refusing = start(|_, _| (400, "out of order sample\n".to_owned()));
    let writer = RemoteWrite::new(Endpoint::new(&format!("http://{}/", refusing.address)).unwrap());
    writer.push(vec![sample(1.0)]);
    let reason = Some("status 400: out of order sample".to_owned());
    assert_eq!(writer.close(Duration::from_secs(10)), Written { sent: 0, dropped: 1, reason });
    assert_eq!(refusing.asked.lock().unwrap().len(), 1);
}

#[test]
fn a_receiver_that_hangs_makes_nobody_wait() {
    let hanging = start(|_, _| {
        sleep(Duration::from_secs(60));
        (200, String::new())
    });
    let writer = RemoteWrite::new(Endpoint::new(&format!("http://{}/", hanging.address)).unwrap());
    let begun = std::time::Instant::now();
    (0..200).for_each(|value| writer.push(vec![sample(f64::from(value))]));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let written = writer.close(Duration::from_millis(200));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!((written.sent, written.dropped), (0, 200));
    assert_eq!(written.reason.as_deref(), Some("the receiver is slower than the run: the queue was full"));
}
