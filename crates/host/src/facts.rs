//! Facts about the machine to record with a run, as names and values for people.
//!
//! Two runs that differ may differ because the machines did. A fact that cannot be read is left out.

use crate::cgroup::Cgroup;
use crate::memory::Memory;
use crate::processor::{Ticks, governor, time_of};
use crate::text::{field, read};
use std::thread::available_parallelism;

/// The facts in the order in which they are shown: constant facts, then [`passing_host_facts`].
pub fn host_facts() -> Vec<(String, String)> {
    let line = |path| read(path).map(|text| text.trim().to_owned());
    let quota = || Cgroup::of_this_process()?.quota();
    let lasting = [
        ("host name", line("/proc/sys/kernel/hostname")),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("processor", read("/proc/cpuinfo").and_then(|text| field(&text, "model name").map(str::to_owned))),
        ("cores", available_parallelism().ok().map(|cores| cores.to_string())),
        ("quota", quota().map(|cores| format!("{cores:.2} cores"))),
        ("governor", governor()),
        ("memory", Memory::now().map(|memory| memory.total.to_string())),
    ];
    named(lasting).chain(passing_host_facts()).collect()
}

/// Facts that change during a run: to be recorded at its beginning and at its end.
pub fn passing_host_facts() -> Vec<(String, String)> {
    named([
        ("load average", read("/proc/loadavg").and_then(|text| load_average(&text))),
        (
            "stolen processor time",
            Ticks::now().map(|ticks| format!("{} since its start", seconds(ticks.stolen))),
        ),
    ])
    .collect()
}

fn named<const N: usize>(
    facts: [(&'static str, Option<String>); N],
) -> impl Iterator<Item = (String, String)> {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// The averages over 1, 5 and 15 minutes.
fn load_average(loadavg: &str) -> Option<String> {
    let averages: Vec<&str> = loadavg.split_whitespace().take(3).collect();
    (averages.len() == 3).then(|| averages.join(" "))
}

/// To the hundredth, so that the difference of two facts is visible in a short run too.
fn seconds(ticks: u64) -> String {
    format!("{:.2} s", time_of(ticks).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_linux_says() {
        assert_eq!(
            field("processor\t: 0\nmodel name\t: A CPU @ 2.5GHz\n", "model name"),
            Some("A CPU @ 2.5GHz")
        );
        assert_eq!(load_average("0.10 0.20 0.30 1/200 4000\n").as_deref(), Some("0.10 0.20 0.30"));
        assert_eq!(load_average(""), None);
        assert_eq!(seconds(1_234), "12.34 s");
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = host_facts();
        assert!(facts.iter().any(|(name, value)| name == "kernel" && !value.is_empty()), "{facts:?}");
        assert!(facts.iter().any(|(name, _)| name == "cores"));
    }
}
