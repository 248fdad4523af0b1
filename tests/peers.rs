//! Finds the programs that tests compare headroom with; `peers.sh` puts them there. A part of each test that needs one.

use std::path::{Path, PathBuf};

/// A program to compare with, from `tests/peers.sh` or the search path; `None`, said out loud, where it is missing.
pub fn peer(name: &str) -> Option<PathBuf> {
    let linked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::iter::once(linked)
        .chain(std::env::split_paths(&path))
        .chain([PathBuf::from("/usr/sbin")])
        .map(|directory| directory.join(name))
        .find(|program| program.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("HEADROOM_REQUIRE_PEERS").is_none_or(|required| required != "1"),
            "{name} is missing, and HEADROOM_REQUIRE_PEERS is set: run tests/peers.sh"
        );
        eprintln!("SKIPPED: {name} is missing; tests/peers.sh installs it");
    }
    found
}
