//! Records runs in the ledger.
//!
//! If the ledger cannot be used, the run continues, and the reason is printed once. A server that went away is tried once
//! more, and then what was measured goes into the file in the user's data directory, from which it can be taken to the server.

use crate::ledger_file::{LedgerArgs, RunName};
use crate::live::interrupted_by;
use crate::output;
use host::{ProcessIdentity, host_facts, passing_host_facts, surroundings};
use ledger::{Ledger, Location, NewRun, Note, Outcome, RunId, Tested, WallTime};
use measure::Measurement;

/// The ledger of this process, if it can be used.
#[derive(Debug)]
pub struct Recorder {
    ledger: Option<Ledger>,
    /// All runs of this process, in the order in which they began.
    runs: Vec<Recorded>,
}

/// A run of this process.
#[derive(Debug)]
struct Recorded {
    /// Its number in the ledger that is in use; none where it stayed in another one.
    id: Option<RunId>,
    run: NewRun,
    parent: Option<usize>,
    repeat_of: Option<usize>,
    has_ended: bool,
}

/// A run that has started; `None` if it is not recorded.
#[derive(Debug, Clone, Copy)]
#[must_use = "a run that has begun is ended by `Recorder::finish` or `Recorder::fail`"]
pub struct Begun(Option<(usize, RunId)>);

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

/// An earlier run of the ledger.
#[derive(Debug)]
pub struct Earlier {
    id: RunId,
    /// The ledger that gave it this number.
    place: Location,
}

impl Begun {
    /// The name of the run, such as `r17`; `None` if it is not recorded.
    pub fn name(self) -> Option<String> {
        self.0.map(|(_, id)| id.to_string())
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
        Recorder { ledger, runs: Vec::new() }
    }

    /// An earlier run; `None` without a ledger.
    ///
    /// # Errors
    /// The ledger does not have it, or cannot be read.
    pub fn earlier(&self, name: &RunName) -> Result<Option<Earlier>, ledger::Error> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let id = ledger.run(name.of(ledger)?)?.id;
        Ok(Some(Earlier { id, place: ledger.place().clone() }))
    }

    /// Records what a run says of a finding, which is one of an earlier run if that is given.
    pub fn tested(&mut self, Begun(run): Begun, finding: &str, outcome: &str, earlier: Option<Earlier>) {
        let Some((place, _)) = run else { return };
        self.attempt(|ledger, runs| {
            let Some(id) = runs[place].id else { return Ok(()) };
            // Where the ledger was lost, another one has other numbers.
            let there = earlier.as_ref().filter(|earlier| earlier.place == *ledger.place());
            let [finding, outcome] = [finding, outcome].map(str::to_owned);
            let tested = Tested { finding, outcome, run: there.map(|earlier| earlier.id) };
            ledger.note(id, &Note::Tested(tested))
        });
    }

    /// Records that a run starts.
    pub fn begin(&mut self, about: About<'_>) -> Begun {
        self.repeat(about, None)
    }

    /// Records that a run starts; it is a repetition of `first` if that is given.
    pub fn repeat(&mut self, about: About<'_>, first: Option<Begun>) -> Begun {
        let place = |begun: Option<Begun>| begun.and_then(|Begun(run)| run).map(|(place, _)| place);
        let recorded = Recorded {
            id: None,
            parent: place(about.parent),
            repeat_of: place(first),
            has_ended: false,
            run: NewRun {
                parent: None,
                repeat_of: None,
                command: about.command.to_owned(),
                command_line: command_line(),
                version: status::version().to_owned(),
                config: about.config,
                target: about.target.to_owned(),
                host: host_facts(),
                facts: surroundings(),
                started: WallTime::now(),
                process: ProcessIdentity::own(),
            },
        };
        let place = self.runs.len();
        self.runs.push(recorded);
        let id = self.attempt(|ledger, runs| ledger.begin(&with_relations(runs, place)));
        self.runs[place].id = id;
        Begun(id.map(|id| (place, id)))
    }

    /// Records how a run ended: its measurement, the result of the command as JSON, and what interrupted it.
    pub fn finish(&mut self, Begun(run): Begun, measurement: Option<&Measurement>, result: Option<String>) {
        let Some((place, _)) = run else { return };
        let outcome = Outcome {
            ended: WallTime::now(),
            measurement,
            result,
            interrupted: interrupted_by().map(str::to_owned),
            host_after: passing_host_facts(),
        };
        self.end(place, |ledger, id| ledger.finish(id, &outcome));
    }

    /// Records that a run failed, or that it was interrupted before it had a result.
    pub fn fail(&mut self, begun: Begun, error: &str) {
        if interrupted_by().is_some() {
            return self.finish(begun, None, None);
        }
        let Begun(Some((place, _))) = begun else { return };
        self.end(place, |ledger, id| ledger.fail(id, WallTime::now(), error));
    }

    fn end(&mut self, place: usize, write: impl Fn(&Ledger, RunId) -> Result<(), ledger::Error>) {
        self.attempt(|ledger, runs| {
            let Some(id) = runs[place].id else { return Ok(()) };
            match write(ledger, id) {
                // It was written, and the connection was lost before the answer.
                Err(ledger::Error::Ended { .. }) => Ok(()),
                done => done,
            }
        });
        self.runs[place].has_ended = true;
    }

    fn attempt<T>(&mut self, write: impl Fn(&Ledger, &[Recorded]) -> Result<T, ledger::Error>) -> Option<T> {
        let ledger = self.ledger.as_ref()?;
        let error = match write(ledger, &self.runs) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        if matches!(error, ledger::Error::Lost { .. }) {
            let place = ledger.place().clone();
            if let Ok(ledger) = Ledger::open(&place)
                && let Ok(done) = write(&ledger, &self.runs)
            {
                self.ledger = Some(ledger);
                return Some(done);
            }
            output::fail(&error);
            if let Some(file) = self.move_to_file()
                && let Ok(done) = write(self.ledger.as_ref()?, &self.runs)
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
        for place in 0..self.runs.len() {
            // Those that have ended stay where they are.
            let begins_again = self.runs[place].id.is_some() && !self.runs[place].has_ended;
            self.runs[place].id = None;
            if begins_again {
                self.runs[place].id = Some(ledger.begin(&with_relations(&self.runs, place)).ok()?);
            }
        }
        self.ledger = Some(ledger);
        Some(path.display().to_string())
    }
}

/// The run at this place, with the numbers of those that it belongs to, as far as this ledger has them.
fn with_relations(runs: &[Recorded], place: usize) -> NewRun {
    let number = |of: Option<usize>| of.and_then(|place| runs[place].id);
    let Recorded { run, parent, repeat_of, .. } = &runs[place];
    NewRun { parent: number(*parent), repeat_of: number(*repeat_of), ..run.clone() }
}

/// The command line as it was typed, without the password of a ledger.
fn command_line() -> String {
    let mut after_flag = false;
    let shown = |text: std::ffi::OsString| {
        let lossy = text.to_string_lossy().into_owned();
        let is_place = std::mem::replace(&mut after_flag, lossy == "--ledger");
        match lossy.strip_prefix("--ledger=") {
            Some(place) => format!("--ledger={}", Location::from(std::ffi::OsString::from(place))),
            None if is_place => Location::from(text).to_string(),
            None => lossy,
        }
    };
    std::env::args_os().map(shown).collect::<Vec<_>>().join(" ")
}
