//! A gateway explained: where its limits come from, and why a request was refused.
//!
//! All that is explained is in the status document, so that a gateway file and a running gateway are explained in the
//! same words; what the ledger knows of the runs behind figures is given as [`Measured`].

mod measured;
mod reasons;
mod words;

pub use measured::{Measured, Recorded};
pub use reasons::{Reason, Reasons, Told};
pub use words::{all, named, names, reason};
