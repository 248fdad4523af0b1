//! Laws for any bytes, as functions that panic if a law is violated. The property tests call them with generated input,
//! the fuzz targets with the input of a fuzzer.
//!
//! - Split: a message is read the same however it is split; invalid input is refused however it is split.
//! - Prefix: no part of a head before its end is a head.
//! - Stricter: `httparse` accepts whatever is accepted here, and a naive reader that knows only CRLF agrees.

use super::body::Decoder;
use super::header::{Header, slots};
use super::response::{self, AnswerTo, Scanner};
use super::{Body, Limits, Refusal, request, write};

/// Small, so that generated input reaches the bounds.
const LIMITS: Limits = Limits { headers_max: 12, head_bytes_max: 400, target_bytes_max: 60 };

/// The laws of request heads.
pub fn request_head(bytes: &[u8]) {
    let mut slots_of_whole = slots();
    let whole = request::parse(bytes, &LIMITS, &mut slots_of_whole);
    let head_len = check_prefixes(bytes, |part| {
        request::parse(part, &LIMITS, &mut slots()).map(|head| head.map(|head| head.head_len))
    });
    let Ok(Some(head)) = whole else { return };
    assert_eq!(head_len, Some(head.head_len));
    let mut slots_of_part = slots();
    let part = request::parse(&bytes[..head.head_len], &LIMITS, &mut slots_of_part);
    assert_eq!(part, Ok(Some(head)), "what follows a head must not change it");

    let mut headers = [httparse::EMPTY_HEADER; 12];
    let reference = httparse::Request::new(&mut headers).parse(bytes);
    assert_eq!(reference, Ok(httparse::Status::Complete(head.head_len)));
    let text = bytes[..head.head_len].strip_prefix(b"\r\n").unwrap_or(&bytes[..head.head_len]);
    let start = [head.method, head.path, if head.version == 1 { "HTTP/1.1" } else { "HTTP/1.0" }].join(" ");
    check_naively(text, start.as_bytes(), head.headers.all(), head.framing);
    assert!(head.host.is_some() || head.version == 0);
    assert_ne!(head.framing, Body::UntilClose);
    assert!(head.path.bytes().all(|b| b.is_ascii_graphic() || b >= 0x80));
}

/// The laws of response heads.
pub fn response_head(bytes: &[u8]) {
    for answer_to in [AnswerTo::Other, AnswerTo::Head, AnswerTo::Connect] {
        let scan = response::scan(bytes, answer_to, &LIMITS);
        let mut scanner = Scanner::new(LIMITS);
        let head_len = check_prefixes(bytes, |part| {
            let fresh = response::scan(part, answer_to, &LIMITS);
            assert_eq!(scanner.scan(part, answer_to), fresh, "a memory must not change a reading");
            fresh.map(|scan| scan.map(|scan| scan.head_len))
        });
        assert_eq!(scanner.scan(bytes, answer_to), scan);

        let mut slots = slots();
        let Ok(Some(head)) = response::parse(bytes, answer_to, &LIMITS, &mut slots) else {
            assert!(!matches!(scan, Ok(Some(_))));
            return;
        };
        assert_eq!(head_len, Some(head.head_len));
        let mut headers = [httparse::EMPTY_HEADER; 12];
        let mut reference = httparse::Response::new(&mut headers);
        assert_eq!(reference.parse(bytes), Ok(httparse::Status::Complete(head.head_len)));
        assert_eq!(reference.code, Some(head.status));
        assert!(head.keep_alive as u8 + u8::from(head.framing == Body::UntilClose) < 2);
        let start = bytes.split(|&b| b == b'\r').next().unwrap_or_default();
        if let Body::Length(_) | Body::Chunked = head.framing {
            check_naively(&bytes[..head.head_len], start, head.headers.all(), head.framing);
        }
    }
}

/// The laws of bodies. Returns the data if the input is a complete chunked body.
pub fn chunked(bytes: &[u8]) -> Option<Vec<u8>> {
    for framing in [Body::None, Body::Length(7), Body::UntilClose] {
        assert_eq!(decode(framing, bytes, bytes.len()), decode(framing, bytes, 1));
    }
    let whole = decode(Body::Chunked, bytes, bytes.len());
    for step in 1..bytes.len().min(12) {
        assert_eq!(decode(Body::Chunked, bytes, step), whole, "in steps of {step}");
    }
    for first in 0..bytes.len().min(200) {
        assert_eq!(decode_in_two(bytes, first), whole, "split at {first}");
    }
    let skipped = Decoder::new(Body::Chunked).skip(bytes);
    let (data, end) = whole;
    match (end, skipped) {
        (Err(refusal), Err(found)) => assert_eq!(refusal, found),
        (Ok((consumed, done)), Ok(skipped)) => {
            assert_eq!((consumed, done), (skipped.consumed, skipped.done));
            assert_eq!(data.len() as u64, skipped.data_bytes);
        }
        (whole, skipped) => panic!("decoding gave {whole:?}, skipping {skipped:?}"),
    }
    let Ok((consumed, true)) = end else { return None };
    assert_eq!(naive_chunks(&bytes[..consumed]), Some(data.clone()), "a naive reader must agree");
    let mut again = Vec::new();
    write::chunk(&mut again, &data);
    write::last_chunk(&mut again);
    assert_eq!(decode(Body::Chunked, &again, again.len()), (data.clone(), Ok((again.len(), true))));
    Some(data)
}

/// Feeds every prefix. Returns the length of the head if there is one.
fn check_prefixes(
    bytes: &[u8],
    mut parse: impl FnMut(&[u8]) -> Result<Option<usize>, Refusal>,
) -> Option<usize> {
    let mut first = Ok(None);
    for len in 0..=bytes.len() {
        let found = parse(&bytes[..len]);
        match first {
            Ok(None) => {
                if let Ok(Some(head_len)) = found {
                    assert_eq!(head_len, len, "a head is complete with its last byte");
                }
                first = found;
            }
            Ok(Some(_)) => assert_eq!(found, first, "a head is not changed by what follows"),
            Err(_) => assert!(found.is_err(), "refused in part, {found:?} at {len}"),
        }
    }
    first.ok().flatten()
}

/// Splits at CRLF and colons and nothing else; each line and the framing must be the same.
fn check_naively(head: &[u8], start: &[u8], headers: &[Header<'_>], framing: Body) {
    let text: String = head.iter().copied().map(char::from).collect();
    assert!(!text.replace("\r\n", "").contains(['\r', '\n', '\0']));
    let mut lines = text.split("\r\n");
    assert_eq!(lines.next(), Some(start.iter().copied().map(char::from).collect::<String>().as_str()));
    let (mut lengths, mut codings) = (Vec::new(), Vec::new());
    for header in headers {
        let (name, value) =
            lines.next().and_then(|line| line.split_once(':')).expect("a line for each field");
        let value = value.trim_matches([' ', '\t']);
        assert_eq!(name, header.name);
        assert_eq!(value, header.value.iter().copied().map(char::from).collect::<String>());
        match name.to_ascii_lowercase().as_str() {
            "content-length" => lengths.push(value.parse::<u64>().expect("a number")),
            // Empty elements have no effect.
            "transfer-encoding" => {
                let elements = value.split(',').map(|element| element.trim_matches([' ', '\t']));
                let named = elements.filter(|element| !element.is_empty()).map(str::to_ascii_lowercase);
                codings.push(named.collect::<Vec<_>>().join(","));
            }
            _ => {}
        }
    }
    assert_eq!(lines.collect::<Vec<_>>(), ["", ""]);
    match framing {
        Body::Chunked => assert!(lengths.is_empty() && codings == ["chunked"]),
        Body::Length(length) => assert!(codings.is_empty() && lengths == [length]),
        Body::None | Body::UntilClose => assert!(codings.is_empty() && lengths.is_empty()),
    }
}

/// The data up to the end or the fault; how much was consumed and whether the body is complete, or the refusal.
type Decoded = (Vec<u8>, Result<(usize, bool), Refusal>);

fn decode(framing: Body, bytes: &[u8], step: usize) -> Decoded {
    let mut decoder = Decoder::new(framing);
    let (mut data, mut at) = (Vec::new(), 0);
    while at < bytes.len() && !decoder.is_done() {
        let input = &bytes[at..bytes.len().min(at + step)];
        match decoder.decode(input) {
            Ok(progress) => {
                assert!(progress.consumed > 0, "every step goes on");
                assert_eq!(progress.done, decoder.is_done());
                data.extend_from_slice(&input[progress.data]);
                at += progress.consumed;
            }
            Err(refusal) => return (data, Err(refusal)),
        }
    }
    (data, Ok((at, decoder.is_done())))
}

fn decode_in_two(bytes: &[u8], first: usize) -> Decoded {
    let mut decoder = Decoder::new(Body::Chunked);
    let (mut data, mut at) = (Vec::new(), 0);
    for end in [first, bytes.len()] {
        while at < end && !decoder.is_done() {
            match decoder.decode(&bytes[at..end]) {
                Ok(progress) => {
                    data.extend_from_slice(&bytes[at..end][progress.data]);
                    at += progress.consumed;
                }
                Err(refusal) => return (data, Err(refusal)),
            }
        }
    }
    (data, Ok((at, decoder.is_done())))
}

/// Reads chunks with the parser of `httparse`, without state.
fn naive_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let Ok(httparse::Status::Complete((line, size))) = httparse::parse_chunk_size(bytes) else {
            return None;
        };
        bytes = bytes.get(line..)?;
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).ok()?;
        data.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size..)?.strip_prefix(b"\r\n")?;
    }
    let mut trailers = [httparse::EMPTY_HEADER; 2048];
    match httparse::parse_headers(bytes, &mut trailers) {
        Ok(httparse::Status::Complete((end, _))) if end == bytes.len() => Some(data),
        _ => None,
    }
}
