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

/// Each way of balancing spreads as it should.
mod balances;

/// Instances come and go under load.
mod changes_instances;

/// Checks, ejection, panic and retries.
mod takes_instances_out;

/// Policies engage, shed, tell and lift.
mod sheds;

/// Queues, priorities, keys, places at instances, adaptive limits and limits in shadow.
mod limits;

/// Rules in Luau decide.
mod follows_rules;

/// Where features meet.
mod meets;
/// Copies of live traffic: chosen, compared, accounted for, and never in the way.
mod mirrors;

/// Rules change requests and answers, and choose the pool.
mod rules_change_messages;

/// Start, reload, drain, metrics, log.
mod operates;

/// Trailers, interim answers, early answers, other forms of targets.
mod keeps_to_http;

/// The operator's side: who may ask, what is told, what can be changed; logs and their rotation.
mod administers;
/// Who is believed about the way of a request, what the instance is told, what is counted.
mod tells_time;

/// Programs that tests use.
#[path = "../../../../tests/peers.rs"]
mod peers;
