//! Sends a request: its head, and its body as far as the peer's windows allow.
//!
//! Source: RFC 9113, sections 4.3 and 5.2.

use super::super::frame::{self, flag, kind};
use super::{Connection, Peer};

impl Connection {
    #[inline]
    pub(super) fn send_head(&mut self, id: u32, block: &[u8], ends: bool, out: &mut Vec<u8>) {
        let end_flag = if ends { flag::END_STREAM } else { 0 };
        if self.peer.must_hear_table_size || block.len() > self.peer.frame_len_max as usize {
            return self.send_long_head(id, block, end_flag, out);
        }
        frame::header(out, block.len(), kind::HEADERS, end_flag | flag::END_HEADERS, id);
        out.extend_from_slice(block);
    }

    /// A head that announces the table size first, or that is longer than a frame.
    #[cold]
    fn send_long_head(&mut self, id: u32, block: &[u8], end_flag: u8, out: &mut Vec<u8>) {
        let mut whole = Vec::with_capacity(block.len() + 1);
        if std::mem::take(&mut self.peer.must_hear_table_size) {
            whole.push(TABLE_SIZE_0);
        }
        whole.extend_from_slice(block);
        let mut parts = whole.chunks(self.peer.frame_len_max as usize).peekable();
        let mut kind_and_flags = (kind::HEADERS, end_flag);
        while let Some(part) = parts.next() {
            let (kind, flags) = kind_and_flags;
            let flags = flags | if parts.peek().is_none() { flag::END_HEADERS } else { 0 };
            frame::header(out, part.len(), kind, flags, id);
            out.extend_from_slice(part);
            kind_and_flags = (kind::CONTINUATION, 0);
        }
    }

    /// Sends as much of a new body as the windows allow; the rest waits.
    pub(super) fn send_body(&mut self, id: u32, body: &[u8], out: &mut Vec<u8>) {
        let frame_len_max = self.peer.frame_len_max as usize;
        let Some(stream) = self.streams.find_open(id) else { return };
        let sent = send(out, id, body, frame_len_max, &mut stream.send_window, &mut self.send_window);
        if sent < body.len() {
            stream.unsent.extend_from_slice(&body[sent..]);
            self.waiting.push_back(id);
        }
    }

    /// Continues with a body that waits. Returns whether all of it is sent.
    pub(super) fn send_unsent(&mut self, id: u32, out: &mut Vec<u8>) -> bool {
        let frame_len_max = self.peer.frame_len_max as usize;
        let Some(stream) = self.streams.find_open(id) else { return true };
        let unsent = &stream.unsent[stream.unsent_from..];
        let sent = send(out, id, unsent, frame_len_max, &mut stream.send_window, &mut self.send_window);
        stream.unsent_from += sent;
        !stream.has_unsent()
    }

    /// Continues with all bodies that wait, in turn; incomplete ones are queued again at the end.
    pub(super) fn send_waiting(&mut self, out: &mut Vec<u8>) {
        for _ in 0..self.waiting.len() {
            if self.send_window <= 0 {
                return;
            }
            let Some(id) = self.waiting.pop_front() else { return };
            if !self.send_unsent(id, out) {
                self.waiting.push_back(id);
            }
        }
    }
}

impl Peer {
    /// The peer sets the size of the table that the client's heads might use. They use none, which must be announced
    /// once if the size becomes smaller than the initial 4,096 bytes (RFC 9113, section 4.3.1).
    pub(super) fn table_size(&mut self, size: u32) {
        if size < 4096 {
            self.must_hear_table_size = true;
        }
    }
}

/// Appends as much of `body` as both windows allow, and ends the stream with its last byte. Returns how much.
fn send(
    out: &mut Vec<u8>,
    id: u32,
    body: &[u8],
    frame_len_max: usize,
    stream_window: &mut i64,
    connection_window: &mut i64,
) -> usize {
    let window = usize::try_from(*stream_window.min(connection_window)).unwrap_or(0);
    let sent = window.min(body.len());
    let mut rest = &body[..sent];
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.len().min(frame_len_max));
        let is_last = after.is_empty() && sent == body.len();
        frame::header(out, part.len(), kind::DATA, if is_last { flag::END_STREAM } else { 0 }, id);
        out.extend_from_slice(part);
        rest = after;
    }
    *stream_window -= sent as i64;
    *connection_window -= sent as i64;
    sent
}

/// The instruction of a header block that empties the table (RFC 7541, section 6.3).
const TABLE_SIZE_0: u8 = 0x20;
