//! The kind of a computed number whose type does not contain it: in tables and rows with several kinds.

use crate::show_duration;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

/// The kind of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count or a ratio.
    Number,
    /// A share, shown in percent.
    Share,
    /// Seconds.
    Time,
    /// Events a second.
    Rate,
    /// US dollars.
    Money,
}

impl Unit {
    /// A number of this kind as text: `17`, `45.0 %`, `18.6 ms`, `124/s`, `$0.440`.
    pub fn shown(self, value: f64) -> String {
        match self {
            Unit::Number => trimmed(value),
            Unit::Share => format!("{:.1} %", value * 100.0),
            Unit::Time if value == 0.0 => "0".to_owned(),
            Unit::Time if (0.0..1e9).contains(&value) => {
                show_duration(Duration::from_secs_f64(value)).to_string()
            }
            Unit::Time => format!("{value:.3} s"),
            Unit::Rate => format!("{}/s", trimmed(value)),
            Unit::Money => format!("${value:.3}"),
        }
    }
}

/// Three significant digits, and whole numbers unchanged.
fn trimmed(value: f64) -> String {
    // The remainder of a division by 1: `f64::fract` needs `std`.
    if value % 1.0 == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_their_unit() {
        for (unit, value, text) in [
            (Unit::Number, 17.0, "17"),
            (Unit::Number, 12_345.6, "12346"),
            (Unit::Number, 0.4567, "0.457"),
            (Unit::Share, 0.45, "45.0 %"),
            (Unit::Time, 0.0, "0"),
            (Unit::Time, 0.0186, "18.6 ms"),
            (Unit::Time, -1.0, "-1.000 s"),
            (Unit::Rate, 124.83, "124.8/s"),
            (Unit::Money, 0.44, "$0.440"),
        ] {
            assert_eq!(unit.shown(value), text);
        }
    }
}
