//! `/proc/PID/stat`: the fields that this crate uses, as proc(5) has them.

use crate::processor::own_ticks;
use crate::text::read;
use std::collections::BTreeMap;

/// A process, as the kernel accounts for it. Ticks are hundredths of a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The name of its program: at most 15 bytes.
    pub(crate) name: String,
    /// Whether it has ended: a zombie, or about to be one.
    pub(crate) ended: bool,
    /// The process that started it.
    pub(crate) parent: u32,
    /// User and system time of the process, in ticks.
    pub(crate) own: u64,
    /// User and system time of children that ended and were waited for, in ticks.
    pub(crate) children: u64,
    /// When it was started, in ticks since the boot.
    pub(crate) started: u64,
}

impl Stat {
    /// The process with this id; `None` if there is none.
    pub(crate) fn of(id: u32) -> Option<Self> {
        Stat::parse(&read(format!("/proc/{id}/stat"))?)
    }

    /// All processes that are visible, by id.
    pub(crate) fn all() -> BTreeMap<u32, Stat> {
        ids().filter_map(|id| Some((id, Stat::of(id)?))).collect()
    }

    /// The name is in brackets and may contain blanks and brackets; fields are counted after the last one.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some(Stat {
            name: name.to_owned(),
            ended: matches!(*fields.first()?, "Z" | "X"),
            parent: u32::try_from(number(PARENT)?).ok()?,
            own: own_ticks(stat)?,
            children: number(OF_CHILDREN)?.saturating_add(number(OF_CHILDREN + 1)?),
            started: number(STARTED)?,
        })
    }
}

/// The ids of all processes that are visible.
pub(crate) fn ids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Places after the name; proc(5) counts from 1 at the id.
const PARENT: usize = 1;
/// User time, followed by system time, of children.
const OF_CHILDREN: usize = 13;
const STARTED: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_fields_after_a_name_with_brackets() {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194304 100 0 0 0 250 50 30 4 20 0 1 0 100 1000 10";
        let name = "a (b) c".to_owned();
        let expected = Stat { name, ended: false, parent: 7, own: 300, children: 34, started: 100 };
        assert_eq!(Stat::parse(stat), Some(expected));
        assert!(Stat::parse(&stat.replace(") S", ") Z")).unwrap().ended);
        assert_eq!(Stat::parse("42 (x) S 7"), None);
    }
}
