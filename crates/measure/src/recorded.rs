//! The stored part of a measurement: its totals, and its parts.

use crate::{
    Accounting, Check, Endpoint, Failure, Heads, Iterations, Measurement, SparseHistogram, Stage, Verdict,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The stored totals of a measurement. Its [`Series`](crate::Series) and its [`Parts`] are stored separately.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// How long the schedule ran.
    pub elapsed: Duration,
    /// Where every scheduled arrival went.
    pub accounting: Accounting,
    /// Whether requests that were sent again were counted; older versions of headroom did not, and the number is 0.
    pub counts_resent: bool,
    /// Responses that were complete while the schedule ran, except shed ones; `None` in runs of headroom 0.1.
    pub completed: Option<u64>,
    /// The number of responses with each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many requests failed in each way.
    pub failures: BTreeMap<Failure, u64>,
    /// From intended start to the last byte.
    pub response: SparseHistogram,
    /// From actual start to the last byte.
    pub service: SparseHistogram,
    /// From intended start to actual start.
    pub dispatch: SparseHistogram,
    /// From intended start to the last byte of the requests that were shed.
    pub shed_response: SparseHistogram,
    /// Iterations of a scenario.
    pub iterations: Iterations,
    /// From the attempt to connect to the open connection, without TLS.
    pub connect: SparseHistogram,
    /// From the open connection to the end of the TLS handshake.
    pub tls: SparseHistogram,
    /// What the heads of a sample of its good responses show; nothing in runs of older versions.
    pub heads: Heads,
    /// Connections that were opened.
    pub connections: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Processor time of the workers.
    pub cpu: Duration,
    /// How far the run can be trusted.
    pub verdict: Verdict,
    /// The reasons as sentences, worst first. Stored as text, because later versions may word them differently.
    pub reasons: Vec<String>,
}

/// The parts of a run; empty if it had none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// The kinds of requests, in the order in which the cells of the seconds count them.
    pub endpoints: Vec<Endpoint>,
    /// The stages of the run.
    pub stages: Vec<Stage>,
    /// Checks on responses.
    pub checks: Vec<Check>,
}

impl From<&Measurement> for Parts {
    fn from(measurement: &Measurement) -> Self {
        let Measurement { endpoints, stages, checks, .. } = measurement.clone();
        Parts { endpoints, stages, checks }
    }
}

impl From<&Measurement> for Recorded {
    fn from(measurement: &Measurement) -> Self {
        Recorded {
            elapsed: measurement.elapsed,
            accounting: measurement.accounting,
            counts_resent: true,
            completed: Some(measurement.completed),
            statuses: measurement.statuses.clone(),
            failures: measurement.failures.clone(),
            response: measurement.response.sparse(),
            service: measurement.service.sparse(),
            dispatch: measurement.dispatch.sparse(),
            shed_response: measurement.shed_response.sparse(),
            iterations: measurement.iterations.clone(),
            connect: measurement.connect.sparse(),
            tls: measurement.tls.sparse(),
            heads: measurement.heads.clone(),
            connections: measurement.connections,
            bytes_received: measurement.bytes_received,
            cpu: measurement.cpu,
            verdict: measurement.validity.verdict,
            reasons: measurement.validity.reasons.iter().map(ToString::to_string).collect(),
        }
    }
}
