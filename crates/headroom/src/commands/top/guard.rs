//! Sees to it that `top` does not outlive its terminal.
//!
//! ## Why threads of its own
//! The loop that draws may be kept in a call: a gateway that does not answer, a terminal library that waits for the
//! rest of a key. Signals and the end of the terminal are watched beside it, and where the loop has not ended a little
//! later, the program is ended for it. Both threads sleep in the kernel until something happens.

use crate::exit::Exit;
use crate::live;
use ratatui::crossterm::{cursor, execute};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, stdin, stdout};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a wait for keys brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing in time.
    None,
    /// Something to read.
    There,
    /// No more will come.
    Ended,
}

/// Starts to watch; the flag tells the loop to end.
///
/// # Errors
/// Where the system gives no handler or no thread.
pub fn start() -> io::Result<Arc<AtomicBool>> {
    let told = Arc::new(AtomicBool::new(false));
    let mut taken = vec![SIGTERM, SIGINT];
    // What a parent ignored (`nohup`) stays ignored. A terminal that is gone ends `top` all the same.
    if !live::is_ignored(SIGHUP) {
        taken.push(SIGHUP);
    }
    let mut signals = Signals::new(taken)?;
    let flag = Arc::clone(&told);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            end(&flag);
        }
    })?;
    let flag = Arc::clone(&told);
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        until_hung_up();
        end(&flag);
    })?;
    Ok(told)
}

/// Tells the loop to end, and ends the program where it does not.
fn end(told: &AtomicBool) {
    told.store(true, Ordering::Relaxed);
    std::thread::sleep(GRACE);
    restore();
    process::exit(Exit::Done.code().into());
}

/// Returns when the terminal is gone.
fn until_hung_up() {
    let (input, output) = (stdin(), stdout());
    loop {
        // Without an event that is asked for, only what nobody asks for wakes it up: a hang-up or an error.
        let none = PollFlags::empty();
        let mut watched = [PollFd::new(&input, none), PollFd::new(&output, none)];
        match poll(&mut watched, None) {
            Ok(_) if watched.iter().any(|fd| fd.revents().intersects(GONE)) => return,
            Ok(_) | Err(Errno::INTR) => {}
            // Nothing can be seen here; the loop sees what it reads and writes.
            Err(_) => loop {
                std::thread::park();
            },
        }
    }
}

/// Waits for keys.
///
/// # Errors
/// Where the system does not let us wait.
pub fn input_within(left: Duration) -> io::Result<Input> {
    let input = stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut watched, Some(&left)) {
        // A signal, which the loop looks for.
        Ok(0) | Err(Errno::INTR) => return Ok(Input::None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    // A terminal that is readable and has nothing to read has come to its end.
    let is_empty = || ioctl_fionread(&input).is_ok_and(|count| count == 0);
    let ended = watched[0].revents().intersects(GONE) || is_empty();
    Ok(if ended { Input::Ended } else { Input::There })
}

/// Leaves the terminal as it was, as far as it is still there.
pub fn restore() {
    let _ = ratatui::try_restore();
    let _ = execute!(stdout(), cursor::Show);
}

const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// How long the loop has to end by itself.
const GRACE: Duration = Duration::from_millis(500);
