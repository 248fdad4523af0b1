//! Load on public hosts needs the permission of a flag or file.

use ::load::{Plan, Server};
use host::{Guard, Refused, WrongEntry};
use std::path::PathBuf;
use thiserror::Error;
use units::Rate;

/// Public hosts that may be loaded.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Safety")]
pub struct GuardArgs {
    /// Allow more than 50 requests a second to this public host, address or network, which you own; can be repeated
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    /// File with allowed hosts, one on each line [default: headroom/allow in the user's configuration directory]
    #[arg(long, value_name = "FILE")]
    allow_file: Option<PathBuf>,
}

/// Load on this host is refused.
#[derive(Debug, Error)]
pub enum GuardError {
    /// An entry that cannot be parsed.
    #[error(transparent)]
    Entry(#[from] WrongEntry),
    /// A public host that was not allowed.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl GuardArgs {
    /// Whether all servers of a plan may be loaded at its rate.
    ///
    /// # Errors
    /// The host, its address, the rate and the flag that allows it.
    pub fn check(&self, plan: &Plan) -> Result<(), GuardError> {
        let peak = plan.model.peak_rate();
        plan.work.servers().iter().try_for_each(|server| self.check_server(server, peak))
    }

    /// Whether one server may be loaded; `peak` is `None` if the service determines the rate.
    ///
    /// # Errors
    /// As [`GuardArgs::check`].
    pub fn check_server(&self, server: &Server, peak: Option<Rate>) -> Result<(), GuardError> {
        let file = self.allow_file.clone().or_else(default_file);
        let mut guard = match &file {
            Some(file) => Guard::from_file(file)?,
            None => Guard::new("headroom/allow"),
        };
        self.allow_host.iter().try_for_each(|entry| guard.allow(entry))?;
        Ok(guard.check(&server.origin.host, &server.ip_addresses(), peak)?)
    }
}

fn default_file() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    let base = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)?;
    Some(base.join("headroom").join("allow"))
}
