//! Watching and remote write over real sockets, on loopback only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// The system's trusted certificates, and no others.
mod asks_over_tls;
/// A small web server.
mod fakes;
/// The programs that tests compare headroom with.
#[path = "../../../../tests/peers.rs"]
mod peers;
/// Queries written samples back from a real Prometheus.
mod real_prometheus;
/// Samples, gaps and ends of a watch.
mod watches_beside_a_run;
/// The requests of a receiver, and the outcome of other samples.
mod writes_to_a_receiver;
