//! Ctrl-C once: end the run and say what was measured. Twice, or Ctrl-\\ once: quit at once.

use super::terminal;
use signal_hook::consts::{SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants the run to end.
#[derive(Debug)]
pub struct Interrupts {
    came: Arc<AtomicBool>,
}

impl Interrupts {
    /// Takes Ctrl-C and the request to terminate from now on.
    ///
    /// # Errors
    /// Where the system gives no handler or no thread.
    pub fn listen() -> io::Result<Self> {
        let came = Arc::new(AtomicBool::new(false));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGQUIT])?;
        let noted = Arc::clone(&came);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let again = noted.swap(true, Ordering::Relaxed);
                if again || signal == SIGQUIT {
                    terminal::abandon();
                    process::exit(KILLED + signal);
                }
            }
        })?;
        Ok(Interrupts { came })
    }

    /// Whether the run shall end.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}

/// What shells report for a program that a signal ended: this and the number of the signal.
const KILLED: i32 = 128;
