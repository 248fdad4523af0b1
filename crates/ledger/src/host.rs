//! What is worth knowing of the machine that made the load.
//!
//! Two runs that differ may differ because the machines did. The facts are read from `/proc`; one that cannot be
//! read is left out.

use std::fs;
use std::thread::available_parallelism;
use units::Bytes;

/// The machine, in the order in which it is shown: what stays the same, then [`passing_host_facts`].
pub fn host_facts() -> Vec<(String, String)> {
    let file = |path| fs::read_to_string(path).ok();
    let line = |path| file(path).map(|text| text.trim().to_owned());
    let lasting = [
        ("host name", line("/proc/sys/kernel/hostname")),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("processor", file("/proc/cpuinfo").and_then(|text| field(&text, "model name").map(str::to_owned))),
        ("cores", available_parallelism().ok().map(|cores| cores.to_string())),
        ("memory", file("/proc/meminfo").and_then(|text| memory(&text))),
    ];
    named(lasting).chain(passing_host_facts()).collect()
}

/// What changes while a run lasts: to be recorded at its beginning and at its end.
pub fn passing_host_facts() -> Vec<(String, String)> {
    let file = |path| fs::read_to_string(path).ok();
    named([
        ("load average", file("/proc/loadavg").and_then(|text| load_average(&text))),
        ("stolen processor time", file("/proc/stat").and_then(|text| stolen(&text))),
    ])
    .collect()
}

fn named<const N: usize>(
    facts: [(&'static str, Option<String>); N],
) -> impl Iterator<Item = (String, String)> {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// The value of `name : value`, the form of `/proc/cpuinfo` and `/proc/meminfo`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn memory(meminfo: &str) -> Option<String> {
    let kib: u64 = field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::new(kib.saturating_mul(1024)).to_string())
}

/// The averages over 1, 5 and 15 minutes.
fn load_average(loadavg: &str) -> Option<String> {
    let averages: Vec<&str> = loadavg.split_whitespace().take(3).collect();
    (averages.len() == 3).then(|| averages.join(" "))
}

/// The eighth number of the first line: time in which another guest ran, in ticks of a hundredth of a second, summed
/// over all cores since the machine started.
fn stolen(stat: &str) -> Option<String> {
    let ticks: u64 = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()?;
    Some(format!("{}.{:02} s since its start", ticks / 100, ticks % 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_says() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.50GHz\n\nmodel name\t: Another\n";
        assert_eq!(field(cpuinfo, "model name"), Some("Some CPU @ 2.50GHz"));
        assert_eq!(memory("MemTotal:       16384000 kB\n").as_deref(), Some("16.8 GB"));
        assert_eq!(load_average("0.10 0.20 0.30 1/200 4000\n").as_deref(), Some("0.10 0.20 0.30"));
        let stat = "cpu  1 2 3 4 5 6 7 1234 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(stolen(stat).as_deref(), Some("12.34 s since its start"));
    }

    #[test]
    fn leaves_out_what_it_cannot_read() {
        assert_eq!(memory("MemTotal: much\n"), None);
        assert_eq!(load_average(""), None);
        assert_eq!(stolen("intr 1 2 3"), None);
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = host_facts();
        assert!(facts.iter().any(|(name, value)| name == "kernel" && !value.is_empty()), "{facts:?}");
        assert!(facts.iter().any(|(name, _)| name == "cores"));
    }
}
