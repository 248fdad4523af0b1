//! What a command says: the result on standard output, the story on standard error.

use crate::exit::Exit;
use std::error::Error;
use std::io::{IsTerminal, Write, stdout};

/// Prints the result of a command that is done.
pub fn print(text: &str) -> Exit {
    match stdout().write_all(text.as_bytes()) {
        Ok(()) => Exit::Done,
        // `headroom runs | head -3` has all that it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => fail(&error),
    }
}

/// Says why a command failed, with all causes.
pub fn fail(error: &dyn Error) -> Exit {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    eprintln!("headroom: {message}");
    Exit::Failed
}

/// How wide a table may be: the terminal's width, and no bound where the output goes elsewhere.
pub fn width() -> usize {
    match terminal_size::terminal_size() {
        Some((width, _)) if stdout().is_terminal() => usize::from(width.0),
        _ => usize::MAX,
    }
}
