//! The gateway over real sockets: raw clients on one side, scripted servers on the other.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// A client, a scripted server, and a gateway between them.
mod support;

/// Bytes arrive as they were sent, both ways, whatever their framing.
mod forwards;

/// What is ambiguous, too large or nobody's is refused and never forwarded.
mod refuses;

/// Instances that refuse, hang, break off or talk nonsense.
mod survives_instances;

/// Clients that are slow, leave, stop reading, or are too many.
mod survives_clients;

/// Policies engage, shed, tell and lift.
mod sheds;

/// Rules in Luau decide.
mod follows_rules;

/// Start, reload, drain, metrics, log.
mod operates;

/// The operator's side: who may ask, what is told, what can be changed; logs and their rotation.
mod administers;

/// Programs that tests use.
#[path = "../../../../tests/peers.rs"]
mod peers;
