//! What people already have: requests (targets, curl commands, access logs, captures), traffic (tables, CloudWatch, logs)
//! and how services scale (AWS).
//!
//! Reads, never sends: whoever drives load takes [`Entry`] after [`Entry`] from [`read`], or builds a
//! [`Recording`] from them and asks a [`Replay`] when each is due.
//!
//! ## Why one line never ends a reading
//! A log of ten million lines has a broken one. Each line that cannot be used is a [`LineError`] that names line and
//! column, what was found and what was expected; the iterator goes on after it, and whether the rest is used is the
//! caller's policy. Lines have a bound, so that memory does too.
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
mod reader;
mod replay;
mod request_line;
mod time;
mod traffic;
mod urls;
mod vegeta;

pub use capture::{At, Edge, Entry, LineError};
pub use error::FormatError;
pub use format::{Format, detect};
pub use input::{Input, open};
pub use reader::{Entries, Options, read};
pub use replay::{Due, Dues, Recording, RecordingError, Replay, ReplayError, Request};
pub use time::instant_of;
pub use traffic::{
    BadLines, Duplicates, EventLines, Gap, Gaps, Moment, Notice, Place, Row, Rows, Spot, Traffic,
    TrafficError, TrafficFormat, TrafficOptions, TrafficReader, read_traffic, shown_time, width,
    write_traffic,
};
