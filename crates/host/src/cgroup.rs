//! The control group of this process: how many cores its quota allows, how often the kernel throttled it, and how much
//! memory it may still use.
//!
//! A process under a quota looks idle and is late anyway; no counter of the process itself shows it. Limits of the
//! parent groups apply as well, so the smallest on the path to the root counts.

use crate::text::{number_after, read, read_number};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Bytes;

/// The location of this process's group for one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    version: Version,
    mount: PathBuf,
    group: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// How often a group used up its quota, since the group was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttling {
    /// Periods in which the group wanted to run.
    pub of: u64,
    /// Periods in which the group had to wait.
    pub periods: u64,
    /// The total waiting time of its threads.
    pub waited: Duration,
}

/// The quota of a group, and how often it made the group wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// Cores.
    pub cores: f64,
    /// How often the group used it up.
    pub throttling: Throttling,
    pub(crate) folder: PathBuf,
}

/// The memory limit of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The limit.
    pub limit: Bytes,
    /// What the group uses, with pages of files that the kernel can drop.
    pub used: Bytes,
    /// How often the limit made the kernel reclaim memory since the group was created.
    pub reached: u64,
    pub(crate) folder: PathBuf,
}

impl Throttling {
    /// What was counted since `before`.
    pub fn since(self, before: Throttling) -> Throttling {
        Throttling {
            of: self.of.saturating_sub(before.of),
            periods: self.periods.saturating_sub(before.periods),
            waited: self.waited.saturating_sub(before.waited),
        }
    }

    /// The share of periods in which the group had to wait, 0 to 1; 0 where there was none in which it wanted to run.
    pub fn share(self) -> f64 {
        (self.periods as f64 / self.of.max(1) as f64).min(1.0)
    }
}

impl Quota {
    /// The quotas of a process's group and of those above it; none where it has ended, or the kernel does not show them.
    pub fn of_process(id: u32) -> Vec<Quota> {
        Cgroup::of_process(id).map(|group| group.quotas()).unwrap_or_default()
    }

    /// Of several quotas, read twice: how often the one that was used up in the largest share of periods made its group wait
    /// in between. `None` where there is no quota.
    pub fn throttling_between(before: &[Quota], after: &[Quota]) -> Option<Throttling> {
        let since = |now: &Quota| {
            let before = before.iter().find(|before| before.folder == now.folder)?;
            Some(now.throttling.since(before.throttling))
        };
        after.iter().filter_map(since).max_by(|one, other| one.share().total_cmp(&other.share()))
    }
}

impl Cgroup {
    /// The group that limits processor time; `None` if no hierarchy with it is mounted.
    pub fn of_this_process() -> Option<Self> {
        Cgroup::with("self", "cpu")
    }

    /// Likewise for another process.
    pub fn of_process(id: u32) -> Option<Self> {
        Cgroup::with(&id.to_string(), "cpu")
    }

    /// The group that limits memory; likewise.
    pub fn for_memory() -> Option<Self> {
        Cgroup::with("self", "memory")
    }

    /// Likewise for another process.
    pub(crate) fn for_memory_of(id: u32) -> Option<Self> {
        Cgroup::with(&id.to_string(), "memory")
    }

    /// The group of version 2, which counts pressure whatever its controllers are.
    pub(crate) fn for_pressure_of(id: u32) -> Option<Self> {
        Cgroup::with(&id.to_string(), "pressure")
    }

    fn with(process: &str, controller: &str) -> Option<Self> {
        let groups = read(format!("/proc/{process}/cgroup"))?;
        let mut found = Cgroup::locate(&groups, &read("/proc/self/mounts")?, controller)?;
        // A container often sees the host's name of its group, but only the group itself under the mount.
        if !found.folder().exists() {
            found.group = PathBuf::new();
        }
        Some(found)
    }

    /// From the texts of `/proc/self/cgroup` (`4:cpu,cpuacct:/group`, `0::/group`) and `/proc/self/mounts`. A
    /// controller mounted in version 1 is not available in version 2.
    fn locate(groups: &str, mounts: &str, controller: &str) -> Option<Self> {
        let mount_of = |kind: &str, controller: &str| {
            mounts.lines().find_map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                let &[_, place, found, options, ..] = fields.as_slice() else { return None };
                let has = controller.is_empty() || options.split(',').any(|option| option == controller);
                (found == kind && has).then(|| PathBuf::from(place))
            })
        };
        let group_of = |wanted: &dyn Fn(&str) -> bool| {
            groups.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, group) = rest.split_once(':')?;
                wanted(controllers).then(|| PathBuf::from(group.trim_start_matches('/')))
            })
        };
        if let Some(group) = group_of(&|controllers| controllers.split(',').any(|name| name == controller))
            && let Some(mount) = mount_of("cgroup", controller)
        {
            return Some(Cgroup { version: Version::V1, mount, group });
        }
        Some(Cgroup {
            version: Version::V2,
            mount: mount_of("cgroup2", "")?,
            group: group_of(&|controllers| controllers.is_empty())?,
        })
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.mount.join(&self.group)
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn mount(&self) -> &Path {
        &self.mount
    }

    /// The cores that the quotas of this group and its parents allow; `None` if there is no quota.
    pub fn quota(&self) -> Option<f64> {
        let above = self.group.ancestors().map(|group| self.mount.join(group));
        above.filter_map(|folder| self.quota_in(&folder)).min_by(f64::total_cmp)
    }

    /// The memory that this group and its parents may still use; `None` without a limit.
    pub fn memory_left(&self) -> Option<Bytes> {
        let left = |folder: PathBuf| {
            let (limit, used) = self.memory_in(&folder)?;
            Some(Bytes::new(limit.saturating_sub(used)))
        };
        self.group.ancestors().filter_map(|group| left(self.mount.join(group))).min()
    }

    /// The quotas of this group and its parents, and how often each made its group wait.
    pub(crate) fn quotas(&self) -> Vec<Quota> {
        let of = |folder: PathBuf| {
            let throttling = throttling(&read(folder.join("cpu.stat"))?)?;
            Some(Quota { cores: self.quota_in(&folder)?, throttling, folder })
        };
        self.group.ancestors().filter_map(|group| of(self.mount.join(group))).collect()
    }

    /// The memory limits of this group and its parents.
    pub(crate) fn memory_limits(&self) -> Vec<MemoryLimit> {
        let of = |folder: PathBuf| {
            let (limit, used) = self.memory_in(&folder)?;
            let reached = match self.version {
                Version::V1 => read_number(folder.join("memory.failcnt"))?,
                Version::V2 => {
                    let events = read(folder.join("memory.events"))?;
                    ["high", "max"].iter().filter_map(|name| number_after(&events, name)).sum()
                }
            };
            Some(MemoryLimit { limit: Bytes::new(limit), used: Bytes::new(used), reached, folder })
        };
        self.group.ancestors().filter_map(|group| of(self.mount.join(group))).collect()
    }

    /// The limit and the memory in use of a group, in bytes; `None` without a limit.
    fn memory_in(&self, folder: &Path) -> Option<(u64, u64)> {
        let (limit, usage) = match self.version {
            Version::V2 => ("memory.max", "memory.current"),
            Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        };
        let limit = read_number(folder.join(limit)).filter(|&limit| limit < NO_LIMIT)?;
        Some((limit, read_number(folder.join(usage))?))
    }

    fn quota_in(&self, folder: &Path) -> Option<f64> {
        match self.version {
            Version::V2 => quota(&read(folder.join("cpu.max"))?),
            Version::V1 => {
                let quota_us = read(folder.join("cpu.cfs_quota_us"))?;
                let period_us = read(folder.join("cpu.cfs_period_us"))?;
                quota(&format!("{} {}", quota_us.trim(), period_us.trim()))
            }
        }
    }

    /// How often and how long the group had to wait; `None` if the kernel does not count it.
    pub fn throttling(&self) -> Option<Throttling> {
        throttling(&read(self.folder().join("cpu.stat"))?)
    }
}

/// Cores from `quota period`, both in microseconds. `max` and -1 mean no quota.
fn quota(text: &str) -> Option<f64> {
    let (quota_us, period_us) = text.trim().split_once(' ')?;
    let (quota_us, period_us): (u64, u64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
    (period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

/// From the text of `cpu.stat`: version 2 counts microseconds, version 1 nanoseconds.
fn throttling(stat: &str) -> Option<Throttling> {
    let waited = number_after(stat, "throttled_usec")
        .map(Duration::from_micros)
        .or_else(|| number_after(stat, "throttled_time").map(Duration::from_nanos))?;
    let number = |name| number_after(stat, name);
    Some(Throttling { of: number("nr_periods").unwrap_or(0), periods: number("nr_throttled")?, waited })
}

/// Version 1 writes the largest number of whole pages for no limit; version 2 writes `max`, which is not a number.
const NO_LIMIT: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    const V2_MOUNTS: &str = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
    const V1_MOUNTS: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
        cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
        cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
        cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn finds_the_group_of_either_version() {
        let v2 = Cgroup::locate("0::/user.slice/x.scope\n", V2_MOUNTS, "cpu").unwrap();
        assert_eq!(v2.folder(), Path::new("/sys/fs/cgroup/user.slice/x.scope"));
        assert_eq!(v2.version, Version::V2);
        // Both are mounted: the processor controller is in version 1, `cpuset` is a different one.
        let v1 = Cgroup::locate("3:cpuset:/\n2:cpu,cpuacct:/docker/abc\n0::/\n", V1_MOUNTS, "cpu").unwrap();
        assert_eq!(v1.folder(), Path::new("/sys/fs/cgroup/cpu,cpuacct/docker/abc"));
        assert_eq!(v1.version, Version::V1);
        assert_eq!(Cgroup::locate("0::/\n", "proc /proc proc rw 0 0\n", "cpu"), None);
        assert_eq!(Cgroup::locate("", "", "cpu"), None);
        // The memory controller is not in version 1 here.
        let memory = Cgroup::locate("2:cpu,cpuacct:/docker/abc\n0::/x\n", V1_MOUNTS, "memory").unwrap();
        assert_eq!(memory.folder(), Path::new("/sys/fs/cgroup/unified/x"));
    }

    #[test]
    fn the_quota_that_was_used_up_most_often_counts() {
        let quota = |folder: &str, of, periods| Quota {
            cores: 1.0,
            throttling: Throttling { of, periods, waited: Duration::from_millis(periods) },
            folder: PathBuf::from(folder),
        };
        let before = [quota("/pod/container", 100, 90), quota("/pod", 1_000, 0)];
        let after = [quota("/pod/container", 110, 91), quota("/pod", 1_010, 4), quota("/", 10, 10)];
        let found = Quota::throttling_between(&before, &after).unwrap();
        assert_eq!((found.of, found.periods, found.waited), (10, 4, Duration::from_millis(4)));
        assert_eq!(found.share(), 0.4);
        assert_eq!(Quota::throttling_between(&[], &after), None);
        assert_eq!(Throttling::default().share(), 0.0);
    }

    #[test]
    fn a_quota_is_a_number_of_cores() {
        for (text, cores) in [
            // Version 2.
            ("max 100000\n", None),
            ("50000 100000\n", Some(0.5)),
            ("250000 100000\n", Some(2.5)),
            // Version 1 writes -1 for none.
            ("-1 100000", None),
            // Invalid texts.
            ("50000", None),
            ("1 0", None),
            ("", None),
        ] {
            assert_eq!(quota(text), cores, "{text:?}");
        }
    }

    #[test]
    fn reads_throttling_of_either_version() {
        let v2 = "usage_usec 77\nuser_usec 60\nsystem_usec 17\nnr_periods 9\nnr_throttled 3\nthrottled_usec 120000\n";
        let v1 = "nr_periods 9\nnr_throttled 3\nthrottled_time 120000000\n";
        let both = Throttling { of: 9, periods: 3, waited: Duration::from_millis(120) };
        assert_eq!(throttling(v2), Some(both));
        assert_eq!(throttling(v1), Some(both));
        assert_eq!(throttling("usage_usec 77\n"), None);
    }

    #[test]
    fn limits_above_hold_as_well() {
        let mount = std::env::temp_dir().join(format!("headroom-cgroup-{}", std::process::id()));
        std::fs::create_dir_all(mount.join("outer/inner")).unwrap();
        for (file, content) in [
            ("outer/inner/cpu.max", "400000 100000\n"),
            ("outer/cpu.max", "150000 100000\n"),
            ("outer/inner/memory.max", "max\n"),
            ("outer/inner/memory.current", "10\n"),
            ("outer/memory.max", "1000\n"),
            ("outer/memory.current", "300\n"),
        ] {
            std::fs::write(mount.join(file), content).unwrap();
        }
        let group = Cgroup { version: Version::V2, mount: mount.clone(), group: "outer/inner".into() };
        let (quota, left) = (group.quota(), group.memory_left());
        std::fs::remove_dir_all(&mount).unwrap();
        assert_eq!((quota, left), (Some(1.5), Some(Bytes::new(700))));
    }
}
