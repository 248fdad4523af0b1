//! Amounts of memory and of transferred data.

use crate::parse::{ParseError, number_and_unit};
use core::fmt;
use core::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// This many bytes.
    pub const fn new(bytes: u64) -> Self {
        Bytes(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

const EXPECTED: &str = "a size such as 512, 64KiB or 10MB (B, kB, KiB, MB, MiB, GB, GiB)";

impl FromStr for Bytes {
    type Err = ParseError;

    /// Parses `512`, `64KiB`, `10MB`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("size", text, EXPECTED);
        let (number, unit) = number_and_unit(text.trim()).ok_or_else(wrong)?;
        let scale = match unit {
            "" | "B" => 1.0,
            "k" | "kB" | "KB" => 1e3,
            "KiB" => 1024.0,
            "M" | "MB" => 1e6,
            "MiB" => 1024.0 * 1024.0,
            "G" | "GB" => 1e9,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * scale;
        if bytes > u64::MAX as f64 { Err(wrong()) } else { Ok(Bytes(bytes as u64)) }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        let text = match bytes {
            b if b < 1e3 => alloc::format!("{} B", self.0),
            b if b < 1e6 => alloc::format!("{:.1} kB", b / 1e3),
            b if b < 1e9 => alloc::format!("{:.1} MB", b / 1e6),
            b => alloc::format!("{:.1} GB", b / 1e9),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_and_shows() {
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("10MB".parse::<Bytes>().unwrap().to_string(), "10.0 MB");
        assert!("10XB".parse::<Bytes>().is_err());
    }
}
