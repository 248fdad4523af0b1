//! Recorded traffic, and the times of its replay.
//!
//! A [`Recording`] is past traffic; a [`Replay`] defines how it is repeated: faster or slower, with more or fewer
//! users. Both are pure: the same entries and seed give the same times on every machine.

mod dues;
mod recording;

pub use dues::{Due, Dues, Replay, ReplayError};
pub use recording::{Recording, RecordingError, Request};

#[cfg(test)]
mod tests;
