//! One connection of a client, with many requests at a time.
//!
//! ## Why the caller names its requests
//! A stream's number is the connection's business. The caller gives each request a `key` of its own, a place in its
//! table of requests, say, and every event comes back with it. A key must not be used twice at the same time on one
//! connection.
//!
//! ## Why windows of a gigabyte
//! Bodies are handed on as they arrive and never stored, so a window protects no memory of ours. With the 64 KiB of
//! the RFC, a fast service would be measured by how often we raise its window: 64 KiB for each round trip. So the
//! windows are 2^30, as those of h2load are, and are raised when half is used, which is to say hardly ever.
//!
//! ## Output
//! Everything to be sent is appended to `out`, in the order in which it must be sent. A machine never waits: the
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

/// What we ask of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most requests in flight, 1 to 65,536; the peer may allow fewer.
    pub streams_max: u32,
    /// How far a body may run ahead of us, in bytes, 1 to 2^31 - 1.
    pub stream_window: u32,
    /// How far all bodies together may, in bytes, 65,535 to 2^31 - 1.
    pub connection_window: u32,
    /// How much the peer may have us remember of header fields, in bytes, up to 65,536.
    pub header_table_size: u32,
    /// The largest list of header fields of an answer, as RFC 9113, section 6.5.2, counts it (each field with 32 bytes
    /// more), in bytes, 1,024 to 1,048,576; announced as `SETTINGS_MAX_HEADER_LIST_SIZE`. It bounds a block too, which is
    /// never longer than what it says but for a few bytes a field.
    pub header_list_max: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            streams_max: 100,
            stream_window: 1 << 30,
            connection_window: 1 << 30,
            // Costs nothing with a server that does not use it, and makes the heads of one that does a few bytes,
            // which are cheaper to compare than literals (`h2_cost`).
            header_table_size: 4096,
            header_list_max: 64 * 1024,
        }
    }
}

/// Who hears of the answers. Events of one request come in the order of the methods; [`Sink::end`],
/// [`Sink::reset`] or [`Sink::malformed`] is its last one. After [`Connection::cancel`] there are none.
pub trait Sink {
    /// Whether [`Sink::head`] is to be given the header fields of this answer.
    fn wants_headers(&mut self, key: u32) -> bool {
        let _ = key;
        false
    }

    /// The final head of an answer: interim ones are skipped. `status` is 200 to 999; `headers` is empty unless it
    /// was asked for.
    fn head(&mut self, key: u32, status: u16, headers: Headers<'_>);

    /// A part of the body, without padding; never empty.
    fn data(&mut self, key: u32, data: &[u8]);

    /// The answer is complete.
    fn end(&mut self, key: u32);

    /// The peer gave the request up. When `retry_safe`, it promises not to have worked on it.
    fn reset(&mut self, key: u32, code: ErrorCode, retry_safe: bool);

    /// The answer broke a rule and was given up.
    fn malformed(&mut self, key: u32, malformed: Malformed);

    /// The peer takes no new requests. Those that it will not answer were reset before; the others go on.
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
    /// Bytes of bodies that we may still send on all streams.
    send_window: i64,
    /// Streams whose body waits for a window, in the order in which they go on.
    waiting: VecDeque<u32>,
    input: input::Input,
    /// The last stream that the peer answers, and why no more, after a GOAWAY.
    goaway: Option<(u32, ErrorCode)>,
    failed: Option<H2Error>,
}

/// What the peer has set.
#[derive(Clone, Copy, Debug)]
struct Peer {
    /// Whether its first SETTINGS have arrived.
    is_known: bool,
    streams_max: u32,
    stream_window: u32,
    frame_len_max: u32,
    /// Whether the next block must say that we use no table: the peer made it smaller than it was at first.
    must_hear_table_size: bool,
}

impl Connection {
    /// Begins a connection: writes the preface, our settings and the connection's window. Requests may follow
    /// immediately. Settings out of their range count as the nearest in it.
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

    /// How many more requests may be sent now: 0 for good after a GOAWAY, an error, or the last stream number.
    #[inline]
    pub fn capacity(&self) -> u32 {
        if self.is_over() {
            return 0;
        }
        self.settings.streams_max.min(self.peer.streams_max).saturating_sub(self.streams.open_count())
    }

    /// Sends a request. Of a body that is larger than the peer's window, the rest is copied and waits for it: at
    /// most one body for each request in flight.
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

    /// Gives a request up: nothing is heard of it any more. Returns whether it was in flight.
    ///
    /// Looks through all streams, which is dear compared with a request and cheap compared with a time-out.
    pub fn cancel(&mut self, key: u32, out: &mut Vec<u8>) -> bool {
        let Some(id) = self.streams.iter_open().find(|stream| stream.key == key).map(|stream| stream.id)
        else {
            return false;
        };
        self.close(id, State::Left);
        frame::rst_stream(out, id, ErrorCode::CANCEL);
        true
    }

    /// Takes what was received, in any pieces. After an error, which says to the peer in `out` what was wrong, the
    /// connection must be closed; its requests in flight will not be answered.
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

    /// Whether no request can be sent any more, however many are answered: after a GOAWAY, an error, or the last
    /// stream number.
    pub fn is_over(&self) -> bool {
        self.goaway.is_some() || self.failed.is_some() || !self.streams.has_numbers()
    }

    /// Whether the peer has sent its settings. Before, one request may be in flight.
    pub fn has_settings(&self) -> bool {
        self.peer.is_known
    }

    /// Goes on without the peer's settings, which are late: as many requests may be in flight as RFC 9113 advises
    /// servers to allow.
    pub fn presume_settings(&mut self) {
        if !self.peer.is_known {
            self.peer.streams_max = STREAMS_MAX_PRESUMED;
        }
    }

    /// The last stream that the peer works on, after a GOAWAY.
    pub fn last_stream(&self) -> Option<u32> {
        self.goaway.map(|(last, _)| last)
    }

    /// Requests that are not answered, reset or cancelled yet.
    pub fn in_flight(&self) -> u32 {
        self.streams.open_count()
    }

    /// Whether no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    /// Why the peer takes no more requests, if it said so.
    pub fn goaway(&self) -> Option<ErrorCode> {
        self.goaway.map(|(_, code)| code)
    }

    /// Closes a stream that is open. Returns whether a part of its request's body had not been sent.
    #[inline]
    fn close(&mut self, id: u32, state: State) -> bool {
        let had_unsent = self.streams.close(id, state);
        if had_unsent {
            self.waiting.retain(|&waiting| waiting != id);
        }
        had_unsent
    }

    /// Memory that what the peer sends may grow, in bytes.
    #[cfg(any(test, feature = "laws"))]
    pub(super) fn grown_bytes(&self) -> usize {
        self.input.held_bytes() + self.reader.kept_bytes() + self.waiting.capacity() * size_of::<u32>()
    }

    #[cfg(test)]
    pub(super) fn skip_to_stream(&mut self, id: u32) {
        self.streams.skip_to(id);
    }
}

/// Requests sent before the peer says how many it takes: what is above its limit would be refused. Its settings are
/// the first thing that it sends, so what waits for them waits for the time that the connection took.
const STREAMS_MAX_UNTIL_KNOWN: u32 = 1;

/// What a peer is taken to allow that does not say so in time; RFC 9113, section 6.5.2, advises no fewer.
const STREAMS_MAX_PRESUMED: u32 = 100;
