//! Runs against small servers: the outcome of every arrival, whatever the server does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// Tests that measure, on a machine with other load.
#[path = "../../../../tests/disturbance.rs"]
mod disturbance;
mod failures;
mod http2;
mod inputs;
mod plain;
mod resends;
mod scenario;
mod servers;
mod stages;
mod tls;
mod users;
mod world;
