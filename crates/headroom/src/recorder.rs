//! Puts runs into the ledger.
//!
//! A run is worth more than its record: where the ledger cannot be used, the run goes on, and the reason is said once.

use crate::ledger_file::LedgerArgs;
use crate::live::interrupted_by;
use crate::output;
use host::{host_facts, passing_host_facts};
use ledger::{Ledger, NewRun, Outcome, RunId, WallTime};
use measure::Measurement;

/// The ledger of this process, if it can be used.
#[derive(Debug)]
pub struct Recorder {
    ledger: Option<Ledger>,
}

/// A run that has begun; `None` where it is not recorded.
#[derive(Debug, Clone, Copy)]
#[must_use = "a run that has begun is ended by `Recorder::finish` or `Recorder::fail`"]
pub struct Begun(Option<RunId>);

/// What a run is about.
#[derive(Debug)]
pub struct About<'a> {
    /// The command: `load`, `find`, `demo`.
    pub command: &'a str,
    /// What the load goes to.
    pub target: &'a str,
    /// The configuration, as JSON.
    pub config: String,
    /// The run that this one is a part of.
    pub parent: Option<Begun>,
}

impl Begun {
    /// The run's name, such as `r17`; `None` where it is not recorded.
    pub fn name(self) -> Option<String> {
        self.0.map(|id| id.to_string())
    }
}

impl Recorder {
    /// Opens the ledger that the flags name.
    pub fn open(args: &LedgerArgs) -> Self {
        let opened = args.path().and_then(|path| Ok(Ledger::open(&path)?));
        match opened {
            Ok(ledger) => Recorder { ledger: Some(ledger) },
            Err(error) => {
                output::tell("this run is not recorded:\n");
                output::fail(&error);
                Recorder { ledger: None }
            }
        }
    }

    /// Notes that a run begins.
    pub fn begin(&mut self, about: About<'_>) -> Begun {
        self.repeat(about, None)
    }

    /// Notes that a run begins, which repeats `first` where there is one.
    pub fn repeat(&mut self, about: About<'_>, first: Option<Begun>) -> Begun {
        let run = NewRun {
            parent: about.parent.and_then(|Begun(id)| id),
            repeat_of: first.and_then(|Begun(id)| id),
            command: about.command.to_owned(),
            command_line: std::env::args().collect::<Vec<_>>().join(" "),
            version: status::version().to_owned(),
            config: about.config,
            target: about.target.to_owned(),
            host: host_facts(),
            started: WallTime::now(),
        };
        Begun(self.attempt(|ledger| ledger.begin(&run)))
    }

    /// Notes how a run ended: what was measured, and what the command concluded as JSON; and what interrupted it.
    pub fn finish(&mut self, Begun(id): Begun, measurement: Option<&Measurement>, result: Option<String>) {
        let Some(id) = id else { return };
        let outcome = Outcome {
            ended: WallTime::now(),
            measurement,
            result,
            interrupted: interrupted_by().map(str::to_owned),
            host_after: passing_host_facts(),
        };
        self.attempt(|ledger| ledger.finish(id, &outcome));
    }

    /// Notes that a run failed, or that it was interrupted before there was a result.
    pub fn fail(&mut self, begun: Begun, error: &str) {
        if interrupted_by().is_some() {
            return self.finish(begun, None, None);
        }
        let Begun(Some(id)) = begun else { return };
        self.attempt(|ledger| ledger.fail(id, WallTime::now(), error));
    }

    fn attempt<T>(&mut self, write: impl FnOnce(&Ledger) -> Result<T, ledger::Error>) -> Option<T> {
        match write(self.ledger.as_ref()?) {
            Ok(done) => Some(done),
            Err(error) => {
                output::tell("the rest of this run is not recorded:\n");
                output::fail(&error);
                self.ledger = None;
                None
            }
        }
    }
}
