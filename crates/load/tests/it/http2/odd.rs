//! An HTTP/2 server that sends raw frames, so that it can do what no library allows.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Its behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// Correct.
    Fine,
    /// Invalid bytes for the first frame.
    Garbage,
    /// A response of HTTP/1.1.
    Http1,
    /// Reads and sends nothing.
    Silent,
    /// Ends the connection with requests in flight.
    CloseInTheMiddle,
    /// Ends the connection before the first frame.
    CloseAtOnce,
    /// A body without a head.
    DataFirst,
    /// Refuses every request, including those that are sent again.
    RefuseAlways,
    /// Refuses the first three of every this many requests, so that none is refused a fourth time.
    RefuseThreeOf(u64),
    /// Responds to this many requests, reports that it saw no other, and continues to read.
    GoawayEvery(u64),
    /// Responds with a head of 100,000 bytes.
    LargeHead,
    /// A frame on a stream that was never opened.
    BadFrame,
    /// Responds to the first request and reports that it saw no other; then ends the connection.
    GoawayBelow,
}

/// Serves one connection; counts the requests that reached it.
pub fn odd<S: Read + Write>(mut stream: S, kind: Odd, heads: &AtomicU64) {
    let mut preface = [0; 24];
    if kind == Odd::CloseAtOnce || stream.read_exact(&mut preface).is_err() {
        return;
    }
    let first = match kind {
        Odd::Garbage => vec![0x55; 64],
        Odd::Http1 => b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec(),
        Odd::Silent => Vec::new(),
        _ => frame(4, 0, 0, &[]),
    };
    let mut head = [0; 9];
    if stream.write_all(&first).and_then(|()| stream.flush()).is_err() {
        return;
    }
    let mut count = 0;
    while stream.read_exact(&mut head).is_ok() {
        let size = usize::from(head[1]) << 8 | usize::from(head[2]);
        if stream.read_exact(&mut vec![0; size]).is_err() {
            return;
        }
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut out = Vec::new();
        match head[3] {
            4 if head[4] & 1 == 0 && kind != Odd::Silent => out = frame(4, 1, 0, &[]),
            1 => {
                count += 1;
                let all = heads.fetch_add(1, SeqCst) + 1;
                match kind {
                    Odd::Silent | Odd::Garbage | Odd::Http1 => {}
                    Odd::CloseInTheMiddle => {
                        std::thread::sleep(Duration::from_millis(3));
                        return;
                    }
                    Odd::DataFirst => out = frame(0, 1, id, b"early"),
                    Odd::RefuseThreeOf(every) if (1..=3).contains(&(all % every)) => {
                        out = frame(3, 0, id, &7_u32.to_be_bytes())
                    }
                    Odd::GoawayEvery(every) if count > every => continue,
                    Odd::RefuseAlways => out = frame(3, 0, id, &7_u32.to_be_bytes()),
                    Odd::LargeHead => {
                        // RFC 7541: status 200, then a literal field `a` without indexing, whose length has 17 bits.
                        let head = [b"\x88\x00\x01a\x7f\xa1\x8c\x06".as_slice(), &[b'x'; 100_000]].concat();
                        let last = head.len().div_ceil(16_384) - 1;
                        for (at, part) in head.chunks(16_384).enumerate() {
                            let kind = if at == 0 { 1 } else { 9 };
                            let flags = u8::from(at == 0) | if at == last { 4 } else { 0 };
                            out.extend(frame(kind, flags, id, part));
                        }
                    }
                    Odd::BadFrame => out = frame(0, 1, 2, b"x"),
                    Odd::GoawayBelow if count > 1 => {
                        // The rest of the input is read, so that the end is not a reset.
                        continue;
                    }
                    _ => {
                        out = frame(1, 4, id, &[0x88]);
                        out.extend(frame(0, 1, id, b"ok"));
                        if kind == Odd::GoawayBelow || kind == Odd::GoawayEvery(count) {
                            out.extend(frame(7, 0, 0, &[id.to_be_bytes(), [0; 4]].concat()));
                        }
                    }
                }
            }
            _ => {}
        }
        if stream.write_all(&out).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}
