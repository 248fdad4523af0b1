//! What ends a run before its end: Ctrl-C, a signal, a terminal that is gone.
//!
//! Ctrl-C once: end the run and say what was measured. Twice, or Ctrl-\\ once: quit at once. A hang-up ends a run once:
//! a closed window, a session that ends and a shell that leaves may each send one, and none of them is impatient.
//!
//! Where hang-ups are ignored from the beginning (`nohup`), the run goes on without its terminal.

use super::terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What ended the runs of this process; empty as long as nothing has.
static CAUSE: OnceLock<&'static str> = OnceLock::new();

/// Whether something could not be written because nobody is left to read it.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// Whether the user wants the run to end.
#[derive(Debug)]
pub struct Interrupts {
    /// Whether the run goes on where its terminal is gone.
    outlives_terminal: bool,
}

impl Interrupts {
    /// Takes Ctrl-C, the request to terminate and hang-ups from now on.
    ///
    /// # Errors
    /// Where the system gives no handler or no thread.
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

    /// Whether the run shall end.
    pub fn came(&self) -> bool {
        if UNHEARD.load(Ordering::Relaxed) && !self.outlives_terminal {
            let _ = CAUSE.set("nobody reads what it says any more");
        }
        interrupted_by().is_some()
    }
}

/// What ended the runs of this process before their end, for the ledger.
pub fn interrupted_by() -> Option<&'static str> {
    CAUSE.get().copied()
}

/// Notes what came of writing to the user: a terminal or a pipe that is gone ends the run as Ctrl-C does.
pub fn heard(written: io::Result<()>) {
    use rustix::io::Errno;
    if let Err(error) = written
        && matches!(Errno::from_io_error(&error), Some(Errno::IO | Errno::PIPE))
    {
        UNHEARD.store(true, Ordering::Relaxed);
    }
}

/// Whether this process ignores a signal that it has not taken yet, as its parent told it to.
pub fn is_ignored(signal: i32) -> bool {
    // `SigIgn` is a mask in hexadecimal: proc_pid_status(5).
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// What shells report for a program that a signal ended: this and the number of the signal.
const KILLED: i32 = 128;
