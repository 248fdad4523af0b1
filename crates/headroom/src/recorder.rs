//! Records runs in the ledger.
//!
//! If the ledger cannot be used, the run continues, and the reason is printed once. A server that went away is tried once
//! more, and then what was measured goes into the file in the user's data directory, from which it can be taken to the server.

use crate::ledger_file::LedgerArgs;
use crate::live::interrupted_by;
use crate::output;
use host::{ProcessIdentity, host_facts, passing_host_facts, surroundings};
use ledger::{Ledger, NewRun, Outcome, RunId, WallTime};
use measure::Measurement;
use std::collections::BTreeMap;

/// The ledger of this process, if it can be used.
#[derive(Debug)]
pub struct Recorder {
    ledger: Option<Ledger>,
    /// Runs that have not ended.
    begun: Vec<(RunId, NewRun)>,
    /// Runs that began on a server and are recorded in a file, and their numbers there.
    moved: BTreeMap<RunId, RunId>,
}

/// A run that has started; `None` if it is not recorded.
#[derive(Debug, Clone, Copy)]
#[must_use = "a run that has begun is ended by `Recorder::finish` or `Recorder::fail`"]
pub struct Begun(Option<RunId>);

/// The facts of a run that are known when it starts.
#[derive(Debug)]
pub struct About<'a> {
    /// The command: `load`, `find`, `demo`.
    pub command: &'a str,
    /// The target of the load.
    pub target: &'a str,
    /// The configuration, as JSON.
    pub config: String,
    /// The run that this one is part of.
    pub parent: Option<Begun>,
}

impl Begun {
    /// The name of the run, such as `r17`; `None` if it is not recorded.
    pub fn name(self) -> Option<String> {
        self.0.map(|id| id.to_string())
    }
}

impl Recorder {
    /// Opens the ledger that the flags give.
    pub fn open(args: &LedgerArgs) -> Self {
        let opened = args.place().and_then(|place| Ok(Ledger::open(place)?));
        match opened {
            Ok(ledger) => Recorder::of(Some(ledger)),
            Err(error) => {
                output::tell("this run is not recorded:\n");
                output::fail(&error);
                Recorder::of(None)
            }
        }
    }

    fn of(ledger: Option<Ledger>) -> Self {
        Recorder { ledger, begun: Vec::new(), moved: BTreeMap::new() }
    }

    /// Records that a run starts.
    pub fn begin(&mut self, about: About<'_>) -> Begun {
        self.repeat(about, None)
    }

    /// Records that a run starts; it is a repetition of `first` if that is given.
    pub fn repeat(&mut self, about: About<'_>, first: Option<Begun>) -> Begun {
        let run = NewRun {
            parent: about.parent.and_then(|Begun(id)| id),
            repeat_of: first.and_then(|Begun(id)| id),
            command: about.command.to_owned(),
            command_line: std::env::args_os()
                .map(|text| text.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join(" "),
            version: status::version().to_owned(),
            config: about.config,
            target: about.target.to_owned(),
            host: host_facts(),
            facts: surroundings(),
            started: WallTime::now(),
            process: ProcessIdentity::own(),
        };
        let id = self.attempt(|ledger, numbers| {
            let of = |id: Option<RunId>| id.map(|id| numbers.get(&id).copied().unwrap_or(id));
            let run = NewRun { parent: of(run.parent), repeat_of: of(run.repeat_of), ..run.clone() };
            ledger.begin(&run)
        });
        self.begun.extend(id.map(|id| (id, run)));
        Begun(id)
    }

    /// Records how a run ended: its measurement, the result of the command as JSON, and what interrupted it.
    pub fn finish(&mut self, Begun(id): Begun, measurement: Option<&Measurement>, result: Option<String>) {
        let Some(id) = id else { return };
        let outcome = Outcome {
            ended: WallTime::now(),
            measurement,
            result,
            interrupted: interrupted_by().map(str::to_owned),
            host_after: passing_host_facts(),
        };
        self.end(id, |ledger, id| ledger.finish(id, &outcome));
    }

    /// Records that a run failed, or that it was interrupted before it had a result.
    pub fn fail(&mut self, begun: Begun, error: &str) {
        if interrupted_by().is_some() {
            return self.finish(begun, None, None);
        }
        let Begun(Some(id)) = begun else { return };
        self.end(id, |ledger, id| ledger.fail(id, WallTime::now(), error));
    }

    fn end(&mut self, id: RunId, write: impl Fn(&Ledger, RunId) -> Result<(), ledger::Error>) {
        self.attempt(|ledger, numbers| match write(ledger, numbers.get(&id).copied().unwrap_or(id)) {
            // It was written, and the connection was lost before the answer.
            Err(ledger::Error::Ended { .. }) => Ok(()),
            done => done,
        });
        self.begun.retain(|(begun, _)| *begun != id);
    }

    fn attempt<T>(
        &mut self,
        write: impl Fn(&Ledger, &BTreeMap<RunId, RunId>) -> Result<T, ledger::Error>,
    ) -> Option<T> {
        let error = match write(self.ledger.as_ref()?, &self.moved) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        if matches!(error, ledger::Error::Lost { .. }) {
            let place = self.ledger.as_ref()?.place().clone();
            if let Ok(ledger) = Ledger::open(&place)
                && let Ok(done) = write(&ledger, &self.moved)
            {
                self.ledger = Some(ledger);
                return Some(done);
            }
            output::fail(&error);
            if let Some(file) = self.move_to_file()
                && let Ok(done) = write(self.ledger.as_ref()?, &self.moved)
            {
                output::tell(&format!(
                    "this run is recorded in {file} instead; to take it there later: headroom ledger export --ledger {file} | headroom ledger import - --ledger URL\n"
                ));
                return Some(done);
            }
        } else {
            output::fail(&error);
        }
        output::tell("the rest of this run is not recorded\n");
        self.ledger = None;
        None
    }

    /// Takes the file in the user's data directory, with the runs that have not ended; its name.
    fn move_to_file(&mut self) -> Option<String> {
        let path = ledger::default_path()?;
        let ledger = Ledger::open(&path).ok()?;
        for (id, run) in &self.begun {
            let of = |id: Option<RunId>| id.and_then(|id| self.moved.get(&id).copied());
            let run = NewRun { parent: of(run.parent), repeat_of: of(run.repeat_of), ..run.clone() };
            let there = ledger.begin(&run).ok()?;
            self.moved.insert(*id, there);
        }
        self.ledger = Some(ledger);
        Some(path.display().to_string())
    }
}
