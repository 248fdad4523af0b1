//! Runs a plan and says what came of it: the same for every command that drives load.

use crate::descriptors;
use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::live::{self, Display, Ended, Interrupts};
use crate::output::{complain, note, print};
use crate::outputs::{OutputArgs, Results, Watching};
use crate::recorder::{About, Begun, Recorder};
use crate::remote::Stream;
use ::load::threshold::{Judged, Threshold, evaluate};
use ::load::{Plan, Progress, Running};
use documents::run::{Asked, Ended as Ending, LoadRun, Threshold as Said};
use host::{Severity, preflight};
use measure::{Measurement, Verdict, Watched};
use std::error::Error;
use std::io::{self, IsTerminal};
use std::time::SystemTime;
use study::load::{asked, needs};

/// A run to be.
pub struct Run<'a> {
    /// The command that asked for it.
    pub command: &'static str,
    /// What is sent, when and for how long.
    pub plan: Plan,
    /// What must hold.
    pub thresholds: Vec<Threshold>,
    /// Whether the result is JSON.
    pub json: bool,
    /// Whether lines are shown also on a terminal.
    pub plain: bool,
    /// The files to write.
    pub outputs: &'a OutputArgs,
    /// Where it is recorded.
    pub ledger: &'a LedgerArgs,
    /// The next sensible command.
    pub next: fn(&Plan, &Measurement, Option<&str>) -> String,
}

/// What came of a run, beside what was printed.
pub struct Once {
    /// How the command would end.
    pub exit: Exit,
    /// The run in the ledger.
    pub begun: Option<Begun>,
    /// What it measured, and whether it was interrupted; `None` where it failed.
    pub ended: Option<(Measurement, bool)>,
}

/// Runs it.
pub fn run(run: Run<'_>) -> Exit {
    once(&run, None).exit
}

/// Runs it, as a repetition of `first` where there is one.
pub fn once(run: &Run<'_>, first: Option<Begun>) -> Once {
    // Where it is not enough, the run counts the connections that it could not open.
    descriptors::raise_limit();
    let findings = preflight(&needs(&run.plan));
    for finding in &findings {
        note(&finding.to_string());
    }
    if findings.iter().any(|finding| finding.severity == Severity::Fatal) {
        note("the run goes on, and counts what this machine could not do");
    }
    let watching = match run.outputs.start() {
        Ok(watching) => watching,
        Err(error) => return Once { exit: complain(&error, Exit::Usage), begun: None, ended: None },
    };
    let mut recorder = Recorder::open(run.ledger);
    let asked = asked(&run.plan);
    let config = asked.json().to_string();
    let about = About { command: run.command, target: run.plan.url(), config, parent: None };
    let begun = recorder.repeat(about, first);
    let began = SystemTime::now();
    match drive(run, &watching, begun.name()) {
        Ok(ended) => {
            let (watched, written) = watching.stop();
            if let Some(written) = written.filter(|written| written.dropped > 0) {
                let why = written.reason.unwrap_or_default();
                note(&format!("{} samples were not accepted by --remote-write: {why}", written.dropped));
            }
            let judged = evaluate(&run.thresholds, &ended.measured);
            let said = judged.iter().map(said).collect::<Vec<_>>();
            let result = result(&asked, &ended, &said, &watched);
            recorder.finish(begun, Some(&ended.measured), result.kept());
            let exit = finished(run, result, &judged, began, begun.name().as_deref());
            Once { exit, begun: Some(begun), ended: Some((ended.measured, ended.interrupted)) }
        }
        Err(error) => {
            recorder.fail(begun, &error.to_string());
            Once { exit: complain(&*error, Exit::Failed), begun: Some(begun), ended: None }
        }
    }
}

fn drive(run: &Run<'_>, watching: &Watching, name: Option<String>) -> Result<Ended, Box<dyn Error>> {
    let interrupts = Interrupts::listen()?;
    let seen = io::stdout().is_terminal() && io::stderr().is_terminal();
    let display = if run.plain || !seen { Display::Lines } else { Display::Screen };
    let running = ::load::start(run.plan.clone())?;
    let aborting = run.thresholds.iter().any(|threshold| threshold.abort_on_fail);
    let mut stream = watching.remote().map(|remote| Stream::new(remote, name.unwrap_or_default()));
    let mut look = |running: &Running, progress: &Progress| {
        if !aborting && stream.is_none() {
            return false;
        }
        let Some(so_far) = running.so_far() else { return false };
        if let Some(stream) = &mut stream {
            stream.send(&so_far, progress);
        }
        aborting && evaluate(&run.thresholds, &so_far).iter().any(|judged| judged.aborts(progress.at))
    };
    let ended = live::watch(&run.plan, running, &interrupts, display, &mut look)?;
    if let Some(stream) = stream {
        stream.end(&ended.measured);
    }
    Ok(ended)
}

/// The run as its results show it.
fn result<'a>(
    asked: &'a Asked,
    ended: &'a Ended,
    thresholds: &'a [Said],
    watched: &'a [Watched],
) -> LoadRun<'a> {
    let how = match (ended.interrupted, ended.aborted) {
        (true, _) => Ending::Interrupted,
        (false, true) => Ending::Aborted,
        (false, false) => Ending::Planned,
    };
    LoadRun { asked, measured: &ended.measured, ended: how, thresholds, watched }
}

fn said(judged: &Judged) -> Said {
    Said { threshold: judged.threshold.to_string(), met: judged.met, said: judged.to_string() }
}

/// The run is over: says what came of it.
fn finished(
    run: &Run<'_>,
    result: LoadRun<'_>,
    judged: &[Judged],
    began: SystemTime,
    name: Option<&str>,
) -> Exit {
    let measured = result.measured;
    // The summary is printed all the same: it is all that is left of the run then.
    let written = run.outputs.write(&Results { run: result, began });
    let said = if run.json {
        print(&result.json())
    } else {
        let next = (run.next)(&run.plan, measured, name);
        let recorded = name.map_or(String::new(), |name| format!("run        {name} in the ledger\n"));
        print(&format!("{}{recorded}\n{next}", result.text()))
    };
    match written {
        Err(error) => complain(&error, Exit::Failed),
        Ok(()) if said == Exit::Done => exit(judged, measured),
        Ok(()) => said,
    }
}

/// How the command ends when all was said.
fn exit(judged: &[Judged], measured: &Measurement) -> Exit {
    if judged.is_empty() {
        if measured.good() > 0 { Exit::Done } else { Exit::Failed }
    } else if measured.validity.verdict == Verdict::Invalid {
        Exit::Invalid
    } else if judged.iter().all(|judged| judged.met) {
        Exit::Done
    } else {
        Exit::Missed
    }
}
