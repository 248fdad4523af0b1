//! A mode of development, or a profiler that a command starts itself, switched off.

use super::words::without as removed;
use super::{Cause, Change, Edit, Shows, Start};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// The change that switches off the first mode that the command or the environment shows.
pub(super) fn without(cause: Cause, start: &Start) -> Option<Change> {
    let words = &start.words;
    let options: &[&[&str]] = if cause == Cause::Debug { &DEBUG } else { &PROFILERS };
    for option in options {
        let fits = |at: usize| {
            words[at..].len() >= option.len()
                && option.iter().zip(&words[at..]).all(|(pattern, word)| matches(pattern, word))
        };
        let Some(at) = (0..words.len()).find(|&at| fits(at)) else { continue };
        let before = words[at..at + option.len()].join(" ");
        let edit = Edit::Words(removed(words, at..at + option.len()));
        return Some(Change {
            variable: name(cause),
            before,
            after: "off".to_owned(),
            edit,
            shows: Shows::ProcessorTime,
        });
    }
    if cause == Cause::Profiler {
        return None;
    }
    // A mode that has a name gets another one.
    let at = words
        .windows(2)
        .position(|pair| ENVIRONMENTS.contains(&pair[0].as_str()) && is_development(&pair[1]));
    if let Some(at) = at {
        let mut changed = words.clone();
        changed[at + 1] = PRODUCTION.to_owned();
        let (before, edit) = (words[at + 1].clone(), Edit::Words(changed));
        let after = PRODUCTION.to_owned();
        return Some(Change { variable: name(cause), before, after, edit, shows: Shows::ProcessorTime });
    }
    start.environment.iter().find_map(|(variable, value)| {
        let off = off(variable, value)?;
        let shown = if off.is_empty() { "off".to_owned() } else { off.clone() };
        Some(Change {
            variable: name(cause),
            before: value.clone(),
            after: shown,
            edit: Edit::Variable { name: variable.clone(), value: off },
            shows: Shows::ProcessorTime,
        })
    })
}

fn name(cause: Cause) -> &'static str {
    if cause == Cause::Debug { "mode" } else { "profiler" }
}

/// A pattern that ends with `*` fits what begins so.
fn matches(pattern: &str, word: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => word.starts_with(begin),
        None => pattern == word,
    }
}

fn is_development(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "development" | "dev")
}

/// The value of a variable that switches its mode off; `None` if it is off, or none of a mode.
fn off(variable: &str, value: &str) -> Option<String> {
    let is_on = matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on");
    let is_set = !value.is_empty() && value != "0";
    match variable {
        "FLASK_DEBUG" | "DJANGO_DEBUG" | "APP_DEBUG" => is_on.then(|| "0".to_owned()),
        // These are on with any text.
        "PYTHONDEVMODE" | "PYTHONASYNCIODEBUG" | "PYTHONTRACEMALLOC" => is_set.then(String::new),
        "FLASK_ENV" | "RAILS_ENV" | "RACK_ENV" | "NODE_ENV" => {
            is_development(value).then(|| PRODUCTION.to_owned())
        }
        "ASPNETCORE_ENVIRONMENT" | "DOTNET_ENVIRONMENT" => {
            is_development(value).then(|| "Production".to_owned())
        }
        "XDEBUG_MODE" => (!matches!(value, "" | "off")).then(|| "off".to_owned()),
        "NODE_OPTIONS" => without_option(value, "--inspect"),
        "JAVA_TOOL_OPTIONS" => {
            without_option(value, "-agentlib:jdwp").or_else(|| without_option(value, "-Xrunjdwp"))
        }
        _ => None,
    }
}

/// Options of a variable without those that begin so.
fn without_option(value: &str, begin: &str) -> Option<String> {
    let all: Vec<&str> = value.split_whitespace().collect();
    let kept: Vec<&str> = all.iter().copied().filter(|option| !option.starts_with(begin)).collect();
    (kept.len() < all.len()).then(|| kept.join(" "))
}

/// Words of a debug mode, which a command works without.
const DEBUG: [&[&str]; 8] = [
    &["--reload"],
    &["--debug"],
    &["-X", "dev"],
    &["-Xdev"],
    &["--inspect*"],
    &["-agentlib:jdwp*"],
    &["-Xrunjdwp*"],
    &["-Xdebug"],
];
/// Words of a profiler.
const PROFILERS: [&[&str]; 5] =
    [&["-m", "cProfile"], &["-m", "profile"], &["-m", "trace"], &["--prof"], &["--cpu-prof"]];
/// Options that name an environment.
const ENVIRONMENTS: [&str; 3] = ["-e", "-E", "--environment"];
const PRODUCTION: &str = "production";
