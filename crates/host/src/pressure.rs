//! Pressure stall information: how long tasks of this machine, or of a control group, waited for a processor, memory or a disk.
//!
//! Formats: the kernel's `accounting/psi.rst`; of groups, `admin-guide/cgroup-v2.rst`.

use crate::text::read;
use std::path::Path;
use std::time::Duration;

/// Waiting time since the machine started, or the group was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stalls {
    /// At least one task waited.
    pub some: Duration,
    /// All tasks that wanted to run waited. Always zero for the processors of a whole machine.
    pub full: Duration,
}

/// The waiting times for each resource, if the kernel counts them (`CONFIG_PSI`, and not switched off).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// For a processor.
    pub cpu: Option<Stalls>,
    /// For memory.
    pub memory: Option<Stalls>,
    /// For disks.
    pub io: Option<Stalls>,
}

impl Pressure {
    /// The values in `/proc/pressure` now.
    pub fn now() -> Self {
        Pressure::of(|name| read(format!("/proc/pressure/{name}")))
    }

    /// Those of a control group of version 2 and the groups below it; of the machine where the group does not count them.
    pub(crate) fn of_group(folder: &Path) -> Self {
        Pressure::of(|name| {
            read(folder.join(format!("{name}.pressure"))).or_else(|| read(format!("/proc/pressure/{name}")))
        })
    }

    fn of(text: impl Fn(&str) -> Option<String>) -> Self {
        let stalls = |name: &str| parse(&text(name)?);
        Pressure { cpu: stalls("cpu"), memory: stalls("memory"), io: stalls("io") }
    }
}

/// From `some avg10=1.78 avg60=5.99 avg300=4.41 total=2603226650`, the total in microseconds. The averages are ignored:
/// they are of the last seconds, not of the run. Kernels before 5.13 have no `full` line for processors.
fn parse(text: &str) -> Option<Stalls> {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let number = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
        number.parse().ok().map(Duration::from_micros)
    };
    Some(Stalls { some: total("some ")?, full: total("full ").unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_totals() {
        let text = "some avg10=1.78 avg60=5.99 avg300=4.41 total=2603226650\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let stalls = parse(text).unwrap();
        assert_eq!(stalls.some, Duration::from_micros(2_603_226_650));
        assert_eq!(stalls.full, Duration::from_micros(7));
        assert_eq!(parse("some avg10=0.00 total=5\n").unwrap().full, Duration::ZERO);
        assert_eq!(parse("some total=much\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_group_has_its_own_and_the_machine_has_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let total = u64::MAX / 1_000;
        std::fs::write(folder.path().join("memory.pressure"), format!("some avg10=0.00 total={total}\n"))
            .unwrap();
        let found = Pressure::of_group(folder.path());
        assert_eq!(found.memory.unwrap().some, Duration::from_micros(total));
        assert_eq!(found.io.is_some(), Pressure::now().io.is_some());
    }
}
