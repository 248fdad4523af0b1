//! Body framing as a state machine without buffers: it determines which of the input bytes are data, and where the body
//! ends.
//!
//! ## Why ranges and not bytes
//! The load generator skips bodies and the gateway forwards them; neither needs a copy. A forwarder sends either
//! `input[..consumed]`, the framing unchanged, or the data ranges in a framing of its own. Both are safe: the framing
//! that passes through has been checked to have one reading, and no trailer can change the message.
//!
//! Trailers are checked and bounded, but not returned: a forwarder that frames anew leaves them out, as RFC 9110
//! section 6.5.1 allows. One that forwards the framing unchanged can leave them out too: no step crosses the beginning
//! of the trailers, so that the bytes of a step are either all before it or all after it ([`Decoder::is_in_trailers`]).

use std::ops::Range;

use super::fields::is_token_byte;
use super::header::Name;
use super::{Body, Refusal};

/// One step of a [`Decoder`]: at most one range of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input that were used, framing and data. The bytes after them are for the next call, or, after the
    /// end, for the next message.
    pub consumed: usize,
    /// The range of the input that is data; empty if this step read only framing.
    pub data: Range<usize>,
    /// The body is complete.
    pub done: bool,
}

/// The result of [`Decoder::skip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Bytes of the input that were used, framing and data.
    pub consumed: usize,
    /// How many of them were data.
    pub data_bytes: u64,
    /// The body is complete.
    pub done: bool,
}

/// Decodes one body. After a refusal the connection cannot be used any more.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    extension_bytes: usize,
    trailer_bytes: usize,
    /// The beginning of the current trailer name, long enough for the names that are forbidden.
    name: [u8; NAME_BYTES],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Done,
    UntilClose,
    Length(u64),
    Size { size: u64, digits: usize },
    Extension { size: u64 },
    SizeLf { size: u64 },
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName { len: usize },
    TrailerValue,
    TrailerLf,
    EndLf,
}

impl Decoder {
    /// A decoder at the first byte after the head.
    #[inline]
    pub fn new(framing: Body) -> Decoder {
        let state = match framing {
            Body::None | Body::Length(0) => State::Done,
            Body::Length(length) => State::Length(length),
            Body::Chunked => State::Size { size: 0, digits: 0 },
            Body::UntilClose => State::UntilClose,
        };
        Decoder { state, extension_bytes: 0, trailer_bytes: 0, name: [0; NAME_BYTES] }
    }

    /// The body is complete.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The next byte belongs to the trailers, or to the empty line that ends them and the body.
    #[inline]
    pub fn is_in_trailers(&self) -> bool {
        matches!(
            self.state,
            State::TrailerStart
                | State::TrailerName { .. }
                | State::TrailerValue
                | State::TrailerLf
                | State::EndLf
        )
    }

    /// Reads to the end of the next range of data, to the beginning of a trailer line, or to the end of the body or of
    /// the input.
    #[inline]
    pub fn decode(&mut self, input: &[u8]) -> Result<Progress, Refusal> {
        let mut at = 0;
        loop {
            let rest = input.len() - at;
            let (take, next) = match self.state {
                State::Done => (0, State::Done),
                _ if rest == 0 => (0, self.state),
                State::UntilClose => (rest, State::UntilClose),
                State::Length(left) => match clamp(left, rest) {
                    (take, 0) => (take, State::Done),
                    (take, left) => (take, State::Length(left)),
                },
                State::Data(left) => match clamp(left, rest) {
                    (take, 0) => (take, State::DataCr),
                    (take, left) => (take, State::Data(left)),
                },
                _ => {
                    self.state = self.framing_byte(input[at])?;
                    at += 1;
                    if self.state == State::TrailerStart {
                        return Ok(Progress { consumed: at, data: at..at, done: false });
                    }
                    continue;
                }
            };
            self.state = next;
            return Ok(Progress { consumed: at + take, data: at..at + take, done: next == State::Done });
        }
    }

    /// Reads to the end of the body or of the input.
    #[inline]
    pub fn skip(&mut self, input: &[u8]) -> Result<Skipped, Refusal> {
        let mut skipped = Skipped { consumed: 0, data_bytes: 0, done: false };
        loop {
            let step = self.decode(&input[skipped.consumed..])?;
            skipped.consumed += step.consumed;
            skipped.data_bytes += step.data.len() as u64;
            skipped.done = step.done;
            if step.done || skipped.consumed == input.len() {
                return Ok(skipped);
            }
        }
    }

    /// The connection closed: checks whether that was the end of the body.
    pub fn closed(&mut self) -> Result<(), Refusal> {
        match self.state {
            State::Done => Ok(()),
            State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(Refusal::Truncated),
        }
    }

    fn framing_byte(&mut self, byte: u8) -> Result<State, Refusal> {
        if self.is_in_trailers() {
            self.trailer_bytes += 1;
            if self.trailer_bytes > TRAILER_BYTES_MAX {
                return Err(Refusal::TrailersTooLong { bound: TRAILER_BYTES_MAX });
            }
        }
        Ok(match (self.state, byte) {
            (State::Size { size, digits }, _) => match (char::from(byte).to_digit(16), byte) {
                (Some(_), _) if digits == SIZE_DIGITS_MAX => {
                    return Err(Refusal::ChunkSizeTooLong { bound: SIZE_DIGITS_MAX });
                }
                (Some(digit), _) => State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 },
                (None, b'\r') if digits > 0 => State::SizeLf { size },
                (None, b';') if digits > 0 => State::Extension { size },
                _ => return Err(Refusal::ChunkSize { byte }),
            },
            (State::Extension { size }, b'\r') => State::SizeLf { size },
            (State::Extension { size }, _) if is_text(byte) => {
                self.extension_bytes += 1;
                if self.extension_bytes > EXTENSION_BYTES_MAX {
                    return Err(Refusal::ChunkExtensionsTooLong { bound: EXTENSION_BYTES_MAX });
                }
                State::Extension { size }
            }
            (State::Extension { .. }, _) => return Err(Refusal::ChunkExtension { byte }),
            (State::SizeLf { size: 0 }, b'\n') => State::TrailerStart,
            (State::SizeLf { size }, b'\n') => State::Data(size),
            (State::SizeLf { .. }, _) => return Err(Refusal::ChunkSize { byte }),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { size: 0, digits: 0 },
            (State::DataCr | State::DataLf, _) => return Err(Refusal::ChunkEnd { byte }),
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart, _) if is_token_byte(byte) => self.trailer_name_byte(0, byte),
            (State::TrailerName { len }, b':') => {
                if self.name.get(..len).is_some_and(is_forbidden_trailer) {
                    return Err(Refusal::TrailerForbidden);
                }
                State::TrailerValue
            }
            (State::TrailerName { len }, _) if is_token_byte(byte) => self.trailer_name_byte(len, byte),
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, _) if is_text(byte) => State::TrailerValue,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::Done,
            // `decode` handles the data states, so the byte is invalid in a trailer.
            _ => return Err(Refusal::Trailer { byte }),
        })
    }

    /// A name longer than the buffer is none of the forbidden ones; only its length is kept. Of several consecutive
    /// separators only the first is kept: a name is recognized by its words.
    fn trailer_name_byte(&mut self, len: usize, byte: u8) -> State {
        let again = len.checked_sub(1).and_then(|last| self.name.get(last));
        if !byte.is_ascii_alphanumeric() && again.is_some_and(|last| !last.is_ascii_alphanumeric()) {
            return State::TrailerName { len };
        }
        if let Some(place) = self.name.get_mut(len) {
            *place = byte;
        }
        State::TrailerName { len: len + 1 }
    }
}

/// How many of the bytes `left` are available, and how many remain then.
#[inline]
fn clamp(left: u64, rest: usize) -> (usize, u64) {
    let take = usize::try_from(left).map_or(rest, |left| left.min(rest));
    (take, left - take as u64)
}

/// Bytes of a field value or an extension: no control character but the tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Fields that frame, route or control the message have another meaning, or none, once it has begun.
fn is_forbidden_trailer(name: &[u8]) -> bool {
    !matches!(Name::of(name), Name::Other)
}

/// Fifteen hexadecimal digits fit a signed 64-bit word, so that no later reader can overflow.
const SIZE_DIGITS_MAX: usize = 15;

/// For a whole body, since one-byte chunks with an extension cost the reader far more than the sender. Known uses of
/// extensions need only a signature per chunk.
const EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// For all trailers of one body.
const TRAILER_BYTES_MAX: usize = 4 * 1024;

/// Longer than the longest forbidden name.
const NAME_BYTES: usize = 20;
