//! House rules and checks: `cargo xtask ci`.

use anyhow::{Context, Result, bail};
use std::process::Command;

fn main() -> Result<()> {
    let task = std::env::args().nth(1).unwrap_or_default();
    match task.as_str() {
        "ci" => ci(),
        other => bail!("`{other}` is no task; there is: ci"),
    }
}

fn ci() -> Result<()> {
    run("cargo", &["fmt", "--all", "--check"])?;
    run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    run("cargo", &["test", "--workspace"])
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    println!("$ {program} {}", arguments.join(" "));
    let status =
        Command::new(program).args(arguments).status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} ended with {status}", arguments.join(" "));
    }
    Ok(())
}
