//! Against a real API server of Kubernetes, on loopback.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// An API server with its store.
mod cluster;
/// A gateway that counts requests.
#[path = "../../../../tests/counting_gateway.rs"]
mod counting_gateway;
/// The scaler's loop.
#[path = "../../../../tests/live_run.rs"]
mod live_run;
/// The programs that tests start.
#[path = "../../../../tests/peers.rs"]
mod peers;
/// Scales, rights, conflicts, restarts and leads.
mod scales_a_resource;
