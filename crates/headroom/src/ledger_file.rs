//! Which ledger a command uses.

use ledger::Ledger;
use std::path::PathBuf;

/// The flags of every command that reads or writes the ledger.
#[derive(Debug, clap::Args)]
pub struct LedgerArgs {
    /// SQLite file that keeps all runs [default: headroom/ledger.sqlite in the user's data directory]
    #[arg(long, value_name = "PATH", env = "HEADROOM_LEDGER", hide_env_values = true)]
    ledger: Option<PathBuf>,
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
    /// The file.
    pub fn path(&self) -> Result<PathBuf, Error> {
        self.ledger.clone().or_else(ledger::default_path).ok_or(Error::NoPlace)
    }

    /// The ledger to read, where there is one: reading makes no file and changes none.
    pub fn open_existing(&self) -> Result<Option<Ledger>, Error> {
        let path = self.path()?;
        // Where the system does not tell (no right to look), opening says why.
        Ok(if path.try_exists().unwrap_or(true) { Some(Ledger::open_to_read(&path)?) } else { None })
    }
}
