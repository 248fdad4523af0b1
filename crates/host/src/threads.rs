//! The threads of a process: what each used, waited for and is doing.

use crate::processor::time_of;
use crate::text::{field, read};
use std::path::Path;
use std::time::Duration;

/// A thread. Times are since it was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thread {
    /// Its id.
    pub id: u32,
    /// Its name, as the kernel has it: at most 15 bytes.
    pub name: String,
    /// The time that it ran.
    pub ran: Duration,
    /// The time that it could have run and had no core.
    pub waited: Duration,
    /// The time that it waited for a disk; zero where the kernel does not count it (`kernel.task_delayacct`).
    pub disk: Duration,
    /// How often it went to sleep by itself.
    pub slept: u64,
    /// What it is doing.
    pub doing: Doing,
}

/// What a thread is doing at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Doing {
    /// It runs, or waits for a core.
    Runs,
    /// It waits for a disk, or in the kernel for something else that is not interrupted.
    Disk,
    /// It waits for another thread: a mutex, a condition, a lock of a file.
    Lock,
    /// It sleeps for a time.
    Sleeps,
    /// It waits for a socket, a pipe or a child; or what it waits for is not shown.
    #[default]
    Waits,
}

impl Thread {
    /// The threads of a process; none where it has ended.
    pub(crate) fn of_process(id: u32) -> Vec<Self> {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        tasks.filter_map(|task| Thread::read(&task.path())).collect()
    }

    fn read(task: &Path) -> Option<Self> {
        let (name, state, disk) = stat(&read(task.join("stat"))?)?;
        let (ran, waited) = schedstat(&read(task.join("schedstat")).unwrap_or_default()).unwrap_or_default();
        let status = read(task.join("status")).unwrap_or_default();
        Some(Thread {
            id: task.file_name()?.to_str()?.parse().ok()?,
            name,
            ran,
            waited,
            disk,
            slept: field(&status, "voluntary_ctxt_switches")
                .and_then(|count| count.parse().ok())
                .unwrap_or(0),
            doing: doing(state, &read(task.join("wchan")).unwrap_or_default()),
        })
    }
}

/// Name, state and time of waiting for disks, from `/proc/PID/task/TID/stat`.
fn stat(text: &str) -> Option<(String, char, Duration)> {
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // delayacct_blkio_ticks is the 42nd field, the state the third.
    let disk = fields.nth(38).and_then(|ticks| ticks.parse().ok()).map_or(Duration::ZERO, time_of);
    Some((name.to_owned(), state, disk))
}

/// Time on a core and time of waiting for one, from `/proc/PID/task/TID/schedstat`.
fn schedstat(text: &str) -> Option<(Duration, Duration)> {
    let mut numbers = text.split_whitespace().map(|number| number.parse().map(Duration::from_nanos));
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// From the state and the function of the kernel that it waits in.
fn doing(state: char, place: &str) -> Doing {
    match state {
        'R' => Doing::Runs,
        'D' => Doing::Disk,
        _ if ["futex", "flock", "posix_lock", "do_sem", "semtimedop"]
            .iter()
            .any(|lock| place.contains(lock)) =>
        {
            Doing::Lock
        }
        _ if place.contains("nanosleep") => Doing::Sleeps,
        _ => Doing::Waits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = "42 (a (b) c) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 \
                    34 35 36 37 38 250 40";
        assert_eq!(stat(text), Some(("a (b) c".to_owned(), 'D', Duration::from_millis(2_500))));
        assert_eq!(stat("42 (a) S 1"), Some(("a".to_owned(), 'S', Duration::ZERO)));
        assert_eq!(stat("42"), None);
        let times = (Duration::from_nanos(108_335_192), Duration::from_nanos(11_504_682));
        assert_eq!(schedstat("108335192 11504682 62\n"), Some(times));
        assert_eq!(schedstat("1"), None);
    }

    #[test]
    fn says_what_a_thread_does() {
        for (state, place, expected) in [
            ('R', "0", Doing::Runs),
            ('D', "folio_wait_bit_common", Doing::Disk),
            ('S', "futex_do_wait", Doing::Lock),
            ('S', "futex_wait_queue", Doing::Lock),
            ('S', "do_semtimedop", Doing::Lock),
            ('S', "locks_lock_inode_wait.flock", Doing::Lock),
            ('S', "hrtimer_nanosleep", Doing::Sleeps),
            ('S', "do_epoll_wait", Doing::Waits),
            ('S', "0", Doing::Waits),
        ] {
            assert_eq!(doing(state, place), expected, "{state} {place}");
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_mutex_is_seen() {
        let mutex = Mutex::new(());
        std::thread::scope(|scope| {
            let held = mutex.lock().unwrap();
            let waits = std::thread::Builder::new().name("waits-for-it".to_owned());
            waits.spawn_scoped(scope, || drop(mutex.lock().unwrap())).unwrap();
            let begun = std::time::Instant::now();
            let seen = || {
                let threads = Thread::of_process(std::process::id());
                threads.into_iter().any(|one| one.name == "waits-for-it" && one.doing == Doing::Lock)
            };
            while !seen() {
                assert!(
                    begun.elapsed() < Duration::from_secs(10),
                    "{:?}",
                    Thread::of_process(std::process::id())
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            drop(held);
        });
    }
}
