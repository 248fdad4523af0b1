//! Procedures: they drive load under the decisions of `control`, and give a typed outcome and a stream of typed events. They
//! print nothing, and know neither the command line nor the ledger.
#![warn(missing_docs)]

mod drive;
pub mod find;
pub mod load;
