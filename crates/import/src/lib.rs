//! Reads existing data: requests (targets, curl commands, access logs, captures), traffic (tables, CloudWatch, logs)
//! and scaling settings (AWS, Terraform, Kubernetes).
//!
//! It reads and never sends: a load generator takes each [`Entry`] from [`read`], or builds a [`Recording`] from them
//! and gets the times from a [`Replay`].
//!
//! ## Why a broken line does not end the reading
//! A log of ten million lines usually has a broken one. Each such line is a [`LineError`] with line and column, what
//! was found and what was expected; the iterator continues after it, and the caller decides whether the rest is used.
//! The length of lines is bounded, and so is memory.
#![warn(missing_docs)]

mod access_log;
mod alb;
pub mod aws;
mod body;
mod curl;
mod error;
mod format;
mod header;
mod input;
pub mod kubernetes;
mod lines;
mod mix;
mod origin;
mod reader;
mod replay;
mod request_line;
mod time;
mod traffic;
mod urls;
mod vegeta;

pub use capture::{At, Edge, Entry, LineError, dropped_before, read_line};
pub use error::FormatError;
pub use format::{Format, detect};
pub use input::{Input, open};
pub use mix::{Mix, endpoint};
pub use origin::{Origin, OriginError};
pub use reader::{Entries, Options, read};
pub use replay::{
    Aspect, Due, Dues, Incomparable, Likeness, Part, Recording, RecordingError, Replay, ReplayError, Request,
    Which, Workload, user_of,
};
pub use time::{instant_of, time_zone};
pub use traffic::{
    BadLines, Duplicates, EventLines, Gap, Gaps, Hourly, Moment, Notice, Place, Row, Rows, Spot, Traffic,
    TrafficError, TrafficFormat, TrafficOptions, TrafficReader, hourly, read_traffic, shown_time, width,
    write_traffic,
};
