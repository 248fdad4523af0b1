//! Watching and telling over real sockets, on loopback only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// Whom the system trusts, and nobody else.
mod asks_over_tls;
/// A small web server.
mod fakes;
/// The programs that tests compare headroom with.
#[path = "../../../../tests/peers.rs"]
mod peers;
/// Queries back from a real Prometheus what was written into it.
mod real_prometheus;
/// Samples, gaps and ends of a watch.
mod watches_beside_a_run;
/// What a receiver gets, and what becomes of the rest.
mod writes_to_a_receiver;
