//! Flow control: bodies that wait for the peer's windows, and the client's windows, raised in large steps.

use super::{Client, framed, settings};
use crate::h2::client::Settings;
use crate::h2::error::ErrorCode;
use crate::h2::frame::{flag::*, kind::*, setting::*};
use crate::h2::laws::Event::*;

fn raise(stream: u32, by: u32) -> Vec<u8> {
    framed(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

#[test]
fn a_body_waits_for_the_window_of_its_stream() {
    let mut client = Client::new(Settings::default(), &[(INITIAL_WINDOW_SIZE, 10)]);
    client.request(0, &[1; 25]);
    client.request(1, b"");
    assert_eq!(client.sent_data(), [(1, 10, 0)]);
    client.receive(&raise(1, 10)).unwrap();
    assert_eq!(client.sent_data(), [(1, 10, 0)]);
    client.receive(&raise(1, 10)).unwrap();
    assert_eq!(client.sent_data(), [(1, 5, END_STREAM)]);
    client.receive(&raise(1, 10)).unwrap();
    assert_eq!(client.sent_data(), []);
}

#[test]
fn bodies_take_turns_where_the_window_of_the_connection_is_the_limit() {
    let mut client = Client::new(Settings::default(), &[(INITIAL_WINDOW_SIZE, 1 << 20)]);
    client.request(0, &[0; 65_000]);
    client.request(1, &[1; 1000]);
    client.request(2, &[2; 1000]);
    let first = [(1, 16_384, 0), (1, 16_384, 0), (1, 16_384, 0), (1, 15_848, END_STREAM), (3, 535, 0)];
    assert_eq!(client.sent_data(), first);
    client.receive(&raise(0, 700)).unwrap();
    assert_eq!(client.sent_data(), [(3, 465, END_STREAM), (5, 235, 0)]);
    assert!(client.connection.cancel(2, &mut client.out));
    client.receive(&raise(0, 10_000)).unwrap();
    assert_eq!(client.sent_data(), [], "a cancelled request sends nothing");
}

#[test]
fn the_peer_changes_the_window_of_streams_under_way() {
    let mut client = Client::new(Settings::default(), &[(INITIAL_WINDOW_SIZE, 10)]);
    client.request(0, &[1; 40]);
    assert_eq!(client.sent_data(), [(1, 10, 0)]);
    client.receive(&settings(&[(INITIAL_WINDOW_SIZE, 0)])).unwrap();
    client.receive(&raise(1, 10)).unwrap();
    assert_eq!(client.sent_data(), [], "10 bytes were taken back first");
    client.receive(&settings(&[(INITIAL_WINDOW_SIZE, 25), (MAX_FRAME_SIZE, 20_000)])).unwrap();
    assert_eq!(client.sent_data(), [(1, 25, 0)]);
}

#[test]
fn an_answer_that_comes_before_the_end_of_the_request_ends_it() {
    let mut client = Client::new(Settings::default(), &[(INITIAL_WINDOW_SIZE, 10)]);
    client.request(0, &[1; 40]);
    client.sent();
    client.receive(&framed(HEADERS, END_HEADERS | END_STREAM, 1, b"\x8c")).unwrap();
    assert_eq!(client.events(), [Head(0, 400, vec![]), End(0)]);
    assert_eq!(client.sent(), [(RST_STREAM, 0, 1, ErrorCode::CANCEL.0.to_be_bytes().to_vec())]);
    // Frames that the peer had in transit when it learned of it.
    client.receive(&[raise(1, 10), framed(RST_STREAM, 0, 1, &[0; 4])].concat()).unwrap();
    assert!(client.sent().is_empty() && client.events().is_empty());
}

#[test]
fn our_windows_are_raised_when_half_is_used() {
    let ours = Settings { stream_window: 30_000, connection_window: 100_000, ..Settings::default() };
    let mut client = Client::new(ours, &[]);
    client.request(0, b"");
    client.sent();
    client.receive(&framed(HEADERS, END_HEADERS, 1, b"\x88")).unwrap();
    let mut raised = Vec::new();
    for _ in 0..20 {
        client.receive(&framed(DATA, 0, 1, &[0; 10_000])).unwrap();
        for (kind, _, stream, payload) in client.sent() {
            assert_eq!(kind, WINDOW_UPDATE);
            raised.push((stream, u32::from_be_bytes(payload.try_into().unwrap())));
        }
    }
    let of = |id: u32| raised.iter().filter(move |(stream, _)| *stream == id).map(|&(_, by)| by);
    assert_eq!(of(1).collect::<Vec<_>>(), [20_000; 10]);
    assert_eq!(of(0).collect::<Vec<_>>(), [60_000; 3]);
    // The last part of a body does not raise the window of its stream. Padding counts against both windows.
    client.receive(&framed(DATA, 0, 1, &[0; 10_000])).unwrap();
    client.receive(&framed(DATA, PADDED | END_STREAM, 1, &[200; 10_000])).unwrap();
    assert!(client.sent().iter().all(|sent| sent.2 == 0));
    let events = client.events();
    assert!(matches!(&events[1], Data(0, data) if data.len() == 210_000 + 9_799));
}
