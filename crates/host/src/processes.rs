//! The processes that keep this machine busy.

use crate::processor::time_of;
use crate::stat::Stat;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The processor time of every visible process, at an instant.
#[derive(Debug, Clone)]
pub struct Processes {
    at: Instant,
    /// By process id.
    all: BTreeMap<u32, Process>,
}

#[derive(Debug, Clone, PartialEq)]
struct Process {
    name: String,
    /// When it was started, in ticks since the machine was. Together with the id it identifies a process permanently:
    /// ids are reused, and the kernel's workers change their names.
    started: u64,
    used: Duration,
}

/// A process and how busy it was.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyProcess {
    /// The name of its program, as the kernel has it: at most 15 bytes.
    pub name: String,
    /// Its id.
    pub id: u32,
    /// Processor time in cores: 1 is one core all the time.
    pub cores: f64,
}

impl Processes {
    /// The processes now; none if `/proc` cannot be read.
    pub fn now() -> Self {
        let all = Stat::all().into_iter().map(|(id, stat)| (id, Process::new(stat))).collect();
        Processes { at: Instant::now(), all }
    }

    /// The busiest of them since `earlier`, at most `most`, busiest first. Those that used less than a tenth of a core
    /// are left out.
    pub fn busiest_since(&self, earlier: &Processes, most: usize) -> Vec<BusyProcess> {
        let seconds = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let mut busy: Vec<BusyProcess> = self
            .all
            .iter()
            .map(|(&id, now)| {
                let before = earlier.all.get(&id).filter(|before| before.started == now.started);
                let used = now.used.saturating_sub(before.map_or(Duration::ZERO, |before| before.used));
                BusyProcess { name: now.name.clone(), id, cores: used.as_secs_f64() / seconds.max(1e-3) }
            })
            .filter(|process| process.cores >= WORTH_NAMING)
            .collect();
        busy.sort_by(|one, other| other.cores.total_cmp(&one.cores));
        busy.truncate(most);
        busy
    }
}

impl fmt::Display for BusyProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) used {:.0} % of a core", self.name, self.id, 100.0 * self.cores)
    }
}

impl Process {
    fn new(stat: Stat) -> Self {
        Process { name: stat.name, started: stat.started, used: time_of(stat.own) }
    }
}

/// A tenth of a core.
const WORTH_NAMING: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100 1000 10";
        let expected = Process { name: "a (b) c".to_owned(), started: 100, used: Duration::from_secs(3) };
        assert_eq!(Stat::parse(stat).map(Process::new), Some(expected));
        assert_eq!(Stat::parse("42 nothing"), None);
    }

    #[test]
    fn the_busiest_come_first() {
        let at = Instant::now();
        // A kernel worker, which is named after its work; and a new process with a reused id.
        let process = |name: &str, started, used| Process {
            name: name.to_owned(),
            started,
            used: Duration::from_secs(used),
        };
        let all = |all: [Process; 5]| all.into_iter().enumerate().map(|(id, it)| (id as u32, it)).collect();
        let before = Processes {
            at,
            all: all([
                process("idle", 1, 5),
                process("busy", 2, 1),
                process("busier", 3, 10),
                process("kworker/0:1-ev", 4, 100),
                process("gone", 5, 1_000),
            ]),
        };
        let after = Processes {
            at: at + Duration::from_secs(10),
            all: all([
                process("idle", 1, 5),
                process("busy", 2, 3),
                process("busier", 3, 18),
                process("kworker/0:1-mm", 4, 100),
                process("gone", 900, 1),
            ]),
        };
        let busy = after.busiest_since(&before, 2);
        let said: Vec<String> = busy.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["busier (2) used 80 % of a core", "busy (1) used 20 % of a core"]);
        assert_eq!(after.busiest_since(&before, 1).len(), 1);
        let third = after.busiest_since(&before, 9)[2].to_string();
        assert_eq!(
            third, "gone (4) used 10 % of a core",
            "another of the same name, which began with nothing"
        );
        assert!(Processes::now().all.contains_key(&std::process::id()));
    }
}
