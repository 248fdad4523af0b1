//! HTTP/1.1 bytes to messages and back: no I/O, no clock, no buffering.
//!
//! ## Why strict
//! Two readers that disagree about where a message ends let a stranger smuggle a request past the first one.
//! So a message has exactly one reading here or none: whatever RFC 9112 leaves to taste (bare LF, folded lines,
//! repeated lengths, both framings at once) is a [`Refusal`], never a guess.
//!
//! ## Why on `httparse`
//! It splits a head into slices with vector instructions and without allocation; hyper and Pingora stand on it.
//! It does not police framing and takes a bare LF for a line end: both are done here, in one walk over the
//! headers that also classifies each name once. Nothing that `httparse` rejects is accepted.
//!
//! ## Incomplete input
//! A parser is called again with the longer buffer until it answers. A complete head is read the same however
//! it arrived. Broken input is refused however it arrived, but it may be refused earlier, and then for the first
//! fault seen. A head that dribbles in is read anew each time: at most [`Limits::head_bytes_max`] bytes a read,
//! which costs about as much as the read itself.
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
    /// There is no body and nothing says there is.
    None,
    /// This many bytes; a stated length of 0 is kept apart from [`Body::None`], to be forwarded as it came.
    Length(u64),
    /// Chunks up to the last one and its trailers.
    Chunked,
    /// Everything until the connection closes. Responses only.
    UntilClose,
}

/// Bounds on a head. All are checked before anything is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most header fields; values above [`header::SLOTS`] count as that.
    pub headers_max: usize,
    /// Longest head, with its start line and its empty line, in bytes.
    pub head_bytes_max: usize,
    /// Longest request target, in bytes.
    pub target_bytes_max: usize,
}

impl Limits {
    /// What is used where nothing else is set.
    pub const USUAL: Limits =
        Limits { headers_max: 100, head_bytes_max: 16 * 1024, target_bytes_max: 8 * 1024 };

    /// The widest that may be set, so that a head which was read before is within them. An incomplete head is read anew
    /// with each part that comes of it: a long one that comes in small parts costs much more than one that comes whole.
    pub const WIDEST: Limits =
        Limits { headers_max: header::SLOTS, head_bytes_max: 256 * 1024, target_bytes_max: 256 * 1024 };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::USUAL
    }
}
