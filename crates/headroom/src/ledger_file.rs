//! Which ledger a command uses.

use crate::stored;
use config::case::Results;
use documents::stored::Run;
use ledger::{Ledger, Location, RunId, Selection};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// The flags of every command that reads or writes the ledger.
#[derive(Debug, Clone, clap::Args)]
pub struct LedgerArgs {
    /// Ledger that keeps all runs: an SQLite file, or a PostgreSQL database such as postgres://USER@HOST/DATABASE
    /// [default: headroom/ledger.sqlite in the user's data directory]
    #[arg(long, value_name = "PATH|URL", env = "HEADROOM_LEDGER", hide_env_values = true)]
    ledger: Option<OsString>,
}

/// Why there is no ledger.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a flag nor the environment says where it is.
    #[error("no place for the ledger: neither HOME nor XDG_DATA_HOME is set; name a file with --ledger PATH")]
    NoPlace,
    /// It cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

impl LedgerArgs {
    /// Those of a command without these flags: the ledger is that of the environment, or the usual one.
    pub fn usual() -> Self {
        LedgerArgs { ledger: std::env::var_os("HEADROOM_LEDGER") }
    }

    /// Finds the results of runs that a case file names. Nothing is opened for a file that names none, and each run is read once.
    pub fn results(&self) -> Results {
        let (args, known) = (self.clone(), Mutex::new(BTreeMap::new()));
        Results::new(move |name| {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(name.to_owned()).or_insert_with(|| args.result_of(name)).clone()
        })
    }

    /// The result of a run as JSON, or why there is none.
    fn result_of(&self, name: &str) -> Result<String, String> {
        let run: RunName = name.parse()?;
        let ledger = self.open_existing().map_err(|error| error.to_string())?;
        let ledger =
            ledger.ok_or_else(|| "there is no ledger yet (--ledger names another one)".to_owned())?;
        let run = run.of(&ledger).and_then(|id| ledger.run(id)).map_err(|error| error.to_string())?;
        run.result.ok_or_else(|| format!("{} has no result", run.id))
    }

    /// Where it is.
    pub fn place(&self) -> Result<Location, Error> {
        let usual = || ledger::default_path().map(|path| Location::from(&path));
        self.ledger.clone().map(Location::from).or_else(usual).ok_or(Error::NoPlace)
    }

    /// The ledger to read, where there is one: reading makes no file and changes none.
    pub fn open_existing(&self) -> Result<Option<Ledger>, Error> {
        let place = self.place()?;
        // Where the system does not tell (no right to look), opening says why.
        let exists = place.file().is_none_or(|path| path.try_exists().unwrap_or(true));
        Ok(if exists { Some(Ledger::open_to_read(place)?) } else { None })
    }

    /// The ledger to write, where there is one: a mistyped name makes no file.
    pub fn change_existing(&self) -> Result<Option<Ledger>, Error> {
        let place = self.place()?;
        let exists = place.file().is_none_or(|path| path.try_exists().unwrap_or(true));
        Ok(if exists { Some(Ledger::open(place)?) } else { None })
    }
}

/// A run as it is typed: its number, such as `r17`, or its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunName(String);

impl RunName {
    /// The run that it means.
    pub fn of(&self, ledger: &Ledger) -> Result<RunId, ledger::Error> {
        ledger.meant(&self.0)
    }

    /// Its number, if it is one.
    pub fn number(&self) -> Option<RunId> {
        self.0.parse().ok()
    }
}

impl FromStr for RunName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_number = text.parse::<RunId>().is_ok();
        match text.parse::<ledger::Name>() {
            Err(_) if !is_number => Err(format!(
                "`{text}` is no run: expected a number such as r17, or a name (`headroom runs` lists them)"
            )),
            _ => Ok(RunName(text.to_owned())),
        }
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The selected runs, with what was said about them.
pub fn runs(ledger: &Ledger, selection: &Selection) -> Result<Vec<Run>, ledger::Error> {
    let runs = ledger.runs(selection)?;
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    let mut notes = ledger.notes(&ids)?;
    Ok(runs
        .into_iter()
        .map(|run| {
            let said = notes.remove(&run.id).unwrap_or_default();
            stored::run(run, said)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{About, Recorder};
    use config::case::{Case, Given, parse};
    use ledger::Note;
    use std::path::Path;

    /// The capacity of a case that names this measurement.
    fn capacity(args: &LedgerArgs, folder: &Path, named: &str) -> Result<Option<f64>, String> {
        let text = format!(
            "case: tiny\nmeasured: 10m\ngoal: p(95)<100ms\ntraffic: {{ rate: 5/s }}\nservices:\n  web:\n\
             \x20   endpoints: {{ page: {{ cpu: 10ms }} }}\n    server: {{ processes: 1, threads: 4 }}\n\
             \x20   hosts: {{ c5.large: {{ cores: 2 }} }}\n    scaling: {{ min: 1, max: 4, capacity: {named} }}\n"
        );
        let given = Given { results: Some(args.results()), ..Given::default() };
        let of = |case: Case| case.stages[0].system.services[0].scaling.capacity;
        parse("tiny.yaml", &text, folder, given).map(of).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_case_takes_a_squeeze_by_its_number_or_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let place = folder.join("ledger.sqlite");
        let args = LedgerArgs { ledger: Some(place.clone().into()) };
        let said = capacity(&args, folder, "r1").unwrap_err();
        assert!(
            said.contains("neither a file nor a run") && said.contains("there is no ledger yet"),
            "{said}"
        );
        assert!(!place.exists(), "reading makes no file");
        let mut recorder = Recorder::open(&args);
        let about = |command| About { command, target: "127.0.0.1:1", config: "{}".to_owned(), parent: None };
        let squeezed = recorder.begin(about("squeeze"));
        let result = r#"{"per_instance":{"low":112.5,"high":120.0,"verified":true}}"#;
        recorder.finish(squeezed, None, Some(result.to_owned()));
        let failed = recorder.begin(about("squeeze"));
        recorder.fail(failed, "no gateway");
        let first = "r1".parse().unwrap();
        Ledger::open(&place).unwrap().note(first, &Note::Name("friday".parse().unwrap())).unwrap();
        for name in ["r1", "friday"] {
            assert_eq!(capacity(&args, folder, name), Ok(Some(112.5)), "{name}");
        }
        for (name, why) in [
            ("r2", "r2 has no result"),
            ("r7", "the ledger has no run r7"),
            ("sunday", "sunday"),
            ("missing.json", "there is no file"),
            ("112", "with its unit"),
        ] {
            let said = capacity(&args, folder, name).unwrap_err();
            assert!(said.contains(why), "{name}: {said}");
        }
        // A file of this name goes first.
        std::fs::write(folder.join("friday"), result.replace("112.5", "90")).unwrap();
        assert_eq!(capacity(&args, folder, "friday"), Ok(Some(90.0)));
    }
}
