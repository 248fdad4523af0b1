//! Runs a program, and says so.

use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::Instant;

/// Runs a program with its output shown, and says how long it took.
pub fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    println!("$ {program} {}", arguments.join(" "));
    let begun = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} ended with {status}", arguments.join(" "));
    }
    println!("{:.0} s: {program} {}", begun.elapsed().as_secs_f64(), arguments.join(" "));
    Ok(())
}

/// What a program prints, without the line end.
pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output =
        Command::new(program).args(arguments).output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} {} ended with {}", arguments.join(" "), output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
