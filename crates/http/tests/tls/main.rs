//! TLS over plain vectors: handshakes, failures, resumption, and bytes in the wrong amounts.

// A server for these tests, with the certificates that it shows.
mod server;

// What arrives when handshakes succeed.
mod exchanges;

// Each kind of failure.
mod failures;

// Settings that cannot be used.
mod settings;
