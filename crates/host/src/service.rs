//! A running service as the kernel accounts for it: a process with its descendants, or a control group.
//!
//! ## Why ended processes count
//! Servers replace their workers (gunicorn's `--max-requests`, Puma's phased restart). The kernel adds the processor
//! time of a child that ended to its parent's when the parent waits for it, so that the sum over the tree never loses
//! it. A process that was started twice removed and left its parents (a daemon) is not in the tree: its control group
//! has it.
//!
//! ## Why not `/proc/PID/stat` alone
//! It has ticks of 10 ms, user and system time rounded each: more than a short request takes. The process's clock (clock_getcpuclockid(3))
//! has nanoseconds; a running thread is added at the scheduler's tick (1 to 10 ms) and whenever it stops running.
//!
//! Formats: proc(5); the kernel's `admin-guide/cgroup-v2.rst`, `admin-guide/cgroup-v1/cpuacct.rst`.

use crate::cgroup::{Cgroup, Quota};
use crate::examination::holders;
use crate::pressure::Pressure;
use crate::processor::{time_of, usable_cores_of};
use crate::stat::Stat;
use crate::tcp_sockets::{TcpSocket, TcpSockets, TcpState};
use crate::text::{field, number_after, read, read_number};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Bytes;

/// A service on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The root, and when it started in ticks since boot: ids are reused.
    Tree { root: u32, started: u64 },
    /// The folder of the group.
    Group(PathBuf),
}

/// What a service has used since it started, and what it is using now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Processor time of all its processes, user and system, with those that ended.
    pub cpu: Duration,
    /// Memory in use: shared pages count once (proportional set size), where the kernel shows it; else the resident
    /// sizes.
    pub memory: Bytes,
    /// Processes that are running.
    pub processes: u32,
}

/// A process of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its id.
    pub id: u32,
    /// The process that started it.
    pub parent: u32,
    /// Its command line, arguments separated by a blank; servers replace it by a title.
    pub command: String,
    /// Names of its threads, as the kernel has them: at most 15 bytes each.
    pub threads: Vec<String>,
    /// Memory in use, as in [`Usage::memory`].
    pub memory: Bytes,
}

/// Why a service cannot be accounted for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoService {
    /// There is no such process.
    #[error("no process has the id {0}; `pgrep -f NAME` lists the ids of a program")]
    NoProcess(u32),
    /// The process ended, or another one has its id now.
    #[error("process {0} has ended")]
    Ended(u32),
    /// The folder has no file with processor time.
    #[error(
        "{} is no control group with processor accounting: it has neither cpu.stat with usage_usec (version 2) nor \
         cpuacct.usage (version 1); the groups of a process are in /proc/PID/cgroup, below /sys/fs/cgroup", .0.display()
    )]
    NoGroup(PathBuf),
    /// The group has no processes.
    #[error("the control group {} has no processes", .0.display())]
    Empty(PathBuf),
}

impl Service {
    /// A process and its descendants.
    ///
    /// # Errors
    /// Where there is no such process.
    pub fn of_process(id: u32) -> Result<Self, NoService> {
        let started = Stat::of(id).ok_or(NoService::NoProcess(id))?.started;
        Ok(Service(Kind::Tree { root: id, started }))
    }

    /// The service that listens at an address of this machine: the process that does, or the one that started those that do.
    /// `None` where there is none that this process may see, or it is this process itself.
    pub fn listening_at(address: SocketAddr) -> Option<Self> {
        // What is no address of this machine cannot be bound; port 0 takes any free one.
        UdpSocket::bind(SocketAddr::new(address.ip(), 0)).ok()?;
        let fits = |local: SocketAddr| {
            let any = local.ip().is_unspecified() || local.ip() == address.ip().to_canonical();
            local.port() == address.port() && any
        };
        let sockets = TcpSockets::of_process(std::process::id())?.now().ok()?;
        let listens =
            |one: &&TcpSocket| one.state == TcpState::Listening && one.inode != 0 && fits(one.local);
        let inodes: HashSet<u32> = sockets.iter().filter(listens).map(|one| one.inode).collect();
        let held = holders(&inodes, &BTreeMap::new());
        let root = held
            .keys()
            .copied()
            .find(|&id| Stat::of(id).is_some_and(|stat| !held.contains_key(&stat.parent)))?;
        (root != 1 && root != std::process::id()).then(|| Service::of_process(root).ok()).flatten()
    }

    /// A control group of version 1 (its folder below the `cpuacct` controller) or 2, and the groups below it.
    ///
    /// # Errors
    /// Where the folder is no such group, or has no processes.
    pub fn of_group(folder: &Path) -> Result<Self, NoService> {
        group_cpu(folder).ok_or_else(|| NoService::NoGroup(folder.to_owned()))?;
        if members(folder).is_empty() {
            return Err(NoService::Empty(folder.to_owned()));
        }
        Ok(Service(Kind::Group(folder.to_owned())))
    }

    /// Processor time that it has used until now, as in [`Usage::cpu`].
    ///
    /// # Errors
    /// Where it has ended.
    pub fn cpu(&self) -> Result<Duration, NoService> {
        match &self.0 {
            Kind::Tree { .. } => Ok(cpu_of(&self.ids()?)),
            Kind::Group(folder) => group_cpu(folder).ok_or_else(|| NoService::Empty(folder.clone())),
        }
    }

    /// What it has used until now.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn usage(&self) -> Result<Usage, NoService> {
        let ids = self.ids()?;
        let cpu = match &self.0 {
            Kind::Tree { .. } => cpu_of(&ids),
            Kind::Group(folder) => group_cpu(folder).ok_or_else(|| NoService::Empty(folder.clone()))?,
        };
        Ok(Usage {
            cpu,
            memory: memory_of_all(&ids),
            processes: u32::try_from(ids.len()).unwrap_or(u32::MAX),
        })
    }

    /// Its processes, by id.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn running(&self) -> Result<Vec<Running>, NoService> {
        let ids = self.ids()?;
        Ok(ids.iter().filter_map(|(&id, stat)| running(id, stat.parent)).collect())
    }

    /// The first of its processes: the root of the tree; of a group the one that no other process of it has started.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn first(&self) -> Result<u32, NoService> {
        let ids = self.ids()?;
        match &self.0 {
            Kind::Tree { root, .. } => Ok(*root),
            Kind::Group(folder) => {
                let first = ids.iter().find(|(_, stat)| !ids.contains_key(&stat.parent));
                first.map(|(&id, _)| id).ok_or_else(|| NoService::Empty(folder.clone()))
            }
        }
    }

    /// How long tasks of its control group waited; of the machine where that is not known, as with groups of version 1.
    pub(crate) fn pressure(&self) -> Pressure {
        let folder = match &self.0 {
            Kind::Tree { root, .. } => Cgroup::for_pressure_of(*root).map(|group| group.folder()),
            Kind::Group(folder) => Some(folder.clone()),
        };
        folder.map_or_else(Pressure::now, |folder| Pressure::of_group(&folder))
    }

    /// The cores that it may use: those that its first process may run on, and no more than its quota.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn cores(&self) -> Result<Option<f64>, NoService> {
        let first = match &self.0 {
            Kind::Tree { root, .. } => Some(*root),
            Kind::Group(_) => self.ids()?.into_keys().next(),
        };
        Ok(first.and_then(usable_cores_of))
    }

    /// The quotas of processor time of its first process's control group and of those above it; none where it has ended, or
    /// the kernel does not show them.
    pub fn quotas(&self) -> Vec<Quota> {
        self.first().map(Quota::of_process).unwrap_or_default()
    }

    /// Its processes, by id.
    pub(crate) fn ids(&self) -> Result<BTreeMap<u32, Stat>, NoService> {
        match &self.0 {
            &Kind::Tree { root, started } => {
                let all = Stat::all();
                if all.get(&root).is_none_or(|stat| stat.started != started || stat.ended) {
                    return Err(NoService::Ended(root));
                }
                Ok(tree(root, all))
            }
            Kind::Group(folder) => {
                let members = members(folder);
                if members.is_empty() {
                    return Err(NoService::Empty(folder.clone()));
                }
                Ok(members.into_iter().filter_map(|id| Some((id, Stat::of(id)?))).collect())
            }
        }
    }
}

/// The processor time of several processes with their descendants, by the id of each; those that have ended are left
/// out. `/proc` is read once for all of them.
pub fn cpu_of_trees(roots: &[u32]) -> BTreeMap<u32, Duration> {
    of_trees(roots, cpu_of)
}

/// The memory of several processes with their descendants, as in [`Usage::memory`], by the id of each; those that have ended
/// are left out.
pub fn memory_of_trees(roots: &[u32]) -> BTreeMap<u32, Bytes> {
    of_trees(roots, memory_of_all)
}

fn of_trees<T>(roots: &[u32], of: impl Fn(&BTreeMap<u32, Stat>) -> T) -> BTreeMap<u32, T> {
    let all = Stat::all();
    let alive = |root: &u32| all.get(root).is_some_and(|stat| !stat.ended);
    roots.iter().copied().filter(alive).map(|root| (root, of(&tree(root, all.clone())))).collect()
}

/// A process and its descendants. Zombies have used time too.
fn tree(root: u32, mut all: BTreeMap<u32, Stat>) -> BTreeMap<u32, Stat> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&id, stat) in &all {
        children.entry(stat.parent).or_default().push(id);
    }
    let mut found = BTreeMap::new();
    let mut ahead = vec![root];
    while let Some(id) = ahead.pop() {
        // The kernel's parents have no cycles; a table that was read while processes came and went may.
        let Some(stat) = all.remove(&id) else { continue };
        ahead.extend(children.get(&id).into_iter().flatten());
        found.insert(id, stat);
    }
    found
}

/// Processor time of these processes and of their children that ended.
fn cpu_of(processes: &BTreeMap<u32, Stat>) -> Duration {
    let of = |(&id, stat): (&u32, &Stat)| {
        own_of(id).unwrap_or_else(|| time_of(stat.own)).saturating_add(time_of(stat.children))
    };
    processes.iter().map(of).sum()
}

/// Processor time of a process by its clock; `None` where it has ended since.
fn own_of(id: u32) -> Option<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(id).ok()?)).ok()?;
    clock.now().ok().map(Duration::from)
}

/// Processor time of a group and of those below it.
fn group_cpu(folder: &Path) -> Option<Duration> {
    let of_version_2 =
        || Some(Duration::from_micros(number_after(&read(folder.join("cpu.stat"))?, "usage_usec")?));
    let of_version_1 = || Some(Duration::from_nanos(read_number(folder.join("cpuacct.usage"))?));
    of_version_2().or_else(of_version_1)
}

/// The processes of a group and of those below it.
fn members(folder: &Path) -> BTreeSet<u32> {
    let text = read(folder.join("cgroup.procs")).unwrap_or_default();
    let mut found: BTreeSet<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(members(&entry.path()));
        }
    }
    found
}

/// Memory of these processes.
fn memory_of_all(processes: &BTreeMap<u32, Stat>) -> Bytes {
    Bytes::new(processes.keys().map(|&id| memory_of(id).get()).sum())
}

fn memory_of(id: u32) -> Bytes {
    let kilobytes = |file: &str, name: &str| {
        let text = read(format!("/proc/{id}/{file}"))?;
        field(&text, name)?.split_whitespace().next()?.parse::<u64>().ok()
    };
    let kilobytes = kilobytes("smaps_rollup", "Pss").or_else(|| kilobytes("status", "VmRSS"));
    Bytes::new(1024 * kilobytes.unwrap_or(0))
}

/// The command line of a process, arguments separated by a blank.
pub(crate) fn command_of(id: u32) -> Option<String> {
    let command = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned())
}

fn running(id: u32, parent: u32) -> Option<Running> {
    let command = command_of(id)?;
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).ok()?.flatten();
    let mut tasks: Vec<PathBuf> = tasks.map(|task| task.path()).collect();
    tasks.sort();
    let threads = tasks.iter().filter_map(|task| Some(read(task.join("comm"))?.trim_end().to_owned()));
    Some(Running { id, parent, command, threads: threads.collect(), memory: memory_of(id) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A shell and what it started, ended with the test.
    struct Shell(Child);

    impl Shell {
        fn run(script: &str) -> Self {
            let mut command = Command::new("sh");
            let shell =
                command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut shell = Shell(shell);
            // It says when it is ready.
            let mut line = String::new();
            let output = shell.0.stdout.as_mut().unwrap();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
            shell
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            // Its children read from the same pipe and end with it.
            drop(self.0.stdin.take());
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn adds_the_time_of_children_that_ended() {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194304 100 0 0 0 250 50 30 4 20 0 1 0 100 1000 10";
        let parsed = Stat::parse(stat).unwrap();
        // No process has this id: the kernel's largest is 4,194,304.
        assert_eq!(cpu_of(&BTreeMap::from([(5_000_000, parsed)])), Duration::from_millis(3_340));
    }

    #[test]
    fn the_clock_of_a_process_is_finer_than_its_ticks() {
        let (id, begun) = (std::process::id(), std::time::Instant::now());
        let before = own_of(id).unwrap();
        while own_of(id).unwrap() == before && begun.elapsed() < Duration::from_secs(10) {}
        let used = own_of(id).unwrap() - before;
        assert!(!used.is_zero() && !used.as_nanos().is_multiple_of(10_000_000), "{used:?}");
    }

    #[test]
    fn a_tree_has_all_descendants_and_no_others() {
        let stat =
            |parent| Stat { name: String::new(), ended: false, parent, own: 1, children: 0, started: 1 };
        let all = BTreeMap::from([(1, stat(0)), (5, stat(1)), (6, stat(5)), (7, stat(6)), (8, stat(1))]);
        assert_eq!(tree(5, all).into_keys().collect::<Vec<_>>(), [5, 6, 7]);
        // Read while ids were reused.
        let cycle = BTreeMap::from([(5, stat(6)), (6, stat(5))]);
        assert_eq!(tree(5, cycle).len(), 2);
    }

    #[test]
    fn accounts_for_work_of_children_running_and_ended() {
        // A child that has worked and ended, and one that is waiting.
        let shell = Shell::run(
            "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exec 3<&0; cat <&3 >/dev/null & echo ready; wait",
        );
        let service = Service::of_process(shell.0.id()).unwrap();
        let usage = service.usage().unwrap();
        assert!(usage.cpu >= Duration::from_millis(20), "{usage:?}");
        assert!(usage.memory.get() > 0, "{usage:?}");
        assert_eq!(usage.processes, 2, "{usage:?}");
        // The child is a shell until it has become `cat`.
        let begun = std::time::Instant::now();
        loop {
            let commands: Vec<String> =
                service.running().unwrap().into_iter().map(|one| one.command).collect();
            assert_eq!(commands.len(), 2, "{commands:?}");
            if commands.iter().any(|command| command.starts_with("cat")) {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{commands:?}");
        }
    }

    #[test]
    fn a_service_that_ended_is_an_error() {
        let shell = Shell::run("echo ready; read line");
        let id = shell.0.id();
        let service = Service::of_process(id).unwrap();
        drop(shell);
        assert_eq!(service.usage(), Err(NoService::Ended(id)));
        assert_eq!(Service::of_process(u32::MAX - 1), Err(NoService::NoProcess(u32::MAX - 1)));
    }

    #[test]
    fn reads_groups_of_either_version() {
        let folder = std::env::temp_dir().join(format!("headroom-service-{}", std::process::id()));
        let write = |file: &str, content: &str| {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        let own = std::process::id();
        write("v2/cpu.stat", "usage_usec 1500000\nuser_usec 1\n");
        write("v2/cgroup.procs", "");
        write("v2/worker/cgroup.procs", &format!("{own}\n"));
        write("v1/cpuacct.usage", "2500000000\n");
        write("v1/cgroup.procs", &format!("{own}\n"));
        write("empty/cpu.stat", "usage_usec 1\n");
        write("none/cpu.stat", "nr_periods 1\n");
        let usage = |name: &str| Service::of_group(&folder.join(name)).and_then(|group| group.usage());
        let (v2, v1, empty, none) = (usage("v2"), usage("v1"), usage("empty"), usage("none"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(v2.map(|usage| (usage.cpu, usage.processes)), Ok((Duration::from_millis(1_500), 1)));
        assert_eq!(v1.map(|usage| (usage.cpu, usage.processes)), Ok((Duration::from_millis(2_500), 1)));
        assert_eq!(empty, Err(NoService::Empty(folder.join("empty"))));
        assert_eq!(none, Err(NoService::NoGroup(folder.join("none"))));
    }
}
