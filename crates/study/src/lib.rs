//! Procedures: they generate load under the decisions of `control`, and return a typed outcome and a stream of typed
//! events. They print nothing, and are independent of the command line and the ledger.
#![warn(missing_docs)]

mod drive;
pub mod find;
pub mod load;
