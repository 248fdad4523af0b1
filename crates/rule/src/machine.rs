//! One Luau machine per core, which runs, suspends and resumes rules.
//!
//! ## Why host functions yield
//! A rule runs as a coroutine, and each host function yields to the loop in `activation.rs`, which calls the [`Host`]
//! and resumes the rule. So `rate.use` waits simply by not being resumed yet, the gateway is passed as a plain `&mut
//! dyn Host`, and no callback owns a part of it. It costs about as much as a callback would.
//!
//! ## What survives a rule that fails
//! The machine does: a failed coroutine is discarded, garbage is collected after a shortage of memory, and rules cannot
//! write to anything that outlives their request.

use crate::activation::Activation;
use crate::changes::Changes;
use crate::classes::{ClassKind, Names, RateClassId};
use crate::compile::Rule;
use crate::error::{RuleError, other_phase, phase_name};
use crate::functions::{Phase, of_other_phase};
use crate::host::{Answer, Host};
use crate::response::Response;
use crate::sandbox::{HOST_CHUNK, RULE_CHUNK, Sandbox};
use mlua::{Function, Table, Thread};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use units::Bytes;

/// The resource limits of one machine's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all rules of the machine together, suspended ones included. A machine with one rule takes some 700 kB,
    /// a waiting rule some 1.4 kB.
    pub memory: Bytes,
    /// Wall time of one activation: from the start, or from a resumption, to the end or the next suspension.
    /// The time that a rule waits for its rate class does not count.
    pub time: Duration,
}

impl Default for Limits {
    /// 8 MiB and 50 ms.
    fn default() -> Self {
        Limits { memory: Bytes::new(8 * 1024 * 1024), time: Duration::from_millis(50) }
    }
}

/// How an activation of a rule ended.
#[derive(Debug)]
pub enum Outcome {
    /// The request goes on to the service, with the rule's changes.
    Pass(Changes),
    /// The rule sent a response; the service does not get the request.
    Respond(Response),
    /// The rule waits for a rate class.
    Waiting(Suspended),
    /// The backlog of a rate class is full; the gateway sends the response of the class.
    Shed(RateClassId),
}

/// How a response rule ended.
#[derive(Debug)]
pub enum Answered {
    /// The response goes on to the client, with the rule's changes.
    Pass(Changes),
    /// The client gets another response.
    Replace(Response),
}

/// A rule suspended in `rate.use`.
///
/// Pass it to [`Machine::resume`] of the machine that ran it when the rate allows, or drop it to give up the request.
/// Its memory counts against the machine's limit; the backlog's bound limits suspended rules.
#[derive(Debug)]
pub struct Suspended {
    name: Rc<str>,
    thread: Thread,
    class: RateClassId,
    /// Boxed: few rules change something before they wait.
    changes: Box<Changes>,
}

impl Suspended {
    /// The rate class that the rule waits for.
    pub fn class(&self) -> RateClassId {
        self.class
    }
}

/// A rule that can run on the machine that loaded it; another machine panics.
#[derive(Debug)]
pub struct LoadedRule {
    name: Rc<str>,
    main: Function,
}

/// Runs rules on one core. It stays on the thread that created it.
pub struct Machine {
    sandbox: Sandbox,
    /// `prelude.luau`, compiled once: it would take more memory than most rules.
    prelude: Function,
    limits: Limits,
    /// Coroutines that ended successfully, for reuse: creating one costs more than resetting one.
    idle: Vec<Thread>,
}

impl Machine {
    /// An empty machine.
    ///
    /// # Errors
    /// [`RuleError::Machine`] if Luau cannot be created within the memory limit.
    pub fn new(limits: Limits) -> Result<Self, RuleError> {
        let memory = usize::try_from(limits.memory.get()).unwrap_or(usize::MAX);
        let refused = |error: mlua::Error| RuleError::Machine { what: first_line(&error.to_string()) };
        let sandbox = Sandbox::new(memory).map_err(refused)?;
        let prelude = sandbox.lua.load(include_str!("prelude.luau")).set_name(format!("={HOST_CHUNK}"));
        let prelude = prelude.into_function().map_err(refused)?;
        Ok(Machine { sandbox, prelude, limits, idle: Vec::new() })
    }

    /// Makes a rule ready to run with the classes of the configuration.
    ///
    /// After a change of classes, load the rule again; a suspended rule keeps the numbers it began with.
    ///
    /// # Errors
    /// [`RuleError::UnknownClass`] for the first literal with an unknown name (all of them: [`Rule::unknown_classes`]),
    /// [`RuleError::MemoryLimit`] if the machine is full.
    pub fn load(&mut self, rule: &Rule, names: &Names) -> Result<LoadedRule, RuleError> {
        if let Some(unknown) = rule.unknown_classes(names).into_iter().next() {
            return Err(unknown);
        }
        self.sandbox.clock.start(self.limits.time);
        let main = self.main(rule, names).map_err(|error| self.failure(rule.name(), None, error))?;
        Ok(LoadedRule { name: rule.name().into(), main })
    }

    /// Runs a rule for one request, to its end or until it waits.
    ///
    /// # Errors
    /// [`RuleError::Failed`], [`RuleError::TimeLimit`] or [`RuleError::MemoryLimit`]. The machine stays usable. Effects
    /// on the host before the failure (a service level class, a place at a rate class) remain; changes of the message
    /// do not.
    pub fn run(&mut self, rule: &LoadedRule, host: &mut dyn Host) -> Result<Outcome, RuleError> {
        let thread = self.ready(rule)?;
        self.drive(&rule.name, thread, host, None, Changes::default())
    }

    /// Resumes a rule whose rate class admits its request now.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn resume(&mut self, suspended: Suspended, host: &mut dyn Host) -> Result<Outcome, RuleError> {
        self.sandbox.clock.start(self.limits.time);
        self.drive(&suspended.name, suspended.thread, host, None, *suspended.changes)
    }

    /// Runs a response rule for the response of an instance.
    ///
    /// # Errors
    /// As for [`Machine::run`]; the response is forwarded unchanged.
    pub fn run_response(
        &mut self,
        rule: &LoadedRule,
        host: &mut dyn Host,
        answer: &dyn Answer,
    ) -> Result<Answered, RuleError> {
        let thread = self.ready(rule)?;
        match self.drive(&rule.name, thread, host, Some(answer), Changes::default())? {
            Outcome::Pass(changes) => Ok(Answered::Pass(changes)),
            Outcome::Respond(response) => Ok(Answered::Replace(response)),
            Outcome::Waiting(_) | Outcome::Shed(_) => {
                let what = "a response rule cannot wait for a rate class; use it in the `rule` of the route";
                Err(RuleError::Failed { rule: rule.name.to_string(), line: None, what: what.to_owned() })
            }
        }
    }

    /// The memory that rules hold now, including garbage.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.sandbox.lua.used_memory() as u64)
    }

    /// A coroutine that begins with the rule.
    fn ready(&mut self, rule: &LoadedRule) -> Result<Thread, RuleError> {
        self.sandbox.clock.start(self.limits.time);
        let ready = match self.idle.pop() {
            Some(thread) => thread.reset(rule.main.clone()).map(|()| thread),
            None => self.sandbox.lua.create_thread(rule.main.clone()),
        };
        ready.map_err(|error| self.failure(&rule.name, None, error))
    }

    fn drive(
        &mut self,
        name: &Rc<str>,
        thread: Thread,
        host: &mut dyn Host,
        answer: Option<&dyn Answer>,
        mut changes: Changes,
    ) -> Result<Outcome, RuleError> {
        let lua = &self.sandbox.lua;
        let ended = Activation { lua, thread: &thread, answer, changes: &mut changes }.drive(host);
        if self.sandbox.clock.over().is_some() {
            // Also if the rule caught the error and ended normally: otherwise the time-out would go unnoticed.
            return Err(self.failure(name, None, mlua::Error::runtime("time is up")));
        }
        match ended {
            Ok(End::Pass) => Ok(self.ended(thread, Outcome::Pass(changes))),
            Ok(End::Respond(response)) => Ok(self.ended(thread, Outcome::Respond(response))),
            Ok(End::Shed(class)) => Ok(self.ended(thread, Outcome::Shed(class))),
            Ok(End::Wait(class)) => {
                let changes = Box::new(changes);
                Ok(Outcome::Waiting(Suspended { name: Rc::clone(name), thread, class, changes }))
            }
            Err(error) => Err(self.failure(name, Some(&thread), error)),
        }
    }

    fn ended(&mut self, thread: Thread, outcome: Outcome) -> Outcome {
        if self.idle.len() < IDLE_MAX {
            self.idle.push(thread);
        }
        outcome
    }

    /// The rule's function, in an environment of its own.
    fn main(&self, rule: &Rule, names: &Names) -> mlua::Result<Function> {
        let lua = &self.sandbox.lua;
        let table =
            |ids: &BTreeMap<String, u32>| lua.create_table_from(ids.iter().map(|(k, v)| (k.as_str(), *v)));
        let env: Table = self.prelude.call((
            rule.phase() == Phase::Response,
            lua.create_table_from(elsewhere(rule.phase()))?,
            &self.sandbox.hand_over,
            table(names.of(ClassKind::ServiceLevel))?,
            names.shown(ClassKind::ServiceLevel),
            table(names.of(ClassKind::Rate))?,
            names.shown(ClassKind::Rate),
            table(names.of(ClassKind::Pool))?,
            names.shown(ClassKind::Pool),
        ))?;
        self.sandbox.load(rule.bytecode(), env)
    }

    fn failure(&self, name: &str, thread: Option<&Thread>, error: mlua::Error) -> RuleError {
        let rule = name.to_string();
        if let Some(line) = self.sandbox.clock.over() {
            return RuleError::TimeLimit { rule, line, limit: self.limits.time };
        }
        let line = thread.and_then(|thread| self.sandbox.line_of(thread));
        if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(mlua::Error::MemoryError(_)))) {
            // Luau does not collect garbage by itself when memory runs short. An error here would be the same one.
            let _ = self.sandbox.lua.gc_collect();
            return RuleError::MemoryLimit { rule, line, limit: self.limits.memory };
        }
        let text = match &error {
            mlua::Error::RuntimeError(text) => text.clone(),
            other => other.to_string(),
        };
        RuleError::Failed { rule, line, what: explain(&text) }
    }
}

/// Whether these rules fit on a core, with an eighth of the memory left for requests.
///
/// # Errors
/// [`RuleError::TooMany`], and the errors of [`Machine::load`].
pub fn fit<'rule>(
    rules: impl IntoIterator<Item = &'rule Rule>,
    names: &Names,
    limits: Limits,
) -> Result<(), RuleError> {
    let (mut machine, mut loaded) = (None, Vec::new());
    let mut rules = rules.into_iter();
    while let Some(rule) = rules.next() {
        let machine = match &mut machine {
            Some(machine) => machine,
            none => none.insert(Machine::new(Limits {
                memory: Bytes::new(limits.memory.get() - limits.memory.get() / FOR_REQUESTS),
                ..limits
            })?),
        };
        match machine.load(rule, names) {
            Ok(rule) => loaded.push(rule),
            Err(RuleError::MemoryLimit { .. }) => {
                let fit = loaded.len();
                return Err(RuleError::TooMany { of: fit + 1 + rules.count(), fit, memory: limits.memory });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The share of a machine's memory for requests, as 1 / this.
const FOR_REQUESTS: u64 = 8;

/// The messages for names that only rules of the other phase have.
fn elsewhere(phase: Phase) -> impl Iterator<Item = (String, String)> {
    let (name, other) = (phase_name(phase), other_phase(phase));
    of_other_phase(phase).map(move |found| {
        let said = format!("`{found}` is not for a {name}; {other}");
        (found, said)
    })
}

/// How the loop over host calls ended.
pub(crate) enum End {
    Pass,
    Respond(Response),
    Wait(RateClassId),
    Shed(RateClassId),
}

/// Luau's message, without the position (the error has it as a field) and the traceback, with a way out.
fn explain(text: &str) -> String {
    let said = text.rfind("\nstack traceback:").map_or(text, |end| &text[..end]);
    let said = without_position(said);
    if said == "nil" || ["table: 0x", "function: 0x"].iter().any(|object| said.starts_with(object)) {
        let kind = said.split(':').next().unwrap_or(said);
        return format!("error was called with {kind} instead of a message; give it a string");
    }
    let remedy = REMEDIES.iter().find(|(sign, _)| said.contains(sign)).map(|(_, remedy)| *remedy);
    let said: String = said.chars().take(MESSAGE_CHARS_MAX).collect();
    match remedy {
        Some(remedy) => format!("{said}; {remedy}"),
        None => said,
    }
}

/// Removes `rule:7: `.
fn without_position(said: &str) -> &str {
    let rest = [RULE_CHUNK, HOST_CHUNK].iter().find_map(|chunk| said.strip_prefix(chunk)?.strip_prefix(':'));
    match rest.and_then(|rest| rest.split_once(": ")) {
        Some((line, said)) if line.bytes().all(|byte| byte.is_ascii_digit()) => said,
        _ => said,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

/// Messages of Luau that need an explanation.
const REMEDIES: [(&str, &str); 5] = [
    ("attempt to call a nil value", "there is no such function, or rules may not use it"),
    ("readonly table", "libraries cannot be changed and nothing is kept between requests; use a local table"),
    ("stack overflow", "a function calls itself without end"),
    (
        "yield across metamethod/C-call",
        "call the host function first and keep its result in a local variable",
    ),
    ("pattern too complex", "use a shorter pattern or string"),
];

/// A message is written to a log line.
const MESSAGE_CHARS_MAX: usize = 500;

/// A core runs one rule at a time; a few spare coroutines replace the suspended ones.
const IDLE_MAX: usize = 32;
