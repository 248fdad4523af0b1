//! Heads of responses: the facts that a client needs, and the fields on request.
//!
//! ## Why a reader remembers
//! Under load, nearly all heads of one target are the same bytes until the date changes. A block that left the dynamic
//! table unchanged has the same meaning when it is repeated directly afterwards, so it is compared and not decoded; the
//! example `h2_cost` measures both. Any other block is decoded and checked in full.
//!
//! Source: RFC 9113, sections 8.1 to 8.3.

use super::error::{H2Error, Malformed};
use super::hpack::{CONNECTION_SPECIFIC, Decoder, is_token};

/// The facts of a head, or of a trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// `None` in a trailer.
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
}

/// The header fields of a head, in order: names in lower case, values unchanged.
///
/// Empty unless [`Sink::wants_headers`](super::client::Sink::wants_headers) asked for them.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    fields: std::slice::Iter<'a, (usize, usize)>,
    bytes: &'a [u8],
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let &(name_len, value_len) = self.fields.next()?;
        let (name, rest) = self.bytes.split_at(name_len);
        let (value, rest) = rest.split_at(value_len);
        self.bytes = rest;
        Some((name, value))
    }
}

/// Reads the header blocks of a connection: all of them, in order.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    decoder: Decoder,
    /// The largest header list, as the RFC counts it, in bytes.
    list_bytes_max: usize,
    /// The last block if it left the table unchanged, and its facts; empty otherwise.
    last_block: Vec<u8>,
    last: Result<Head, Malformed>,
    /// The fields of the last head, if they were requested.
    bytes: Vec<u8>,
    fields: Vec<(usize, usize)>,
}

impl Reader {
    pub(super) fn new(header_table_size: u32, header_list_max: u32) -> Reader {
        let list_bytes_max = header_list_max as usize;
        Reader {
            decoder: Decoder::new(header_table_size, list_bytes_max),
            list_bytes_max,
            last_block: Vec::new(),
            last: Err(Malformed::Status),
            bytes: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Reads a complete block. The outer error is about the connection, the inner one about the response.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8], collect: bool) -> Result<Result<Head, Malformed>, H2Error> {
        if !collect && !block.is_empty() && self.last_block == block {
            self.fields.clear();
            return Ok(self.last);
        }
        self.decode(block, collect)
    }

    /// The fields of the last head, if they were requested.
    pub(super) fn headers(&self) -> Headers<'_> {
        Headers { fields: self.fields.iter(), bytes: &self.bytes }
    }

    /// Memory that grows with what the peer sends, in bytes.
    #[cfg(any(test, feature = "laws"))]
    pub(super) fn kept_bytes(&self) -> usize {
        self.decoder.kept_bytes()
            + self.last_block.capacity()
            + self.bytes.capacity()
            + self.fields.capacity() * size_of::<(usize, usize)>()
    }

    fn decode(&mut self, block: &[u8], collect: bool) -> Result<Result<Head, Malformed>, H2Error> {
        let Reader { decoder, list_bytes_max, last_block, last, bytes, fields } = self;
        let bound = *list_bytes_max;
        last_block.clear();
        bytes.clear();
        fields.clear();
        let mut check = Check { list_bytes_max: bound, ..Check::default() };
        decoder.decode(block, |name, value| {
            check.field(name, value);
            let is_header = name.first() != Some(&b':');
            if collect && is_header && check.list_bytes <= bound {
                bytes.extend_from_slice(name);
                bytes.extend_from_slice(value);
                fields.push((name.len(), value.len()));
            }
        })?;
        if check.list_bytes > bound {
            return Err(H2Error::HeaderListTooLong { bound });
        }
        *last = check.finish();
        if decoder.is_pure() {
            last_block.extend_from_slice(block);
        }
        Ok(*last)
    }
}

/// The facts of a head read so far.
#[derive(Default)]
struct Check {
    status: Option<u16>,
    content_length: Option<u64>,
    seen_header: bool,
    malformed: Option<Malformed>,
    list_bytes: usize,
    list_bytes_max: usize,
}

impl Check {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        // RFC 9113, section 6.5.2: each field counts 32 bytes more. One block cannot reach saturation.
        self.list_bytes = self.list_bytes.saturating_add(name.len() + value.len() + 32);
        // Beyond the bound the head is discarded; a small block may refer to a large field very often.
        if self.list_bytes <= self.list_bytes_max
            && let Err(found) = self.checked(name, value)
        {
            self.malformed.get_or_insert(found);
        }
    }

    fn checked(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if name.first() == Some(&b':') {
            if name != b":status" || self.seen_header {
                return Err(Malformed::PseudoHeader);
            }
            let number = number(value).filter(|number| value.len() == 3 && *number >= 100);
            let status = number.and_then(|number| u16::try_from(number).ok()).ok_or(Malformed::Status)?;
            return if self.status.replace(status).is_some() { Err(Malformed::Status) } else { Ok(()) };
        }
        self.seen_header = true;
        if name.is_empty() || name.iter().any(|&byte| byte.is_ascii_uppercase() || !is_token(byte)) {
            return Err(Malformed::HeaderName);
        }
        // Without an early exit, so that many bytes are compared at once.
        if value.iter().fold(false, |found, byte| found | matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(Malformed::HeaderValue);
        }
        if name == b"content-length" {
            let length = number(value).ok_or(Malformed::ContentLength)?;
            return match self.content_length.replace(length) {
                Some(other) if other != length => Err(Malformed::ContentLength),
                _ => Ok(()),
            };
        }
        if CONNECTION_SPECIFIC.iter().any(|specific| specific.as_bytes() == name) {
            return Err(Malformed::ConnectionSpecific);
        }
        Ok(())
    }

    fn finish(self) -> Result<Head, Malformed> {
        match self.malformed {
            Some(malformed) => Err(malformed),
            None => Ok(Head { status: self.status, content_length: self.content_length }),
        }
    }
}

/// A plain decimal number below 2^63.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = text
        .iter()
        .try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    (number < 1 << 63).then_some(number)
}
