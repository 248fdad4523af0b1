//! A service with its instances, its metrics and its controller.

use super::MINUTE;
use super::fleet::{Fleet, World};
use super::instance::{Instance, Meter};
use super::observed::{Metered, Observed};
use crate::credits::Balance;
use crate::outcome::{
    Decision, FLAP_ROWS, Happening, Log, Quantiles, Row, Seen, ServiceOutcome, Totals, Whole, ZoneTotals,
};
use crate::plant::{Plant, Window, add_reasons};
use crate::settings::{Goal, Service, ServiceId};
use control::assumption::Assumption;
use control::scaling::controller::{Controller, Shell, common_step, is_due};
use control::scaling::goal::{self, Period};
use std::time::Duration;
use units::Timestamp;

/// A service with its state.
#[derive(Debug)]
pub(crate) struct Governed<'a> {
    pub(crate) fleet: Fleet<'a>,
    shell: Shell<Window>,
    /// The instances as the controller sees them.
    observed: Observed,
    /// The length of a row of the result.
    row: Duration,
    /// Since the last row, if rows are shorter than a minute.
    open: Window,
    rows: Vec<Row>,
    seen: Seen,
    whole: Whole,
    decisions: Log<Decision>,
    last_action: Option<Action>,
    /// As of the last publication.
    credits: Option<f64>,
    held_back: u32,
    measured_from: Timestamp,
}

#[derive(Debug, Clone, Copy)]
struct Action {
    at: Timestamp,
    out: bool,
}

impl<'a> Governed<'a> {
    pub(crate) fn new<P: Plant>(
        id: ServiceId,
        settings: &'a Service,
        (measured_from, row): (Timestamp, Duration),
        world: &mut World<P>,
    ) -> Self {
        let controller = Controller::new(&settings.scaling.policy, settings.instances);
        Governed {
            fleet: Fleet::new(id, settings, world),
            seen: Seen::new(controller.watched()),
            shell: Shell::new(controller),
            observed: Observed::default(),
            row,
            open: Window::default(),
            rows: Vec::new(),
            whole: Whole::default(),
            decisions: Log::default(),
            last_action: None,
            credits: None,
            held_back: 0,
            measured_from,
        }
    }

    /// The interval at which its meters must be read.
    pub(crate) fn step(&self) -> Duration {
        let burstable = self.fleet.settings.hosts.iter().any(|host| host.credits.is_some());
        let step = self.shell.step();
        if burstable { common_step(step, CREDITS_STEP) } else { step }
    }

    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        self.shell.controller().assumptions()
    }

    /// Reads the meters after this much time has passed.
    pub(crate) fn read<P: Plant>(&mut self, window: &mut Window, passed: Duration, world: &mut World<P>) {
        self.fleet.read_all(world);
        if self.row < MINUTE {
            self.open.add(window, passed.as_secs_f64() / self.row.as_secs_f64());
        }
        self.shell.add(window, passed);
        self.shell
            .read_fine(world.now, &mut Metered { observed: &mut self.observed, fleet: &mut self.fleet });
    }

    /// A row of the result is over.
    pub(crate) fn close_row<P: Plant>(&mut self, world: &mut World<P>) {
        let now = world.now;
        self.fleet.bill(now);
        self.note_credits(now);
        let cost = std::mem::take(&mut self.fleet.cost);
        let unfulfilled = std::mem::take(&mut self.fleet.refused);
        let mut all = std::mem::take(&mut self.fleet.gone);
        for instance in &self.fleet.instances {
            all.add(instance.row);
        }
        if now > self.measured_from {
            let window = if self.row < MINUTE { &self.open } else { self.shell.minute() };
            self.whole.cost += cost;
            self.whole.unfulfilled += unfulfilled;
            self.whole.used += all.used;
            self.whole.possible += all.possible;
            self.whole.queued += window.queued;
            self.whole.ejections += window.ejections;
            add_reasons(&mut self.whole.shed, &window.shed);
            add_reasons(&mut self.whole.would_shed, &window.would_shed);
            self.whole.balancer.add(&window.balancer);
            self.whole.application.add(&window.application);
            let row = self.closed(now, cost, all);
            self.rows.push(row);
        }
        self.open.clear();
        for instance in &mut self.fleet.instances {
            instance.row = Meter::default();
        }
    }

    /// A minute is over, after its last row.
    pub(crate) fn close_minute(&mut self, now: Timestamp) {
        self.shell.read_minute(now, &mut Metered { observed: &mut self.observed, fleet: &mut self.fleet });
    }

    /// Runs the policy if a decision is due.
    pub(crate) fn decide<P: Plant>(&mut self, world: &mut World<P>) {
        let now = world.now;
        self.carry_out(now, world);
        if now > self.measured_from && is_due(now, self.row) {
            self.seen.add(|values| self.shell.controller().seen(values));
        }
    }

    fn carry_out<P: Plant>(&mut self, now: Timestamp, world: &mut World<P>) {
        let mut metered = Metered { observed: &mut self.observed, fleet: &mut self.fleet };
        let Some((before, verdict)) = self.shell.decide(now, &mut metered) else { return };
        for decision in verdict.decisions {
            self.decisions.note(now, decision);
        }
        let Some(desired) = verdict.desired.filter(|desired| *desired != before) else { return };
        let out = desired > before;
        let undoes = self
            .last_action
            .is_some_and(|last| last.out != out && now.since(last.at) <= FLAP_ROWS * self.row);
        self.last_action = Some(Action { at: now, out });
        if now > self.measured_from {
            self.whole.actions += 1;
            self.whole.flaps += u64::from(undoes);
        }
        self.fleet.set_desired(desired, world);
    }

    fn closed(&self, now: Timestamp, cost: f64, all: Meter) -> Row {
        let window = if self.row < MINUTE { &self.open } else { self.shell.minute() };
        let running = || self.fleet.instances.iter().filter(|instance| instance.is_running());
        let published = Published::of(running().map(|instance| instance.row));
        let ended = window.balancer.count();
        let goal = self.fleet.settings.scaling.goal;
        let held = goal.and_then(|goal| Some((goal_time(goal, window)?, goal.below.as_secs_f64())));
        Row {
            at: now,
            span: self.row,
            counts: self.fleet.counts(),
            zones: self.fleet.by_zone(Instance::is_running),
            max: self
                .shell
                .controller()
                .max()
                .or_else(|| Some(self.fleet.settings.scaling.policy.bounds()?.1)),
            cpu_average: published.average(),
            cpu_maximum: published.maximum(),
            busy_average: all.busy(),
            busy_maximum: running().filter_map(|instance| instance.row.busy()).max_by(f64::total_cmp),
            credits: self.credits,
            held_back: self.held_back,
            arrived: window.arrived,
            answered: window.answered,
            errors: window.errors,
            refused: window.refused,
            timed_out: window.timed_out,
            failed: window.failed,
            retried: window.retried,
            connections: window.connections,
            balancer: Quantiles::of(&window.balancer),
            application: Quantiles::of(&window.application),
            queued: (ended > 0).then(|| window.queued / ended as f64),
            in_system: window.in_system,
            cost,
            within_goal: held.map(|(time, below)| time < below),
            of_goal: held.map(|(time, below)| time / below),
        }
    }

    fn note_credits(&mut self, now: Timestamp) {
        let running = || self.fleet.instances.iter().filter(|instance| instance.is_running());
        let balances = || running().filter_map(|instance| instance.credits.as_ref());
        let held_back = balances().filter(|balance| balance.is_held_back()).count() as u32;
        if self.held_back == 0 && held_back > 0 {
            self.fleet.happenings.note(now, Happening::HeldAtBaseline { instances: held_back });
        } else if self.held_back > 0 && held_back == 0 {
            self.fleet.happenings.note(now, Happening::HeldNoMore);
        }
        self.held_back = held_back;
        if is_due(now, CREDITS_PUBLISHED) {
            let count = balances().count();
            self.credits = (count > 0).then(|| balances().map(Balance::held).sum::<f64>() / count as f64);
        }
    }

    pub(crate) fn finish(self) -> ServiceOutcome {
        let scaling = &self.fleet.settings.scaling;
        let totals = Totals::of(&self.rows, &self.whole, scaling.capacity);
        let refused = self
            .shell
            .controller()
            .refused()
            .iter()
            .map(|problem| format!("the policy was not run: {problem}"));
        let remarks =
            refused.chain(crate::outcome::remarks(&self.rows, self.decisions.notes(), &totals)).collect();
        ServiceOutcome {
            name: self.fleet.settings.name.clone(),
            zones: ZoneTotals::of(&self.fleet.settings.zones.names, &self.rows),
            remarks,
            rows: self.rows,
            seen: self.seen,
            totals,
            decisions: self.decisions,
            happenings: self.fleet.happenings,
        }
    }
}

/// Processor use of the running instances, as published by the cloud.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    pub(crate) samples: u32,
    pub(crate) sum: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Published {
    pub(crate) fn of(meters: impl Iterator<Item = Meter>) -> Self {
        let none = Published { samples: 0, sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY };
        meters.filter_map(Meter::published).fold(none, |all, one| Published {
            samples: all.samples + 1,
            sum: all.sum + one,
            least: all.least.min(one),
            most: all.most.max(one),
        })
    }

    fn average(self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum / f64::from(self.samples))
    }

    fn maximum(self) -> Option<f64> {
        (self.samples > 0).then_some(self.most)
    }
}

/// The response time that a goal is about, in seconds.
fn goal_time(goal: Goal, minute: &Window) -> Option<f64> {
    let period = Period {
        arrived: minute.arrived,
        answered: minute.answered,
        errors: minute.errors,
        lost: minute.refused + minute.timed_out + minute.failed,
        in_system: minute.in_system,
        times: &minute.balancer,
    };
    goal::time(goal.quantile, &period)
}

/// How often credits are accounted.
const CREDITS_STEP: Duration = Duration::from_secs(10);
/// How often CloudWatch publishes credit metrics.
const CREDITS_PUBLISHED: Duration = Duration::from_secs(300);
