//! All that one run of load measured.

use crate::{Accounting, Failure, Histogram, Series, Validity, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;
use units::Rate;

/// All that one run of load measured; the parts of several workers add up.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// How long the schedule ran (without the wait for the last answers).
    pub elapsed: Duration,
    /// Where every scheduled arrival went.
    pub accounting: Accounting,
    /// Answers that had come when the schedule ended, shed ones left aside: what the achieved rate counts. Those
    /// that came later, however many, were not carried at that rate.
    pub completed: u64,
    /// How many answers had each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many requests failed in each way.
    pub failures: BTreeMap<Failure, u64>,
    /// From intended start to the last byte: answered requests, and time-outs as censored values.
    pub response: Histogram,
    /// From actual start to the last byte: the same requests.
    pub service: Histogram,
    /// From intended start to actual start: the same requests.
    pub dispatch: Histogram,
    /// From intended start to the last byte of the requests that were shed.
    pub shed_response: Histogram,
    /// The run second by second.
    pub series: Series,
    /// Connections that were opened.
    pub connections: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Processor time of the workers.
    pub cpu: Duration,
    /// May this run be believed?
    pub validity: Validity,
}

impl Default for Measurement {
    fn default() -> Self {
        Measurement {
            elapsed: Duration::ZERO,
            accounting: Accounting::default(),
            completed: 0,
            statuses: BTreeMap::new(),
            failures: BTreeMap::new(),
            response: Histogram::new(),
            service: Histogram::new(),
            dispatch: Histogram::new(),
            shed_response: Histogram::new(),
            series: Series::default(),
            connections: 0,
            bytes_received: 0,
            cpu: Duration::ZERO,
            validity: Validity { verdict: Verdict::Valid, reasons: Vec::new() },
        }
    }
}

impl Measurement {
    /// The rate at which arrivals were due.
    pub fn offered(&self) -> Rate {
        Rate::of(self.accounting.scheduled, self.elapsed)
    }

    /// The rate at which answers came while the schedule ran, shed ones left aside.
    pub fn achieved(&self) -> Rate {
        Rate::of(self.completed, self.elapsed)
    }

    /// Adds what another worker of the same run measured. The validity is judged afterwards, on the sum.
    pub fn add(&mut self, other: &Measurement) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.accounting += other.accounting;
        self.completed += other.completed;
        for (&status, &count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (&failure, &count) in &other.failures {
            *self.failures.entry(failure).or_default() += count;
        }
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.dispatch.add(&other.dispatch);
        self.shed_response.add(&other.shed_response);
        self.series.add(&other.series);
        self.connections += other.connections;
        self.bytes_received += other.bytes_received;
        self.cpu += other.cpu;
    }
}
