//! Descriptors: each connection takes one.

use rustix::process::{Resource, getrlimit};
use std::fs;

/// How many descriptors this process has and may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptors {
    /// Open now; `None` if `/proc` is hidden.
    pub in_use: Option<u64>,
    /// The soft limit; `None` if unlimited.
    pub soft: Option<u64>,
    /// The hard limit, to which the process may raise the soft one; `None` if unlimited.
    pub hard: Option<u64>,
}

impl Descriptors {
    /// The values of this process, now.
    pub fn now() -> Self {
        let limit = getrlimit(Resource::Nofile);
        // The directory itself is open while it is read.
        let in_use = fs::read_dir("/proc/self/fd").ok().map(|open| (open.count() as u64).saturating_sub(1));
        Descriptors { in_use, soft: limit.current, hard: limit.maximum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_open() {
        let before = Descriptors::now();
        assert!(before.in_use.unwrap() >= 3, "{before:?}");
        assert!(before.hard.is_none() || before.soft <= before.hard);
    }
}
