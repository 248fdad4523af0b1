//! Violations that a client must detect: each with its error and the code sent to the peer.

use super::{Client, framed, settings};
use crate::h2::client::Settings;
use crate::h2::error::{ErrorCode, H2Error, Malformed};
use crate::h2::frame::{flag::*, kind::*, setting::*};
use crate::h2::hpack::HpackError;
use crate::h2::laws::Event;

/// After this the client has requests on streams 1, 3 and 5; 1 has its response, 3 was cancelled, 5 is open.
fn after_some_answers(violation: &[u8]) -> (Result<(), H2Error>, Client) {
    let mut client = Client::with_requests(3);
    client.receive(&framed(HEADERS, END_STREAM | END_HEADERS, 1, b"\x88")).unwrap();
    client.connection.cancel(1, &mut client.out);
    client.sent();
    client.events();
    (client.receive(violation), client)
}

#[test]
fn a_broken_rule_of_the_connection_ends_it() {
    use H2Error::*;
    let (protocol, flow, size) =
        (ErrorCode::PROTOCOL_ERROR, ErrorCode::FLOW_CONTROL_ERROR, ErrorCode::FRAME_SIZE_ERROR);
    let one = 1_u32.to_be_bytes();
    let goaway = |last: u32| framed(GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
    let table: Vec<(Vec<u8>, H2Error, ErrorCode)> = vec![
        // Frames that are too long, too short, or of a length that their type does not allow.
        (framed(DATA, 0, 5, &[0; 16_385]), FrameTooLong { found: 16_385, bound: 16_384 }, size),
        (framed(99, 0, 0, &[0; 16_385]), FrameTooLong { found: 16_385, bound: 16_384 }, size),
        (framed(PING, 0, 0, &[0; 7]), FrameLength { frame: "PING", found: 7 }, size),
        (framed(RST_STREAM, 0, 5, &[0; 5]), FrameLength { frame: "RST_STREAM", found: 5 }, size),
        (framed(WINDOW_UPDATE, 0, 0, &[0; 3]), FrameLength { frame: "WINDOW_UPDATE", found: 3 }, size),
        (framed(SETTINGS, 0, 0, &[0; 5]), FrameLength { frame: "SETTINGS", found: 5 }, size),
        (framed(SETTINGS, ACK, 0, &[0; 6]), FrameLength { frame: "SETTINGS", found: 6 }, size),
        (framed(GOAWAY, 0, 0, &[0; 7]), FrameLength { frame: "GOAWAY", found: 7 }, size),
        (framed(DATA, PADDED, 5, b""), FrameLength { frame: "DATA", found: 0 }, size),
        (framed(HEADERS, PADDED, 5, b""), FrameLength { frame: "HEADERS", found: 0 }, size),
        (framed(HEADERS, PRIORITY_FLAG, 5, &[0; 4]), FrameLength { frame: "HEADERS", found: 4 }, size),
        // Frames of a request on stream 0, and vice versa.
        (framed(DATA, 0, 0, b"x"), StreamZero { frame: "DATA" }, protocol),
        (framed(HEADERS, END_HEADERS, 0, b"\x88"), StreamZero { frame: "HEADERS" }, protocol),
        (framed(RST_STREAM, 0, 0, &one), StreamZero { frame: "RST_STREAM" }, protocol),
        (framed(PRIORITY, 0, 0, &[0; 5]), StreamZero { frame: "PRIORITY" }, protocol),
        (settings_on(5), StreamNotZero { frame: "SETTINGS", stream: 5 }, protocol),
        (framed(PING, 0, 5, &[0; 8]), StreamNotZero { frame: "PING", stream: 5 }, protocol),
        (framed(GOAWAY, 0, 5, &[0; 8]), StreamNotZero { frame: "GOAWAY", stream: 5 }, protocol),
        // On a stream that no request has opened, or that only the peer could have opened.
        (framed(DATA, 0, 7, b"x"), StreamIdle { frame: "DATA", stream: 7 }, protocol),
        (framed(HEADERS, END_HEADERS, 2, b"\x88"), StreamIdle { frame: "HEADERS", stream: 2 }, protocol),
        (framed(RST_STREAM, 0, 7, &one), StreamIdle { frame: "RST_STREAM", stream: 7 }, protocol),
        (framed(WINDOW_UPDATE, 0, 7, &one), StreamIdle { frame: "WINDOW_UPDATE", stream: 7 }, protocol),
        // After the end of a response.
        (framed(DATA, 0, 1, b"x"), StreamClosed { frame: "DATA", stream: 1 }, ErrorCode::STREAM_CLOSED),
        (
            framed(HEADERS, END_HEADERS, 1, b"\x88"),
            StreamClosed { frame: "HEADERS", stream: 1 },
            ErrorCode::STREAM_CLOSED,
        ),
        // Split header blocks.
        (framed(CONTINUATION, END_HEADERS, 5, b"\x88"), ContinuationUnexpected, protocol),
        (
            [framed(HEADERS, 0, 5, b""), framed(PING, 0, 0, &[0; 8])].concat(),
            ContinuationExpected { found: PING },
            protocol,
        ),
        (
            [framed(HEADERS, 0, 5, b""), framed(CONTINUATION, END_HEADERS, 3, b"\x88")].concat(),
            ContinuationExpected { found: CONTINUATION },
            protocol,
        ),
        (
            [framed(HEADERS, 0, 5, b""), framed(CONTINUATION, 0, 5, &[0x88; 16_384]).repeat(5)].concat(),
            HeaderBlockTooLong { bound: 65_536 },
            ErrorCode::ENHANCE_YOUR_CALM,
        ),
        (
            framed(HEADERS, END_HEADERS, 5, &[0x90; 2000]),
            HeaderListTooLong { bound: 65_536 },
            ErrorCode::ENHANCE_YOUR_CALM,
        ),
        // Padding longer than the frame.
        (framed(DATA, PADDED, 5, b"\x05data"), Padding { frame: "DATA" }, protocol),
        (framed(HEADERS, END_HEADERS | PADDED, 5, b"\x02\x88"), Padding { frame: "HEADERS" }, protocol),
        (framed(PUSH_PROMISE, END_HEADERS, 5, b"\0\0\0\x02\x82"), PushPromise, protocol),
        // Settings out of their range.
        (settings(&[(ENABLE_PUSH, 1)]), Setting { setting: "ENABLE_PUSH", found: 1 }, protocol),
        (
            settings(&[(INITIAL_WINDOW_SIZE, 1 << 31)]),
            Setting { setting: "INITIAL_WINDOW_SIZE", found: 1 << 31 },
            flow,
        ),
        (
            settings(&[(MAX_FRAME_SIZE, 16_383)]),
            Setting { setting: "MAX_FRAME_SIZE", found: 16_383 },
            protocol,
        ),
        (
            settings(&[(MAX_FRAME_SIZE, 1 << 24)]),
            Setting { setting: "MAX_FRAME_SIZE", found: 1 << 24 },
            protocol,
        ),
        // Windows.
        (framed(WINDOW_UPDATE, 0, 0, &[0; 4]), WindowIncrement, protocol),
        (framed(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()), WindowOverflow, flow),
        (
            [
                framed(WINDOW_UPDATE, 0, 5, &0x7fff_0000_u32.to_be_bytes()),
                settings(&[(INITIAL_WINDOW_SIZE, 65_536)]),
            ]
            .concat(),
            WindowOverflow,
            flow,
        ),
        ([goaway(1), goaway(3)].concat(), GoawayRaised { found: 3, bound: 1 }, protocol),
        // An invalid header block, also of a request that was cancelled.
        (
            framed(HEADERS, END_HEADERS, 5, b"\x80"),
            Hpack(HpackError::Index { found: 0, bound: 61 }),
            ErrorCode::COMPRESSION_ERROR,
        ),
        (
            framed(HEADERS, END_HEADERS, 3, b"\xff"),
            Hpack(HpackError::Truncated),
            ErrorCode::COMPRESSION_ERROR,
        ),
    ];
    for (violation, error, code) in table {
        let (result, mut client) = after_some_answers(&violation);
        assert_eq!(result, Err(error));
        assert_eq!(error.code(), code, "{error}");
        let goaway = (GOAWAY, 0, 0, [0, code.0].map(u32::to_be_bytes).concat());
        assert_eq!(client.sent().last(), Some(&goaway), "{error}");
        assert_eq!(client.receive(&framed(PING, 0, 0, &[0; 8])), Err(error), "the connection stays broken");
        assert_eq!(client.connection.capacity(), 0);
        assert!(client.sent().is_empty());
    }
}

/// The flag of a HEADERS frame that begins with a priority, and the frame: both have the same name.
const PRIORITY_FLAG: u8 = 0x20;
const PRIORITY: u8 = 2;

fn settings_on(stream: u32) -> Vec<u8> {
    framed(SETTINGS, 0, stream, b"")
}

#[test]
fn the_first_frame_is_settings() {
    for (first, expected) in [
        (framed(PING, 0, 0, &[0; 8]), H2Error::Preface { found: PING }),
        (framed(SETTINGS, ACK, 0, b""), H2Error::Preface { found: SETTINGS }),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), H2Error::Http1),
        (b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(), H2Error::Preface { found: b'-' }),
    ] {
        let mut client = Client::silent(Settings::default());
        assert_eq!(client.receive(&first), Err(expected));
    }
}

#[test]
fn more_data_than_the_windows_allow_is_an_error() {
    let ours = Settings { stream_window: 10, ..Settings::default() };
    let mut client = Client::new(ours, &[]);
    client.request(0, b"");
    client.receive(&framed(HEADERS, END_HEADERS, 1, b"\x88")).unwrap();
    let result = client.receive(&framed(DATA, 0, 1, &[0; 11]));
    assert_eq!(result, Err(H2Error::WindowExceeded { found: 11, bound: 10 }));
    assert_eq!(result.unwrap_err().code(), ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn the_bound_on_heads_is_announced_and_kept() {
    // 2,000 fields of 60 bytes in a block of 2,000; and one field of 100,000 bytes in pieces.
    let short = [framed(HEADERS, END_HEADERS, 1, &[[0x88].as_slice(), &[0x90; 2000]].concat())];
    let value = [b"\x88\x00\x01a\x7f\xa1\x8c\x06".as_slice(), &[b'x'; 100_000]].concat();
    let mut long: Vec<Vec<u8>> =
        value.chunks(16_384).map(|piece| framed(CONTINUATION, 0, 1, piece)).collect();
    (long[0][3], long[6][4]) = (HEADERS, END_HEADERS);
    for (header_list_max, announced, taken) in
        [(65_536, 65_536, false), (200_000, 200_000, true), (0, 1_024, false)]
    {
        for frames in [short.as_slice(), &long] {
            let mut client = Client::silent(Settings { header_list_max, ..Settings::default() });
            let ours = settings(&[(MAX_HEADER_LIST_SIZE, announced)]);
            let said = &client.sent()[0].3;
            assert!(said.chunks(6).any(|setting| *setting == ours[9..]), "{announced}");
            client.receive(&settings(&[])).unwrap();
            client.request(0, b"");
            let result = client.receive(&frames.concat());
            assert_eq!(result.is_ok(), taken, "{header_list_max}: {result:?}");
        }
    }
}

#[test]
fn a_broken_answer_loses_its_stream_only() {
    use Malformed::*;
    let head = |block: &[u8]| framed(HEADERS, END_HEADERS, 5, block);
    let last = |block: &[u8]| framed(HEADERS, END_HEADERS | END_STREAM, 5, block);
    let table: Vec<(Vec<u8>, Malformed)> = vec![
        // Status: none, of two digits, below 100, twice.
        (head(b""), Status),
        (head(b"\x0f\x10\x01a"), Status),
        (head(b"\x08\x0220"), Status),
        (head(b"\x08\x03099"), Status),
        (head(b"\x08\x03+20"), Status),
        (head(b"\x88\x88"), Status),
        // Interim heads.
        (head(b"\x08\x03101"), Interim),
        (last(b"\x08\x03103"), Interim),
        // Pseudo-headers: of a request, unknown, late, in a trailer.
        (head(b"\x88\x82"), PseudoHeader),
        (head(b"\x88\x00\x02:a\x01b"), PseudoHeader),
        (head(b"\x0f\x10\x01a\x88"), PseudoHeader),
        ([head(b"\x88"), last(b"\x88")].concat(), PseudoHeader),
        // Names and values.
        (head(b"\x88\x00\x01A\x01b"), HeaderName),
        (head(b"\x88\x00\x00\x01b"), HeaderName),
        (head(b"\x88\x00\x03a b\x01b"), HeaderName),
        (head(b"\x88\x00\x01a\x03b\r\n"), HeaderValue),
        (head(b"\x88\x00\x0aconnection\x05close"), ConnectionSpecific),
        (head(b"\x88\x0f\x2a\x07chunked"), ConnectionSpecific),
        // Lengths.
        (head(b"\x88\x0f\x0d\x02-1"), ContentLength),
        (head(b"\x88\x0f\x0d\x011\x0f\x0d\x012"), ContentLength),
        (last(b"\x88\x0f\x0d\x011"), BodyLength),
        ([head(b"\x88\x0f\x0d\x011"), framed(DATA, 0, 5, b"ab")].concat(), BodyLength),
        ([head(b"\x88\x0f\x0d\x013"), framed(DATA, END_STREAM, 5, b"ab")].concat(), BodyLength),
        // A body where none is allowed: 204.
        ([head(b"\x89"), framed(DATA, END_STREAM, 5, b"a")].concat(), BodyLength),
        (framed(DATA, 0, 5, b"x"), DataBeforeHead),
        ([head(b"\x88"), head(b"\x88")].concat(), SecondHead),
        (framed(WINDOW_UPDATE, 0, 5, &[0; 4]), WindowIncrement),
        (framed(WINDOW_UPDATE, 0, 5, &0x7fff_ffff_u32.to_be_bytes()), WindowOverflow),
        (framed(PRIORITY, 0, 5, &[0; 4]), PriorityLength),
    ];
    for (violation, malformed) in table {
        let (result, mut client) = after_some_answers(&violation);
        assert_eq!(result, Ok(()), "{malformed}");
        assert_eq!(client.events().last(), Some(&Event::Malformed(2, malformed)));
        let reset = (RST_STREAM, 0, 5, malformed.code().0.to_be_bytes().to_vec());
        assert_eq!(client.sent().last(), Some(&reset), "{malformed}");
        assert!(client.connection.is_idle());
        // Frames in transit for it are ignored.
        client.receive(&framed(DATA, END_STREAM, 5, b"late")).unwrap();
        assert!(client.events().is_empty() && client.sent().is_empty());
        client.request(9, b"");
    }
}
