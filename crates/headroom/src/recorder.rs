//! Records runs in the ledger.
//!
//! If the ledger cannot be used, the run continues, and the reason is printed once. A server that went away is tried once
//! more. Then what was measured goes into the file in the user's data directory, or if that cannot be used either, into a new one
//! in the directory for temporary files; from there it can be taken to the ledger.

use crate::ledger_file::{LedgerArgs, RunName};
use crate::live::interrupted_by;
use crate::output;
use host::{ProcessIdentity, host_facts, looks_secret, passing_host_facts, surroundings};
use http::codec::header::is_credential;
use ledger::{Ledger, Location, NewRun, Note, Outcome, RunId, Tested, WallTime};
use measure::Measurement;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// The ledger of this process, if it can be used.
#[derive(Debug)]
pub struct Recorder {
    ledger: Option<Ledger>,
    /// The file in the user's data directory.
    usual: Option<PathBuf>,
    /// All runs of this process, in the order in which they began.
    runs: Vec<Recorded>,
}

/// A run of this process.
#[derive(Debug, Clone)]
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
    /// Opens the ledger that the flags give, or another one in its place.
    pub fn open(args: &LedgerArgs) -> Self {
        let place = args.place();
        let opened = place.as_ref().map_err(ToString::to_string);
        let opened =
            opened.and_then(|place| Ledger::open(place).map_err(|error| output::with_causes(&error)));
        let mut recorder = Recorder::of(None, ledger::default_path());
        match opened {
            Ok(ledger) => recorder.ledger = Some(ledger),
            Err(why) => {
                output::tell(&format!("error: {why}\n"));
                recorder.ledger = recorder.others(place.as_ref().ok()).next().inspect(tell_place);
                if recorder.ledger.is_none() {
                    output::tell("this run is not recorded\n");
                }
            }
        }
        recorder
    }

    fn of(ledger: Option<Ledger>, usual: Option<PathBuf>) -> Self {
        Recorder { ledger, usual, runs: Vec::new() }
    }

    /// Ledgers in place of one that cannot be used.
    fn others(&self, unusable: Option<&Location>) -> impl Iterator<Item = Ledger> + use<> {
        let usual = self.usual.clone().filter(|path| unusable != Some(&Location::from(path)));
        let usual = usual.into_iter().filter_map(|path| Ledger::open(&path).ok());
        usual.chain(std::iter::once_with(temporary).flatten())
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
                command_line: command_line(std::env::args_os()),
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
        let place = ledger.place().clone();
        if matches!(error, ledger::Error::Lost { .. })
            && let Ok(ledger) = Ledger::open(&place)
            && let Ok(done) = write(&ledger, &self.runs)
        {
            self.ledger = Some(ledger);
            return Some(done);
        }
        output::fail(&error);
        let mut others = self.others(Some(&place));
        let done = others.find_map(|other| {
            let done = self.begin_again(&other).and_then(|runs| Ok((write(&other, &runs)?, runs)));
            let (done, runs) = done.ok()?;
            tell_place(&other);
            (self.ledger, self.runs) = (Some(other), runs);
            Some(done)
        });
        if done.is_none() {
            output::tell("the rest of this run is not recorded\n");
            self.ledger = None;
        }
        done
    }

    /// The runs as another ledger has them: those that have not ended begin again, the others stay where they are.
    fn begin_again(&self, other: &Ledger) -> Result<Vec<Recorded>, ledger::Error> {
        let mut runs = self.runs.clone();
        let open = |run: &Recorded| run.id.is_some() && !run.has_ended;
        let begin: Vec<bool> = runs.iter().map(open).collect();
        runs.iter_mut().for_each(|run| run.id = None);
        for (place, _) in begin.into_iter().enumerate().filter(|(_, begins)| *begins) {
            runs[place].id = Some(other.begin(&with_relations(&runs, place))?);
        }
        Ok(runs)
    }
}

/// A new ledger in the directory for temporary files.
fn temporary() -> Option<Ledger> {
    let path = std::env::temp_dir().join(format!("headroom-ledger-{}.sqlite", std::process::id()));
    // Nobody else has made a file or a link of this name.
    File::options().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    Ledger::open(&path).ok()
}

/// Where the runs are instead.
fn tell_place(other: &Ledger) {
    let place = other.place();
    output::tell(&format!(
        "this run is recorded in {place} instead; to take it to another ledger later: headroom ledger export --ledger {place} | headroom ledger import - --ledger PATH|URL\n"
    ));
}

/// The run at this place, with the numbers of those that it belongs to, as far as this ledger has them.
fn with_relations(runs: &[Recorded], place: usize) -> NewRun {
    let number = |of: Option<usize>| of.and_then(|place| runs[place].id);
    let Recorded { run, parent, repeat_of, .. } = &runs[place];
    NewRun { parent: number(*parent), repeat_of: number(*repeat_of), ..run.clone() }
}

/// The command line as it was typed, without the password of a ledger and without the values of headers that hold secrets.
fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let mut before = String::new();
    let shown = |text: OsString| {
        let lossy = text.to_string_lossy().into_owned();
        let flag = std::mem::replace(&mut before, lossy.clone());
        let begins = |flag: &'static str| lossy.strip_prefix(flag).map(|rest| (flag, rest));
        let (shown, flag, value) = match flag.as_str() {
            "--ledger" | "-H" | "--header" => ("", flag.as_str(), lossy.as_str()),
            _ => match ["--ledger=", "--header=", "-H"].into_iter().find_map(begins) {
                Some((flag, value)) => (flag, flag, value),
                None => return lossy,
            },
        };
        match flag.starts_with("--ledger") {
            true => format!("{shown}{}", Location::from(OsString::from(value))),
            false => format!("{shown}{}", without_secret(value)),
        }
    };
    arguments.map(shown).collect::<Vec<_>>().join(" ")
}

/// A header as `Name: value`, without its value if that may be a secret.
fn without_secret(header: &str) -> String {
    match header.split_once(':') {
        Some((name, value)) if is_credential(name.trim().as_bytes()) || looks_secret(name, value.trim()) => {
            format!("{name}: ***")
        }
        _ => header.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About<'static> {
        About { command: "load", target: "http://127.0.0.1:1/", config: "{}".to_owned(), parent: None }
    }

    #[test]
    fn what_was_measured_goes_to_another_ledger_where_the_first_one_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let (first, usual) = (folder.path().join("first.sqlite"), folder.path().join("usual.sqlite"));
        let mut recorder = Recorder::of(Some(Ledger::open(&first).unwrap()), Some(usual.clone()));
        let done = recorder.begin(about());
        recorder.finish(done, None, None);
        let whole = recorder.begin(about());
        let part = recorder.begin(About { parent: Some(whole), ..about() });
        let full = Location::from(&first);
        recorder.attempt(|ledger, _| match ledger.place() == &full {
            true => Err(ledger::Error::Full { place: full.clone() }),
            false => Ok(()),
        });
        recorder.finish(part, None, None);
        recorder.finish(whole, None, None);
        let other = Ledger::open(&usual).unwrap();
        let [whole, part]: [RunId; 2] = ["r1", "r2"].map(|number| number.parse().unwrap());
        let of = |id: RunId| {
            let run = other.run(id).unwrap();
            (run.begun.parent, run.ended.is_some())
        };
        assert_eq!((of(whole), of(part)), ((None, true), (Some(whole), true)));
    }

    #[test]
    fn the_command_line_has_no_secrets() {
        for (typed, shown) in [
            (
                "load -H Authorization:x --header=X-Api-Key:y",
                "load -H Authorization: *** --header=X-Api-Key: ***",
            ),
            ("load -HCookie:a=b -H Accept:text/html", "load -HCookie: *** -H Accept:text/html"),
            ("load --header X:eyJhbGciOi -H X-More:2", "load --header X: *** -H X-More:2"),
            ("runs --ledger postgres://me:pw@db/x", "runs --ledger postgres://me:***@db/x"),
            ("load --targets ledger.txt -HCookie:a=b", "load --targets ledger.txt -HCookie: ***"),
            ("runs --ledger=postgres://me:pw@db/x -r 1", "runs --ledger=postgres://me:***@db/x -r 1"),
        ] {
            assert_eq!(command_line(typed.split(' ').map(OsString::from)), shown);
        }
    }
}
