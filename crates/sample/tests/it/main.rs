//! The service over real sockets, on loopback.
#![allow(clippy::unwrap_used, reason = "a failed test may panic, in its helpers too")]

/// Raw sockets, and a tiny open-loop client.
mod client;
/// Keep-alive, pipelining, versions, bodies, refusals.
mod keeps_to_http;
/// Queue, slow clients, stopping: nothing grows or blocks without bound.
mod stays_within_bounds;
/// The search-cgi account: calm, collapse, drained, calm.
mod tells_the_search_cgi_story;
/// Threads, locks, pools and the record work as configured.
mod works_as_told;
