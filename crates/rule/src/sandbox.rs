//! A sandboxed Luau machine: no files, no clocks, no code from strings, bounded memory and time.
//!
//! ## Why an allow list
//! `library.luau` bounds the functions that could run for minutes inside one call and makes the libraries read-only. A
//! rule then sees only the environment that `prelude.luau` builds, so that additions of later Luau versions stay
//! unavailable until they are added to the list.

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, VmState};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The name of every rule's code inside the machine; short, so that a line number is easy to parse.
pub(crate) const RULE_CHUNK: &str = "rule";
/// The name of the gateway's own code inside the machine.
pub(crate) const HOST_CHUNK: &str = "host";

/// A sandboxed machine and the two of its functions that only this crate may call.
pub(crate) struct Sandbox {
    pub(crate) lua: Lua,
    pub(crate) clock: Rc<Clock>,
    /// `coroutine.yield`, by which host functions yield to the machine.
    pub(crate) hand_over: Function,
    /// `debug.info`, which returns the line of a rule that failed.
    info: Function,
}

impl Sandbox {
    pub(crate) fn new(memory_bytes: usize) -> mlua::Result<Self> {
        let libraries = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::STRING
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::MATH
            | StdLib::DEBUG;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let library = include_str!("library.luau");
        lua.load(library).set_name(format!("={HOST_CHUNK}")).exec()?;
        let hand_over = lua.globals().get::<Table>("coroutine")?.get("yield")?;
        let info = lua.globals().get::<Table>("debug")?.get("info")?;
        if let Some(strings) = lua.type_metatable::<LuaString>() {
            strings.set_readonly(true);
        }
        // The globals do not change from here on, so Luau may resolve library functions once.
        lua.globals().set_safeenv(true);
        let clock = Rc::new(Clock::default());
        let watched = Rc::clone(&clock);
        lua.set_interrupt(move |lua| {
            if !watched.is_over() {
                return Ok(VmState::Continue);
            }
            watched.note_line(|| line_inside(lua));
            Err(mlua::Error::runtime("time is up"))
        });
        lua.set_memory_limit(memory_bytes)?;
        Ok(Sandbox { lua, clock, hand_over, info })
    }

    /// Turns a rule's bytecode into a function that sees only the environment.
    ///
    /// Luau resolves names such as `http.getPath` while it loads, and in the machine's globals whatever environment it
    /// is given; so the environment replaces them during loading.
    pub(crate) fn load(&self, bytecode: &[u8], environment: Table) -> mlua::Result<Function> {
        // The environment is frozen, so resolved names stay correct.
        environment.set_safeenv(true);
        let globals = self.lua.globals();
        self.lua.set_globals(environment.clone())?;
        let chunk = self.lua.load(bytecode).set_mode(ChunkMode::Binary).set_name(format!("={RULE_CHUNK}"));
        let loaded = chunk.set_environment(environment).into_function();
        self.lua.set_globals(globals)?;
        loaded
    }

    /// The line that a thread of a rule has reached or failed at.
    pub(crate) fn line_of(&self, thread: &mlua::Thread) -> Option<u32> {
        (0..LEVELS_MAX).find_map(|level| {
            let (source, line) =
                self.info.call::<(Option<String>, Option<u32>)>((thread, level, "sl")).ok()?;
            (source? == RULE_CHUNK).then_some(line).flatten()
        })
    }
}

/// The line of the rule that is running now.
fn line_inside(lua: &Lua) -> Option<u32> {
    (0..LEVELS_MAX)
        .find_map(|level| {
            let seen = |debug: &mlua::debug::Debug<'_>| {
                let ours = debug.source().short_src.as_deref() == Some(RULE_CHUNK);
                ours.then(|| debug.current_line()).flatten()
            };
            lua.inspect_stack(level, seen).flatten()
        })
        .and_then(|line| u32::try_from(line).ok())
}

/// The time limit of the current activation.
///
/// ## Why time is charged in slices
/// On a busy host the kernel may preempt the thread for longer than the whole limit. Such a pause is not caused by the
/// rule and must not end it, so the time between two reads of the clock is charged up to a bound.
#[derive(Default)]
pub(crate) struct Clock {
    limit: Cell<Duration>,
    charged: Cell<Duration>,
    looked: Cell<Option<Instant>>,
    interrupts: Cell<u32>,
    /// Set once the time limit was reached, with the line of the rule.
    over: Cell<Option<Option<u32>>>,
}

impl Clock {
    /// Begins an activation.
    pub(crate) fn start(&self, limit: Duration) {
        self.limit.set(limit);
        self.charged.set(Duration::ZERO);
        self.looked.set(Some(Instant::now()));
        self.interrupts.set(0);
        self.over.set(None);
    }

    /// The line at which the time limit was reached, if it was.
    pub(crate) fn over(&self) -> Option<Option<u32>> {
        self.over.get()
    }

    /// Once true it stays true: a rule that catches the error gets it again at its next step.
    fn is_over(&self) -> bool {
        if self.over.get().is_some() {
            return true;
        }
        let interrupts = self.interrupts.get().wrapping_add(1);
        self.interrupts.set(interrupts);
        interrupts.is_multiple_of(INTERRUPTS_PER_LOOK) && self.charge(Instant::now()) >= self.limit.get()
    }

    /// Charges the time since the last read of the clock and returns the sum.
    fn charge(&self, now: Instant) -> Duration {
        let passed = self.looked.replace(Some(now)).map_or(Duration::ZERO, |looked| now - looked);
        let charged = self.charged.get().saturating_add(passed.min(SLICE_MAX));
        self.charged.set(charged);
        charged
    }

    fn note_line(&self, line: impl FnOnce() -> Option<u32>) {
        if self.over.get().is_none() {
            self.over.set(Some(line()));
        }
    }
}

/// Luau interrupts at each call and each iteration of a loop, about ten times in a rule that passes; reading the clock
/// costs more than the interrupt. A library call on the largest strings takes a few milliseconds.
const INTERRUPTS_PER_LOOK: u32 = 4;

/// A few library calls on the largest strings.
const SLICE_MAX: Duration = Duration::from_millis(5);

/// How many callers up a line of the rule is searched for: host and library functions call each other once or twice.
const LEVELS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_of_the_host_is_charged_as_one_slice() {
        let clock = Clock::default();
        clock.start(Duration::from_millis(50));
        let start = clock.looked.get().unwrap();
        assert_eq!(clock.charge(start + Duration::from_millis(2)), Duration::from_millis(2));
        assert_eq!(clock.charge(start + Duration::from_secs(9)), Duration::from_millis(7));
    }
}
