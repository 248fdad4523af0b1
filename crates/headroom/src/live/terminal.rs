//! The terminal while a screen is up, and as it was before.
//!
//! Keys are not echoed into the screen; Ctrl-C still arrives as a signal, because the terminal stays in its line mode.
//! Whoever ends the screen, its owner, a panic or a second Ctrl-C, calls [`restore`]; only the first call acts.

use ratatui::crossterm::{cursor, execute};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

/// How the terminal was; there while a screen is up.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Makes the terminal ready for a screen.
///
/// # Errors
/// Where standard error is no terminal.
pub fn prepare() -> io::Result<()> {
    let before = tcgetattr(io::stderr())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    restore_on_panic();
    tcsetattr(io::stderr(), OptionalActions::Now, &quiet)?;
    Ok(())
}

/// Leaves the terminal as it was before [`prepare`].
pub fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // Nothing is left to try where the terminal is gone.
        let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
        let _ = execute!(io::stderr(), cursor::Show);
        let _ = io::stderr().flush();
    }
}

/// Before a panic is told, so that its message stands on a terminal that can show it.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            tell(panic);
        }));
    });
}
