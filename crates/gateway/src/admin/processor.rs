//! The processor time of the gateway's threads, as the kernel accounts it.
//!
//! ## Why by thread
//! Live requests are served by the workers; copies are sent and written by threads of their own, at a lower priority. Only
//! the workers' time delays live requests. The threads of the admin listener and of health checks do neither: they are
//! not counted, so that whoever reads the times does not change them.

use std::fs;
use std::time::Duration;

/// Processor time since the start of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used {
    /// Of the workers.
    pub(super) workers: Duration,
    /// Of the threads that send copies to shadows and write the capture.
    pub(super) copies: Duration,
}

impl Used {
    /// The times now; `None` where the kernel does not say them.
    pub(super) fn now() -> Option<Self> {
        let mut used = Used::default();
        for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
            // A thread that has ended meanwhile has none.
            let text = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let sum = match text("comm").trim_end() {
                "mirror" | "capture" => &mut used.copies,
                name if is_worker(name) => &mut used.workers,
                _ => continue,
            };
            *sum += ran(&text("schedstat")).unwrap_or_default();
        }
        // Something has run, or nothing is known.
        (!used.workers.is_zero()).then_some(used)
    }
}

/// Workers are `gateway-0`, `gateway-1` and so on.
fn is_worker(name: &str) -> bool {
    let number = name.strip_prefix("gateway-").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Time on a core: the first number of a `schedstat`, in nanoseconds.
fn ran(schedstat: &str) -> Option<Duration> {
    schedstat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_by_name_and_time_by_its_first_number() {
        assert!(is_worker("gateway-0") && is_worker("gateway-12"));
        assert!(!is_worker("gateway-admin") && !is_worker("gateway-") && !is_worker("mirror"));
        assert_eq!(ran("108335192 11504682 62\n"), Some(Duration::from_nanos(108_335_192)));
        assert_eq!(ran(""), None);
    }
}
