//! What others measure while a run lasts, and what the run tells others while it lasts.
//!
//! [`Watcher`] asks a Prometheus, or the target's own `/metrics`, every second and keeps the answers on the run's
//! time axis. [`RemoteWrite`] sends the run's own numbers to a Prometheus, for a live dashboard.
//!
//! ## Why threads of its own and blocking HTTP
//! Neither may take time from the event loops that make load, and a few requests a second need no runtime. Whatever
//! goes wrong here is counted and said at the end; it never ends or delays a run.
#![warn(missing_docs)]

mod endpoint;
mod exposition;
mod query;
mod remote_write;
mod source;
mod watcher;

pub use endpoint::{Endpoint, WrongEndpoint};
pub use exposition::{Selector, WrongSelector};
pub use remote_write::{LoadSeries, Now, RemoteWrite, Sample, Written};
pub use source::{Query, Source, WrongSource};
pub use watcher::Watcher;
