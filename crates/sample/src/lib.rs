//! The built-in service with a known limit, behind `headroom sample-service` and `headroom demo`.
//!
//! It does what services do: a bounded accept queue, workers and threads, CPU work, waits, a shared pool, a slow-down
//! under load. Each of these is set, so the limit is known before it is measured.
//!
//! ## Why threads and blocking waits
//! It checks what the load generator and the gateway say, so it shares no code with them and is built in another way:
//! a thread for each request in progress, sleeping and computing as real handlers do. Its own record of arrivals and
//! departures stands beside theirs.
//!
//! ## Life of a request
//! The poller accepts and watches → accept queue (bounded; full means closed or 503) → a handler thread reads
//! the request → CPU time → wait → a slot of the pool → answer with `Server-Timing` → back to the poller.
#![warn(missing_docs)]

mod config;
mod connection;
mod distribution;
mod error;
mod gate;
mod handler;
mod pace;
mod poller;
mod queue;
mod record;
mod request;
mod response;
mod service;

pub use config::{Config, KnownLimit, Route, Stall, WhenFull, Work};
pub use distribution::Distribution;
pub use error::Error;
pub use service::{Running, Service, Totals};
