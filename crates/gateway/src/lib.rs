//! Stands in front of a service: routes, admits or sheds, balances, forwards, counts.
//!
//! [`start`] takes checked [`settings`] and serves them on one event loop a worker. The limits are those of
//! `control`; this crate gives them bytes, time and atomic words.
#![warn(missing_docs)]

mod access_log;
mod address;
mod admin;
mod answer;
mod control_room;
mod forward;
mod local;
mod metrics;
mod outbox;
mod route;
mod run;
pub mod settings;
mod shared;
mod worker;

pub use admin::status;
pub use control_room::{Change, Reload};
pub use run::{Gateway, GatewayError, start};
pub use shared::{ClassError, SharedError};
