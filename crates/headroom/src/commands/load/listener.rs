//! Turns the events of a run into the live view, the records of the ledger, and the results.

use super::drive::Run;
use crate::exit::Exit;
use crate::live::{Display, View};
use crate::next::Typed;
use crate::output::{complain, note, print, terminal};
use crate::outputs::Results;
use crate::recorder::{About, Begun, Recorder};
use crate::remote::Stream;
use documents::run::{Asked, repeated};
use host::{Finding, Severity};
use std::io::{self, IsTerminal};
use std::time::SystemTime;
use study::load::{Event, Outcome, Repetition, Series, Verdict};
use watch::{Endpoint, Written};

/// Receives the events of the runs of a command.
pub struct Listener<'a> {
    run: &'a Run<'a>,
    /// Where results are sent during the runs.
    remote: Option<Endpoint>,
    recorder: Recorder,
    /// All runs so far, as recorded in the ledger.
    begun: Vec<Begun>,
    /// The run in progress.
    current: Option<Current>,
    /// The exit code of the command so far.
    exit: Exit,
}

/// A run in progress.
struct Current {
    begun: Begun,
    began: SystemTime,
    view: View,
    stream: Option<Stream>,
}

impl<'a> Listener<'a> {
    /// No run has started yet.
    pub fn new(run: &'a Run<'a>, remote: Option<Endpoint>) -> Self {
        let recorder = Recorder::open(run.ledger);
        Listener { run, remote, recorder, begun: Vec::new(), current: None, exit: Exit::Done }
    }

    /// Receives one event.
    pub fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Preflight { repetition, findings } => warn(repetition, findings),
            Event::Begins { asked, .. } => self.begin(asked),
            Event::Runs { plan, now, so_far, stopping } => {
                let Some(current) = &mut self.current else { return };
                let second_over = current.view.show(plan, now, stopping);
                if let Some(stream) = current.stream.as_mut().filter(|_| second_over && !stopping)
                    && let Some(so_far) = so_far.measurement()
                {
                    stream.send(&so_far, now);
                }
            }
            Event::Ended(outcome) => {
                let Some(current) = self.current.take() else { return };
                let exit = self.end(current, outcome);
                self.note_exit(exit);
            }
            Event::Failed(error) => {
                let Some(current) = self.current.take() else { return };
                // The screen is removed first: the message takes its place.
                drop(current.view);
                self.recorder.fail(current.begun, &error.to_string());
                self.note_exit(complain(error, Exit::Failed));
            }
        }
    }

    /// Prints the comparison of several runs. Returns the exit code of the command.
    pub fn conclude(self, series: Series) -> Exit {
        if self.run.json || series.runs.len() < 2 {
            return self.exit;
        }
        let names = self.begun.iter().map(|begun| begun.name());
        let runs: Vec<_> = names.zip(series.runs.into_iter().map(|outcome| outcome.measured)).collect();
        let first = runs.first().and_then(|(name, _)| name.as_deref());
        let again = |first| super::again(&Typed::now(), "headroom load", first);
        match print(&(repeated(&runs, terminal()) + &first.map_or_else(String::new, again))) {
            Exit::Done => self.exit,
            said => said,
        }
    }

    fn begin(&mut self, asked: &Asked) {
        let about = About {
            command: self.run.command,
            target: self.run.plan.url(),
            config: asked.json().to_string(),
            parent: None,
        };
        let begun = self.recorder.repeat(about, self.begun.first().copied());
        self.begun.push(begun);
        let seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        let display = if self.run.plain || !seen { Display::Lines } else { Display::Screen };
        let stream = |endpoint: &Endpoint| Stream::new(endpoint.clone(), begun.name().unwrap_or_default());
        self.current = Some(Current {
            begun,
            began: SystemTime::now(),
            view: View::new(display),
            stream: self.remote.as_ref().map(stream),
        });
    }

    /// Records and prints the results of a run. Returns the exit code for it.
    fn end(&mut self, current: Current, outcome: &Outcome) -> Exit {
        let Current { begun, began, view, stream } = current;
        // The summary takes the place of the screen.
        drop(view);
        if let Some(stream) = stream {
            warn_of_dropped(&stream.end(&outcome.measured));
        }
        let result = outcome.document();
        self.recorder.finish(begun, Some(&outcome.measured), result.kept());
        // The summary is printed even if a file cannot be written: nothing else is left of the run then.
        let (name, command) = (begun.name(), self.run.command);
        let results = Results { command, run: result, name: name.as_deref(), began, plan: &self.run.plan };
        let written = self.run.outputs.write(&results);
        let said = if self.run.json {
            print(&result.json())
        } else {
            let next = match self.run.repeat.get() {
                1 => (self.run.next)(&self.run.plan, &outcome.measured, name.as_deref()),
                _ => String::new(),
            };
            print(&format!("{}\n{next}", result.text(name.as_deref(), terminal())))
        };
        match written {
            Err(error) => complain(&error, Exit::Failed),
            Ok(()) if said == Exit::Done => exit(outcome.verdict()),
            Ok(()) => said,
        }
    }

    fn note_exit(&mut self, exit: Exit) {
        if self.exit == Exit::Done {
            self.exit = exit;
        }
    }
}

fn warn(Repetition { number, of }: Repetition, findings: &[Finding]) {
    if of > 1 {
        note(&format!("run {number} of {of}"));
    }
    for finding in findings {
        note(&finding.to_string());
    }
    if findings.iter().any(|finding| finding.severity == Severity::Fatal) {
        note("the run continues, and counts what this machine could not do");
    }
}

fn warn_of_dropped(Written { dropped, reason, .. }: &Written) {
    if *dropped > 0 {
        let why = reason.as_deref().unwrap_or_default();
        note(&format!("{dropped} samples were not accepted by --remote-write: {why}"));
    }
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Met => Exit::Done,
        Verdict::Missed => Exit::Missed,
        Verdict::Invalid => Exit::Invalid,
        Verdict::NothingGood => Exit::Failed,
    }
}
