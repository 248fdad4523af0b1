//! All results of one run of load.

use crate::part::add_counts;
use crate::{
    Accounting, Blocks, Came, Check, Endpoint, Failure, Heads, Histogram, Iterations, NoGoodAnswer, Pacing,
    Part, SUCCEEDED, Series, Stage, Validity, Verdict,
};
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Rate, Ratio};

/// All results of one run of load; those of several workers can be added.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// How long the schedule ran, without its warm-up and without the wait for the last responses.
    pub elapsed: Duration,
    /// Where every scheduled arrival went.
    pub accounting: Accounting,
    /// Responses that were complete when the schedule ended, except shed ones: the achieved rate counts these. Later
    /// responses, however many, were not carried at that rate.
    pub completed: u64,
    /// The number of responses with each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many requests failed in each way.
    pub failures: BTreeMap<Failure, u64>,
    /// From intended start to the last byte: requests with a response, and time-outs as censored values.
    pub response: Histogram,
    /// From actual start to the last byte: the same requests.
    pub service: Histogram,
    /// From intended start to actual start: the same requests.
    pub dispatch: Histogram,
    /// From intended start to the last byte of the requests that were shed.
    pub shed_response: Histogram,
    /// The run second by second, warm-up included.
    pub series: Series,
    /// The kinds of requests; all workers of a run use the same order.
    pub endpoints: Vec<Endpoint>,
    /// The stages of the run, likewise.
    pub stages: Vec<Stage>,
    /// Checks on responses, likewise.
    pub checks: Vec<Check>,
    /// Whether requests were sent when they were due, in the open model.
    pub pacing: Pacing,
    /// Why iterations of a scenario ended early: each reason, and how often.
    pub step_failures: BTreeMap<String, u64>,
    /// The message of the first failure of each kind.
    pub first_failures: BTreeMap<Failure, String>,
    /// Iterations of a scenario; none without a scenario.
    pub iterations: Iterations,
    /// From the attempt to connect to the open connection, without TLS.
    pub connect: Histogram,
    /// From the open connection to the end of the TLS handshake.
    pub tls: Histogram,
    /// What the heads of a sample of its good responses show.
    pub heads: Heads,
    /// Connections that were opened.
    pub connections: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Processor time of the workers.
    pub cpu: Duration,
    /// Whether the run can be trusted.
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
            endpoints: Vec::new(),
            stages: Vec::new(),
            checks: Vec::new(),
            pacing: Pacing::new(),
            step_failures: BTreeMap::new(),
            first_failures: BTreeMap::new(),
            iterations: Iterations::default(),
            connect: Histogram::new(),
            tls: Histogram::new(),
            heads: Heads::default(),
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

    /// The rate of responses while the schedule ran, except shed ones.
    pub fn achieved(&self) -> Rate {
        Rate::of(self.completed, self.elapsed)
    }

    /// Good responses: those with a status of [`SUCCEEDED`].
    pub fn good(&self) -> u64 {
        self.statuses.range(SUCCEEDED).map(|(_, &count)| count).sum()
    }

    /// Failures of this machine, not of the service: it had no port, descriptor or memory left.
    pub fn failed_here(&self) -> u64 {
        self.failures.iter().filter(|(kind, _)| kind.is_ours()).map(|(_, count)| count).sum()
    }

    /// The share of the scheduled arrivals with a good response; `None` if nothing was scheduled.
    pub fn good_share(&self) -> Option<Ratio> {
        Ratio::of(self.good(), self.accounting.scheduled)
    }

    /// The most frequent other outcome, if arrivals were scheduled and none got a good response.
    pub fn no_good_answer(&self) -> Option<NoGoodAnswer> {
        let scheduled = self.accounting.scheduled;
        if scheduled == 0 || self.good() > 0 {
            return None;
        }
        let statuses = self.statuses.iter().map(|(&status, &count)| (count, Came::Status(status)));
        let failures = self.failures.iter().map(|(&failure, &count)| (count, Came::Failed(failure)));
        let Accounting { timed_out, unsent, in_flight, .. } = self.accounting;
        let others = [(timed_out, Came::TimedOut), (unsent + in_flight, Came::Nothing)];
        let (count, most) = statuses
            .chain(failures)
            .chain(others)
            .max_by_key(|&(count, _)| count)
            .unwrap_or((0, Came::Nothing));
        Some(NoGoodAnswer { most, count, scheduled })
    }

    /// The whole seconds of the run after its warm-up, as the units of intervals.
    pub fn blocks(&self) -> Blocks {
        let steady = crate::steady(&self.stages, self.elapsed);
        Blocks::of(&self.series, steady).completed(self.completed, self.accounting.answered)
    }

    /// Whether the load was constant after the warm-up; quantiles over several loads are not meaningful.
    pub fn is_one_load(&self) -> bool {
        Stage::are_one_load(&self.stages)
    }

    /// Sets the totals from a part.
    pub fn set_whole(&mut self, part: &Part) {
        self.accounting = part.accounting;
        self.completed = part.completed;
        self.statuses = part.statuses.clone();
        self.failures = part.failures.clone();
        self.response = part.response();
        self.service = part.service.clone();
        self.dispatch = part.dispatch.clone();
        self.shed_response = part.by_outcome.get(&crate::Outcome::Shed).cloned().unwrap_or_default();
    }

    /// Adds the results of another worker of the same run. The validity is judged afterwards, on the sum.
    pub fn add(&mut self, other: &Measurement) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.accounting += other.accounting;
        self.completed += other.completed;
        add_counts(&mut self.statuses, &other.statuses);
        add_counts(&mut self.failures, &other.failures);
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.dispatch.add(&other.dispatch);
        self.shed_response.add(&other.shed_response);
        self.series.add(&other.series);
        for (place, theirs) in other.endpoints.iter().enumerate() {
            match self.endpoints.get_mut(place) {
                Some(ours) => ours.part.add(&theirs.part),
                None => self.endpoints.push(theirs.clone()),
            }
        }
        for (place, theirs) in other.stages.iter().enumerate() {
            match self.stages.get_mut(place) {
                Some(ours) => {
                    ours.until = ours.until.max(theirs.until);
                    ours.part.add(&theirs.part);
                }
                None => self.stages.push(theirs.clone()),
            }
        }
        for (place, theirs) in other.checks.iter().enumerate() {
            match self.checks.get_mut(place) {
                Some(ours) => {
                    ours.passed += theirs.passed;
                    ours.failed += theirs.failed;
                }
                None => self.checks.push(theirs.clone()),
            }
        }
        self.pacing.add(&other.pacing);
        for (reason, count) in &other.step_failures {
            *self.step_failures.entry(reason.clone()).or_default() += count;
        }
        for (&failure, what) in &other.first_failures {
            self.first_failures.entry(failure).or_insert_with(|| what.clone());
        }
        self.iterations.add(&other.iterations);
        self.heads.add(&other.heads);
        self.connect.add(&other.connect);
        self.tls.add(&other.tls);
        self.connections += other.connections;
        self.bytes_received += other.bytes_received;
        self.cpu += other.cpu;
    }
}
