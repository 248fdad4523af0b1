//! HTTP/1.1 for the gateway and the load generator.

pub mod codec;
