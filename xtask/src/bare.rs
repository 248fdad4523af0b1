//! Builds the decision code where there is no standard library, so that no dependency brings one in.
//!
//! ## Why a sysroot of our own and not a bare target
//! A bare target has to be downloaded. A sysroot that holds only `core` and `alloc` of the installed toolchain proves
//! the same: whatever names `std` does not compile.

use crate::run::{output, run};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 3] = ["units", "stats", "control"];

/// What a crate without `std` may find.
const LIBRARIES: [&str; 3] = ["libcore-", "liballoc-", "libcompiler_builtins-"];

/// Builds the crates that must not need `std`.
pub fn build() -> Result<()> {
    let sysroot = output("rustc", &["--print", "sysroot"])?;
    let version = output("rustc", &["-vV"])?;
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names its host")?;
    let libraries = Path::new("lib/rustlib").join(host).join("lib");
    let bare = std::env::current_dir()?.join("target/bare-sysroot");
    let place = bare.join(&libraries);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    for file in files_in(&Path::new(&sysroot).join(&libraries))? {
        let name = file.file_name().unwrap_or_default().to_owned();
        if LIBRARIES.iter().any(|library| name.to_string_lossy().starts_with(library)) {
            std::os::unix::fs::symlink(&file, place.join(name))?;
        }
    }
    let flags = format!("--sysroot={}", bare.display());
    // With a target, the flags reach neither build scripts nor procedural macros, which do need `std`.
    let mut arguments = vec!["build", "--lib", "--locked", "--target", host, "--target-dir", "target/bare"];
    for name in CRATES {
        arguments.extend(["--package", name]);
    }
    run("cargo", &arguments, &[("RUSTFLAGS", &flags)])
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
