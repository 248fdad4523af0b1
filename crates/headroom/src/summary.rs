//! The words of summaries that commands use.

pub use documents::words::wrapped_to;
pub use report::{grouped, rate, time};
