//! From bytes in any pieces to complete frames, and to DATA in the pieces in which it arrived.
//!
//! ## Why DATA is separate
//! It is most of the input and may be long, so it is passed on from the caller's buffer and never copied. All other
//! frames are short; one that is cut by the end of a read is held until the rest has arrived.

use super::super::error::H2Error;
use super::super::frame::{self, HEADER_LEN, Header, flag, kind};
use super::{Connection, Sink};

/// The state of the current frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    /// The beginning of an incomplete frame: at most its header and 16 KiB.
    held: Vec<u8>,
    /// The rest of a DATA frame.
    pub(super) data: Data,
    /// The stream of an incomplete header block, and whether the response ends with it.
    pub(super) block_of: Option<(u32, bool)>,
    /// The block so far.
    pub(super) block: Vec<u8>,
}

/// The rest of a DATA frame. All zero between frames.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Data {
    pub(super) stream: u32,
    pub(super) data_len: usize,
    pub(super) padding_len: usize,
    pub(super) ends: bool,
}

impl Input {
    #[cfg(any(test, feature = "laws"))]
    pub(super) fn held_bytes(&self) -> usize {
        self.held.capacity() + self.block.capacity()
    }
}

impl Connection {
    #[inline]
    pub(super) fn read(
        &mut self,
        mut input: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        while !input.is_empty() {
            if self.input.data.data_len + self.input.data.padding_len > 0 {
                input = self.read_data(input, out, sink);
            } else if self.input.held.is_empty() {
                let needed = self.needed(input)?;
                let Some((frame, rest)) = input.split_at_checked(needed) else {
                    self.input.held.extend_from_slice(input);
                    return Ok(());
                };
                self.frame(frame, out, sink)?;
                input = rest;
            } else {
                input = self.read_held(input, out, sink)?;
            }
        }
        Ok(())
    }

    /// Completes the held frame, or holds more of it. Returns the remaining input.
    fn read_held<'a>(
        &mut self,
        input: &'a [u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<&'a [u8], H2Error> {
        let missing = self.needed(&self.input.held)? - self.input.held.len();
        let (part, rest) = input.split_at(missing.min(input.len()));
        self.input.held.extend_from_slice(part);
        // With its header complete, more of the frame may be needed than was known.
        if self.input.held.len() == self.needed(&self.input.held)? {
            let held = std::mem::take(&mut self.input.held);
            let result = self.frame(&held, out, sink);
            self.input.held = held;
            self.input.held.clear();
            result?;
        }
        Ok(rest)
    }

    /// Bytes needed to continue with the frame at the beginning of `input`: the header, and then all of it; for DATA
    /// only the part before the data.
    #[inline]
    fn needed(&self, input: &[u8]) -> Result<usize, H2Error> {
        let Some(header) = Header::read(input) else { return Ok(HEADER_LEN) };
        if !self.peer.is_known && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
            let is_http1 = input.starts_with(b"HTTP/1.");
            return Err(if is_http1 { H2Error::Http1 } else { H2Error::Preface { found: header.kind } });
        }
        if header.len > frame::PAYLOAD_LEN_MAX {
            return Err(H2Error::FrameTooLong { found: header.len, bound: frame::PAYLOAD_LEN_MAX });
        }
        if header.kind != kind::DATA {
            return Ok(HEADER_LEN + header.len as usize);
        }
        Ok(HEADER_LEN + usize::from(header.has(flag::PADDED) && header.len > 0))
    }

    /// Passes on the available part of a DATA frame. Returns the remaining input.
    #[inline]
    fn read_data<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>, sink: &mut impl Sink) -> &'a [u8] {
        let frame = &mut self.input.data;
        let (data, rest) = input.split_at(frame.data_len.min(input.len()));
        let (padding, rest) = rest.split_at(frame.padding_len.min(rest.len()));
        frame.data_len -= data.len();
        frame.padding_len -= padding.len();
        let Data { stream: id, data_len, padding_len, ends } = *frame;
        if !data.is_empty()
            && let Some(stream) = self.streams.find_open(id)
        {
            sink.data(stream.key, data);
        }
        if ends && data_len + padding_len == 0 {
            self.end(id, out, sink);
        }
        rest
    }
}
