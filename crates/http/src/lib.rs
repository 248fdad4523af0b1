//! HTTP/1.1 in layers.
//!
//! The codec turns bytes into messages and does no I/O. The reactor is an event loop behind an I/O seam. Between
//! them stands an exchange, one request and its answer as a state machine without I/O; the load generator and the
//! gateway each have their own. TLS, a machine without I/O too, fits between the socket's bytes and the codec. How a
//! client finds where to connect is in `dial`.
#![warn(missing_docs)]

pub mod codec;
pub mod dial;
pub mod reactor;
pub mod tls;
