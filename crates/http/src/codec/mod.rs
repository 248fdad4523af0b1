//! HTTP/1.1 bytes to messages and back: no I/O, no clock, no buffering.
//!
//! ## Why strict
//! Two readers that disagree about where a message ends let an attacker smuggle a request past the first one. So a
//! message has exactly one reading here or none: wherever RFC 9112 leaves a choice (bare LF, folded lines, repeated
//! lengths, both framings at once), the result is a [`Refusal`], never a guess.
//!
//! ## Why on `httparse`
//! It splits a head into slices with vector instructions and without allocation; hyper and Pingora use it. It does not
//! check framing and accepts a bare LF as a line end: both are checked here, in one pass over the headers that also
//! classifies each name once. Nothing that `httparse` rejects is accepted.
//!
//! ## Incomplete input
//! A parser is called again with the longer buffer until it returns a result. A complete head is read the same however
//! it arrived. Invalid input is refused however it arrived, but it may be refused earlier, and then for the first fault
//! found. A head that arrives in small parts is parsed again for each part: at most [`Limits::head_bytes_max`] bytes
//! per read, which costs about as much as the read itself.
//!
//! Source: RFC 9110 and RFC 9112.

pub mod body;
mod fields;
pub mod header;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod method;
mod refusal;
pub mod request;
pub mod response;
mod target;
pub mod write;

#[cfg(test)]
mod tests;

pub use fields::{list, without_empty_ends};
pub use refusal::Refusal;
pub use target::Target;

/// How the end of a message's body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// There is no body and no field announces one.
    None,
    /// This many bytes; a stated length of 0 is distinguished from [`Body::None`], to be forwarded unchanged.
    Length(u64),
    /// Chunks up to the last one and its trailers.
    Chunked,
    /// Everything until the connection closes. Responses only.
    UntilClose,
}

/// Bounds on a head. All are checked before any content is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most header fields; values above [`header::SLOTS`] are reduced to it.
    pub headers_max: usize,
    /// Longest head, including its start line and its empty line, in bytes.
    pub head_bytes_max: usize,
    /// Longest request target, in bytes.
    pub target_bytes_max: usize,
}

impl Limits {
    /// The default.
    pub const USUAL: Limits =
        Limits { headers_max: 100, head_bytes_max: 16 * 1024, target_bytes_max: 8 * 1024 };

    /// The widest bounds that may be set, so that a head which was read before is within them. An incomplete head is
    /// parsed again with each part that arrives: a long one in small parts costs much more than one that arrives at
    /// once.
    pub const WIDEST: Limits =
        Limits { headers_max: header::SLOTS, head_bytes_max: 256 * 1024, target_bytes_max: 256 * 1024 };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::USUAL
    }
}
