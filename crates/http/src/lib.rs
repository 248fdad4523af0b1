//! HTTP/1.1 in layers, and HTTP/2 for a client that generates load.
//!
//! The codec turns bytes into messages and does no I/O. The reactor is an event loop behind an I/O seam. Between them
//! is an exchange, one request and its response as a state machine without I/O; the load generator and the gateway each
//! have their own. TLS and HTTP/2, also machines without I/O, fit between the socket's bytes and the exchange. `dial`
//! finds the addresses to connect to.
#![warn(missing_docs)]

pub mod codec;
pub mod dial;
pub mod h2;
pub mod reactor;
pub mod tls;
