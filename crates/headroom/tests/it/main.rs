//! The real binary against real sockets, on loopback only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// `headroom find`: its interval against known limits and against wrk on others' services.
mod finds_the_sustainable_rate;
/// `headroom load`: its output, its account and how it ends.
mod loads_a_service;
/// A JSON Schema checker of the few words that our schemas use.
mod schema;
/// A tiny service of threads and blocking sockets.
mod service;
