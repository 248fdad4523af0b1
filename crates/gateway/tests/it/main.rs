//! The gateway over real sockets: raw clients on one side, scripted servers on the other.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// A client, a scripted server, and a gateway between them.
mod support;

/// Bytes arrive as they were sent, in both directions and with any framing.
mod forwards;

/// Requests that are ambiguous, too large or without a route are refused and never forwarded.
mod refuses;

/// Instances that refuse, hang, break off or send invalid data.
mod survives_instances;

/// Clients that are slow, leave, stop reading, or are too many.
mod survives_clients;

/// Each balancing method distributes requests as documented.
mod balances;

/// Instances are added and removed under load.
mod changes_instances;

/// Checks, ejection, panic and retries.
mod takes_instances_out;

/// Policies are engaged, shed, report and are lifted.
mod sheds;

/// Queues, priorities, keys, slots at instances, adaptive limits and shadow limits.
mod limits;

/// Rules in Luau decide.
mod follows_rules;

/// Combinations of features.
mod meets;
/// Copies of live traffic: chosen, compared, counted, without effect on live requests.
mod mirrors;

/// Rules change requests and responses, and choose the pool.
mod rules_change_messages;

/// Start, reload, drain, metrics, log.
mod operates;

/// Trailers, interim responses, early responses, other target forms.
mod keeps_to_http;

/// The admin listener: access control, status, changes; logs and their rotation.
mod administers;
/// Which hops are trusted, what the instance is told, what is counted.
mod tells_time;

/// Programs that tests use.
#[path = "../../../../tests/peers.rs"]
mod peers;
