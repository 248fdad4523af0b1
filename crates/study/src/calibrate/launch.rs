//! Starts a service by a command, measures its start-up, and stops it with all that it started.
//!
//! The command runs in a process group of its own, so that a signal reaches its children too. It is started several times:
//! one start-up does not show how much start-ups vary.

use super::figure::{CONFIDENCE, Figure};
use super::measure::Wanted;
use crate::drive::Drive;
use ::load::{Model, Plan, Watch};
use host::Service;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use stats::student_t;
use std::collections::VecDeque;
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

/// What starts of a service showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartUp {
    /// From the start of the command to the first good response, in seconds.
    pub ready: Figure,
    /// Processor time until then, in seconds.
    pub cpu: Figure,
}

impl StartUp {
    /// The time until ready, and the share of the cores that it uses meanwhile, where their number is known.
    pub fn boot(&self, cores: Option<f64>) -> (Duration, Option<f64>) {
        let ready = self.ready.value.max(f64::MIN_POSITIVE);
        (Duration::from_secs_f64(ready), cores.map(|cores| self.cpu.value / ready / cores))
    }
}

/// Why a service was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLaunch {
    /// Another service is there.
    #[error("the target responds before --command is started; stop that service, or measure it with --pid")]
    InUse,
    /// There is no such command.
    #[error("--command cannot be started: {0}")]
    Spawn(String),
    /// It ended.
    #[error("--command ended with {status} before it was ready{output}")]
    Ended {
        /// How.
        status: String,
        /// Its last lines.
        output: Output,
    },
    /// It does not respond.
    #[error("--command had no good response within {}; --ready-within waits longer{output}", units::show_duration(*.within))]
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

/// Starts the command several times; the last one keeps running. `wanted` has no service yet.
///
/// # Errors
/// See [`NoLaunch`].
pub fn launch(command: &str, within: Duration, wanted: &Wanted<'_>) -> Result<(Launched, StartUp), NoLaunch> {
    if responds(wanted) {
        return Err(NoLaunch::InUse);
    }
    let (mut ready, mut cpu) = (Vec::new(), Vec::new());
    loop {
        let begun = Instant::now();
        let mut launched = Launched::start(command)?;
        launched.wait(begun + within, within, wanted)?;
        ready.push(begun.elapsed().as_secs_f64());
        cpu.push(launched.service.cpu().unwrap_or_default().as_secs_f64());
        if ready.len() >= STARTS {
            return Ok((launched, StartUp { ready: mean(&ready), cpu: mean(&cpu) }));
        }
    }
}

impl Launched {
    fn start(command: &str) -> Result<Self, NoLaunch> {
        let failed = |error: &dyn std::fmt::Display| NoLaunch::Spawn(error.to_string());
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).process_group(0);
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

    fn wait(&mut self, until: Instant, within: Duration, wanted: &Wanted<'_>) -> Result<(), NoLaunch> {
        loop {
            if (wanted.interrupted)() {
                return Err(NoLaunch::Interrupted);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                // What it printed last is still on its way.
                std::thread::sleep(NAP);
                return Err(NoLaunch::Ended { status: status.to_string(), output: self.last_lines() });
            }
            if responds(wanted) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(NoLaunch::NotReady { within, output: self.last_lines() });
            }
            std::thread::sleep(NAP);
        }
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
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::TERM);
            let until = Instant::now() + PATIENCE;
            while Instant::now() < until {
                let _ = self.child.try_wait();
                if !left(group) {
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

/// Whether the target has a good response to one request.
fn responds(wanted: &Wanted<'_>) -> bool {
    let plan = Plan {
        requests: Some(1),
        duration: None,
        timeout: wanted.timeout.min(PROBE),
        connecting: wanted.connecting.clone(),
        keep_alive: wanted.keep_alive,
        ..Plan::new(wanted.work.clone(), Model::closed(NonZeroU32::MIN))
    };
    let Ok(mut drive) = Drive::start(plan, &Watch { every: LOOK, ..Watch::default() }) else { return false };
    while !drive.look(|_| None::<()>).map_or(true, |look| look.finished) {}
    drive.finish().is_ok_and(|measurement| measurement.good() > 0)
}

fn mean(values: &[f64]) -> Figure {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Figure::new(mean, student_t(1.0 - CONFIDENCE, count - 1.0) * (squares / (count - 1.0) / count).sqrt())
}

/// Starts of the service.
const STARTS: usize = 3;
/// How often it is asked whether it is ready.
const NAP: Duration = Duration::from_millis(20);
/// How often a probe is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// The time-out of a probe.
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
        let launched = Launched::start(script).unwrap();
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
        let mut launched =
            Launched::start("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 3").unwrap();
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

    #[test]
    fn the_interval_of_three_starts_is_that_of_students_t() {
        let figure = mean(&[1.0, 1.1, 1.2]);
        assert!(
            (figure.value - 1.1).abs() < 1e-9 && (figure.half_width() - 0.1686).abs() < 1e-3,
            "{figure:?}"
        );
    }
}
