//! Notes which revision of the source the binary is built from, and how.
//!
//! The script runs again after a commit, after a checkout and when a source file changes. The binary depends on nearly
//! all crates, so this causes no compilation that would not happen anyway.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    watch_sources();
    println!("cargo::rustc-env=HEADROOM_REVISION={}", revision().unwrap_or_else(|| "unknown".to_owned()));
    for (name, from) in [("HEADROOM_TARGET", "TARGET"), ("HEADROOM_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={name}={}", env::var(from).expect("cargo sets it"));
    }
}

/// The commit, with `-dirty` where the sources differ from it; `None` where the workspace is no checkout of its own.
fn revision() -> Option<String> {
    let workspace = fs::canonicalize("../..").ok()?;
    // An unpacked archive may lie within a checkout of something else.
    let top = fs::canonicalize(git(&["rev-parse", "--show-toplevel"])?).ok()?;
    if top != workspace {
        return None;
    }
    watch_commits();
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    let changes =
        git(&[&status[..], &["../../Cargo.toml", "../../Cargo.lock", "../../cases", ".."]].concat())?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Has the script run again when a source changes; tests are not part of the binary.
fn watch_sources() {
    for path in ["../../Cargo.toml", "../../Cargo.lock", "../../cases"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for each in fs::read_dir("..").expect("this package is in a folder").flatten() {
        println!("cargo::rerun-if-changed={}", each.path().join("src").display());
    }
}

/// Has the script run again after a commit or a checkout.
fn watch_commits() {
    let reference = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(reference.as_deref()) {
        let Some(file) = git(&["rev-parse", "--git-path", name]) else { continue };
        // A file that is not there would have the script run each time.
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}

/// What git prints, without the end of the line; `None` where it cannot say.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
