//! A process that is named for good: by the boot of its machine, its id and when it was started.
//!
//! ## Why three facts
//! Ids are used again after a while, and start times are counted from the boot. Together they name one process of one
//! machine, so that a later process can ask whether it is still there.

use crate::stat::Stat;
use crate::text::read;
use std::fmt;
use std::str::FromStr;

/// A process of some machine, perhaps of the past. As a text: boot id, process id and start time, with blanks between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// `/proc/sys/kernel/random/boot_id`.
    boot: String,
    id: u32,
    /// In clock ticks since the boot, as in `/proc/PID/stat`.
    started: u64,
}

impl ProcessIdentity {
    /// This process; `None` where `/proc` cannot be read.
    pub fn own() -> Option<Self> {
        ProcessIdentity::of(std::process::id())
    }

    /// Whether it still runs here. A process of another machine, or of another container that does not share its
    /// processes, does not.
    pub fn is_alive(&self) -> bool {
        ProcessIdentity::of(self.id).as_ref() == Some(self)
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The process that has this id now; `None` if there is none, or it has ended.
    pub fn of(id: u32) -> Option<Self> {
        let boot = read("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let stat = Stat::of(id).filter(|stat| !stat.ended)?;
        Some(ProcessIdentity { boot, id, started: stat.started })
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.boot, self.id, self.started)
    }
}

/// A text that names no process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` names no process: expected boot id, process id and start time")]
pub struct NoProcess {
    /// The text.
    pub found: String,
}

impl FromStr for ProcessIdentity {
    type Err = NoProcess;

    fn from_str(text: &str) -> Result<Self, NoProcess> {
        let no_process = || NoProcess { found: text.to_owned() };
        let [boot, id, started] = text.split(' ').collect::<Vec<_>>()[..] else { return Err(no_process()) };
        let number = |text: &str| text.parse::<u64>().map_err(|_| no_process());
        let id = u32::try_from(number(id)?).map_err(|_| no_process())?;
        Ok(ProcessIdentity { boot: boot.to_owned(), id, started: number(started)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        let own = ProcessIdentity::own().unwrap();
        assert!(own.is_alive());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let found = ProcessIdentity::of(child.id()).unwrap();
        assert!(found.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!found.is_alive());
    }

    #[test]
    fn another_start_or_boot_is_another_process() {
        let own = ProcessIdentity::own().unwrap();
        assert!(!ProcessIdentity { started: own.started + 1, ..own.clone() }.is_alive());
        assert!(!ProcessIdentity { boot: "another".to_owned(), ..own }.is_alive());
    }

    #[test]
    fn a_text_reads_back() {
        let own = ProcessIdentity::own().unwrap();
        assert_eq!(own.to_string().parse(), Ok(own));
        for text in ["", "a b", "boot x 1", "boot 1 x", "boot 1 2 3", "boot 99999999999 1"] {
            assert!(text.parse::<ProcessIdentity>().is_err(), "{text}");
        }
    }
}
