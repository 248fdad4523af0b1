//! How to connect: from a URL's host to its addresses.
//!
//! An [`Origin`] identifies the server; it decides the `Host` field and the name that a certificate must carry. A
//! [`Resolver`] finds its addresses, by curl's `--resolve`, `--connect-to` and `--unix-socket` or by the system. The
//! two are separate so that one machine can replace another without its clients noticing.
//!
//! The system's resolver blocks. Before a run that does no harm; during one, [`dns::Lookup`] resolves on a thread of
//! its own.

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
