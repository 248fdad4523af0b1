//! HTTP/2 for a client that generates load: bytes in, bytes and events out; no I/O, no clock, no threads.
//!
//! ## Why not the `h2` crate
//! It is made for servers and clients that await each stream: a task, a waker and reference counts for each request. A
//! load generator sends the same head a million times and needs a status, a length and an end. Here a request is a copy
//! of bytes rendered before, and a response is a comparison with the last one; the example `h2_cost` measures the cost.
//! The `h2` crate is the peer in the tests.
//!
//! ## How strict
//! All violations that a client must detect are detected: each is an [`H2Error`] with the code of RFC 9113 or, if only
//! one response is invalid, a [`Malformed`]. Frames for a stream that was left (cancelled, or above the last one of a
//! GOAWAY) are ignored, and still counted in flow control and decoded for the header table.
//!
//! Deliberately absent: pushes (switched off, refused), priorities (deprecated, ignored), CONNECT, a server.
//!
//! Source: RFC 9113 and RFC 7541.

mod answer;
pub mod client;
mod error;
mod frame;
pub mod hpack;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
mod streams;

#[cfg(test)]
mod tests;

pub use answer::Headers;
pub use client::{Connection, NoCapacity, Settings, Sink};
pub use error::{ErrorCode, H2Error, Malformed};
pub use hpack::{HeadError, RequestHead};
