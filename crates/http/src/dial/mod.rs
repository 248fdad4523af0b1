//! How to connect: from a URL's host to the addresses behind it.
//!
//! An [`Origin`] says with whom to speak; it decides the `Host` field and the name that a certificate must carry. A
//! [`Resolver`] says where that is, by curl's `--resolve`, `--connect-to` and `--unix-socket` or by asking the
//! system. The two are apart so that one machine can stand in for another without its clients noticing.
//!
//! Asking the system blocks. Before a run that is no harm; during one, [`dns::Lookup`] asks on a thread of its own.

mod address;
pub mod dns;
mod error;
mod origin;
mod resolver;
mod rule;

pub use address::Address;
pub use error::{OriginError, ResolveError};
pub use origin::{Origin, Scheme};
pub use resolver::Resolver;
