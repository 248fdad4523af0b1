//! Frames: the nine bytes before each payload, and the small frames that a client sends.
//!
//! Source: RFC 9113, sections 4 and 6.

use super::error::{ErrorCode, H2Error};

/// Frame types.
pub(super) mod kind {
    pub(in crate::h2) const DATA: u8 = 0;
    pub(in crate::h2) const HEADERS: u8 = 1;
    pub(in crate::h2) const PRIORITY: u8 = 2;
    pub(in crate::h2) const RST_STREAM: u8 = 3;
    pub(in crate::h2) const SETTINGS: u8 = 4;
    pub(in crate::h2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::h2) const PING: u8 = 6;
    pub(in crate::h2) const GOAWAY: u8 = 7;
    pub(in crate::h2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::h2) const CONTINUATION: u8 = 9;
}

/// Frame flags.
pub(super) mod flag {
    pub(in crate::h2) const ACK: u8 = 0x1;
    pub(in crate::h2) const END_STREAM: u8 = 0x1;
    pub(in crate::h2) const END_HEADERS: u8 = 0x4;
    pub(in crate::h2) const PADDED: u8 = 0x8;
    pub(in crate::h2) const PRIORITY: u8 = 0x20;
}

/// Settings.
pub(super) mod setting {
    pub(in crate::h2) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in crate::h2) const ENABLE_PUSH: u16 = 2;
    pub(in crate::h2) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in crate::h2) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in crate::h2) const MAX_FRAME_SIZE: u16 = 5;
    pub(in crate::h2) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// The first bytes that a client sends.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of a frame's header.
pub(super) const HEADER_LEN: usize = 9;
/// The longest payload that either side accepts by default, in bytes; the client never raises it.
pub(super) const PAYLOAD_LEN_MAX: u32 = 16_384;
/// The largest window, and the largest stream number.
pub(super) const WINDOW_MAX: u32 = 0x7fff_ffff;
/// The initial window of the connection and of each stream.
pub(super) const WINDOW_DEFAULT: u32 = 65_535;

/// The header of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) len: u32,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Header {
    /// Reads the header at the beginning of `input`; `None` when it is not complete.
    #[inline]
    pub(super) fn read(input: &[u8]) -> Option<Header> {
        let [len_0, len_1, len_2, kind, flags, stream @ ..] = *input.first_chunk::<HEADER_LEN>()?;
        Some(Header {
            len: u32::from_be_bytes([0, len_0, len_1, len_2]),
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & WINDOW_MAX,
        })
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame's header.
#[inline]
pub(super) fn header(out: &mut Vec<u8>, len: usize, kind: u8, flags: u8, stream: u32) {
    let [_, len_0, len_1, len_2] = (len as u32).to_be_bytes();
    let [id_0, id_1, id_2, id_3] = stream.to_be_bytes();
    out.extend_from_slice(&[len_0, len_1, len_2, kind, flags, id_0, id_1, id_2, id_3]);
}

/// Appends a WINDOW_UPDATE.
pub(super) fn window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    header(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends a RST_STREAM.
pub(super) fn rst_stream(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    header(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a GOAWAY. The peer opens no streams, so the last one of its own is 0.
pub(super) fn goaway(out: &mut Vec<u8>, code: ErrorCode) {
    header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&0_u32.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a SETTINGS frame.
pub(super) fn settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    header(out, settings.len() * 6, kind::SETTINGS, 0, 0);
    for (name, value) in settings {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// The settings in a SETTINGS frame.
pub(super) fn read_settings(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    let (settings, _) = payload.as_chunks::<6>();
    settings.iter().map(|&[name_0, name_1, value @ ..]| {
        (u16::from_be_bytes([name_0, name_1]), u32::from_be_bytes(value))
    })
}

/// The big-endian number at `at`, or `None` if the payload is too short.
pub(super) fn number(payload: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*payload.get(at..)?.first_chunk()?))
}

/// The payload of a HEADERS frame without its padding and its priority.
pub(super) fn block_of_headers<'a>(header: &Header, mut payload: &'a [u8]) -> Result<&'a [u8], H2Error> {
    let too_short = H2Error::FrameLength { frame: "HEADERS", found: header.len };
    let mut padding = 0;
    if header.has(flag::PADDED) {
        let (&found, rest) = payload.split_first().ok_or(too_short)?;
        (padding, payload) = (usize::from(found), rest);
    }
    if header.has(flag::PRIORITY) {
        payload = payload.get(5..).ok_or(too_short)?;
    }
    let len = payload.len().checked_sub(padding).ok_or(H2Error::Padding { frame: "HEADERS" })?;
    Ok(&payload[..len])
}

/// The name of a frame type, for messages.
pub(super) fn name(kind: u8) -> &'static str {
    const NAMES: [&str; 10] = [
        "DATA",
        "HEADERS",
        "PRIORITY",
        "RST_STREAM",
        "SETTINGS",
        "PUSH_PROMISE",
        "PING",
        "GOAWAY",
        "WINDOW_UPDATE",
        "CONTINUATION",
    ];
    NAMES.get(usize::from(kind)).copied().unwrap_or("unknown")
}
