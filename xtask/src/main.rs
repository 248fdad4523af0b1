//! House rules and checks, run as `cargo xtask`.

mod bare;
mod dependencies;
mod phrases;
mod run;
mod tidy;

use anyhow::{Context, Result, bail};
use run::run;
use std::process::ExitCode;

const TASKS: &str = "\
cargo xtask ci      everything that a change must pass: `lint`, then `test`
cargo xtask lint    tidy, fmt, clippy, doc, bare: what needs no other program
cargo xtask test    deny, tests
cargo xtask tidy    the house rules that no compiler holds; `tidy write` writes the table of dependencies into
                    ARCHITECTURE.md
cargo xtask bare    builds the decision code where there is no standard library
cargo xtask man     writes the man pages to target/man, or to the directory that is given
cargo xtask fuzz    each fuzz target for 20 seconds, or as many as are given, such as `fuzz 600` (needs nightly
                    and cargo-fuzz)";

fn main() -> ExitCode {
    match task(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn task(name: Option<&str>) -> Result<()> {
    match name {
        Some("ci") => lint().and_then(|()| test()),
        Some("lint") => lint(),
        Some("test") => test(),
        Some("tidy") if std::env::args().nth(2).as_deref() == Some("write") => dependencies::write(),
        Some("tidy") => tidy::check(),
        Some("bare") => bare::build(),
        Some("man") => man(std::env::args().nth(2).as_deref().unwrap_or("target/man")),
        Some("fuzz") => fuzz(std::env::args().nth(2).as_deref().unwrap_or("20")),
        Some(other) => bail!("`{other}` is no task; there is:\n{TASKS}"),
        None => {
            println!("{TASKS}");
            Ok(())
        }
    }
}

/// What needs neither peers nor tools that are installed first.
fn lint() -> Result<()> {
    tidy::check()?;
    // The fuzz targets need a nightly compiler; that their manifest can be read shows without.
    run("cargo", &["verify-project", "--manifest-path", "fuzz/Cargo.toml"], &[])?;
    run("cargo", &["fmt", "--all", "--check"], &[])?;
    // With what the packaged binary has and the usual build has not; the tests build without.
    let features = ["--features", "headroom/aws,headroom/kube"];
    let all = ["clippy", "--workspace", "--all-targets", "--locked"];
    run("cargo", &[&all[..], &features, &["--", "-D", "warnings"]].concat(), &[])?;
    run("cargo", &["doc", "--workspace", "--no-deps", "--locked"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    bare::build()
}

fn test() -> Result<()> {
    run("cargo", &["deny", "check", "bans", "licenses", "sources"], &[])?;
    // All that fails is shown, not only what fails first.
    run("cargo", &["test", "--workspace", "--locked", "--no-fail-fast"], &[])
}

/// The binary writes its pages itself, so that an installed one can do so too.
fn man(directory: &str) -> Result<()> {
    run("cargo", &["run", "--quiet", "--package", "headroom", "--locked", "--", "man", directory], &[])
}

fn fuzz(seconds: &str) -> Result<()> {
    let seconds: u32 = seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?;
    let time = format!("-max_total_time={seconds}");
    for target in tidy::names_in("fuzz/fuzz_targets", "rs")? {
        let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        std::fs::create_dir_all(&corpus)?;
        let mut arguments = vec!["+nightly", "fuzz", "run", &target, &corpus];
        if std::fs::exists(&seeds)? {
            arguments.push(&seeds);
        }
        arguments.extend(["--", &time, "-max_len=512"]);
        run("cargo", &arguments, &[])?;
    }
    Ok(())
}
