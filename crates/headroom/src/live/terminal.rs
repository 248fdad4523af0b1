//! The terminal while a screen is up, and as it was before.
//!
//! Keys are not echoed into the screen; Ctrl-C still arrives as a signal, because the terminal stays in its line mode.
//! Whoever ends the screen (its owner: [`restore`]; a panic or a second Ctrl-C: [`abandon`]), only the first acts.

use ratatui::crossterm::style::Print;
use ratatui::crossterm::{cursor, execute};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// How the terminal was; there while a screen is up.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The row below the screen.
static BOTTOM: AtomicU16 = AtomicU16::new(0);

/// Makes the terminal ready for a screen.
///
/// # Errors
/// Where standard error is no terminal, or is another program's now: a program in the background that changes its
/// terminal is stopped.
pub fn prepare() -> io::Result<()> {
    if tcgetpgrp(io::stderr())? != getpgrp() {
        return Err(io::Error::other("the terminal belongs to another program now"));
    }
    let before = tcgetattr(io::stderr())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    restore_on_panic();
    tcsetattr(io::stderr(), OptionalActions::Now, &quiet)?;
    Ok(())
}

/// Notes where the screen ends, as the row below it.
pub fn note_bottom(row: u16) {
    BOTTOM.store(row, Ordering::Relaxed);
}

/// Leaves the terminal as it was before [`prepare`]; says whether a screen was up.
pub fn restore() -> bool {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else { return false };
    // Nothing is left to try where the terminal is gone.
    let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
    let _ = execute!(io::stderr(), cursor::Show);
    true
}

/// Leaves the screen as it stands, and whatever is written next below it.
pub fn abandon() {
    if restore() {
        let _ = execute!(io::stderr(), cursor::MoveTo(0, BOTTOM.load(Ordering::Relaxed)), Print("\r\n"));
    }
}

/// Before a panic is told, so that its message stands on a terminal that can show it.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            abandon();
            tell(panic);
        }));
    });
}
