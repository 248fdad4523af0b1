//! One connection of a client, with many requests at a time.
//!
//! ## Why the caller names its requests
//! Stream numbers are internal to the connection. The caller gives each request a `key` of its own, such as its index
//! in a table of requests, and every event carries it. A key must not be used twice at the same time on one connection.
//!
//! ## Why windows of a gigabyte
//! Bodies are passed on as they arrive and never stored, so a window does not protect memory here. With the 64 KiB of
//! the RFC, a fast service would be limited by how often the client raises its window: 64 KiB per round trip. So the
//! windows are 2^30, like those of h2load, and are raised when half is used, which is rare.
//!
//! ## Output
//! Everything to be sent is appended to `out`, in the order in which it must be sent. The machine never waits: the
//! caller sends `out` whenever it is not empty.

mod control;
mod incoming;
mod input;
mod upload;

use std::collections::VecDeque;

use thiserror::Error;

use super::answer::{Headers, Reader};
use super::error::{ErrorCode, H2Error, Malformed};
use super::frame::{self, PREFACE, WINDOW_DEFAULT, WINDOW_MAX, setting};
use super::hpack::RequestHead;
use super::streams::{State, Streams};

/// The client's settings for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most requests in flight, 1 to 65,536; the peer may allow fewer.
    pub streams_max: u32,
    /// The flow-control window of a stream, in bytes, 1 to 2^31 - 1.
    pub stream_window: u32,
    /// The flow-control window of the connection, in bytes, 65,535 to 2^31 - 1.
    pub connection_window: u32,
    /// The size of the header table that the peer may use, in bytes, up to 65,536.
    pub header_table_size: u32,
    /// The largest header list of a response, as RFC 9113, section 6.5.2, counts it (each field with 32 bytes more), in
    /// bytes, 1,024 to 1,048,576; announced as `SETTINGS_MAX_HEADER_LIST_SIZE`. It bounds a block too, which is longer
    /// than its list by at most a few bytes per field.
    pub header_list_max: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            streams_max: 100,
            stream_window: 1 << 30,
            connection_window: 1 << 30,
            // Costs nothing with a server that does not use it, and shortens the heads of one that does to a few bytes,
            // which are cheaper to compare than literals (`h2_cost`).
            header_table_size: 4096,
            header_list_max: 64 * 1024,
        }
    }
}

/// Receives the responses. Events of one request come in the order of the methods; [`Sink::end`], [`Sink::reset`] or
/// [`Sink::malformed`] is its last one. After [`Connection::cancel`] there are none.
pub trait Sink {
    /// Whether [`Sink::head`] is to receive the header fields of this response.
    fn wants_headers(&mut self, key: u32) -> bool {
        let _ = key;
        false
    }

    /// The final head of a response: interim ones are skipped. `status` is 200 to 999; `headers` is empty unless it was
    /// requested.
    fn head(&mut self, key: u32, status: u16, headers: Headers<'_>);

    /// A part of the body, without padding; never empty.
    fn data(&mut self, key: u32, data: &[u8]);

    /// The response is complete.
    fn end(&mut self, key: u32);

    /// The peer reset the request. With `retry_safe`, it guarantees that it has not processed it.
    fn reset(&mut self, key: u32, code: ErrorCode, retry_safe: bool);

    /// The response violated a rule and was given up.
    fn malformed(&mut self, key: u32, malformed: Malformed);

    /// The peer accepts no new requests. Those without a response to come were reset before; the others continue.
    fn goaway(&mut self, code: ErrorCode, debug: &[u8]);
}

/// No request can be sent on this connection now: [`Connection::capacity`] is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the connection takes no request now")]
pub struct NoCapacity;

/// A connection, from the preface on.
#[derive(Clone, Debug)]
pub struct Connection {
    settings: Settings,
    peer: Peer,
    streams: Streams,
    reader: Reader,
    /// Bytes that the peer may still send on all streams.
    receive_window: u32,
    /// Bytes of bodies that the client may still send on all streams.
    send_window: i64,
    /// Streams whose body waits for a window, in the order in which they continue.
    waiting: VecDeque<u32>,
    input: input::Input,
    /// The last stream that the peer processes, and the reason, after a GOAWAY.
    goaway: Option<(u32, ErrorCode)>,
    failed: Option<H2Error>,
}

/// The peer's settings.
#[derive(Clone, Copy, Debug)]
struct Peer {
    /// Whether its first SETTINGS have arrived.
    is_known: bool,
    streams_max: u32,
    stream_window: u32,
    frame_len_max: u32,
    /// Whether the next block must announce that no table is used: the peer made it smaller than it was at first.
    must_hear_table_size: bool,
}

impl Connection {
    /// Begins a connection: writes the preface, the client's settings and the connection's window. Requests may follow
    /// immediately. Settings out of range are set to the nearest value in range.
    pub fn new(settings: Settings, out: &mut Vec<u8>) -> Connection {
        let settings = Settings {
            streams_max: settings.streams_max.clamp(1, 65_536),
            stream_window: settings.stream_window.clamp(1, WINDOW_MAX),
            connection_window: settings.connection_window.clamp(WINDOW_DEFAULT, WINDOW_MAX),
            header_table_size: settings.header_table_size.min(65_536),
            header_list_max: settings.header_list_max.clamp(1_024, 1_048_576),
        };
        out.extend_from_slice(PREFACE);
        let ours = [
            (setting::HEADER_TABLE_SIZE, settings.header_table_size),
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, settings.stream_window),
            (setting::MAX_HEADER_LIST_SIZE, settings.header_list_max),
        ];
        frame::settings(out, &ours);
        if settings.connection_window > WINDOW_DEFAULT {
            frame::window_update(out, 0, settings.connection_window - WINDOW_DEFAULT);
        }
        Connection {
            settings,
            peer: Peer {
                is_known: false,
                streams_max: STREAMS_MAX_UNTIL_KNOWN,
                stream_window: WINDOW_DEFAULT,
                frame_len_max: frame::PAYLOAD_LEN_MAX,
                must_hear_table_size: false,
            },
            streams: Streams::new(settings.streams_max),
            reader: Reader::new(settings.header_table_size, settings.header_list_max),
            receive_window: settings.connection_window,
            send_window: i64::from(WINDOW_DEFAULT),
            waiting: VecDeque::new(),
            input: input::Input::default(),
            goaway: None,
            failed: None,
        }
    }

    /// How many more requests may be sent now: permanently 0 after a GOAWAY, an error, or the last stream number.
    #[inline]
    pub fn capacity(&self) -> u32 {
        if self.is_over() {
            return 0;
        }
        self.settings.streams_max.min(self.peer.streams_max).saturating_sub(self.streams.open_count())
    }

    /// Sends a request. If its body is larger than the peer's window, the rest is copied and waits: at most one body
    /// for each request in flight.
    #[inline]
    pub fn request(
        &mut self,
        head: &RequestHead,
        body: &[u8],
        key: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCapacity> {
        if self.capacity() == 0 {
            return Err(NoCapacity);
        }
        let stream = self.streams.open(key, head.is_head);
        stream.receive_window = self.settings.stream_window;
        stream.send_window = i64::from(self.peer.stream_window);
        let id = stream.id;
        self.send_head(id, head.block(), body.is_empty(), out);
        if !body.is_empty() {
            self.send_body(id, body, out);
        }
        Ok(())
    }

    /// Cancels a request: it gets no more events. Returns whether it was in flight.
    ///
    /// Searches all streams, which is expensive compared with a request and cheap compared with a time-out.
    pub fn cancel(&mut self, key: u32, out: &mut Vec<u8>) -> bool {
        let Some(id) = self.streams.iter_open().find(|stream| stream.key == key).map(|stream| stream.id)
        else {
            return false;
        };
        self.close(id, State::Left);
        frame::rst_stream(out, id, ErrorCode::CANCEL);
        true
    }

    /// Takes received bytes, in any pieces. After an error, which is reported to the peer in `out`, the connection must
    /// be closed; its requests in flight get no response.
    #[inline]
    pub fn received(&mut self, input: &[u8], out: &mut Vec<u8>, sink: &mut impl Sink) -> Result<(), H2Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.read(input, out, sink).inspect_err(|&error| {
            self.failed = Some(error);
            frame::goaway(out, error.code());
        })
    }

    /// Whether no more requests can ever be sent: after a GOAWAY, an error, or the last stream number.
    pub fn is_over(&self) -> bool {
        self.goaway.is_some() || self.failed.is_some() || !self.streams.has_numbers()
    }

    /// Whether the peer has sent its settings. Before, one request may be in flight.
    pub fn has_settings(&self) -> bool {
        self.peer.is_known
    }

    /// Continues without the peer's settings, which are late: as many requests may be in flight as RFC 9113 advises
    /// servers to allow.
    pub fn presume_settings(&mut self) {
        if !self.peer.is_known {
            self.peer.streams_max = STREAMS_MAX_PRESUMED;
        }
    }

    /// The last stream that the peer processes, after a GOAWAY.
    pub fn last_stream(&self) -> Option<u32> {
        self.goaway.map(|(last, _)| last)
    }

    /// Requests without a response, a reset or a cancellation yet.
    pub fn in_flight(&self) -> u32 {
        self.streams.open_count()
    }

    /// Whether no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    /// Why the peer accepts no more requests, if it has sent a GOAWAY.
    pub fn goaway(&self) -> Option<ErrorCode> {
        self.goaway.map(|(_, code)| code)
    }

    /// Closes an open stream. Returns whether a part of its request's body had not been sent.
    #[inline]
    fn close(&mut self, id: u32, state: State) -> bool {
        let had_unsent = self.streams.close(id, state);
        if had_unsent {
            self.waiting.retain(|&waiting| waiting != id);
        }
        had_unsent
    }

    /// Memory that can grow with the peer's input, in bytes.
    #[cfg(any(test, feature = "laws"))]
    pub(super) fn grown_bytes(&self) -> usize {
        self.input.held_bytes() + self.reader.kept_bytes() + self.waiting.capacity() * size_of::<u32>()
    }

    #[cfg(test)]
    pub(super) fn skip_to_stream(&mut self, id: u32) {
        self.streams.skip_to(id);
    }
}

/// Requests sent before the peer announces its limit: requests above it would be refused. Its settings are the first
/// thing that it sends, so requests that wait for them wait for about the time that the connection took.
const STREAMS_MAX_UNTIL_KNOWN: u32 = 1;

/// The assumed limit of a peer that does not announce one in time; RFC 9113, section 6.5.2, advises no fewer.
const STREAMS_MAX_PRESUMED: u32 = 100;
