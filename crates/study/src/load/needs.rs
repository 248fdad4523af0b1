//! The resources of this machine that a plan needs, for the preflight.

use ::load::{Model, Plan, Protocol, Server};
use host::Needs;
use std::num::NonZeroU32;
use units::{Rate, Timestamp};

/// The resources of this machine that a plan needs.
pub fn needs(plan: &Plan) -> Needs {
    let peak = plan.model.peak_rate();
    let connections = plan.model.connections().map(NonZeroU32::get);
    let streams = plan.connecting.protocol.streams();
    Needs {
        connections: connections.map(|count| match (&plan.model, plan.connecting.protocol) {
            (Model::Open { .. }, Protocol::Http2 { .. }) => count.min(count / streams + 1),
            _ => count,
        }),
        new_connections: if plan.keep_alive { Rate::ZERO } else { peak.unwrap_or(Rate::ZERO) },
        local_addresses: (plan.connecting.local_addresses.len() as u32).max(1),
        remote_addresses: plan.work.servers().iter().flat_map(Server::ip_addresses).collect(),
        rate: peak,
        workers: plan.workers.get(),
        tls: plan.uses_tls(),
        lasts: (plan.end() != Timestamp::NEVER).then(|| plan.end().since(Timestamp::ZERO)),
    }
}
