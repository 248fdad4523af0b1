//! Against moto, which has the interfaces of AWS, on loopback, with a proxy before it that makes faults.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// moto, and a proxy that makes faults.
mod cloud;
/// A gateway that counts requests.
#[path = "../../../../tests/counting_gateway.rs"]
mod counting_gateway;
/// The scaler's loop.
#[path = "../../../../tests/live_run.rs"]
mod live_run;
/// The programs that tests start.
#[path = "../../../../tests/peers.rs"]
mod peers;
/// Services and groups: sizes, others, faults.
mod scales_a_fleet;
