//! Quantities with their units in the type.
//!
//! A raw `f64` may be a percentage, a ratio, seconds or requests a second. These types have a unit, check their range
//! once, where a value enters, and are trusted from there on. Text forms (`100/s`, `250ms`, `p95`) are parsed and
//! written here, so that every file, flag and report uses the same notation.
//!
//! The crate has no dependencies and no `std`, so that the decision code can rely on it.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod duration;
mod instances;
mod parse;
mod quantile;
mod rate;
mod ratio;
mod timestamp;
mod unit;

pub use bytes::Bytes;
pub use duration::{ShowDuration, parse_duration, show_duration};
pub use instances::InstanceCount;
pub use parse::ParseError;
pub use quantile::Quantile;
pub use rate::Rate;
pub use ratio::Ratio;
pub use timestamp::Timestamp;
pub use unit::Unit;
