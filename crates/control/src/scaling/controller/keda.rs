//! KEDA, with every instance as a pod.
//!
//! Resources and queries are read each sync period of the autoscaler; a poll in between sees the last values.

use super::super::hpa::{self, Pod, PodReading, ScalingActive, Usage};
use super::super::keda::{self, Reading};
use super::hpa::{pod, pod_reading, reported, viewed};
use super::query::{Measured, Window};
use super::{
    Cooldown, Decision, Fleet, KedaInput, KedaScaling, MINUTE, Observation, PolicyView, Rhythm, Upcoming,
    UpcomingKind, Verdict, View, common_step,
};
use crate::assumption::Assumption;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::time::Duration;
use units::{InstanceCount, Timestamp};

/// A ScaledObject with its last readings.
#[derive(Debug)]
pub(super) struct Keda {
    keda: keda::Keda,
    inputs: Vec<KedaInput>,
    request: Option<f64>,
    sync: Duration,
    pods: Vec<Pod>,
    cpu: Vec<PodReading>,
    /// For each trigger: the values of its window.
    windows: Vec<Window>,
    /// A metric failed at the last sync: reported once while it lasts.
    failing: bool,
    /// The last poll failed, or had a fallback: reported when it changes.
    trouble: Option<Trouble>,
    last: (Option<hpa::Decision>, Option<keda::Poll>),
}

/// What is wrong with the triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Failed,
    Fallback,
}

impl Keda {
    /// # Errors
    /// Every problem of the settings, in words.
    pub(super) fn new(settings: &KedaScaling) -> Result<Self, Vec<String>> {
        let KedaScaling { keda, inputs, request } = settings;
        let mut problems: Vec<String> = keda.problems().iter().map(ToString::to_string).collect();
        if inputs.len() != keda.triggers.len() {
            let (wired, all) = (inputs.len(), keda.triggers.len());
            problems.push(format!("{wired} of {all} triggers have an input: each trigger requires one"));
        }
        let sync = keda.controller.sync_period;
        if common_step(sync, MINUTE) != sync {
            problems
                .push(format!("the sync period is {sync:?}, which does not divide a minute: 15s is usual"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Keda {
            keda: keda::Keda::new(Timestamp::ZERO, keda.clone())
                .map_err(|problem| vec![problem.to_string()])?,
            windows: inputs.iter().map(|_| Window::default()).collect(),
            inputs: inputs.clone(),
            request: *request,
            sync,
            pods: Vec::new(),
            cpu: Vec::new(),
            failing: false,
            trouble: None,
            last: (None, None),
        })
    }

    pub(super) fn rhythm(&self) -> Rhythm {
        let polls = common_step(self.keda.settings().polling_interval, MINUTE);
        Rhythm { reads: self.sync, decides: common_step(self.sync, polls), coarse: MINUTE }
    }

    /// The names of the metrics of the autoscaler.
    pub(super) fn watched(&self) -> Vec<String> {
        self.keda.hpa().settings().metrics.iter().map(|metric| metric.name.clone()).collect()
    }

    /// The value of each metric at the last sync.
    pub(super) fn seen(&self) -> impl Iterator<Item = Option<f64>> {
        self.keda.hpa().usages().iter().map(|usage| usage.map(Usage::value))
    }

    pub(super) fn assumptions() -> Vec<Assumption> {
        [hpa::ASSUMPTIONS, keda::ASSUMPTIONS, &[POLLS_AFTER_SYNCS, READ_EACH_SYNC]].concat()
    }

    pub(super) fn view(&self, now: Timestamp) -> View {
        let (sync, poll) = &self.last;
        let cooling = poll.as_ref().is_some_and(|poll| poll.action == keda::Action::CoolingDown);
        let cooldown =
            cooling.then(|| Cooldown { of: "scale in", until: Some(self.keda.cools_down_until()) });
        let state = poll.as_ref().map_or_else(|| "no poll yet".to_owned(), |poll| self.keda.poll_words(poll));
        let loop_of_keda = PolicyView {
            policy: LOOP.to_owned(),
            computed: None,
            state,
            cooldowns: cooldown.into_iter().collect(),
        };
        let upcoming = self.keda.upcoming(now).map(|(at, replicas)| Upcoming {
            at,
            policy: "cron".to_owned(),
            kind: UpcomingKind::Scheduled,
            min: None,
            max: None,
            size: Some(replicas),
        });
        let mut upcoming: Vec<Upcoming> = upcoming.collect();
        upcoming.sort_by_key(|one| one.at);
        View { policies: vec![viewed(self.keda.hpa(), sync.as_ref()), loop_of_keda], upcoming }
    }

    /// A sync period has passed.
    pub(super) fn read(&mut self, seen: &Observation<'_>) {
        if seen.requests.is_none() || seen.span != self.sync {
            return;
        }
        let instances = seen.fleet.instances;
        let seconds = self.sync.as_secs_f64();
        self.pods.clear();
        self.pods.extend(instances.iter().map(pod));
        self.cpu.clear();
        let cpu = |one| pod_reading(one, Some(one.used / seconds), seen.now, self.sync, self.request);
        self.cpu.extend(instances.iter().map(cpu));
        for (input, window) in self.inputs.iter().zip(&mut self.windows) {
            if let KedaInput::Query(query) = input {
                window.read(query, seen);
            }
        }
    }

    pub(super) fn decide(&mut self, now: Timestamp, fleet: &Fleet<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let mut current = fleet.desired;
        if is_due(now, self.sync) {
            self.sync(now, fleet, &mut current, &mut verdict);
        }
        if is_due(now, self.keda.settings().polling_interval) {
            self.poll(now, fleet, &mut current, &mut verdict);
        }
        verdict.desired = (current != fleet.desired).then_some(current);
        verdict.keeps &= verdict.desired.is_none();
        verdict
    }

    fn sync(&mut self, now: Timestamp, fleet: &Fleet<'_>, current: &mut u32, verdict: &mut Verdict) {
        let readings = readings(now, &self.inputs, &self.windows, &self.cpu);
        let seen = observed(*current, fleet, &self.pods, &readings);
        let Some(decision) = self.keda.sync(now, &seen) else { return };
        let failed = matches!(decision.scaling_active, Some(ScalingActive::FailedGetMetric { .. }));
        let begins = failed && !self.failing;
        self.failing = failed;
        verdict.decisions.extend(reported(self.keda.hpa(), &decision, begins));
        *current = decision.to.get();
        verdict.keeps = decision.recommended.is_some();
        self.last.0 = Some(decision);
    }

    fn poll(&mut self, now: Timestamp, fleet: &Fleet<'_>, current: &mut u32, verdict: &mut Verdict) {
        let readings = readings(now, &self.inputs, &self.windows, &self.cpu);
        let seen = observed(*current, fleet, &self.pods, &readings);
        let poll = self.keda.poll(now, &seen);
        let (from, to) = (poll.from.get(), poll.to.get());
        let mut report = |reason: String| {
            verdict.decisions.push(Decision { from, to, policy: LOOP.to_owned(), reason });
        };
        let trouble = match poll.action {
            _ if poll.fallback => Some(Trouble::Fallback),
            keda::Action::TriggerError | keda::Action::PartialTriggerError | keda::Action::AwaitsFallback => {
                Some(Trouble::Failed)
            }
            _ => None,
        };
        match (self.trouble, trouble) {
            (before, now) if before == now => {}
            (_, Some(Trouble::Fallback)) => {
                report("ScaledObjectFallbackActivated: triggers failed".to_owned())
            }
            (Some(Trouble::Fallback), None) => {
                report("ScaledObjectFallbackDeactivated: all triggers can be read".to_owned());
            }
            (None, Some(Trouble::Failed)) => report(self.keda.poll_words(&poll)),
            _ => {}
        }
        self.trouble = trouble;
        if from != to {
            report(self.keda.poll_words(&poll));
        }
        *current = to;
        verdict.keeps |= to == 0 && poll.action == keda::Action::Inactive;
        self.last.1 = Some(poll);
    }
}

fn observed<'a>(
    desired: u32,
    fleet: &Fleet<'_>,
    pods: &'a [Pod],
    readings: &'a [Reading<'a>],
) -> keda::Observation<'a> {
    keda::Observation {
        spec_replicas: InstanceCount::new(desired),
        status_replicas: InstanceCount::new(fleet.count(|one| !one.ending)),
        pods,
        readings,
    }
}

fn readings<'a>(
    now: Timestamp,
    inputs: &[KedaInput],
    windows: &[Window],
    cpu: &'a [PodReading],
) -> Vec<Reading<'a>> {
    let reading = |(input, window): (&KedaInput, &Window)| match input {
        KedaInput::Cpu => Reading::Pods(cpu),
        KedaInput::Time => Reading::Time,
        KedaInput::Query(query) => match window.result(query, now) {
            Measured::Failed => Reading::Failed,
            Measured::Empty => Reading::Null,
            Measured::Value(value) => Reading::Value(value),
        },
    };
    inputs.iter().zip(windows).map(reading).collect()
}

fn is_due(now: Timestamp, each: Duration) -> bool {
    u128::from(now.as_nanos()).is_multiple_of(each.as_nanos())
}

/// The loop of KEDA, as decisions name it.
const LOOP: &str = "KEDA";

const POLLS_AFTER_SYNCS: Assumption = Assumption {
    name: "keda_polls_after_syncs",
    text: "where a poll of KEDA and a sync of its autoscaler are due at the same time, the sync is first: the \
           autoscaler takes over from an activation one sync period later",
};
const READ_EACH_SYNC: Assumption = Assumption {
    name: "keda_queries_are_of_the_last_sync",
    text: "the result of a query is that of the last sync period; polls in between see the same, and no scrape delay",
};
