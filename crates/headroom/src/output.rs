//! What a command says: the result on standard output, the story on standard error.

use crate::exit::Exit;
use crate::live;
use report::Terminal;
use std::error::Error;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;

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
    complain(error, Exit::Failed)
}

/// Says what is wrong, with all causes, and ends as `exit` says.
pub fn complain(error: &dyn Error, exit: Exit) -> Exit {
    let message = with_causes(error);
    // Where nobody can be told, the exit code still says it.
    let _ = writeln!(stderr(), "error: {message}");
    exit
}

/// An error and all its causes in a line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    message
}

/// Says something that a reader should know, and goes on.
pub fn note(text: &str) {
    // Where nobody can be told, the run is worth more than the note.
    let _ = writeln!(stderr(), "note: {text}");
}

/// Says something on standard error, and goes on where nobody can be told.
pub fn say(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}

/// Says how something goes, on standard error. A terminal or a pipe that is gone ends what goes on, as Ctrl-C does.
pub fn tell(text: &str) {
    let mut stderr = stderr();
    live::heard(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

/// Says what goes on now, in the place of the last such line: cut at the width of the terminal, as a line that the
/// terminal breaks cannot be cleared.
pub fn tell_now(text: &str) {
    let width = terminal_of(stderr()).width.saturating_sub(1);
    let line: String = text.chars().take(width).collect();
    tell(&format!("\r\x1b[K{line}"));
}

/// All problems of a file: with excerpts on a terminal, otherwise one per line.
pub fn problems(problems: &fields::Problems) -> String {
    if stderr().is_terminal() { problems.graphical() } else { problems.plain() }
}

/// Says all problems of a file; wrong usage.
pub fn refuse(problems: &fields::Problems) -> Exit {
    // Where nobody can be told, the exit code still says it.
    let _ = write!(stderr(), "{}", self::problems(problems));
    Exit::Usage
}

/// What the result is written for: the terminal, or a pipe or a file.
pub fn terminal() -> Terminal {
    terminal_of(stdout())
}

/// What a stream is written for: the terminal, or a pipe or a file.
pub fn terminal_of(stream: impl AsFd) -> Terminal {
    match terminal_size::terminal_size_of(stream) {
        Some((width, _)) => Terminal { width: usize::from(width.0), colours: live::with_colours() },
        None => Terminal::PIPE,
    }
}
