//! A gateway for a service: routes, admits or sheds, balances, forwards, counts.
//!
//! [`start`] takes checked [`settings`] and serves them on one event loop per worker. The limits are those of
//! `control`; this crate gives them bytes, time and atomic words.
#![warn(missing_docs)]

mod access_log;
mod address;
mod admin;
mod answer;
mod clients;
mod control_room;
mod forward;
mod hops;
mod key;
mod local;
mod metrics;
mod mirror;
mod outbox;
mod pool;
mod queues;
mod rewrite;
mod route;
mod run;
mod server_timing;
pub mod settings;
mod shared;
mod trailers;
mod worker;

pub use admin::status::of as status_of;
pub use control_room::{Change, LimitChange, MalformedAnswer, Reload};
pub use pool::{InstanceChange, InstanceChangeError};
pub use route::RouteIndex;
pub use run::{Gateway, GatewayError, check, start};
pub use shared::{ClassError, SharedError};
#[cfg(any(test, feature = "laws"))]
pub use worker::laws;
