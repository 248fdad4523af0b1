//! Starts a service by a command, waits until it responds, and stops it with all that it started.
//!
//! The command runs in a process group of its own, so that a signal reaches its children too.

use crate::drive::Drive;
use ::load::{Connecting, Model, Plan, Watch, Work};
use host::Service;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::num::NonZeroU32;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A service that was started, and is stopped when this is dropped.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    service: Service,
    output: Arc<Mutex<VecDeque<String>>>,
}

/// The request that shows whether a service responds.
pub(crate) struct Probe<'a> {
    /// The requests and where they go.
    pub(crate) work: &'a Work,
    /// How connections are opened.
    pub(crate) connecting: &'a Connecting,
    /// Whether a connection carries more than one request.
    pub(crate) keep_alive: bool,
    /// The time-out of a request.
    pub(crate) timeout: Duration,
    /// Whether to end now; asked many times a second.
    pub(crate) interrupted: &'a dyn Fn() -> bool,
}

/// Why a service was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLaunch {
    /// Another service is there.
    #[error(
        "the target responds before the command is started; stop that service, or measure it by its process id"
    )]
    InUse,
    /// There is no such command.
    #[error("the command cannot be started: {0}")]
    Spawn(String),
    /// It ended.
    #[error("the command ended with {status} before it was ready{output}")]
    Ended {
        /// How.
        status: String,
        /// Its last lines.
        output: Output,
    },
    /// It does not respond.
    #[error("the command had no good response within {} (ready-within waits longer){output}", units::show_duration(*.within))]
    NotReady {
        /// How long it was waited for.
        within: Duration,
        /// Its last lines.
        output: Output,
    },
    /// Somebody asked for the end.
    #[error("interrupted")]
    Interrupted,
}

/// The last lines that a command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output(Vec<String>);

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; it printed nothing");
        }
        f.write_str("; its last lines:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl Launched {
    /// Starts the command of a shell, with these variables added to its environment.
    pub(crate) fn start(command: &str, env: &BTreeMap<String, String>) -> Result<Self, NoLaunch> {
        let failed = |error: &dyn std::fmt::Display| NoLaunch::Spawn(error.to_string());
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).envs(env).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().map_err(|error| failed(&error))?;
        let output = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stdout) = child.stdout.take() {
            keep(stdout, &output);
        }
        if let Some(stderr) = child.stderr.take() {
            keep(stderr, &output);
        }
        match Service::of_process(child.id()) {
            Ok(service) => Ok(Launched { child, service, output }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(&error))
            }
        }
    }

    /// The process and its descendants.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Waits for the first good response.
    pub(crate) fn wait(
        &mut self,
        until: Instant,
        within: Duration,
        probe: &Probe<'_>,
    ) -> Result<(), NoLaunch> {
        let (mut attempt, mut patience) = (0, PROBE);
        loop {
            if (probe.interrupted)() {
                return Err(NoLaunch::Interrupted);
            }
            if let Some((status, output)) = self.ended() {
                return Err(NoLaunch::Ended { status, output });
            }
            let asked = Instant::now();
            if responds(probe, attempt, patience) {
                return Ok(());
            }
            attempt += 1;
            // A slow service is no dead one.
            if asked.elapsed() >= patience {
                patience *= 2;
            }
            if Instant::now() > until {
                return Err(NoLaunch::NotReady { within, output: self.last_lines() });
            }
            std::thread::sleep(NAP);
        }
    }

    /// How it ended, with its last lines; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<(String, Output)> {
        let status = self.child.try_wait().ok()??;
        // What it printed last may not be read yet.
        std::thread::sleep(NAP);
        Some((status.to_string(), self.last_lines()))
    }

    fn last_lines(&self) -> Output {
        Output(self.output.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect())
    }

    /// Asks the service to end, and ends what is left after a while.
    fn stop(&mut self) {
        // Descendants that left the process group.
        let all: Vec<u32> =
            self.service.running().unwrap_or_default().iter().map(|process| process.id).collect();
        let group = pid(self.child.id());
        let left = |group: Pid| test_kill_process_group(group).is_ok();
        // A group also exists while one of its zombies waits for an init that is slow, or for none.
        let runs = |id: &u32| Service::of_process(*id).and_then(|left| left.cpu()).is_ok();
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::TERM);
            let until = Instant::now() + PATIENCE;
            while Instant::now() < until {
                let _ = self.child.try_wait();
                if !left(group) || !all.iter().any(runs) {
                    break;
                }
                std::thread::sleep(NAP);
            }
            let _ = kill_process_group(group, Signal::KILL);
        }
        for id in all.into_iter().filter(|id| *id != self.child.id()).filter_map(pid) {
            let _ = kill_process(id, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.stop();
    }
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// Keeps the last lines of a pipe, and reads on, so that the service never waits for its reader.
fn keep(pipe: impl Read + Send + 'static, lines: &Arc<Mutex<VecDeque<String>>>) {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.by_ref().take(LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push_back(text);
            if lines.len() > LINES {
                lines.pop_front();
            }
        }
    });
}

/// Whether something has a good response now: a single request says so within [`PROBE`].
pub(crate) fn is_in_use(probe: &Probe<'_>) -> bool {
    responds(probe, 0, PROBE)
}

/// Whether the target has a good response to one request. Attempts take turns with the first requests of a list, because one of them
/// may have no good response.
fn responds(probe: &Probe<'_>, attempt: usize, patience: Duration) -> bool {
    let work = match probe.work {
        Work::Targets(targets) => Work::Targets(targets.clone().in_order([targets.harmless(attempt)].into())),
        scenario @ Work::Scenario { .. } => scenario.clone(),
    };
    let plan = Plan {
        requests: Some(1),
        duration: None,
        timeout: probe.timeout.min(patience),
        connecting: probe.connecting.clone(),
        keep_alive: probe.keep_alive,
        ..Plan::new(work, Model::closed(NonZeroU32::MIN))
    };
    let Ok(mut drive) = Drive::start(plan, &Watch { every: LOOK, ..Watch::default() }) else { return false };
    while !drive.look(|_| None::<()>).map_or(true, |look| look.finished) {}
    drive.finish().is_ok_and(|measurement| measurement.good() > 0)
}

/// How often it is asked whether it is ready.
const NAP: Duration = Duration::from_millis(20);
/// How often a probe is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// The time-out of the first probe; later ones wait longer if that was reached.
const PROBE: Duration = Duration::from_secs(2);
/// How long a service may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Lines of its output that are kept.
const LINES: usize = 10;
/// A longer line is kept in parts.
const LINE: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_stopped_with_its_children() {
        // A child that ignores SIGTERM and one that does not.
        let script = "sleep 600 & (trap '' TERM; exec sleep 601) & echo started; wait";
        let launched = Launched::start(script, &BTreeMap::new()).unwrap();
        let until = Instant::now() + PATIENCE;
        while launched.last_lines().0.is_empty() && Instant::now() < until {
            std::thread::sleep(NAP);
        }
        let running = launched.service().running().unwrap();
        assert!(running.len() >= 3, "{running:?}");
        drop(launched);
        for process in running {
            // A zombie has ended; init has not waited for it yet.
            let until = Instant::now() + PATIENCE;
            let runs = || Service::of_process(process.id).and_then(|left| left.cpu()).is_ok();
            while runs() && Instant::now() < until {
                std::thread::sleep(NAP);
            }
            assert!(!runs(), "{process:?} is left");
        }
    }

    #[test]
    fn the_last_lines_are_kept() {
        let mut launched = Launched::start(
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 3",
            &BTreeMap::new(),
        )
        .unwrap();
        let status = launched.child.wait().unwrap();
        assert_eq!(status.code(), Some(3));
        let until = Instant::now() + PATIENCE;
        while launched.last_lines().0.last().is_none_or(|line| line != "line 12") && Instant::now() < until {
            std::thread::sleep(NAP);
        }
        let lines = launched.last_lines();
        assert_eq!((lines.0.len(), lines.0[0].as_str()), (LINES, "line 3"));
        assert!(lines.to_string().starts_with("; its last lines:\n  line 3\n"), "{lines}");
    }
}
