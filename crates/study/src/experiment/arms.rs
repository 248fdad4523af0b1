//! The services of an experiment: started, asked whether they respond, stopped.

use super::block::Tally;
use super::{Arm, Event, Failed, Wanted};
use crate::doctor::{Attendance, Interval, Parts};
use crate::launch::{Launched, NoLaunch, Probe, is_in_use};
use documents::experiment::Examined;
use host::Service;
use std::time::{Duration, Instant};

/// A service that runs.
pub(super) struct Running {
    /// What was declared of it.
    pub(super) arm: Arm,
    launched: Option<Launched>,
    /// Its processes, if they are known.
    pub(super) service: Option<Service>,
    /// Of a service that runs already and was not named by its process: what listens at its address, if that is on this machine. It
    /// may be a proxy before the service, so that its processor time is compared with nothing.
    listens: Option<Service>,
    /// Whether it was stopped.
    pub(super) is_stopped: bool,
    /// What it answered.
    pub(super) tally: Tally,
    /// Its values in blocks that count, by measure.
    pub(super) values: Vec<Vec<f64>>,
    /// What was seen of its processes in these blocks.
    pub(super) parts: Parts,
    /// How often it was restarted, and how often it did not start then, with the first reason.
    restarts: u32,
    failed_starts: u32,
    why_failed: Option<String>,
}

/// A candidate: it runs, or why it does not.
pub(super) enum Candidate {
    /// It is compared.
    Runs(Box<Running>),
    /// It was left out before the first block.
    LeftOut {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
}

impl Candidate {
    /// Its service, if it is compared.
    pub(super) fn running(&self) -> Option<&Running> {
        match self {
            Candidate::Runs(running) => Some(running),
            Candidate::LeftOut { .. } => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn running_mut(&mut self) -> Option<&mut Running> {
        match self {
            Candidate::Runs(running) => Some(running),
            Candidate::LeftOut { .. } => None,
        }
    }
}

impl Running {
    /// A service that is not started yet.
    pub(super) fn new(arm: &Arm) -> Self {
        Running {
            arm: arm.clone(),
            launched: None,
            service: arm.service.clone(),
            listens: None,
            is_stopped: false,
            tally: Tally::default(),
            values: Vec::new(),
            parts: Parts::default(),
            restarts: 0,
            failed_starts: 0,
            why_failed: None,
        }
    }

    /// Begins to examine its processes, those that its command started too, or what listens at its address on this machine.
    pub(super) fn attend(&self, during: Interval) -> Option<Attendance> {
        let service = self.processes()?.clone();
        Some(Attendance::during(move || Some(service), during))
    }

    /// Its processes, or what listens at its address on this machine.
    pub(super) fn processes(&self) -> Option<&Service> {
        self.service.as_ref().or(self.listens.as_ref())
    }

    /// What limits it.
    pub(super) fn examined(&self) -> Examined {
        self.parts.examined().as_ref().map(Examined::of).unwrap_or_default()
    }

    /// Starts the command of an arm, and waits for a good response.
    pub(super) fn start(
        wanted: &Wanted<'_>,
        arm: &Arm,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self, NoLaunch> {
        let mut running = Running::new(arm);
        if arm.command.is_some() {
            events(Event::Starts(&arm.name));
            let after = running.launch(wanted)?;
            events(Event::Started { name: &arm.name, after });
        } else if arm.service.is_none() {
            running.listens = arm.runs();
        }
        Ok(running)
    }

    /// Starts its command, if it has one, and waits for a good response: how long that took. A service that runs already is
    /// judged by its responses in the warm-up.
    pub(super) fn launch(&mut self, wanted: &Wanted<'_>) -> Result<Duration, NoLaunch> {
        let within = wanted.file.ready_within;
        let probe = Probe {
            work: &self.arm.work,
            connecting: wanted.connecting,
            keep_alive: true,
            timeout: wanted.file.timeout,
            interrupted: wanted.interrupted,
        };
        let Some(command) = &self.arm.command else { return Ok(Duration::ZERO) };
        if is_in_use(&probe) {
            return Err(NoLaunch::InUse);
        }
        let begun = Instant::now();
        let mut launched = Launched::start(command, &self.arm.env)?;
        launched.wait(begun + within, within, &probe)?;
        self.service = Some(launched.service().clone());
        self.launched = Some(launched);
        Ok(begun.elapsed())
    }

    /// Stops its command and starts it anew.
    pub(super) fn relaunch(&mut self, wanted: &Wanted<'_>) -> Result<(), NoLaunch> {
        self.launched = None;
        self.restarts += 1;
        let launched = self.launch(wanted).map(|_| ());
        if let Err(why) = &launched {
            self.failed_starts += 1;
            self.why_failed.get_or_insert_with(|| why.to_string());
        }
        launched
    }

    /// How often it did not start again, and why.
    pub(super) fn failed_starts_in_words(&self) -> Option<String> {
        let why = self.why_failed.as_ref()?;
        Some(format!(
            "candidate {} did not start again {} of {} times: {why}",
            self.arm.name, self.failed_starts, self.restarts
        ))
    }

    /// How its command ended; `None` while it runs, and for a service that was not started here.
    pub(super) fn ended(&mut self) -> Option<String> {
        let (status, output) = self.launched.as_mut()?.ended()?;
        Some(format!("its command ended with {status}{output}"))
    }

    /// Stops what was started; it gets no load any more.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.launched = None;
        (self.service, self.listens) = (None, None);
    }
}

/// Starts all arms: the control, the second control, the candidates.
pub(super) fn start(
    wanted: &Wanted<'_>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<(Running, Option<Running>, Vec<Candidate>), Failed> {
    let of_control = |failed: NoLaunch| match failed {
        NoLaunch::Interrupted => Failed::Interrupted,
        other => Failed::Control(other),
    };
    let control = Running::start(wanted, &wanted.control, events).map_err(of_control)?;
    let second = wanted.second_control.as_ref().map(|arm| Running::start(wanted, arm, events));
    let second = second.transpose().map_err(of_control)?;
    let mut candidates = Vec::new();
    for arm in &wanted.candidates {
        candidates.push(match Running::start(wanted, arm, events) {
            Ok(running) => Candidate::Runs(Box::new(running)),
            Err(NoLaunch::Interrupted) => return Err(Failed::Interrupted),
            Err(error) => {
                let why = error.to_string();
                events(Event::LeftOut { name: &arm.name, why: &why });
                Candidate::LeftOut { name: arm.name.clone(), why }
            }
        });
    }
    Ok((control, second, candidates))
}
