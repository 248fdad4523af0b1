//! A rule as bytecode: checked once, loaded into the machine of each core.

use crate::classes::Names;
use crate::error::RuleError;
use crate::functions::{Misnamed, Phase, known, misnamed};
use crate::mentions::{Call, Mention, calls, mentions};
use mlua::chunk::Compiler;

/// The greatest length of a rule's source, in bytes. The compiler's memory is not the machine's, so this is its
/// bound.
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
    /// Compiles the source of a rule for requests; `name` is what messages call it.
    ///
    /// # Errors
    /// [`RuleError::TooLong`] beyond [`SOURCE_BYTES_MAX`], [`RuleError::Syntax`] where the source is no Luau.
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

    /// What messages call the rule.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When the rule runs.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Everything that the source names and that is not there: functions, classes, pools.
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

    /// Looks for classes and pools that the source names as literals and the configuration does not have.
    ///
    /// Names that the rule computes are checked where they are used, at run time.
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

/// The compiler says `7: Expected …`; a line that it does not give is the first.
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

/// Luau calls its built-in functions by number, whatever the environment holds, unless it is told not to.
const ABSENT_BUILTINS: [&str; 7] =
    ["getmetatable", "setmetatable", "rawequal", "rawget", "rawlen", "rawset", "vector.create"];
