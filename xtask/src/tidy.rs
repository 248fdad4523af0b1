//! The house rules that no compiler holds, each with a message that says what to do.

use crate::dependencies;
use crate::phrases;
use crate::run::output;
use anyhow::{Context, Result, bail};
use std::fs;

/// Checks every file that git tracks.
pub fn check() -> Result<()> {
    println!("$ cargo xtask tidy");
    let mut wrong = Vec::new();
    for path in output("git", &["ls-files"])?.lines() {
        // A file that is removed and not yet committed.
        let Ok(bytes) = fs::read(path) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if path.ends_with(".rs") && path.starts_with("crates/") {
            rust(path, &text, &mut wrong);
        }
        everywhere(path, &text, &mut wrong);
        phrases::check(path, &text, &mut wrong);
    }
    for member in names_in("crates", "")? {
        let manifest = fs::read_to_string(format!("crates/{member}/Cargo.toml"))?;
        if !manifest.contains("[lints]\nworkspace = true") {
            wrong.push(format!("crates/{member}/Cargo.toml: add `[lints]` with `workspace = true`"));
        }
    }
    dependencies::check(&mut wrong)?;
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{}", wrong.join("\n"));
}

fn rust(path: &str, text: &str, wrong: &mut Vec<String>) {
    let opens_with = text.lines().next().unwrap_or_default();
    let tests = path.ends_with("/tests.rs");
    if path.contains("/src/") && !tests && !opens_with.starts_with("//!") {
        wrong.push(format!("{path}: open with `//!`: what the module is, why this way, its source"));
    }
    for forbidden in ["utils", "helpers", "manager", "common"] {
        if path.ends_with(&format!("/{forbidden}.rs")) || path.contains(&format!("/{forbidden}/")) {
            wrong.push(format!("{path}: name the module by its idea; `{forbidden}` says nothing"));
        }
    }
    // Most crates have no documentation tests, and `cargo test` does not look for any there.
    let crate_of = path.split("/src/").next().unwrap_or_default();
    let manifest = fs::read_to_string(format!("{crate_of}/Cargo.toml")).unwrap_or_default();
    if manifest.contains("doctest = false") && has_documentation_test(text) {
        wrong.push(format!("{path}: a documentation test that never runs; remove `doctest = false` from {crate_of}/Cargo.toml"));
    }
    // The decision code has neither clock nor socket; the other rule of this kind is `cargo xtask bare`.
    let measured = ["crates/units/", "crates/stats/", "crates/control/"];
    if measured.iter().any(|room| path.starts_with(room))
        && text.contains("Instant::now")
        && path.contains("/src/")
        && !tests
    {
        wrong.push(format!("{path}: time is an argument here"));
    }
}

/// Whether a comment opens a block of code without a language, which is Rust.
fn has_documentation_test(text: &str) -> bool {
    let comments = text.lines().map(str::trim_start);
    let fences = comments.filter_map(|line| {
        line.strip_prefix("///").or(line.strip_prefix("//!"))?.trim_start().strip_prefix("```")
    });
    fences.step_by(2).any(|language| language.is_empty() || language.starts_with("rust"))
}

fn everywhere(path: &str, text: &str, wrong: &mut Vec<String>) {
    // Spelled in two parts, so that this file does not break its own rule.
    for place in ["/root", "/work"] {
        let absolute = format!("{place}/");
        for (index, line) in text.lines().enumerate() {
            let begins = |at: usize| at == 0 || !line.as_bytes()[at - 1].is_ascii_alphanumeric();
            let named =
                line.find(&absolute).is_some_and(|at| begins(at) && !line[..at].ends_with(['.', '}', ')']));
            if named && !path.ends_with(".lock") {
                wrong.push(format!("{path}:{}: no absolute path of a machine: {}", index + 1, line.trim()));
            }
        }
    }
}

/// The names of the files in a folder that end with `extension`, without it; all of them where it is empty.
pub fn names_in(folder: &str, extension: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {folder}"))? {
        let path = entry?.path();
        if extension.is_empty() || path.extension().is_some_and(|found| found == extension) {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}
