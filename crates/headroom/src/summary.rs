//! The words of summaries that commands use.

pub use report::{grouped, rate, time};
