//! Requests and their responses: output, events and the limit on streams.

use super::{Client, framed, settings};
use crate::h2::client::{Connection, NoCapacity, Settings};
use crate::h2::error::ErrorCode;
use crate::h2::frame::{WINDOW_MAX, flag::*, kind::*, setting::*};
use crate::h2::hpack::RequestHead;
use crate::h2::laws::Event::{self, *};

/// The flag of a HEADERS frame that begins with a priority.
const WITH_PRIORITY: u8 = 0x20;

fn answer(stream: u32) -> Vec<u8> {
    framed(HEADERS, END_HEADERS | END_STREAM, stream, b"\x88")
}

fn ok(key: u32) -> Event {
    Head(key, 200, vec![])
}

#[test]
fn a_connection_begins_with_preface_settings_and_window() {
    let mut out = Vec::new();
    Connection::new(Settings { header_table_size: 0, ..Settings::default() }, &mut out);
    assert!(out.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    let ours = settings(&[
        (HEADER_TABLE_SIZE, 0),
        (ENABLE_PUSH, 0),
        (INITIAL_WINDOW_SIZE, 1 << 30),
        (MAX_HEADER_LIST_SIZE, 65_536),
    ]);
    let window = framed(WINDOW_UPDATE, 0, 0, &((1_u32 << 30) - 65_535).to_be_bytes());
    assert_eq!(out[24..], [ours, window].concat());
}

#[test]
fn settings_and_pings_are_acknowledged() {
    let mut client = Client::silent(Settings::default());
    client.sent();
    client.receive(&settings(&[(MAX_CONCURRENT_STREAMS, 5), (0xaaaa, 7)])).unwrap();
    client.receive(&framed(PING, 0, 0, b"12345678")).unwrap();
    client.receive(&framed(PING, ACK, 0, b"12345678")).unwrap();
    client.receive(&framed(SETTINGS, ACK, 0, b"")).unwrap();
    assert_eq!(client.sent(), [(SETTINGS, ACK, 0, vec![]), (PING, ACK, 0, b"12345678".to_vec())]);
}

#[test]
fn answers_come_in_any_order_with_their_keys() {
    let mut client = Client::new(Settings::default(), &[]);
    client.request(70, b"");
    client.request(80, b"body");
    let head = b"\x82\x86\x84\x01\x01a".to_vec();
    let expected = [
        (HEADERS, END_HEADERS | END_STREAM, 1, head.clone()),
        (HEADERS, END_HEADERS, 3, head),
        (DATA, END_STREAM, 3, b"body".to_vec()),
    ];
    assert_eq!(client.sent(), expected);
    client.receive(&framed(HEADERS, END_HEADERS, 3, b"\x8d")).unwrap();
    client.receive(&answer(1)).unwrap();
    client.receive(&framed(DATA, END_STREAM, 3, b"sorry")).unwrap();
    let expected = [Head(80, 404, vec![]), ok(70), End(70), Data(80, b"sorry".to_vec()), End(80)];
    assert_eq!(client.events(), expected);
    assert!(client.connection.is_idle());
}

#[test]
fn padding_priority_and_continuation_are_no_part_of_an_answer() {
    let mut client = Client::with_requests(1);
    let head = framed(HEADERS, PADDED | WITH_PRIORITY, 1, b"\x03\0\0\0\0\x10\x88\0\0\0");
    let rest = framed(CONTINUATION, 0, 1, b"\x0f\x0d");
    let last = framed(CONTINUATION, END_HEADERS, 1, b"\x014");
    let data = framed(DATA, PADDED, 1, b"\x05da\0\0\0\0\0");
    let more = framed(DATA, PADDED | END_STREAM, 1, b"\x00ta");
    let unknown = framed(77, 0xff, 1, b"ignored");
    client.recorder.wants_headers = true;
    client.receive(&[head, rest, last, unknown, data, more].concat()).unwrap();
    let length = ("content-length".to_owned(), "4".to_owned());
    assert_eq!(client.events(), [Head(0, 200, vec![length]), Data(0, b"data".to_vec()), End(0)]);
}

#[test]
fn interim_heads_are_skipped_and_trailers_accepted() {
    let mut client = Client::with_requests(1);
    let interim = framed(HEADERS, END_HEADERS, 1, b"\x08\x03103");
    let head = framed(HEADERS, END_HEADERS, 1, b"\x88");
    let data = framed(DATA, 0, 1, b"data");
    let trailer = framed(HEADERS, END_HEADERS | END_STREAM, 1, b"\x00\x01t\x01u");
    client.receive(&[interim.clone(), interim, head, data, trailer].concat()).unwrap();
    assert_eq!(client.events(), [ok(0), Data(0, b"data".to_vec()), End(0)]);
}

#[test]
fn an_answer_without_a_body_may_state_a_length() {
    let mut client = Client::new(Settings::default(), &[]);
    let head = RequestHead::new("HEAD", "http", "a", "/", []).unwrap();
    client.connection.request(&head, b"", 0, &mut client.out).unwrap();
    client.request(1, b"");
    client.receive(&framed(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88\x0f\x0d\x0299")).unwrap();
    client.receive(&framed(HEADERS, END_HEADERS, 3, b"\x8b\x0f\x0d\x0299")).unwrap();
    client.receive(&framed(DATA, END_STREAM, 3, b"")).unwrap();
    assert_eq!(client.events(), [ok(0), End(0), Head(1, 304, vec![]), End(1)]);
}

#[test]
fn a_repeated_head_is_read_by_the_table_of_its_time() {
    let mut client = Client::with_requests(5);
    client.recorder.wants_headers = false;
    // x: 1 is indexed; the same block refers to it twice; x: 2 is indexed; the same block now means another field.
    client
        .receive(&framed(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88\x40\x0econtent-length\x010"))
        .unwrap();
    client.receive(&framed(HEADERS, END_HEADERS, 3, b"\x88\xbe")).unwrap();
    client.receive(&framed(HEADERS, END_HEADERS, 5, b"\x88\xbe")).unwrap();
    client.receive(&framed(HEADERS, END_HEADERS | END_STREAM, 7, b"\x88\x40\x01x\x012")).unwrap();
    client.receive(&framed(HEADERS, END_HEADERS, 9, b"\x88\xbe")).unwrap();
    client.events();
    for stream in [3, 5, 9] {
        client.receive(&framed(DATA, END_STREAM, stream, b"a")).unwrap();
    }
    use crate::h2::error::Malformed::BodyLength;
    let expected = [Malformed(1, BodyLength), Malformed(2, BodyLength), Data(4, b"a".to_vec()), End(4)];
    assert_eq!(client.events(), expected);
}

#[test]
fn a_cancelled_request_is_not_heard_of_again_but_still_counts() {
    let ours = Settings { connection_window: 65_535, ..Settings::default() };
    let mut client = Client::new(ours, &[]);
    client.request(0, b"");
    client.request(1, b"");
    client.sent();
    assert!(client.connection.cancel(0, &mut client.out));
    assert!(!client.connection.cancel(0, &mut client.out));
    assert_eq!(client.sent(), [(RST_STREAM, 0, 1, ErrorCode::CANCEL.0.to_be_bytes().to_vec())]);
    assert_eq!(client.connection.in_flight(), 1);
    // Its head changes the table, which the next response uses; its data counts against the window.
    client.receive(&framed(HEADERS, END_HEADERS, 1, b"\x48\x03418")).unwrap();
    (0..3).for_each(|_| client.receive(&framed(DATA, 0, 1, &[0; 12_000])).unwrap());
    client.receive(&framed(RST_STREAM, 0, 1, &[0; 4])).unwrap();
    client.receive(&framed(HEADERS, END_HEADERS | END_STREAM, 3, b"\xbe")).unwrap();
    assert_eq!(client.events(), [Head(1, 418, vec![]), End(1)]);
    assert_eq!(client.sent(), [(WINDOW_UPDATE, 0, 0, 36_000_u32.to_be_bytes().to_vec())]);
}

#[test]
fn only_a_refused_request_may_be_sent_again_after_a_reset() {
    let mut client = Client::with_requests(2);
    client.receive(&framed(RST_STREAM, 0, 1, &7_u32.to_be_bytes())).unwrap();
    client.receive(&framed(RST_STREAM, 0, 3, &2_u32.to_be_bytes())).unwrap();
    let expected = [Reset(0, ErrorCode::REFUSED_STREAM, true), Reset(1, ErrorCode::INTERNAL_ERROR, false)];
    assert_eq!(client.events(), expected);
    assert!(client.connection.is_idle());
}

#[test]
fn a_goaway_gives_up_what_is_above_its_last_stream() {
    let mut client = Client::with_requests(3);
    let goaway = |last: u32| framed(GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &[0; 4], b"why"].concat());
    // The first GOAWAY of a graceful end names the largest stream.
    client.receive(&goaway(WINDOW_MAX)).unwrap();
    assert_eq!(client.events(), [Goaway(ErrorCode::NO_ERROR, b"why".to_vec())]);
    assert_eq!(client.connection.request(&super::get(), b"", 9, &mut client.out), Err(NoCapacity));
    client.receive(&goaway(1)).unwrap();
    let left = |key| Reset(key, ErrorCode::NO_ERROR, true);
    assert_eq!(client.events(), [left(1), left(2), Goaway(ErrorCode::NO_ERROR, b"why".to_vec())]);
    assert_eq!((client.connection.in_flight(), client.connection.goaway()), (1, Some(ErrorCode::NO_ERROR)));
    client.receive(&answer(1)).unwrap();
    assert_eq!(client.events(), [ok(0), End(0)]);
}

#[test]
fn the_peer_and_the_caller_bound_the_requests_in_flight() {
    let ours = Settings { streams_max: 200, ..Settings::default() };
    let mut client = Client::silent(ours);
    assert_eq!(client.connection.capacity(), 1, "before the peer's settings");
    let mut late = client.connection.clone();
    late.presume_settings();
    assert_eq!((late.capacity(), late.has_settings()), (100, false));
    client.receive(&settings(&[])).unwrap();
    assert_eq!(client.connection.capacity(), 200, "the peer has no bound");
    client.receive(&settings(&[(MAX_CONCURRENT_STREAMS, 3)])).unwrap();
    (0..3).for_each(|key| client.request(key, b""));
    assert_eq!(client.connection.request(&super::get(), b"", 9, &mut client.out), Err(NoCapacity));
    client.receive(&settings(&[(MAX_CONCURRENT_STREAMS, 1)])).unwrap();
    client.receive(&answer(1)).unwrap();
    assert_eq!((client.connection.capacity(), client.connection.in_flight()), (0, 2));
    client.receive(&[answer(3), answer(5)].concat()).unwrap();
    assert_eq!(client.connection.capacity(), 1);
}

#[test]
fn numbers_of_streams_run_out() {
    let mut client = Client::new(Settings { streams_max: 1, ..Settings::default() }, &[]);
    client.connection.skip_to_stream(WINDOW_MAX - 6);
    assert!(!client.connection.is_over());
    client.request(0, b"");
    client.receive(&answer(WINDOW_MAX - 6)).unwrap();
    assert!(client.connection.is_idle() && client.connection.is_over());
    assert_eq!(client.connection.capacity(), 0);
}

#[test]
fn a_long_head_is_continued_in_further_frames() {
    let long = "x".repeat(40_000);
    let head = RequestHead::new("GET", "http", "a", "/", [("x", long.as_bytes())]).unwrap();
    let mut client = Client::new(Settings::default(), &[(HEADER_TABLE_SIZE, 100)]);
    client.connection.request(&head, b"body", 0, &mut client.out).unwrap();
    client.connection.request(&head, b"", 1, &mut client.out).unwrap();
    let sent = client.sent();
    let shape =
        |&(kind, flags, stream, ref payload): &(u8, u8, u32, Vec<u8>)| (kind, flags, stream, payload.len());
    let last = head.block().len() - 2 * 16_384;
    let expected = [
        (HEADERS, 0, 1, 16_384),
        (CONTINUATION, 0, 1, 16_384),
        // With the byte that announces that no table is used.
        (CONTINUATION, END_HEADERS, 1, last + 1),
        (DATA, END_STREAM, 1, 4),
        (HEADERS, END_STREAM, 3, 16_384),
        (CONTINUATION, 0, 3, 16_384),
        (CONTINUATION, END_HEADERS, 3, last),
    ];
    assert_eq!(sent.iter().map(shape).collect::<Vec<_>>(), expected);
    assert_eq!(sent[0].3[0], 0x20);
}

#[test]
fn memory_is_that_of_the_first_requests() {
    let mut client = Client::new(Settings::default(), &[]);
    let mut memory = Vec::new();
    for round in 0..1000_u32 {
        (0..100).for_each(|key| client.request(key, b"body"));
        for stream in (round * 200 + 1..round * 200 + 200).step_by(2) {
            let id = format!("{stream:08}");
            let head = [&b"\x88\x40\x02id\x08"[..], id.as_bytes()].concat();
            let answer =
                [framed(HEADERS, END_HEADERS, stream, &head), framed(DATA, END_STREAM, stream, b"data")];
            let answer = answer.concat();
            let (first, second) = answer.split_at(20);
            client.receive(first).unwrap();
            client.receive(second).unwrap();
        }
        client.receive(&framed(WINDOW_UPDATE, 0, 0, &400_u32.to_be_bytes())).unwrap();
        assert!(client.connection.is_idle());
        client.events();
        client.out.clear();
        memory.push((client.connection.grown_bytes(), client.out.capacity()));
    }
    assert_eq!(memory[10], memory[999]);
}
