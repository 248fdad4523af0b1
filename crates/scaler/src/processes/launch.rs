//! Starts a process, and ends it.

use super::state::State;
use crate::settings::Processes;
use host::{LimitedGroup, ProcessIdentity};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that this scaler started.
#[derive(Debug)]
pub(super) struct Launch(Child);

/// How a process is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signalled {
    Term,
    Kill,
}

impl Launch {
    /// Starts the command in a process group of its own; what it prints goes to a file of the state directory.
    /// It joins the control group first.
    pub(super) fn start(
        settings: &Processes,
        port: u16,
        folder: &Path,
        group: Option<&LimitedGroup>,
    ) -> Result<Self, String> {
        let path = log(folder, port);
        let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        // Where there is no place for what it prints, it starts without.
        let nowhere = |_| File::options().write(true).open("/dev/null");
        let output = File::create(&path).or_else(nowhere).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let mut command = Command::new("/bin/sh");
        match group {
            None => command.arg("-c").arg(command_of(settings, port)),
            Some(group) => command.args(["-c", JOINS]).arg(command_of(settings, port)).args(group.members()),
        };
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command.envs(settings.environment.iter().map(|(name, value)| (name, value)));
        command.env("PORT", port.to_string()).process_group(0);
        let child = command.spawn().map_err(|error| format!("cannot start /bin/sh: {error}"))?;
        Ok(Launch(child))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.0.try_wait() {
            Ok(Some(status)) => Some(status.to_string()),
            _ => None,
        }
    }
}

/// The command of the instance on a port.
pub(super) fn command_of(settings: &Processes, port: u16) -> String {
    settings.command.replace("{port}", &port.to_string())
}

/// Sends a signal to a process and all of its group. The caller knows that it is still the same process, or that the
/// process ended a moment ago.
pub(super) fn signal(process: &ProcessIdentity, signal: Signalled) {
    let signal = match signal {
        Signalled::Term => Signal::TERM,
        Signalled::Kill => Signal::KILL,
    };
    if let Some(pid) = group_of(process) {
        // It may have ended meanwhile.
        let _ = kill_process_group(pid, signal);
    }
}

/// A process that was started here leads a group of its own.
fn group_of(process: &ProcessIdentity) -> Option<Pid> {
    i32::try_from(process.id()).ok().and_then(Pid::from_raw)
}

/// A port of the range that no instance has and nothing listens on.
pub(super) fn free_port(settings: &Processes, state: &State) -> Option<u16> {
    let (first, last) = settings.ports;
    let taken = |port: u16| state.instances.iter().any(|kept| kept.port == port);
    let free = |port: &u16| !taken(*port) && TcpListener::bind(super::address(*port)).is_ok();
    (first..=last).find(free)
}

/// The last lines that an instance printed, for a message.
pub(super) fn last_lines(folder: &Path, port: u16) -> String {
    let path = log(folder, port);
    let mut text = String::new();
    let read = File::open(&path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(())
    });
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => format!("it printed nothing (see {})", path.display()),
        count if read.is_ok() => lines[count.saturating_sub(3)..].join(" | "),
        _ => format!("see {}", path.display()),
    }
}

fn log(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!("instance-{port}.log"))
}

/// Joins the groups of the arguments, then becomes the command. Where the kernel refuses that, it runs without limits.
const JOINS: &str = r#"for group in "$@"; do echo $$ >"$group" || echo "no limits: cannot join $group" >&2; done; exec /bin/sh -c "$0""#;

/// Some lines.
const LAST_BYTES: u64 = 600;
