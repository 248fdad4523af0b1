//! How many descriptors this process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one, and gives what is allowed then; `None` where there is no bound.
///
/// Each connection takes a descriptor, and the usual soft limit of 1,024 is there for old programs only.
pub fn raise_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}
