//! Control groups that limit the processes of others: made, joined by a process itself, removed.
//!
//! In version 1 a group is made below that of this process. In version 2 a group with processes has no limited ones below it, so
//! it is made beside: below the parent, if that passes the controllers on.

use crate::cgroup::{Cgroup, Version};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use units::Bytes;

/// What the processes of a group may use together; none: as much as there is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Cores: processor time in each tenth of a second.
    pub cores: Option<f64>,
    /// Memory, without swap. If more is needed the kernel kills processes of the group: all in version 2, one in version 1.
    pub memory: Option<Bytes>,
}

/// A control group, with a folder in each hierarchy that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitedGroup {
    folders: Vec<PathBuf>,
}

impl LimitedGroup {
    /// A group of this name, which may be there already, with these limits.
    ///
    /// # Errors
    /// Why it is not possible, in words: no hierarchy with the controller, or no right.
    pub fn create(name: &str, limits: Limits) -> Result<Self, String> {
        let mut folders: Vec<PathBuf> = Vec::new();
        if let Some(cores) = limits.cores {
            let group = Cgroup::of_this_process().ok_or("no control group hierarchy is mounted")?;
            let folder = made(&group, name, "cpu")?;
            for (file, text) in quota_files(group.version(), cores) {
                write(&folder.join(file), &text)?;
            }
            folders.push(folder);
        }
        if let Some(memory) = limits.memory {
            let group = Cgroup::for_memory().ok_or("no control group hierarchy is mounted")?;
            let folder = made(&group, name, "memory")?;
            let file = match group.version() {
                Version::V1 => "memory.limit_in_bytes",
                Version::V2 => "memory.max",
            };
            write(&folder.join(file), &memory.get().to_string())?;
            // Not every kernel has these.
            let swap = [
                ("memory.memsw.limit_in_bytes", memory.get().to_string()),
                ("memory.swap.max", "0".to_owned()),
                ("memory.oom.group", "1".to_owned()),
            ];
            for (file, text) in swap.into_iter().filter(|(file, _)| folder.join(file).exists()) {
                write(&folder.join(file), &text)?;
            }
            folders.push(folder);
        }
        // Both are the same in version 2.
        folders.dedup();
        let group = LimitedGroup { folders };
        for path in group.members() {
            let opened = fs::File::options().write(true).open(&path);
            opened.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(group)
    }

    /// Its folders, one in each hierarchy.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The files into which a process writes its id to join the group.
    pub fn members(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(|folder| folder.join("cgroup.procs"))
    }

    /// Removes the groups of this name, if they have no process any more.
    pub fn remove(name: &str) {
        let of = [Cgroup::of_this_process(), Cgroup::for_memory()];
        for folder in of.iter().flatten().map(|group| parent(group).join(name)) {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folder below which groups are made.
fn parent(of_this: &Cgroup) -> PathBuf {
    let own = of_this.folder();
    match of_this.version() {
        Version::V1 => own,
        // The root may have processes beside groups.
        Version::V2 if own == of_this.mount() => own,
        Version::V2 => own.parent().map_or(own.clone(), Path::to_owned),
    }
}

/// The folder of a group that a controller limits.
fn made(of_this: &Cgroup, name: &str, controller: &str) -> Result<PathBuf, String> {
    let parent = parent(of_this);
    if of_this.version() == Version::V2 {
        let passed_on = parent.join("cgroup.subtree_control");
        let text = fs::read_to_string(&passed_on).unwrap_or_default();
        if text.split_whitespace().all(|found| found != controller) {
            write(&passed_on, &format!("+{controller}"))?;
        }
    }
    let folder = parent.join(name);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("cannot create the control group {}: {error}", folder.display()))
        }
        _ => Ok(folder),
    }
}

/// The files of a quota, with their texts.
fn quota_files(version: Version, cores: f64) -> Vec<(&'static str, String)> {
    // The kernel takes no quota below a millisecond.
    let quota = ((cores * PERIOD_US as f64).round() as u64).max(1_000);
    match version {
        Version::V1 => {
            vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())]
        }
        Version::V2 => vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The usual period of a quota.
const PERIOD_US: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_has_the_files_of_its_version() {
        let text = |text: &str| text.to_owned();
        assert_eq!(
            quota_files(Version::V1, 0.5),
            [("cpu.cfs_period_us", text("100000")), ("cpu.cfs_quota_us", text("50000"))]
        );
        assert_eq!(quota_files(Version::V2, 2.0), [("cpu.max", text("200000 100000"))]);
        assert_eq!(quota_files(Version::V2, 1e-9), [("cpu.max", text("1000 100000"))]);
    }
}
