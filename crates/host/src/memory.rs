//! Memory: how much there is, and how much is available.

use crate::text::{field, read};
use units::Bytes;

/// The machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: Bytes,
    /// Available without swapping, by the kernel's estimate; `None` on kernels before 3.14.
    pub available: Option<Bytes>,
}

impl Memory {
    /// The values in `/proc/meminfo` now.
    pub fn now() -> Option<Self> {
        Memory::parse(&read("/proc/meminfo")?)
    }

    /// From the text of `/proc/meminfo`.
    pub fn parse(meminfo: &str) -> Option<Self> {
        let of = |name: &str| {
            let kib: u64 = field(meminfo, name)?.strip_suffix("kB")?.trim().parse().ok()?;
            Some(Bytes::new(kib.saturating_mul(1024)))
        };
        Some(Memory { total: of("MemTotal")?, available: of("MemAvailable") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kibibytes() {
        let text = "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:   8192000 kB\n";
        let memory = Memory::parse(text).unwrap();
        assert_eq!(memory.total.to_string(), "16.8 GB");
        assert_eq!(memory.available, Some(Bytes::new(8_192_000 * 1024)));
        assert_eq!(Memory::parse("MemTotal: 1 kB\n").unwrap().available, None);
        assert_eq!(Memory::parse("MemTotal: much\n"), None);
    }
}
