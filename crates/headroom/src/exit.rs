//! The exit codes of all commands: one table.

use std::process::{ExitCode, Termination};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, and every goal that was asked for was met.
    Done,
    /// Anything that has no code of its own.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// A goal was asked for, and the run is invalid.
    Invalid,
    /// A threshold, a goal or a published row was missed; k6's number.
    Missed,
}

impl Exit {
    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Missed => 99,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}
