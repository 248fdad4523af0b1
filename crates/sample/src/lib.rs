//! The built-in service with a known limit, behind `headroom sample-service` and `headroom demo`.
//!
//! It has the parts of typical services: a bounded accept queue, workers and threads, CPU work, waits, a shared pool, a
//! slow-down under load, a virtual processor. Each of these is configured, so the limit is known before it is measured.
//!
//! ## Why threads and blocking waits
//! It is a check of the load generator and the gateway, so it shares no code with them and is built differently: a
//! thread for each request in progress, which sleeps and computes as real handlers do. Its own record of arrivals and
//! departures can be compared with theirs.
//!
//! ## Life of a request
//! The poller accepts and watches → accept queue (bounded; full means closed or 503) → a handler thread reads the
//! request → CPU time → wait → a slot of the pool → response with `Server-Timing` → back to the poller.
#![warn(missing_docs)]

mod allotment;
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
mod times;

pub use config::{Boot, Config, KnownLimit, Route, Stall, WhenFull, Work};
pub use distribution::Distribution;
pub use error::Error;
pub use service::{Running, Service, Totals};
pub use times::{Numbered, Times};
