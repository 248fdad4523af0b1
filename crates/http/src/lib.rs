//! HTTP/1.1 in layers, and HTTP/2 for a client that drives load.
//!
//! The codec turns bytes into messages and does no I/O. The reactor is an event loop behind an I/O seam. Between
//! them stands an exchange, one request and its answer as a state machine without I/O; the load generator and the
//! gateway each have their own. TLS and HTTP/2, machines without I/O too, fit between the socket's bytes and the
//! exchange. How a client finds where to connect is in `dial`.
#![warn(missing_docs)]

pub mod codec;
pub mod dial;
pub mod h2;
pub mod reactor;
pub mod tls;
