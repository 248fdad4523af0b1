//! Records the outcome of every arrival of one worker.
//!
//! ## Why open seconds
//! A response may arrive long after the second in which its request was due, and counts in that second. So the last
//! seconds stay open, with histograms that record in nanoseconds; a second that no response can reach any more is
//! closed into sparse ones, and its histograms are reused. Memory is bounded by the time-out, not by the run.
//!
//! ## Why a time is recorded once
//! A response time goes into one cell: its second, stage, endpoint and outcome. All figures for readers (a stage, an
//! endpoint, the whole) are sums of cells, added when a second is closed.

use crate::head;
use crate::layout::Layout;
use crate::scenario::{Scenario, StepFailure, StepId};
use measure::{
    Accounting, Cell, Check, Endpoint, Failure, Fate, Heads, Histogram, Iterations, Measurement, Outcome,
    Pacing, Part, SUCCEEDED, Second, Series, Stage,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// The times of one request, and its endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) endpoint: u32,
    pub(crate) intended: Timestamp,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
}

#[derive(Debug, Default)]
struct OpenSecond {
    accounting: Accounting,
    good: u64,
    good_response: Histogram,
    cells: Vec<OpenCell>,
}

#[derive(Debug)]
struct OpenCell {
    part: u32,
    outcome: Outcome,
    times: Histogram,
}

/// The outcomes of the arrivals of one endpoint in one stage.
#[derive(Debug, Default)]
struct PartRecord {
    accounting: Accounting,
    /// Complete responses when the stage ended, and when the schedule did.
    completed: (u64, u64),
    statuses: Vec<(u16, u64)>,
    failures: BTreeMap<Failure, u64>,
    by_outcome: BTreeMap<Outcome, Histogram>,
    service: Histogram,
    dispatch: Histogram,
}

/// One worker's record.
#[derive(Debug)]
pub(crate) struct Recorder {
    layout: Arc<Layout>,
    good_within: Duration,
    open: VecDeque<OpenSecond>,
    /// Reused, so that a run does not allocate as it goes on.
    spare: Vec<OpenSecond>,
    spare_cells: Vec<Histogram>,
    seconds: Vec<Second>,
    /// By stage and endpoint; created at the first arrival of one.
    parts: Vec<Option<Box<PartRecord>>>,
    /// The stage of the last arrival: the next one is nearly always in the same.
    stage: usize,
    /// The outcomes of the arrivals of all stages so far.
    so_far: Accounting,
    /// Response times since the last progress report.
    recent: Histogram,
    /// Dispatch delays of the same requests.
    recent_dispatch: Histogram,
    recent_good: u64,
    /// Responses with a status from 200 to 399.
    succeeded: u64,
    bounds: Vec<Duration>,
    /// Responses except shed ones within each of the bounds.
    within: Vec<u64>,
    /// How late the loop handled each due arrival.
    pub(crate) lag: Histogram,
    /// Arrivals that waited for a free connection.
    pub(crate) waited: u64,
    pub(crate) connections: u64,
    pub(crate) bytes_received: u64,
    pub(crate) connect: Histogram,
    pub(crate) tls: Histogram,
    heads: Heads,
    pub(crate) iterations: Iterations,
    pub(crate) pacing: Pacing,
    step_failures: BTreeMap<(StepId, StepFailure), u64>,
    /// Their names, once there are any.
    step_names: BTreeMap<(StepId, StepFailure), String>,
    first_failures: BTreeMap<Failure, String>,
    /// Passed and failed.
    checks: Vec<(u64, u64)>,
}

impl Recorder {
    pub(crate) fn new(layout: Arc<Layout>, good_within: Duration, bounds: &[Duration]) -> Self {
        let parts = layout.endpoints.len() * layout.stages.len();
        let checks = vec![(0, 0); layout.checks.len()];
        Recorder {
            layout,
            good_within,
            open: VecDeque::new(),
            spare: Vec::new(),
            spare_cells: Vec::new(),
            seconds: Vec::new(),
            parts: (0..parts).map(|_| None).collect(),
            stage: 0,
            so_far: Accounting::default(),
            recent: Histogram::new(),
            recent_dispatch: Histogram::new(),
            recent_good: 0,
            succeeded: 0,
            bounds: bounds.to_vec(),
            within: vec![0; bounds.len()],
            lag: Histogram::new(),
            waited: 0,
            connections: 0,
            bytes_received: 0,
            connect: Histogram::new(),
            tls: Histogram::new(),
            heads: Heads::default(),
            iterations: Iterations::default(),
            pacing: Pacing::new(),
            step_failures: BTreeMap::new(),
            step_names: BTreeMap::new(),
            first_failures: BTreeMap::new(),
            checks,
        }
    }

    fn second(&mut self, intended: Timestamp) -> &mut OpenSecond {
        let offset = self.offset(intended);
        while self.open.len() <= offset {
            self.open.push_back(self.spare.pop().unwrap_or_default());
        }
        &mut self.open[offset]
    }

    /// The index of an arrival's second among the open ones. A second is closed only when nothing of it is left, so no
    /// arrival belongs to a closed one.
    fn offset(&self, intended: Timestamp) -> usize {
        ((intended.as_nanos() / 1_000_000_000) as usize).saturating_sub(self.seconds.len())
    }

    fn part_index(&mut self, endpoint: u32, intended: Timestamp) -> usize {
        self.stage = self.layout.stage_at(intended, self.stage);
        self.stage * self.layout.endpoints.len() + endpoint as usize
    }

    fn part(&mut self, index: usize) -> &mut PartRecord {
        self.parts[index].get_or_insert_default()
    }

    /// Adds a time to its cell.
    fn time(&mut self, part: usize, intended: Timestamp, outcome: Outcome, response: Duration) {
        let part = part as u32;
        let offset = self.offset(intended);
        let spare = &mut self.spare_cells;
        let Some(second) = self.open.get_mut(offset) else { return };
        let cells = &mut second.cells;
        let place = cells.iter().position(|cell| cell.part == part && cell.outcome == outcome);
        let place = place.unwrap_or_else(|| {
            cells.push(OpenCell { part, outcome, times: spare.pop().unwrap_or_default() });
            cells.len() - 1
        });
        if outcome == Outcome::TimedOut {
            cells[place].times.record_censored(response);
        } else {
            cells[place].times.record(response);
        }
    }

    /// An arrival is due.
    pub(crate) fn scheduled(&mut self, endpoint: u32, intended: Timestamp) {
        self.so_far.scheduled += 1;
        self.second(intended).accounting.scheduled += 1;
        let part = self.part_index(endpoint, intended);
        self.part(part).accounting.scheduled += 1;
    }

    /// A scheduled arrival got a response, with any status.
    pub(crate) fn answered(&mut self, times: Times, status: u16) {
        let fate = Fate::of_status(status);
        let response = times.ended.since(times.intended);
        let good = (200..300).contains(&status) && response <= self.good_within;
        if SUCCEEDED.contains(&status) {
            self.succeeded += 1;
        }
        self.so_far.enter(fate);
        let second = self.second(times.intended);
        second.accounting.enter(fate);
        if good {
            second.good += 1;
            second.good_response.record(response);
            self.recent_good += 1;
        }
        let index = self.part_index(times.endpoint, times.intended);
        let stage_end = self.layout.stages[self.stage].until;
        let run_end = self.layout.end;
        let part = self.part(index);
        part.accounting.enter(fate);
        match part.statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => part.statuses.push((status, 1)),
        }
        if fate != Fate::Shed {
            part.completed.0 += u64::from(times.ended <= stage_end);
            part.completed.1 += u64::from(times.ended <= run_end);
            part.service.record(times.ended.since(times.started));
            let delay = times.started.since(times.intended);
            part.dispatch.record(delay);
            self.recent.record(response);
            self.recent_dispatch.record(delay);
            for (within, &bound) in self.within.iter_mut().zip(&self.bounds) {
                *within += u64::from(response < bound);
            }
        }
        self.time(index, times.intended, Outcome::of_status(status), response);
    }

    /// The head of a response of the sample; it counts if the response is good, after the warm-up.
    pub(crate) fn head(&mut self, intended: Timestamp, status: u16, head: &[u8]) {
        if SUCCEEDED.contains(&status) && intended >= Timestamp::ZERO + self.layout.warm_up() {
            head::note(&mut self.heads, head);
        }
    }

    /// A scheduled arrival was sent and given up.
    pub(crate) fn timed_out(&mut self, times: Times) {
        self.enter(times.endpoint, times.intended, Fate::TimedOut);
        let response = times.ended.since(times.intended);
        let index = self.part_index(times.endpoint, times.intended);
        self.time(index, times.intended, Outcome::TimedOut, response);
        self.recent.record_censored(response);
        let delay = times.started.since(times.intended);
        self.recent_dispatch.record(delay);
        let part = self.part(index);
        part.service.record_censored(times.ended.since(times.started));
        part.dispatch.record(delay);
    }

    /// A scheduled arrival got no response.
    pub(crate) fn failed(&mut self, times: Times, failure: Failure) {
        self.enter(times.endpoint, times.intended, Fate::Failed(failure));
        let index = self.part_index(times.endpoint, times.intended);
        self.time(index, times.intended, Outcome::Failed, times.ended.since(times.intended));
        *self.part(index).failures.entry(failure).or_default() += 1;
    }

    /// A scheduled arrival was never sent, or is still in flight at the end.
    pub(crate) fn enter(&mut self, endpoint: u32, intended: Timestamp, fate: Fate) {
        self.so_far.enter(fate);
        self.second(intended).accounting.enter(fate);
        let part = self.part_index(endpoint, intended);
        self.part(part).accounting.enter(fate);
    }

    /// A request of this arrival was sent again.
    pub(crate) fn resent(&mut self, endpoint: u32, intended: Timestamp) {
        self.so_far.resent += 1;
        self.second(intended).accounting.resent += 1;
        let part = self.part_index(endpoint, intended);
        self.part(part).accounting.resent += 1;
    }

    /// A response passed or failed a check.
    pub(crate) fn checked(&mut self, check: usize, passed: bool) {
        if let Some((passes, failures)) = self.checks.get_mut(check) {
            *(if passed { passes } else { failures }) += 1;
        }
    }

    /// An iteration of the scenario ended.
    pub(crate) fn iteration_over(&mut self, completed: bool, took: Duration) {
        if completed {
            self.iterations.completed += 1;
            self.iterations.time.record(took);
        } else {
            self.iterations.broken += 1;
        }
    }

    /// An iteration of the scenario failed at a step.
    pub(crate) fn step_failed(&mut self, scenario: &Scenario, step: StepId, failure: StepFailure) {
        let name = || format!("{}: {}", scenario.step(step).name, scenario.describe(failure));
        self.step_names.entry((step, failure)).or_insert_with(name);
        *self.step_failures.entry((step, failure)).or_default() += 1;
    }

    /// Keeps the message of the first failure of a kind.
    pub(crate) fn first_failure(&mut self, failure: Failure, what: impl FnOnce() -> String) {
        self.first_failures.entry(failure).or_insert_with(what);
    }

    pub(crate) fn accounting(&self) -> Accounting {
        self.so_far
    }

    /// Responses with a status from 200 to 399; and of all but shed ones, how many were within each bound.
    pub(crate) fn succeeded(&self) -> (u64, &[u64]) {
        (self.succeeded, &self.within)
    }

    /// Adds the response times and the dispatch delays of the responses and time-outs since the last call, and returns
    /// how many of them were good.
    pub(crate) fn take_recent(&mut self, response: &mut Histogram, dispatch: &mut Histogram) -> u64 {
        response.add(&self.recent);
        dispatch.add(&self.recent_dispatch);
        self.recent.clear();
        self.recent_dispatch.clear();
        std::mem::take(&mut self.recent_good)
    }

    /// Closes the seconds that end before `oldest`, the intended start of the oldest unfinished arrival.
    pub(crate) fn close_before(&mut self, oldest: Timestamp) {
        let first_open = (oldest.as_nanos() / 1_000_000_000) as usize;
        while self.seconds.len() < first_open && !self.open.is_empty() {
            self.close_first();
        }
    }

    fn close_first(&mut self) {
        let Some(mut second) = self.open.pop_front() else { return };
        let mut response = Histogram::new();
        let mut cells: Vec<Cell> = Vec::with_capacity(second.cells.len());
        let endpoints = self.layout.endpoints.len() as u32;
        for mut cell in second.cells.drain(..) {
            self.part(cell.part as usize).by_outcome.entry(cell.outcome).or_default().add(&cell.times);
            if cell.outcome.is_response() {
                response.add(&cell.times);
            }
            let (endpoint, outcome, times) = (cell.part % endpoints, cell.outcome, cell.times.sparse());
            // Two stages may meet within a second.
            let same = cells.iter_mut().find(|known| (known.endpoint, known.outcome) == (endpoint, outcome));
            match same {
                Some(known) => known.times = known.times.plus(&times),
                None => cells.push(Cell { endpoint, outcome, times }),
            }
            cell.times.clear();
            self.spare_cells.push(cell.times);
        }
        // Without failures, the three histograms are equal and share memory.
        let mut response = response.sparse();
        if let [only] = &cells[..] {
            response = response.or_shared(&only.times);
        }
        self.seconds.push(Second {
            accounting: second.accounting,
            good: second.good,
            good_response: second.good_response.sparse().or_shared(&response),
            response,
            cells,
        });
        second.accounting = Accounting::default();
        second.good = 0;
        second.good_response.clear();
        self.spare.push(second);
    }

    /// The results so far, without the series: for conditions that may end the run.
    pub(crate) fn so_far(&self, elapsed: Duration) -> Measurement {
        let mut measured = self.summed();
        measured.elapsed = elapsed - self.layout.warm_up().min(elapsed);
        for second in &self.open {
            for cell in &second.cells {
                let (stage, endpoint) = self.place(cell.part as usize);
                if let Some(stage) = measured.stages.get_mut(stage) {
                    stage.part.by_outcome.entry(cell.outcome).or_default().add(&cell.times);
                    if !stage.warm_up {
                        let part = &mut measured.endpoints[endpoint].part;
                        part.by_outcome.entry(cell.outcome).or_default().add(&cell.times);
                    }
                }
            }
        }
        self.whole(&mut measured);
        measured
    }

    /// All results of this worker.
    pub(crate) fn finish(mut self, elapsed: Duration, cpu: Duration) -> Finished {
        while !self.open.is_empty() {
            self.close_first();
        }
        let mut measured = self.summed();
        self.whole(&mut measured);
        measured.series = Series { seconds: self.seconds };
        let warm_up = self.layout.warm_up().min(elapsed);
        measured.elapsed = elapsed - warm_up;
        measured.cpu = cpu;
        let ran = Timestamp::ZERO + elapsed;
        for stage in &mut measured.stages {
            stage.until = stage.until.min(ran).max(stage.from);
        }
        Finished { measurement: measured, ran: elapsed, lag: self.lag, waited: self.waited }
    }

    fn place(&self, part: usize) -> (usize, usize) {
        let endpoints = self.layout.endpoints.len();
        (part / endpoints, part % endpoints)
    }

    /// The parts by stage and by endpoint.
    fn summed(&self) -> Measurement {
        let layout = &self.layout;
        let mut measured = Measurement {
            endpoints: layout
                .endpoints
                .iter()
                .map(|(name, tags)| Endpoint {
                    name: name.clone(),
                    tags: tags.clone(),
                    part: Part::default(),
                })
                .collect(),
            stages: layout
                .stages
                .iter()
                .map(|span| Stage {
                    name: span.name.clone(),
                    from: span.from,
                    until: span.until,
                    warm_up: span.warm_up,
                    part: Part::default(),
                })
                .collect(),
            checks: std::iter::zip(&layout.checks, &self.checks)
                .map(|(name, &(passed, failed))| Check { name: name.clone(), passed, failed })
                .collect(),
            connections: self.connections,
            bytes_received: self.bytes_received,
            connect: self.connect.clone(),
            tls: self.tls.clone(),
            heads: self.heads.clone(),
            iterations: self.iterations.clone(),
            pacing: self.pacing.clone(),
            step_failures: self
                .step_failures
                .iter()
                .filter_map(|(key, &count)| Some((self.step_names.get(key)?.clone(), count)))
                .collect(),
            first_failures: self.first_failures.clone(),
            ..Measurement::default()
        };
        for (index, record) in self.parts.iter().enumerate() {
            let Some(record) = record else { continue };
            let (stage, endpoint) = self.place(index);
            let (by_stage, by_run) = record.completed;
            let mut part = record.as_part();
            part.completed = by_stage;
            measured.stages[stage].part.add(&part);
            if !measured.stages[stage].warm_up {
                part.completed = by_run;
                measured.endpoints[endpoint].part.add(&part);
            }
        }
        measured
    }

    /// The whole: the sum of the endpoints, which exclude the warm-up.
    fn whole(&self, measured: &mut Measurement) {
        let mut whole = Part::default();
        measured.endpoints.iter().for_each(|endpoint| whole.add(&endpoint.part));
        measured.set_whole(&whole);
    }
}

impl PartRecord {
    fn as_part(&self) -> Part {
        Part {
            accounting: self.accounting,
            completed: 0,
            statuses: self.statuses.iter().copied().collect(),
            failures: self.failures.clone(),
            by_outcome: self.by_outcome.clone(),
            service: self.service.clone(),
            dispatch: self.dispatch.clone(),
        }
    }
}

/// The results of one worker.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) measurement: Measurement,
    /// How long its schedule ran, warm-up included.
    pub(crate) ran: Duration,
    pub(crate) lag: Histogram,
    pub(crate) waited: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Span;
    use crate::threshold::{Observed, Threshold, evaluate};
    use units::Ratio;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn recorder(warm_up: u64, end: u64) -> Recorder {
        let spans = [("warm-up", 0, warm_up, true), ("rest", warm_up, end, false)];
        let layout = Layout {
            endpoints: vec![("a".to_owned(), BTreeMap::new()), ("b".to_owned(), BTreeMap::new())],
            checks: vec!["is fast".to_owned()],
            stages: spans
                .into_iter()
                .filter(|(_, from, until, _)| from < until)
                .map(|(name, from, until, warm_up)| Span {
                    name: name.to_owned(),
                    from: at(from),
                    until: at(until),
                    warm_up,
                })
                .collect(),
            end: at(end),
        };
        Recorder::new(Arc::new(layout), Duration::from_secs(3), &[])
    }

    fn times(endpoint: u32, intended: u64, started: u64, ended: u64) -> Times {
        Times { endpoint, intended: at(intended), started: at(started), ended: at(ended) }
    }

    /// `find` counts by progress, `load` judges by the measurement.
    #[test]
    fn goals_and_thresholds_count_the_same_requests_as_failed() {
        let failing: Threshold = "failed<1%".parse().unwrap();
        for status in 100..600 {
            let mut recorder = recorder(0, 1_000);
            recorder.scheduled(0, at(0));
            recorder.answered(times(0, 0, 0, 10), status);
            let (succeeded, _) = recorder.succeeded();
            let measured = recorder.finish(Duration::from_secs(1), Duration::ZERO).measurement;
            let failed = Observed::Share(Ratio::of(1 - succeeded, 1).unwrap());
            assert_eq!(evaluate(std::slice::from_ref(&failing), &measured)[0].observed, failed, "{status}");
            assert_eq!(succeeded == 1, (200..400).contains(&status), "{status}");
        }
        let mut recorder = recorder(0, 1_000);
        recorder.scheduled(0, at(0));
        recorder.scheduled(0, at(1));
        recorder.timed_out(times(0, 0, 0, 10));
        recorder.failed(times(0, 1, 1, 10), Failure::ConnectionRefused);
        assert_eq!(recorder.succeeded().0, 0);
        let measured = recorder.finish(Duration::from_secs(1), Duration::ZERO).measurement;
        assert_eq!(evaluate(&[failing], &measured)[0].observed, Observed::Share(Ratio::ONE));
    }

    #[test]
    fn an_answer_counts_in_the_second_of_its_intended_start() {
        let mut recorder = recorder(0, 2_000);
        for millis in [500, 1_500] {
            recorder.scheduled(0, at(millis));
        }
        recorder.close_before(at(500));
        recorder.answered(times(0, 500, 500, 2_600), 200);
        recorder.close_before(at(1_500));
        recorder.answered(times(0, 1_500, 1_600, 5_000), 200);
        let measured = recorder.finish(Duration::from_secs(2), Duration::ZERO).measurement;
        assert!(measured.accounting.balances());
        assert_eq!(measured.series.seconds.len(), 2);
        assert_eq!(measured.series.seconds[0].good, 1);
        assert_eq!(measured.series.seconds[1].good, 0, "3.5 s is not within 3 s");
        assert_eq!(measured.response.count(), 2);
        assert_eq!(measured.completed, 0, "both responses came after the schedule");
    }

    #[test]
    fn shed_answers_stand_apart() {
        let mut recorder = recorder(0, 2_000);
        recorder.scheduled(0, at(0));
        recorder.answered(times(0, 0, 0, 1), 503);
        let measured = recorder.finish(Duration::from_secs(1), Duration::ZERO).measurement;
        assert_eq!(
            (measured.accounting.shed, measured.response.count(), measured.shed_response.count()),
            (1, 0, 1)
        );
        assert_eq!(measured.statuses[&503], 1);
    }

    #[test]
    fn what_was_given_up_took_at_least_its_time() {
        let mut recorder = recorder(0, 4_000);
        recorder.scheduled(0, at(0));
        recorder.timed_out(times(0, 0, 100, 3_100));
        let measured = recorder.finish(Duration::from_secs(1), Duration::ZERO).measurement;
        assert_eq!(measured.response.censored(), 1);
        assert!(measured.response.max().unwrap().at >= Duration::from_millis(3_099));
    }

    #[test]
    fn warm_up_is_a_stage_outside_the_whole() {
        let mut recorder = recorder(1_500, 3_000);
        for (endpoint, intended) in [(0, 1_400), (1, 1_450), (0, 1_600), (1, 2_000)] {
            recorder.scheduled(endpoint, at(intended));
            recorder.answered(times(endpoint, intended, intended, intended + 10), 200);
        }
        recorder.scheduled(0, at(2_100));
        recorder.failed(times(0, 2_100, 2_100, 2_200), Failure::Reset);
        let so_far = recorder.so_far(Duration::from_secs(3));
        let measured = recorder.finish(Duration::from_secs(3), Duration::ZERO).measurement;
        assert_eq!(measured.accounting.scheduled, 3);
        assert_eq!(measured.elapsed, Duration::from_millis(1_500));
        assert_eq!(measured.stages[0].part.accounting.answered, 2);
        assert_eq!(measured.stages[1].part.response().count(), 2);
        assert_eq!(measured.endpoints[0].part.by_outcome[&Outcome::Failed].count(), 1);
        assert_eq!(measured.response.count(), 2, "a failure has no response time");
        assert_eq!(measured.series.seconds[1].cells.len(), 2);
        assert_eq!(measured.series.seconds[1].accounting.scheduled, 3, "the series has the warm-up too");
        assert_eq!(so_far.response.count(), measured.response.count());
        assert_eq!(so_far.accounting, measured.accounting);
    }
}
