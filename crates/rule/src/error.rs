//! What can be wrong with a rule.

use crate::classes::ClassKind;
use crate::functions::Phase;
use std::time::Duration;
use units::{Bytes, show_duration};

/// Why a rule could not be compiled, loaded or run to its end. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The source is longer than [`SOURCE_BYTES_MAX`](crate::SOURCE_BYTES_MAX).
    #[error(
        "rule `{rule}` has {found} bytes, more than the {bound} that a rule may have; split it into several"
    )]
    TooLong {
        /// The rule.
        rule: String,
        /// Its length in bytes.
        found: usize,
        /// The greatest length in bytes.
        bound: usize,
    },
    /// The source is no Luau.
    #[error("rule `{rule}`, line {line}: {what}; rules are written in Luau, see https://luau.org/syntax")]
    Syntax {
        /// The rule.
        rule: String,
        /// Where.
        line: u32,
        /// What the compiler says.
        what: String,
    },
    /// The source names a class or pool that the configuration does not have.
    #[error(
        "rule `{rule}`, line {line}: unknown {kind} {name:?}, known: {known}; add it or correct its name"
    )]
    UnknownClass {
        /// The rule.
        rule: String,
        /// Where.
        line: u32,
        /// The kind of class that the function takes.
        kind: ClassKind,
        /// The name in the source.
        name: String,
        /// All names of that kind.
        known: String,
    },
    /// The source calls a function that rules do not have.
    #[error("rule `{rule}`, line {line}: unknown function `{name}`; known: {}", known.join(", "))]
    UnknownFunction {
        /// The rule.
        rule: String,
        /// Where.
        line: u32,
        /// The function as the source calls it.
        name: String,
        /// Every function that the rule may call.
        known: Vec<String>,
    },
    /// The source calls a function that only rules of the other phase have.
    #[error(
        "rule `{rule}`, line {line}: `{name}` is not for a {}; {}",
        phase_name(*.phase), other_phase(*.phase)
    )]
    OtherPhase {
        /// The rule.
        rule: String,
        /// Where.
        line: u32,
        /// The function.
        name: String,
        /// When the rule runs.
        phase: Phase,
    },
    /// The rule failed while it ran.
    #[error("rule `{rule}`{}: {what}", At(*.line))]
    Failed {
        /// The rule.
        rule: String,
        /// Where, if that is known.
        line: Option<u32>,
        /// What failed and what to do about it.
        what: String,
    },
    /// One activation of the rule ran too long.
    #[error(
        "rule `{rule}`{}: still running after {}, the time limit of a rule; look for a loop that does not end",
        At(*.line), show_duration(*.limit)
    )]
    TimeLimit {
        /// The rule.
        rule: String,
        /// Where it was when time was up.
        line: Option<u32>,
        /// The limit.
        limit: Duration,
    },
    /// The rules of this core hold as much memory as they may.
    #[error(
        "rule `{rule}`{}: not enough memory, rules may hold {limit} on each core, suspended ones included; \
         build smaller strings and tables or let fewer requests wait",
        At(*.line)
    )]
    MemoryLimit {
        /// The rule.
        rule: String,
        /// Where, if that is known.
        line: Option<u32>,
        /// The limit.
        limit: Bytes,
    },
    /// The rules of a configuration are more than one core holds.
    #[error(
        "{of} rules are more than a core holds: {fit} of them fill the memory of rules ({memory}, an eighth of it for \
         requests); give many routes one rule that tells their paths apart, or write shorter ones"
    )]
    TooMany {
        /// How many there are.
        of: usize,
        /// How many of them, in their order, fit.
        fit: usize,
        /// The memory that rules may hold on each core.
        memory: Bytes,
    },
    /// The Luau machine itself could not be set up; a fault of this program.
    #[error("cannot set up the Luau machine: {what}")]
    Machine {
        /// What it said.
        what: String,
    },
}

/// What a rule of this phase is called in the gateway file.
pub(crate) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Request => "`rule`",
        Phase::Response => "`response_rule`",
    }
}

/// Why a function of the other phase cannot be called, and where it can.
pub(crate) fn other_phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Request => "there is no answer yet, call it in the `response_rule` of the route",
        Phase::Response => "the request is answered already, call it in the `rule` of the route",
    }
}

impl RuleError {
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

/// Shows `, line 7` where the line is known.
struct At(Option<u32>);

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(line) => write!(f, ", line {line}"),
            None => Ok(()),
        }
    }
}
