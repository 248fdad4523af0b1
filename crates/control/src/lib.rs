//! Decides, never acts.
//!
//! The same code runs in simulation and live. So time is an argument, randomness a seeded generator, and a decision a
//! value that carries its reason. The crate is `no_std`: it has no access to clocks, sockets or files.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod admission;
pub mod alarm;
pub mod assumption;
pub mod balance;
pub mod concurrency;
pub mod diagnosis;
mod error;
pub mod metric;
pub mod mirror;
pub mod policy;
pub mod rate;
mod refusal;
pub mod scaling;
pub mod search;
pub mod service_level;
pub mod squeeze;
mod statuses;
pub mod trial;
mod word;

pub use error::SettingsError;
pub use refusal::Refusal;
pub use statuses::{Statuses, StatusesError};
pub use word::Word;

use core::fmt;

/// Identifies a rate class or a concurrency limit in decisions: a small, dense number from the reader of the
/// configuration, which also keeps the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClassId(pub u16);

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
