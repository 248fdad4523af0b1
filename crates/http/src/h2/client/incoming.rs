//! Handles each frame of the peer; here those of responses.
//!
//! Source: RFC 9113, section 6.

use super::super::answer::Head;
use super::super::error::{ErrorCode, H2Error, Malformed};
use super::super::frame::{self, HEADER_LEN, Header, flag, kind};
use super::super::streams::State;
use super::input::Data;
use super::{Connection, Sink};

impl Connection {
    /// Takes a complete frame; for DATA the part before the data.
    #[inline]
    pub(super) fn frame(
        &mut self,
        frame: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        let (Some(header), payload) = (Header::read(frame), &frame[HEADER_LEN..]) else { return Ok(()) };
        if let Some((stream, _)) = self.input.block_of
            && (header.kind != kind::CONTINUATION || header.stream != stream)
        {
            return Err(H2Error::ContinuationExpected { found: header.kind });
        }
        match header.kind {
            kind::DATA => self.data(&header, payload, out, sink),
            kind::HEADERS => self.headers(&header, payload, out, sink),
            kind::CONTINUATION => self.continuation(&header, payload, out, sink),
            kind::WINDOW_UPDATE => self.window_update(&header, payload, out, sink),
            kind::RST_STREAM => self.rst_stream(&header, payload, sink),
            kind::SETTINGS => self.settings(&header, payload, out),
            kind::PING => self.ping(&header, payload, out),
            kind::GOAWAY => self.goaway_received(&header, payload, sink),
            kind::PRIORITY => self.priority(&header, out, sink),
            kind::PUSH_PROMISE => Err(H2Error::PushPromise),
            // RFC 9113, section 5.5: unknown types are ignored.
            _ => Ok(()),
        }
    }

    #[inline]
    fn data(
        &mut self,
        header: &Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        self.check_stream(header)?;
        let id = header.stream;
        let (pad_field_len, padding_len) = match payload.first() {
            Some(&padding_len) => (1, usize::from(padding_len)),
            None if header.has(flag::PADDED) => return Err(wrong_length(header)),
            None => (0, 0),
        };
        let data_len = (header.len as usize)
            .checked_sub(pad_field_len + padding_len)
            .ok_or(H2Error::Padding { frame: "DATA" })?;
        // The whole payload counts, even if no request waits for it.
        spend(&mut self.receive_window, header.len)?;
        if self.receive_window < self.settings.connection_window / 2 {
            frame::window_update(out, 0, self.settings.connection_window - self.receive_window);
            self.receive_window = self.settings.connection_window;
        }
        let ends = header.has(flag::END_STREAM);
        if let Some(stream) = self.streams.find(id) {
            match stream.state {
                State::Ended => return Err(H2Error::StreamClosed { frame: "DATA", stream: id }),
                State::Left => {}
                State::Head => self.malformed(id, Malformed::DataBeforeHead, out, sink),
                State::Body => {
                    spend(&mut stream.receive_window, header.len)?;
                    if !ends && stream.receive_window < self.settings.stream_window.div_ceil(2) {
                        let increment = self.settings.stream_window - stream.receive_window;
                        stream.receive_window = self.settings.stream_window;
                        frame::window_update(out, id, increment);
                    }
                    let left = stream.body_left.map(|left| left.checked_sub(data_len as u64));
                    match left {
                        Some(None) => self.malformed(id, Malformed::BodyLength, out, sink),
                        Some(left) => stream.body_left = left,
                        None => {}
                    }
                }
            }
        }
        self.input.data = Data { stream: id, data_len, padding_len, ends };
        if ends && data_len + padding_len == 0 {
            self.end(id, out, sink);
        }
        Ok(())
    }

    #[inline]
    fn headers(
        &mut self,
        header: &Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        self.check_stream(header)?;
        let block = frame::block_of_headers(header, payload)?;
        let ends = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.block(header.stream, ends, block, out, sink);
        }
        self.input.block.clear();
        self.input.block.extend_from_slice(block);
        self.input.block_of = Some((header.stream, ends));
        Ok(())
    }

    fn continuation(
        &mut self,
        header: &Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        let (stream, ends) = self.input.block_of.ok_or(H2Error::ContinuationUnexpected)?;
        let bound = self.settings.header_list_max as usize;
        if self.input.block.len() + payload.len() > bound {
            return Err(H2Error::HeaderBlockTooLong { bound });
        }
        self.input.block.extend_from_slice(payload);
        if !header.has(flag::END_HEADERS) {
            return Ok(());
        }
        self.input.block_of = None;
        let block = std::mem::take(&mut self.input.block);
        let result = self.block(stream, ends, &block, out, sink);
        self.input.block = block;
        result
    }

    /// A whole header block: a head, an interim head or a trailer.
    #[inline]
    fn block(
        &mut self,
        id: u32,
        ends: bool,
        block: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        let open = match self.streams.find(id) {
            Some(stream) if stream.state == State::Ended => {
                return Err(H2Error::StreamClosed { frame: "HEADERS", stream: id });
            }
            Some(stream) if stream.is_open() => Some((stream.key, stream.state)),
            _ => None,
        };
        let wanted = matches!(open, Some((key, State::Head)) if sink.wants_headers(key));
        // Also if no request waits for it: a block may change the table.
        let read = self.reader.read(block, wanted)?;
        let Some((key, state)) = open else { return Ok(()) };
        match read.and_then(|head| meaning(state, head, ends)) {
            Ok(Meaning::Interim) => {}
            Ok(Meaning::Trailer) => self.end(id, out, sink),
            Ok(Meaning::Final { status, content_length }) => {
                if let Some(stream) = self.streams.find_open(id) {
                    let has_no_body = stream.is_head_request || matches!(status, 204 | 304);
                    stream.body_left = if has_no_body { Some(0) } else { content_length };
                    stream.state = State::Body;
                }
                sink.head(key, status, self.reader.headers());
                if ends {
                    self.end(id, out, sink);
                }
            }
            Err(malformed) => self.malformed(id, malformed, out, sink),
        }
        Ok(())
    }

    /// The peer has sent all of a response.
    #[inline]
    pub(super) fn end(&mut self, id: u32, out: &mut Vec<u8>, sink: &mut impl Sink) {
        let Some(stream) = self.streams.find_open(id) else { return };
        if stream.body_left.is_some_and(|left| left > 0) {
            return self.malformed(id, Malformed::BodyLength, out, sink);
        }
        let key = stream.key;
        if self.close(id, State::Ended) {
            // It did not need the rest of the request.
            frame::rst_stream(out, id, ErrorCode::CANCEL);
        }
        sink.end(key);
    }

    #[cold]
    pub(super) fn malformed(
        &mut self,
        id: u32,
        malformed: Malformed,
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) {
        let Some(key) = self.streams.find_open(id).map(|stream| stream.key) else { return };
        self.close(id, State::Left);
        frame::rst_stream(out, id, malformed.code());
        sink.malformed(key, malformed);
    }

    /// Frames of a response are on the stream of a request.
    #[inline]
    pub(super) fn check_stream(&self, header: &Header) -> Result<(), H2Error> {
        let Header { stream, kind, .. } = *header;
        if stream == 0 {
            return Err(H2Error::StreamZero { frame: frame::name(kind) });
        }
        if self.streams.is_idle(stream) {
            return Err(H2Error::StreamIdle { frame: frame::name(kind), stream });
        }
        Ok(())
    }
}

/// The kind of a header block.
enum Meaning {
    Interim,
    Final { status: u16, content_length: Option<u64> },
    Trailer,
}

#[inline]
fn meaning(state: State, head: Head, ends: bool) -> Result<Meaning, Malformed> {
    match (state, head.status) {
        (State::Head, Some(100..=199)) if ends || head.status == Some(101) => Err(Malformed::Interim),
        (State::Head, Some(100..=199)) => Ok(Meaning::Interim),
        (State::Head, Some(status)) => Ok(Meaning::Final { status, content_length: head.content_length }),
        (State::Head, None) => Err(Malformed::Status),
        (_, _) if !ends => Err(Malformed::SecondHead),
        (_, Some(_)) => Err(Malformed::PseudoHeader),
        (_, None) => Ok(Meaning::Trailer),
    }
}

pub(super) fn wrong_length(header: &Header) -> H2Error {
    H2Error::FrameLength { frame: frame::name(header.kind), found: header.len }
}

#[inline]
fn spend(window: &mut u32, len: u32) -> Result<(), H2Error> {
    *window = window.checked_sub(len).ok_or(H2Error::WindowExceeded { found: len, bound: *window })?;
    Ok(())
}
