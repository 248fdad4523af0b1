//! Records runs in the ledger.
//!
//! If the ledger cannot be used, the run continues, and the reason is printed once.

use crate::ledger_file::LedgerArgs;
use crate::live::interrupted_by;
use crate::output;
use host::{ProcessIdentity, host_facts, passing_host_facts};
use ledger::{Ledger, NewRun, Outcome, RunId, WallTime};
use measure::Measurement;

/// The ledger of this process, if it can be used.
#[derive(Debug)]
pub struct Recorder {
    ledger: Option<Ledger>,
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
            started: WallTime::now(),
            process: ProcessIdentity::own(),
        };
        Begun(self.attempt(|ledger| ledger.begin(&run)))
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
        self.attempt(|ledger| ledger.finish(id, &outcome));
    }

    /// Records that a run failed, or that it was interrupted before it had a result.
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
