//! Interruptions of a run: Ctrl-C, a signal, a closed terminal.
//!
//! The first Ctrl-C ends the run, which prints its results. A second one, or Ctrl-\\, exits immediately. Hang-ups (SIGHUP)
//! only ever end the run: a closed window, the end of a login session and an exiting shell may each send one.
//!
//! If hang-ups are ignored at the start (`nohup`), the run continues without its terminal.

use super::terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What interrupted the runs of this process; empty if nothing has.
static CAUSE: OnceLock<&'static str> = OnceLock::new();

/// Whether a write failed because the terminal or the reader of the pipe is gone.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// Whether the run was interrupted.
#[derive(Debug)]
pub struct Interrupts {
    /// Whether the run continues when its terminal is gone.
    outlives_terminal: bool,
}

impl Interrupts {
    /// Handles SIGINT, SIGTERM, SIGQUIT and, unless it is ignored, SIGHUP from now on.
    ///
    /// # Errors
    /// The system refuses a handler or a thread.
    pub fn listen() -> io::Result<Self> {
        let outlives_terminal = is_ignored(SIGHUP);
        let mut taken = vec![SIGINT, SIGTERM, SIGQUIT];
        if !outlives_terminal {
            taken.push(SIGHUP);
        }
        let mut signals = Signals::new(taken)?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut asked = false;
            for signal in signals.forever() {
                let _ = CAUSE.set(match signal {
                    SIGHUP => "SIGHUP: its terminal was closed",
                    SIGTERM => "SIGTERM",
                    _ => "SIGINT (Ctrl-C)",
                });
                if signal == SIGQUIT || (asked && signal != SIGHUP) {
                    terminal::abandon();
                    process::exit(KILLED + signal);
                }
                asked |= signal != SIGHUP;
            }
        })?;
        Ok(Interrupts { outlives_terminal })
    }

    /// Whether the run is to end.
    pub fn came(&self) -> bool {
        if UNHEARD.load(Ordering::Relaxed) && !self.outlives_terminal {
            let _ = CAUSE.set("nobody reads what it says any more");
        }
        interrupted_by().is_some()
    }
}

/// What interrupted the runs of this process, for the ledger.
pub fn interrupted_by() -> Option<&'static str> {
    CAUSE.get().copied()
}

/// Notes the result of a write to the user: a closed terminal or pipe ends the run as Ctrl-C does.
pub fn heard(written: io::Result<()>) {
    use rustix::io::Errno;
    if let Err(error) = written
        && matches!(Errno::from_io_error(&error), Some(Errno::IO | Errno::PIPE))
    {
        UNHEARD.store(true, Ordering::Relaxed);
    }
}

/// Whether this process ignores a signal for which it has no handler yet, as inherited from its parent.
pub fn is_ignored(signal: i32) -> bool {
    // `SigIgn` is a mask in hexadecimal: proc_pid_status(5).
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// Shells report the exit code of a program that a signal ended as this plus the number of the signal.
const KILLED: i32 = 128;
