//! A rule as bytecode: checked once, loaded into the machine of each core.

use crate::classes::Names;
use crate::error::RuleError;
use crate::functions::{Misnamed, Phase, known, misnamed};
use crate::mentions::{Call, Mention, calls, mentions};
use mlua::chunk::Compiler;

/// The greatest length of a rule's source, in bytes. The compiler's memory is not part of the machine's limit, so this
/// bounds it.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024;

/// A rule that is valid Luau. It may be sent to other threads and loaded into many machines.
#[derive(Debug, Clone)]
pub struct Rule {
    name: String,
    phase: Phase,
    bytecode: Vec<u8>,
    mentions: Vec<Mention>,
    calls: Vec<Call>,
}

impl Rule {
    /// Compiles the source of a rule for requests; `name` identifies it in messages.
    ///
    /// # Errors
    /// [`RuleError::TooLong`] beyond [`SOURCE_BYTES_MAX`], [`RuleError::Syntax`] if the source is not valid Luau.
    pub fn compile(name: &str, source: &str) -> Result<Rule, RuleError> {
        Rule::compile_for(Phase::Request, name, source)
    }

    /// Compiles the source of a rule of either phase.
    ///
    /// # Errors
    /// As for [`Rule::compile`].
    pub fn compile_for(phase: Phase, name: &str, source: &str) -> Result<Rule, RuleError> {
        if source.len() > SOURCE_BYTES_MAX {
            let rule = name.to_string();
            return Err(RuleError::TooLong { rule, found: source.len(), bound: SOURCE_BYTES_MAX });
        }
        let compiler = Compiler::new().set_disabled_builtins(ABSENT_BUILTINS);
        let bytecode = compiler.compile(source).map_err(|error| syntax_error(name, &error))?;
        let (mentions, calls) = (mentions(source), calls(source));
        Ok(Rule { name: name.to_string(), phase, bytecode, mentions, calls })
    }

    /// The rule's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When the rule runs.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// All unknown names in the source: functions, classes, pools.
    pub fn unknown(&self, names: &Names) -> Vec<RuleError> {
        let mut all = self.unknown_functions();
        all.extend(self.unknown_classes(names));
        all
    }

    fn unknown_functions(&self) -> Vec<RuleError> {
        let wrong = |call: &Call| {
            let (rule, line, name) = (self.name.clone(), call.line, call.shown());
            match misnamed(self.phase, call.library.as_deref(), &call.function)? {
                Misnamed::Unknown => {
                    Some(RuleError::UnknownFunction { rule, line, name, known: known(self.phase) })
                }
                Misnamed::OtherPhase => Some(RuleError::OtherPhase { rule, line, name, phase: self.phase }),
            }
        };
        self.calls.iter().filter_map(wrong).collect()
    }

    /// Searches for classes and pools that the source names as literals and the configuration does not have.
    ///
    /// Computed names are checked when they are used, at run time.
    pub fn unknown_classes(&self, names: &Names) -> Vec<RuleError> {
        let unknown =
            self.mentions.iter().filter(|mention| !names.of(mention.kind).contains_key(&mention.name));
        unknown
            .map(|mention| RuleError::UnknownClass {
                rule: self.name.clone(),
                line: mention.line,
                kind: mention.kind,
                name: mention.name.clone(),
                known: names.shown(mention.kind),
            })
            .collect()
    }

    pub(crate) fn bytecode(&self) -> &[u8] {
        &self.bytecode
    }
}

/// The compiler's message is `7: Expected …`; without a line number the first line is meant.
fn syntax_error(name: &str, error: &mlua::Error) -> RuleError {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let (line, what) = match text.split_once(':') {
        Some((line, what)) if line.parse::<u32>().is_ok() => (line.parse().unwrap_or(1), what.trim()),
        _ => (1, text.as_str()),
    };
    RuleError::Syntax { rule: name.to_string(), line, what: what.to_string() }
}

/// Luau calls its built-in functions by number, even if the environment lacks them, unless this is disabled.
const ABSENT_BUILTINS: [&str; 7] =
    ["getmetatable", "setmetatable", "rawequal", "rawget", "rawlen", "rawset", "vector.create"];
