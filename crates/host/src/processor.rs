//! Processor time: of the machine, of this process, and the number of usable cores.

use crate::cgroup::Cgroup;
use crate::text::read;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::thread::available_parallelism;
use std::time::Duration;

/// The processor time of all cores since the machine started, in ticks of a hundredth of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticks {
    /// Work of any kind: user, nice, system, interrupts. Includes the time of guests.
    pub busy: u64,
    /// Idle, or waiting for a disk.
    pub idle: u64,
    /// The hypervisor ran another guest.
    pub stolen: u64,
}

impl Ticks {
    /// The values in `/proc/stat` now.
    pub fn now() -> Option<Self> {
        Ticks::parse(&read("/proc/stat")?)
    }

    /// Those of each core, by its number.
    pub(crate) fn of_cores() -> BTreeMap<usize, Self> {
        let of = |line: &str| {
            let (core, columns) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((core.parse().ok()?, Ticks::of_columns(columns)?))
        };
        read("/proc/stat").unwrap_or_default().lines().filter_map(of).collect()
    }

    /// From the text of `/proc/stat`; the columns from the eighth on are missing on old kernels.
    pub fn parse(stat: &str) -> Option<Self> {
        Ticks::of_columns(stat.lines().find_map(|line| line.strip_prefix("cpu "))?)
    }

    fn of_columns(line: &str) -> Option<Self> {
        let columns: Vec<u64> = line.split_whitespace().map_while(|column| column.parse().ok()).collect();
        let &[user, nice, system, idle, ref rest @ ..] = columns.as_slice() else { return None };
        let later = |at: usize| rest.get(at).copied().unwrap_or(0);
        let (waiting, interrupts, soft_interrupts, stolen) = (later(0), later(1), later(2), later(3));
        let busy = [nice, system, interrupts, soft_interrupts].into_iter().fold(user, u64::saturating_add);
        Some(Ticks { busy, idle: idle.saturating_add(waiting), stolen })
    }

    /// All ticks.
    pub fn total(self) -> u64 {
        self.busy.saturating_add(self.idle).saturating_add(self.stolen)
    }

    /// The ticks since `earlier`; a counter that ran backwards, as on some hypervisors, counts as unchanged.
    pub fn since(self, earlier: Ticks) -> Ticks {
        Ticks {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }
}

/// The processor time of the calling thread.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of this process with all its threads, in the kernel's precision of ten milliseconds.
pub fn own_cpu() -> Option<Duration> {
    own_ticks(&read("/proc/self/stat")?).map(time_of)
}

/// Ticks are hundredths of a second on every Linux, independent of the kernel's own timer.
pub(crate) fn time_of(ticks: u64) -> Duration {
    Duration::from_millis(ticks.saturating_mul(10))
}

/// User and system time from `/proc/PID/stat`. The second field is the program's name in brackets and may contain
/// blanks and brackets, so the fields are counted after the last bracket.
pub(crate) fn own_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user.saturating_add(system))
}

/// The cores that this process may use: those of its affinity, and no more than its quota; `None` if neither is known.
pub fn usable_cores() -> Option<f64> {
    // The standard library includes the quota, but rounded to whole cores; only its affinity is useful then.
    let allowed = read("/proc/self/status").and_then(|status| Some(allowed_cores(&status)?.len()));
    let allowed = allowed.or_else(|| available_parallelism().ok().map(usize::from)).map(|cores| cores as f64);
    let quota = Cgroup::of_this_process().and_then(|group| group.quota());
    [allowed, quota].into_iter().flatten().min_by(f64::total_cmp)
}

/// Likewise for another process.
pub(crate) fn usable_cores_of(id: u32) -> Option<f64> {
    let allowed = cores_of(id).map(|cores| cores.len() as f64);
    let quota = Cgroup::of_process(id).and_then(|group| group.quota());
    [allowed, quota].into_iter().flatten().min_by(f64::total_cmp)
}

/// The numbers of the cores that a process may run on.
pub(crate) fn cores_of(id: u32) -> Option<Vec<usize>> {
    allowed_cores(&read(format!("/proc/{id}/status"))?)
}

/// The cores that the affinity allows: the ranges of `Cpus_allowed_list`.
fn allowed_cores(status: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for range in crate::text::field(status, "Cpus_allowed_list")?.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        cores.extend((first <= last && last < MOST_CORES).then_some(first..=last)?);
    }
    Some(cores)
}

/// More than any machine has: a text with larger numbers is none of the kernel's.
const MOST_CORES: usize = 1 << 16;

/// The frequency governor of the first core, if the machine shows one: `performance` is steady.
pub fn governor() -> Option<String> {
    Some(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  976483 79962 171268 1174975 6139 5 31697 1202 0 0\n\
                        cpu0 480990 34890 79180 606810 1537 0 16787 546 0 0\nintr 1 2 3\n";

    #[test]
    fn reads_busy_idle_and_stolen_time() {
        let ticks = Ticks::parse(STAT).unwrap();
        assert_eq!(ticks.busy, 976_483 + 79_962 + 171_268 + 5 + 31_697);
        assert_eq!(ticks.idle, 1_174_975 + 6_139);
        assert_eq!(ticks.stolen, 1_202);
        // Kernel 2.4 has four columns.
        assert_eq!(Ticks::parse("cpu 1 2 3 4\n").unwrap(), Ticks { busy: 6, idle: 4, stolen: 0 });
        assert_eq!(Ticks::parse("intr 1 2 3"), None);
        assert_eq!(Ticks::parse("cpu  1 2\n"), None);
    }

    #[test]
    fn a_counter_that_runs_backwards_adds_nothing() {
        let (early, late) = (Ticks { busy: 9, idle: 10, stolen: 3 }, Ticks { busy: 12, idle: 8, stolen: 3 });
        assert_eq!(late.since(early), Ticks { busy: 3, idle: 0, stolen: 0 });
    }

    #[test]
    fn a_program_may_have_brackets_in_its_name() {
        let stat = "42 (a) b (c)) R 1 42 42 0 -1 4194304 100 0 0 0 250 31 0 0 20 0 1 0 12275 3133440 382";
        assert_eq!(own_ticks(stat), Some(281));
        assert_eq!(own_ticks("42 (cut) R 1 2"), None);
    }

    #[test]
    fn counts_the_cores_of_the_affinity() {
        for (list, cores) in
            [("0", Some(1)), ("0-1", Some(2)), ("0-3,8,10-11", Some(7)), ("", None), ("3-1", None)]
        {
            let found = allowed_cores(&format!("Name:\tx\nCpus_allowed_list:\t{list}\n"));
            assert_eq!(found.map(|cores| cores.len()), cores, "{list:?}");
        }
    }

    #[test]
    fn this_process_has_cores_and_has_used_time() {
        assert!(usable_cores().unwrap() > 0.0);
        assert!(own_cpu().is_some());
        assert!(Ticks::now().unwrap().total() > 0);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(cpu )?[-0-9 ,()a-z\n]{0,80}") {
            let _ = (Ticks::parse(&text), own_ticks(&text), allowed_cores(&format!("Cpus_allowed_list: {text}")));
        }
    }
}
