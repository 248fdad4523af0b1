//! The parts of an event loop, behind an I/O seam.
//!
//! ## Why a seam and not a framework
//! The load generator and the gateway each run one loop per core that never blocks and never shares a lock. Such a loop
//! needs little: a clock, sockets that may return "would block", and a wait that ends at an instant. [`Net`] is exactly
//! that, so the same loop runs over the kernel ([`KernelNet`]) and over scripted, seeded bytes in virtual time
//! (`virtual_net::VirtualNet`), where a test can split a stream at every byte.
//!
//! ## Readiness is a hint
//! A [`Ready`] may be stale: its connection may have been closed and its token reused in the same batch. The handler
//! tries the operation and accepts "would block". The order within a batch has no meaning.
//!
//! Bytes go from [`Net`] to the layer between socket and codec; TLS, which does no I/O itself, fits there.

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
