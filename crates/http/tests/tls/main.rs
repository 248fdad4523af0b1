//! TLS over plain vectors: handshakes, failures, resumption, and bytes in the wrong amounts.

// A server for these tests, with its certificates.
mod server;

// The data after successful handshakes.
mod exchanges;

// Each kind of failure.
mod failures;

// Settings that cannot be used.
mod settings;
