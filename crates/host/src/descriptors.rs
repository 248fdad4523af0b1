//! Descriptors: each connection takes one.

use rustix::process::{Resource, getrlimit};
use std::fs;

/// How many descriptors this process has and may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptors {
    /// Open now; `None` where `/proc` is hidden.
    pub in_use: Option<u64>,
    /// The most that it may open as it is; `None` without a bound.
    pub soft: Option<u64>,
    /// The most to which it may raise that by itself; `None` without a bound.
    pub hard: Option<u64>,
}

impl Descriptors {
    /// Of this process, now.
    pub fn now() -> Self {
        let limit = getrlimit(Resource::Nofile);
        // The folder is itself open while it is read.
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
