//! TLS for a client, as a machine without I/O between the socket's bytes and the codec's.
//!
//! ## Why not a stream
//! A stream over a socket would make the system calls itself. Here the event loop reads and writes as it does without
//! TLS, and passes received bytes to [`Session::received`] and bytes to send to [`Session::send`]. The same machine
//! runs over the kernel, over a simulated network and in a test with plain vectors.
//!
//! ## Cost
//! Records are decrypted from the loop's read buffer and encrypted into the loop's write buffer; a session keeps bytes
//! of its own only while a record is incomplete. rustls allocates once for each record in each direction, and nothing
//! here adds to that. `examples/tls_cost.rs` measures an exchange.
//!
//! ## Names
//! Settings are named like curl's options, and document which. A connection that fails because of TLS fails with a
//! [`TlsFailure`], which is data to count; settings that cannot be used are a [`TlsError`], for people.

mod client;
mod error;
mod failure;
mod files;
mod session;
mod settings;
mod verify;

pub use client::Client;
pub use error::TlsError;
pub use failure::TlsFailure;
pub use session::Session;
pub use settings::{ClientSettings, Version};
