//! Which ledger a command uses.

use crate::stored;
use documents::stored::Run;
use ledger::{Ledger, Location, RunId, Selection};
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

/// The flags of every command that reads or writes the ledger.
#[derive(Debug, clap::Args)]
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
