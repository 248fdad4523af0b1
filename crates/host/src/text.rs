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
