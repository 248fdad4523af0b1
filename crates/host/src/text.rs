//! The formats in which the kernel writes its numbers.

use std::fs;
use std::path::Path;

/// The whole of a file, or `None` if it cannot be read.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The one number of a file such as `/proc/sys/net/core/somaxconn`.
pub(crate) fn read_number(path: impl AsRef<Path>) -> Option<u64> {
    read(path)?.trim().parse().ok()
}

/// The value of `name : value`, the format of `/proc/cpuinfo` and `/proc/meminfo`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The number after a word, the format of `cpu.stat`: `nr_throttled 12`.
pub(crate) fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// The number of a column, the format of `/proc/net/snmp`: lines that begin with a protocol, of names and then of numbers.
pub(crate) fn column(text: &str, protocol: &str, wanted: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let mut columns = names.split_whitespace().zip(numbers.split_whitespace());
    columns.find(|&(name, _)| name == wanted)?.1.parse().ok()
}

/// A soft limit from `/proc/PID/limits`: `Max open files   1024   4096   files`.
pub(crate) fn soft_limit<'a>(limits: &'a str, name: &str) -> Option<&'a str> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_limits() {
        let open_files =
            |limits| soft_limit(limits, "Max open files").and_then(|limit| limit.parse::<u64>().ok());
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 1048576              files\n";
        assert_eq!(open_files(limits), Some(1024));
        assert_eq!(
            open_files("Max open files            unlimited            unlimited            files\n"),
            None
        );
    }
}
