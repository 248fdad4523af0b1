//! The event loop's parts, behind an I/O seam.
//!
//! ## Why a seam and not a framework
//! The load generator and the gateway each run one loop a core that never blocks and never shares a lock. What such
//! a loop needs of the world is small: a clock, sockets that may say "not now", and a wait that ends at an instant.
//! [`Net`] is exactly that, so the same loop runs over the kernel ([`KernelNet`]) and over scripted, seeded bytes in
//! virtual time (`virtual_net::VirtualNet`), where a test can cut a stream at every byte.
//!
//! ## Readiness is a hint
//! A [`Ready`] may be stale: its connection may have been closed and its token reused in the same batch. Whoever
//! handles it tries the operation and accepts "would block". Nothing else needs to be known of a batch's order.
//!
//! Bytes go from [`Net`] to whatever stands between socket and codec; TLS, which does no I/O itself, fits there.

mod kernel;
mod net;
mod stream;
mod timers;
#[cfg(any(test, feature = "virtual-net"))]
pub mod virtual_net;

pub use kernel::{Clock, KernelNet};
pub use mio::Waker;
pub use net::{Net, Ready, Token};
pub use stream::KernelStream;
pub use timers::{Deadline, Timers};
