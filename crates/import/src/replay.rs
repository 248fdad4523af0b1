//! Traffic that was recorded, and when each of its requests is due again.
//!
//! A [`Recording`] is what happened; a [`Replay`] says how it is to happen again: faster or slower, with more users or
//! fewer. Both are pure: the same entries and seed give the same dues on every machine.

mod dues;
mod recording;

pub use dues::{Due, Dues, Replay, ReplayError};
pub use recording::{Recording, RecordingError, Request};

#[cfg(test)]
mod tests;
