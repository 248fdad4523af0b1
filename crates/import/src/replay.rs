//! Recorded traffic, and the times of its replay.
//!
//! A [`Recording`] is past traffic; a [`Replay`] defines how it is repeated: faster or slower, with more or fewer
//! users. Both are pure: the same entries and seed give the same times on every machine. A [`Workload`] is what a recording
//! is compared by with another.

mod dues;
mod recording;
mod workload;

pub use dues::{Due, Dues, Replay, ReplayError};
pub use recording::{Recording, RecordingError, Request};
pub use workload::{Aspect, Incomparable, Likeness, Part, Which, Workload, user_of};

#[cfg(test)]
mod tests;
