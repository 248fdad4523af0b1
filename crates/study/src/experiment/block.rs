//! Load on some arms at once, and what was observed of each.

use super::arms::Running;
use super::{Failed, Recording, Wanted};
use crate::doctor::{Attendance, Watched};
use crate::drive::Drive;
use ::load::{Plan, Watch};
use control::trial::Seen;
use host::{Disturbance, Quota, Sample, Service, Throttling};
use measure::{Heads, Histogram, Measurement, Outcome, Part, Reason, SUCCEEDED};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use units::{Quantile, Ratio};

/// What was observed of an arm.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// How late the generator was, at p99; zero where it was not late.
    pub(super) lag: Duration,
    /// The conditions, without values.
    pub(super) seen: Seen,
    /// All requests.
    pub(super) all: Timed,
    /// By endpoint.
    pub(super) routes: Vec<Timed>,
    /// Processor time of a response, in seconds.
    pub(super) processor_time: Option<f64>,
    /// Memory at the end, in bytes.
    pub(super) memory: Option<f64>,
    /// The mean time in a queue of a request, in seconds.
    pub(super) queue_time: Option<f64>,
    /// Whether the generator had no processor time left.
    pub(super) generator_busy: bool,
    /// What was seen of its processes.
    pub(super) watched: Option<Watched>,
}

/// Requests, with the times of those that were good or timed out: a fast error is no fast response.
#[derive(Debug, Default)]
pub(super) struct Timed {
    requests: u64,
    good: u64,
    times: Histogram,
}

/// What an arm answered, over all blocks.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) statuses: BTreeMap<u16, u64>,
    /// Bytes of the warm-up, which is measured from its beginning, and its responses.
    pub(super) sized: (u64, u64),
    pub(super) heads: Heads,
}

impl Timed {
    fn add(&mut self, part: &Part) {
        self.requests += part.accounting.scheduled;
        self.good += part.statuses.range(SUCCEEDED).map(|(_, count)| count).sum::<u64>();
        for outcome in [Outcome::Success, Outcome::Redirect, Outcome::TimedOut] {
            if let Some(times) = part.by_outcome.get(&outcome) {
                self.times.add(times);
            }
        }
    }

    /// Seconds.
    pub(super) fn quantile(&self, quantile: Quantile) -> Option<f64> {
        self.times.quantile(quantile).map(|value| value.at.as_secs_f64())
    }

    /// The share of requests without a good response.
    pub(super) fn errors(&self) -> Option<f64> {
        (self.requests > 0).then(|| 1.0 - self.good as f64 / self.requests as f64)
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// As many requests, none of which had a good response.
    fn failed(&self) -> Self {
        Timed { requests: self.requests, ..Timed::default() }
    }
}

impl Observed {
    /// What stands for a service that did not start: none of the requests that the other one got has a good response.
    pub(super) fn failed(other: &Observed) -> Self {
        Observed {
            seen: Seen { answered: 0, ..other.seen.clone() },
            all: other.all.failed(),
            routes: other.routes.iter().map(Timed::failed).collect(),
            ..Observed::default()
        }
    }
}

/// Sends load to arms at once, started in this order, and waits for its end.
pub(super) fn run(
    wanted: &Wanted<'_>,
    arms: &mut [&mut Running],
    (lead, measured): (Duration, Duration),
    seed: u64,
) -> Result<Vec<Observed>, Failed> {
    let at_once = arms.len();
    let own_quotas = || Quota::of_process(std::process::id());
    let quotas = |running: &Running| running.service.as_ref().map(Service::quotas).unwrap_or_default();
    let (before, own_before) = (Sample::now(), own_quotas());
    let mut driven = Vec::new();
    for running in arms.iter() {
        let used = running.service.as_ref().and_then(|service| service.cpu().ok());
        let plan = plan(wanted, running, lead, lead + measured, at_once, seed)?;
        let begins = Instant::now() + lead;
        let drive = Drive::start(plan, &Watch { every: LOOK, ..Watch::default() })?;
        // The warm-up is not examined.
        let examines = wanted.doctor && !lead.is_zero();
        let during = (begins, begins + measured.saturating_sub(EARLY));
        let quotas = quotas(running);
        driven.push((used, quotas, drive, examines.then(|| running.attend(during)).flatten()));
    }
    let mut measurements = Vec::new();
    for (used, quotas, mut drive, attendance) in driven {
        while !drive.look(|_| (wanted.interrupted)().then_some(Failed::Interrupted))?.finished {}
        measurements.push((used, quotas, drive.finish()?, attendance));
    }
    let disturbance = Disturbance::between(&before, &Sample::now());
    let own = Quota::throttling_between(&own_before, &own_quotas()).unwrap_or_default();
    let observed = arms.iter_mut().zip(measurements).map(|(running, driven)| {
        let (used, quotas_before, measurement, attendance) = driven;
        let of_arm = Quota::throttling_between(&quotas_before, &quotas(running)).unwrap_or_default();
        let throttling = if of_arm.share() > own.share() { of_arm } else { own };
        let used_now = running.service.as_ref().and_then(|service| service.usage().ok());
        let cpu = used_now.zip(used).map(|(now, before)| now.cpu.saturating_sub(before));
        running.tally.add(&measurement, lead.is_zero());
        let mut watched = attendance.and_then(Attendance::watched);
        // Services that run at once share the cores, and none of them is another's neighbour.
        if let Some(watched) = watched.as_mut().filter(|_| at_once > 1) {
            watched.forget_others();
        }
        let mut observed = observe(&measurement, cpu, &disturbance, throttling);
        let lost = wanted.recording.map_or(0.0, Recording::lost);
        observed.seen.dropped += (lost * observed.seen.offered as f64).round() as u64;
        let rate = observed.seen.answered as f64 / measured.as_secs_f64();
        Observed {
            memory: used_now.map(|usage| usage.memory.get() as f64),
            queue_time: watched.as_ref().and_then(|watched| watched.queue_time(rate)),
            watched,
            ..observed
        }
    });
    Ok(observed.collect())
}

fn plan(
    wanted: &Wanted<'_>,
    running: &Running,
    lead: Duration,
    length: Duration,
    at_once: usize,
    seed: u64,
) -> Result<Plan, Failed> {
    let (model, work) = super::traffic::load(wanted, &running.arm, seed, length)?;
    let usual = model.workers();
    let share = usual.get() / u32::try_from(at_once).unwrap_or(u32::MAX);
    Ok(Plan {
        duration: Some(length),
        warm_up: lead,
        workers: share.try_into().unwrap_or(std::num::NonZeroU32::MIN),
        timeout: wanted.file.timeout,
        good_within: wanted.file.timeout,
        connecting: wanted.connecting.clone(),
        seed,
        ..Plan::new(work, model)
    })
}

fn observe(
    measured: &Measurement,
    cpu: Option<Duration>,
    disturbance: &Disturbance,
    throttling: Throttling,
) -> Observed {
    let mut all = Timed::default();
    let mut routes = Vec::new();
    for endpoint in &measured.endpoints {
        all.add(&endpoint.part);
        let mut route = Timed::default();
        route.add(&endpoint.part);
        routes.push(route);
    }
    let lag = measured.validity.reasons.iter().filter_map(|reason| match reason {
        Reason::LoopLag { p99, .. } | Reason::HostLag { p99, .. } => Some(*p99),
        _ => None,
    });
    // Processor time is that of the whole part, with the lead.
    let responses = match measured.stages.as_slice() {
        [] => measured.accounting.answered + measured.accounting.shed,
        stages => {
            stages.iter().map(|stage| stage.part.accounting.answered + stage.part.accounting.shed).sum()
        }
    };
    let account = &measured.accounting;
    Observed {
        lag: lag.max().unwrap_or_default(),
        seen: Seen {
            offered: account.scheduled,
            answered: account.answered + account.shed,
            // The service did not see them.
            dropped: account.unsent + measured.failed_here(),
            steal: disturbance.stolen.map_or(0.0, Ratio::get),
            ticks: disturbance.ticks.unwrap_or_default(),
            throttled: throttling.share(),
            periods: throttling.of,
            mix: routes.iter().map(|route: &Timed| route.requests).collect(),
            values: Vec::new(),
        },
        all,
        routes,
        processor_time: cpu.filter(|_| responses > 0).map(|cpu| cpu.as_secs_f64() / responses as f64),
        memory: None,
        queue_time: None,
        watched: None,
        generator_busy: measured
            .validity
            .reasons
            .iter()
            .any(|reason| matches!(reason, Reason::GeneratorBusy { .. })),
    }
}

impl Tally {
    fn add(&mut self, measured: &Measurement, whole: bool) {
        self.requests += measured.accounting.scheduled;
        for (status, count) in &measured.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        if whole {
            self.sized.0 += measured.bytes_received;
            self.sized.1 += measured.statuses.values().sum::<u64>();
        }
        self.heads.add(&measured.heads);
    }

    /// Responses of any status.
    pub(super) fn responses(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Good responses.
    pub(super) fn good(&self) -> u64 {
        self.statuses.range(SUCCEEDED).map(|(_, count)| count).sum()
    }

    /// The most frequent outcome, in words.
    pub(super) fn most(&self) -> String {
        let none = self.requests.saturating_sub(self.responses());
        match self.statuses.iter().max_by_key(|(_, count)| **count) {
            Some((status, count)) if *count >= none => {
                format!("{count} of {} requests were answered with {status}", self.requests)
            }
            _ => format!("{none} of {} requests had no response", self.requests),
        }
    }
}

/// How often a running part is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// An examination ends this long before the load does: its last reading takes a while.
const EARLY: Duration = Duration::from_millis(50);
