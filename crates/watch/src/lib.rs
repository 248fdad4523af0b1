//! Records metrics of other systems during a run, and sends the run's figures to other systems.
//!
//! [`Watcher`] queries a Prometheus, or the target's own `/metrics`, every second and keeps the values on the run's
//! time axis. [`RemoteWrite`] sends the run's own figures to a Prometheus, for a live dashboard.
//!
//! ## Why separate threads and blocking HTTP
//! Neither may take time from the event loops that generate load, and a few requests a second need no runtime. Errors
//! here are counted and reported at the end; they never end or delay a run.
#![warn(missing_docs)]

mod endpoint;
mod exposition;
mod parts;
mod prometheus;
mod query;
mod remote_write;
mod source;
mod watcher;

pub use endpoint::{Endpoint, WrongEndpoint};
pub use exposition::{Selector, WrongSelector};
pub use parts::{PartMetric, PartMetrics, WrongPart};
pub use prometheus::Prometheus;
pub use remote_write::{LoadSeries, Now, RemoteWrite, Sample, Written};
pub use source::{Query, Source, WrongSource};
pub use watcher::Watcher;
