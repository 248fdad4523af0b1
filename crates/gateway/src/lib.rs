//! Stands in front of a service: routes, admits or sheds, balances, forwards, counts.
#![warn(missing_docs)]

pub mod settings;
