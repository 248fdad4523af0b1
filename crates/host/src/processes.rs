//! Which processes keep this machine busy.

use crate::processor::{own_ticks, time_of};
use crate::text::read;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The processor time of every process that this one may see, at an instant.
#[derive(Debug, Clone)]
pub struct Processes {
    at: Instant,
    /// Name and processor time, by process id.
    all: BTreeMap<u32, (String, Duration)>,
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
    /// As they stand now; none where `/proc` cannot be read.
    pub fn now() -> Self {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let all = ids.filter_map(|id| Some((id, of_stat(&read(format!("/proc/{id}/stat"))?)?))).collect();
        Processes { at: Instant::now(), all }
    }

    /// The busiest of them since `earlier`, at most `most`, busiest first. Those that used less than a tenth of a core are
    /// left out.
    pub fn busiest_since(&self, earlier: &Processes, most: usize) -> Vec<BusyProcess> {
        let seconds = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let mut busy: Vec<BusyProcess> = self
            .all
            .iter()
            .map(|(&id, (name, used))| {
                let before = earlier.all.get(&id).filter(|(known, _)| known == name);
                let used = used.saturating_sub(before.map_or(Duration::ZERO, |(_, used)| *used));
                BusyProcess { name: name.clone(), id, cores: used.as_secs_f64() / seconds.max(1e-3) }
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

/// The name, which stands in brackets and may hold blanks and brackets, and the processor time.
fn of_stat(stat: &str) -> Option<(String, Duration)> {
    let (before, _) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), time_of(own_ticks(stat)?)))
}

/// A tenth of a core.
const WORTH_NAMING: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100 1000 10";
        assert_eq!(of_stat(stat), Some(("a (b) c".to_owned(), Duration::from_secs(3))));
        assert_eq!(of_stat("42 nothing"), None);
    }

    #[test]
    fn the_busiest_come_first() {
        let at = Instant::now();
        let with = |seconds: [u64; 3], at| {
            let name = |id: usize| ["idle", "busy", "busier"][id].to_owned();
            let all = seconds.iter().enumerate();
            let all = all.map(|(id, used)| (id as u32, (name(id), Duration::from_secs(*used)))).collect();
            Processes { at, all }
        };
        let before = with([5, 1, 10], at);
        let after = with([5, 3, 18], at + Duration::from_secs(10));
        let busy = after.busiest_since(&before, 2);
        let said: Vec<String> = busy.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["busier (2) used 80 % of a core", "busy (1) used 20 % of a core"]);
        assert_eq!(after.busiest_since(&before, 1).len(), 1);
        assert!(Processes::now().all.contains_key(&std::process::id()));
    }
}
