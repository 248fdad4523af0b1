//! Errors of rules.

use crate::classes::ClassKind;
use crate::functions::Phase;
use std::fmt;
use std::time::Duration;
use units::{Bytes, show_duration};

/// Why a rule could not be compiled, loaded or run to its end. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// The source is longer than [`SOURCE_BYTES_MAX`](crate::SOURCE_BYTES_MAX).
    TooLong {
        /// The rule.
        rule: String,
        /// Its length in bytes.
        found: usize,
        /// The greatest length in bytes.
        bound: usize,
    },
    /// The source is not valid Luau.
    Syntax {
        /// The rule.
        rule: String,
        /// The line.
        line: u32,
        /// The compiler's message.
        what: String,
    },
    /// The source names a class or pool that the configuration does not have.
    UnknownClass {
        /// The rule.
        rule: String,
        /// The line.
        line: u32,
        /// The kind of class that the function takes.
        kind: ClassKind,
        /// The name in the source.
        name: String,
        /// All names of that kind.
        known: String,
    },
    /// The source calls a function that rules do not have.
    UnknownFunction {
        /// The rule.
        rule: String,
        /// The line.
        line: u32,
        /// The function as the source calls it.
        name: String,
        /// Every function that the rule may call.
        known: Vec<String>,
    },
    /// The source calls a function that only rules of the other phase have.
    OtherPhase {
        /// The rule.
        rule: String,
        /// The line.
        line: u32,
        /// The function.
        name: String,
        /// When the rule runs.
        phase: Phase,
    },
    /// The rule failed while it ran.
    Failed {
        /// The rule.
        rule: String,
        /// The line, if it is known.
        line: Option<u32>,
        /// What failed and what to do about it.
        what: String,
    },
    /// One activation of the rule ran too long.
    TimeLimit {
        /// The rule.
        rule: String,
        /// The line at which the time limit was reached.
        line: Option<u32>,
        /// The limit.
        limit: Duration,
    },
    /// The rules of this core hold as much memory as they may.
    MemoryLimit {
        /// The rule.
        rule: String,
        /// The line, if it is known.
        line: Option<u32>,
        /// The limit.
        limit: Bytes,
    },
    /// The rules of a configuration do not fit in one core's memory limit.
    TooMany {
        /// How many there are.
        of: usize,
        /// How many of them, in order, fit.
        fit: usize,
        /// The memory that rules may hold on each core.
        memory: Bytes,
    },
    /// The Luau machine itself could not be created; a bug of this program.
    Machine {
        /// Its message.
        what: String,
    },
}

/// The key of a rule of this phase in the gateway file.
pub(crate) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Request => "`rule`",
        Phase::Response => "`response_rule`",
    }
}

/// Why a function of the other phase cannot be called, and where it can.
pub(crate) fn other_phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Request => "there is no response yet, call it in the `response_rule` of the route",
        Phase::Response => "the response has already arrived, call it in the `rule` of the route",
    }
}

impl RuleError {
    /// What is wrong, and where.
    pub fn problem(&self) -> String {
        match self {
            RuleError::TooLong { rule, found, bound } => {
                format!("rule `{rule}` has {found} bytes, more than the {bound} that a rule may have")
            }
            RuleError::Syntax { rule, line, what } => format!("rule `{rule}`, line {line}: {what}"),
            RuleError::UnknownClass { rule, line, kind, name, known } => {
                format!("rule `{rule}`, line {line}: unknown {kind} {name:?}, known: {known}")
            }
            RuleError::UnknownFunction { rule, line, name, .. } => {
                format!("rule `{rule}`, line {line}: unknown function `{name}`")
            }
            RuleError::OtherPhase { rule, line, name, phase } => {
                format!("rule `{rule}`, line {line}: `{name}` is not for a {}", phase_name(*phase))
            }
            RuleError::Failed { rule, line, what } => format!("rule `{rule}`{}: {what}", At(*line)),
            RuleError::TimeLimit { rule, line, limit } => format!(
                "rule `{rule}`{}: still running after {}, the time limit of a rule",
                At(*line),
                show_duration(*limit)
            ),
            RuleError::MemoryLimit { rule, line, limit } => format!(
                "rule `{rule}`{}: not enough memory, rules may hold {limit} on each core, suspended ones included",
                At(*line)
            ),
            RuleError::TooMany { of, fit, memory } => format!(
                "{of} rules are more than a core holds: {fit} of them fill the memory of rules ({memory}, an eighth of \
                 it for requests)"
            ),
            RuleError::Machine { what } => format!("cannot set up the Luau machine: {what}"),
        }
    }

    /// The way out, if the problem does not include it.
    pub fn way_out(&self) -> Option<String> {
        let text = match self {
            RuleError::TooLong { .. } => "split it into several",
            RuleError::Syntax { .. } => "rules are written in Luau, see https://luau.org/syntax",
            RuleError::UnknownClass { .. } => "add it or correct its name",
            RuleError::UnknownFunction { known, .. } => return Some(format!("known: {}", known.join(", "))),
            RuleError::OtherPhase { phase, .. } => other_phase(*phase),
            RuleError::TimeLimit { .. } => "look for a loop that does not end",
            RuleError::MemoryLimit { .. } => "build smaller strings and tables or let fewer requests wait",
            RuleError::TooMany { .. } => {
                "give many routes one rule that tells their paths apart, or write shorter ones"
            }
            RuleError::Failed { .. } | RuleError::Machine { .. } => return None,
        };
        Some(text.to_owned())
    }

    /// The kind of error in one word, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            RuleError::TimeLimit { .. } => "time_limit",
            RuleError::MemoryLimit { .. } => "memory_limit",
            RuleError::Failed { .. } => "failed",
            _ => "not_loaded",
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem())?;
        self.way_out().map_or(Ok(()), |way_out| write!(f, "; {way_out}"))
    }
}

impl std::error::Error for RuleError {}

/// Shows `, line 7` where the line is known.
struct At(Option<u32>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, ", line {line}"),
            None => Ok(()),
        }
    }
}
