//! The frames other than responses: windows, resets, settings, pings, GOAWAY.
//!
//! Source: RFC 9113, sections 6.3 to 6.9.

use super::super::error::{ErrorCode, H2Error, Malformed};
use super::super::frame::{self, Header, WINDOW_MAX, flag, kind, setting};
use super::super::streams::State;
use super::incoming::wrong_length;
use super::{Connection, Sink};

impl Connection {
    pub(super) fn window_update(
        &mut self,
        header: &Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        let increment = whole_number(header, payload)? & WINDOW_MAX;
        let id = header.stream;
        if id == 0 {
            if increment == 0 {
                return Err(H2Error::WindowIncrement);
            }
            self.send_window += i64::from(increment);
            if self.send_window > i64::from(WINDOW_MAX) {
                return Err(H2Error::WindowOverflow);
            }
            self.send_waiting(out);
            return Ok(());
        }
        self.check_stream(header)?;
        let Some(stream) = self.streams.find_open(id) else { return Ok(()) };
        stream.send_window += i64::from(increment);
        if increment == 0 {
            self.malformed(id, Malformed::WindowIncrement, out, sink);
        } else if stream.send_window > i64::from(WINDOW_MAX) {
            self.malformed(id, Malformed::WindowOverflow, out, sink);
        } else if stream.has_unsent() && self.send_unsent(id, out) {
            self.waiting.retain(|&waiting| waiting != id);
        }
        Ok(())
    }

    pub(super) fn rst_stream(
        &mut self,
        header: &Header,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        self.check_stream(header)?;
        let code = ErrorCode(whole_number(header, payload)?);
        if let Some(key) = self.streams.find_open(header.stream).map(|stream| stream.key) {
            self.close(header.stream, State::Ended);
            sink.reset(key, code, code == ErrorCode::REFUSED_STREAM);
        }
        Ok(())
    }

    pub(super) fn settings(
        &mut self,
        header: &Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), H2Error> {
        check_connection(header)?;
        if !payload.len().is_multiple_of(6) || header.has(flag::ACK) && !payload.is_empty() {
            return Err(wrong_length(header));
        }
        if header.has(flag::ACK) {
            return Ok(());
        }
        if !self.peer.is_known {
            self.peer.is_known = true;
            self.peer.streams_max = u32::MAX;
        }
        for (name, value) in frame::read_settings(payload) {
            self.setting(name, value)?;
        }
        frame::header(out, 0, kind::SETTINGS, flag::ACK, 0);
        self.send_waiting(out);
        Ok(())
    }

    fn setting(&mut self, name: u16, value: u32) -> Result<(), H2Error> {
        let refused = |setting| Err(H2Error::Setting { setting, found: value });
        match name {
            setting::HEADER_TABLE_SIZE => self.peer.table_size(value),
            // Only a client may enable it.
            setting::ENABLE_PUSH if value != 0 => return refused("ENABLE_PUSH"),
            setting::MAX_CONCURRENT_STREAMS => self.peer.streams_max = value,
            setting::INITIAL_WINDOW_SIZE if value > WINDOW_MAX => return refused("INITIAL_WINDOW_SIZE"),
            setting::INITIAL_WINDOW_SIZE => {
                let change = i64::from(value) - i64::from(self.peer.stream_window);
                self.peer.stream_window = value;
                for stream in self.streams.iter_open() {
                    stream.send_window += change;
                    if stream.send_window > i64::from(WINDOW_MAX) {
                        return Err(H2Error::WindowOverflow);
                    }
                }
            }
            setting::MAX_FRAME_SIZE if !(frame::PAYLOAD_LEN_MAX..1 << 24).contains(&value) => {
                return refused("MAX_FRAME_SIZE");
            }
            setting::MAX_FRAME_SIZE => self.peer.frame_len_max = value,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn ping(&mut self, header: &Header, payload: &[u8], out: &mut Vec<u8>) -> Result<(), H2Error> {
        check_connection(header)?;
        if payload.len() != 8 {
            return Err(wrong_length(header));
        }
        if !header.has(flag::ACK) {
            frame::header(out, 8, kind::PING, flag::ACK, 0);
            out.extend_from_slice(payload);
        }
        Ok(())
    }

    pub(super) fn goaway_received(
        &mut self,
        header: &Header,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        check_connection(header)?;
        let (Some(last), Some(code)) = (frame::number(payload, 0), frame::number(payload, 4)) else {
            return Err(wrong_length(header));
        };
        let (last, code) = (last & WINDOW_MAX, ErrorCode(code));
        if let Some((bound, _)) = self.goaway
            && last > bound
        {
            return Err(H2Error::GoawayRaised { found: last, bound });
        }
        self.goaway = Some((last, code));
        self.waiting.retain(|&id| id <= last);
        self.streams.leave_above(last, |key| sink.reset(key, code, true));
        sink.goaway(code, &payload[8..]);
        Ok(())
    }

    pub(super) fn priority(
        &mut self,
        header: &Header,
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), H2Error> {
        if header.stream == 0 {
            return Err(H2Error::StreamZero { frame: "PRIORITY" });
        }
        if header.len != 5 {
            self.malformed(header.stream, Malformed::PriorityLength, out, sink);
        }
        Ok(())
    }
}

/// Frames about the connection are on stream 0.
fn check_connection(header: &Header) -> Result<(), H2Error> {
    match header.stream {
        0 => Ok(()),
        stream => Err(H2Error::StreamNotZero { frame: frame::name(header.kind), stream }),
    }
}

/// The number that is the whole payload.
fn whole_number(header: &Header, payload: &[u8]) -> Result<u32, H2Error> {
    frame::number(payload, 0).filter(|_| payload.len() == 4).ok_or(wrong_length(header))
}
