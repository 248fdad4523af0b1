//! Statistics of CloudWatch: how the samples of a period are combined.
//!
//! `p95`, `tm90`, `TM(10%:90%)`, `IQM`, `PR(:0.5)` are read and written as in CloudWatch. A percentile is the highest
//! of the samples that remain when the rest of the share is discarded. Trimmed statistics keep the samples between two
//! shares, or above one value up to and including another.
//!
//! Follows CloudWatch's user guide, *Statistics definitions*.

use core::fmt;
use core::str::FromStr;
use units::Quantile;

/// How the samples of a period are combined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// Sum over count.
    Average,
    /// The lowest.
    Minimum,
    /// The highest.
    Maximum,
    /// The sum.
    Sum,
    /// The number of samples.
    SampleCount,
    /// The value that this share of the samples does not exceed.
    Percentile(Quantile),
    /// A statistic of the samples within bounds.
    Trimmed {
        /// The statistic.
        what: Trim,
        /// The samples.
        within: Bounds,
    },
    /// Percentile rank: the percentage of samples within bounds.
    Rank {
        /// The bounds, values.
        within: Bounds,
    },
}

/// A statistic of trimmed samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// `TM`: their mean.
    Mean,
    /// `TC`: how many there are.
    Count,
    /// `TS`: their sum.
    Sum,
    /// `WM`: the mean of all, where values outside count as the bound.
    WinsorizedMean,
}

/// Which samples are kept: those above `from`, up to and including `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bounds {
    /// Shares of the samples in their order, 0 to 1.
    Shares {
        /// The share of the lowest samples that is left out.
        from: f64,
        /// The share up to which samples are kept.
        to: f64,
    },
    /// Values.
    Values {
        /// Exclusive.
        from: f64,
        /// Inclusive.
        to: f64,
    },
}

impl Statistic {
    /// Whether count, sum, minimum and maximum of a period provide it.
    pub const fn is_simple(self) -> bool {
        use Statistic::{Average, Maximum, Minimum, SampleCount, Sum};
        matches!(self, Average | Minimum | Maximum | Sum | SampleCount)
    }

    /// Whether it is a value that a sample can have, and not a count, a sum or a share.
    pub(super) const fn is_value(self) -> bool {
        use Trim::{Mean, WinsorizedMean};
        matches!(self, Statistic::Percentile(_) | Statistic::Trimmed { what: Mean | WinsorizedMean, .. })
    }

    /// The statistic of `total` samples, given as values in rising order with their counts. None where no samples are
    /// left, and for the simple statistics.
    pub(super) fn of(self, samples: impl Iterator<Item = (f64, f64)>, total: f64) -> Option<f64> {
        match self {
            Statistic::Percentile(quantile) => percentile(quantile, samples, total),
            Statistic::Trimmed { what, within } => {
                let kept = Kept::of(within, samples, total);
                match what {
                    Trim::Count => Some(kept.count),
                    Trim::Sum => Some(kept.sum),
                    Trim::Mean => (kept.count > 0.0).then(|| kept.sum / kept.count),
                    Trim::WinsorizedMean => {
                        let outside = kept.below * kept.first + kept.above * kept.last;
                        (kept.count > 0.0).then(|| (kept.sum + outside) / total)
                    }
                }
            }
            Statistic::Rank { within } => Some(100.0 * Kept::of(within, samples, total).count / total),
            _ => None,
        }
    }
}

fn percentile(quantile: Quantile, samples: impl Iterator<Item = (f64, f64)>, total: f64) -> Option<f64> {
    // A whole number of samples, without the rounding error of the product: 0.95 of 20 are 19.
    let wanted = libm::ceil(quantile.get() * total - 1e-9);
    let (mut seen, mut value) = (0.0, None);
    for (at, count) in samples {
        (seen, value) = (seen + count, Some(at));
        if seen >= wanted {
            break;
        }
    }
    value
}

/// The samples that remain after trimming, and those that were left out on either side.
struct Kept {
    count: f64,
    sum: f64,
    below: f64,
    above: f64,
    first: f64,
    last: f64,
}

impl Kept {
    fn of(within: Bounds, samples: impl Iterator<Item = (f64, f64)>, total: f64) -> Self {
        let mut kept = Kept { count: 0.0, sum: 0.0, below: 0.0, above: 0.0, first: 0.0, last: 0.0 };
        if let Bounds::Values { from, to } = within {
            (kept.first, kept.last) = (from, to);
        }
        let mut seen = 0.0;
        for (value, count) in samples {
            let below = match within {
                Bounds::Shares { from, .. } => (from * total - seen).clamp(0.0, count),
                Bounds::Values { from, .. } if value <= from => count,
                Bounds::Values { .. } => 0.0,
            };
            let above = match within {
                Bounds::Shares { to, .. } => (seen + count - to * total).clamp(0.0, count),
                Bounds::Values { to, .. } if value > to => count,
                Bounds::Values { .. } => 0.0,
            };
            let inside = (count - below - above).max(0.0);
            if inside > 0.0 && matches!(within, Bounds::Shares { .. }) {
                if kept.count == 0.0 {
                    kept.first = value;
                }
                kept.last = value;
            }
            seen += count;
            kept.count += inside;
            kept.sum += inside * value;
            kept.below += below;
            kept.above += above;
        }
        kept
    }
}

/// A text that is not a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no statistic: Average, Minimum, Maximum, Sum, SampleCount, a percentile such as p95 or p99.9, tm90, \
     TM(10%:90%), TC, TS and WM likewise, IQM, or PR(0.1:0.5)"
)]
pub struct StatisticError;

impl FromStr for Statistic {
    type Err = StatisticError;

    /// Parses CloudWatch's notation, case-insensitively.
    fn from_str(text: &str) -> Result<Self, StatisticError> {
        const SIMPLE: [(&str, Statistic); 6] = [
            ("Average", Statistic::Average),
            ("Minimum", Statistic::Minimum),
            ("Maximum", Statistic::Maximum),
            ("Sum", Statistic::Sum),
            ("SampleCount", Statistic::SampleCount),
            ("IQM", INTERQUARTILE_MEAN),
        ];
        if let Some((_, statistic)) = SIMPLE.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Ok(*statistic);
        }
        let (name, bounds) = split(text).ok_or(StatisticError)?;
        let what = match name {
            [b'P' | b'p', b'R' | b'r'] => {
                let within = ranged(bounds).filter(|within| matches!(within, Bounds::Values { .. }));
                return Ok(Statistic::Rank { within: within.ok_or(StatisticError)? });
            }
            [b'P' | b'p'] => return percent(bounds),
            [b'T' | b't', b'M' | b'm'] => Trim::Mean,
            [b'T' | b't', b'C' | b'c'] => Trim::Count,
            [b'T' | b't', b'S' | b's'] => Trim::Sum,
            [b'W' | b'w', b'M' | b'm'] => Trim::WinsorizedMean,
            _ => return Err(StatisticError),
        };
        let within = if bounds.starts_with('(') {
            ranged(bounds)
        } else {
            share(bounds).map(|to| Bounds::Shares { from: 0.0, to })
        };
        Ok(Statistic::Trimmed { what, within: within.ok_or(StatisticError)? })
    }
}

const INTERQUARTILE_MEAN: Statistic =
    Statistic::Trimmed { what: Trim::Mean, within: Bounds::Shares { from: 0.25, to: 0.75 } };

/// Letters, then the rest.
fn split(text: &str) -> Option<(&[u8], &str)> {
    let at = text.find(|c: char| !c.is_ascii_alphabetic())?;
    Some((&text.as_bytes()[..at], &text[at..]))
}

fn percent(text: &str) -> Result<Statistic, StatisticError> {
    let share = share(text).ok_or(StatisticError)?;
    Ok(match Quantile::new(share) {
        Some(quantile) => Statistic::Percentile(quantile),
        None if share == 0.0 => Statistic::Minimum,
        None => Statistic::Maximum,
    })
}

/// `90` as a share.
fn share(text: &str) -> Option<f64> {
    number(text).map(|percent| percent / 100.0).filter(|share| (0.0..=1.0).contains(share))
}

/// `(10%:90%)` or `(100:2000)`; a missing end is open.
fn ranged(text: &str) -> Option<Bounds> {
    let (from, to) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(':')?;
    let bounds = if from.ends_with('%') || to.ends_with('%') {
        let end = |text: &str, open| {
            if text.is_empty() { Some(open) } else { share(text.strip_suffix('%')?) }
        };
        Bounds::Shares { from: end(from, 0.0)?, to: end(to, 1.0)? }
    } else {
        let end = |text: &str, open| if text.is_empty() { Some(open) } else { number(text) };
        Bounds::Values { from: end(from, f64::NEG_INFINITY)?, to: end(to, f64::INFINITY)? }
    };
    let (Bounds::Shares { from, to } | Bounds::Values { from, to }) = bounds;
    (from < to && !(from == f64::NEG_INFINITY && to == f64::INFINITY)).then_some(bounds)
}

fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|number: &f64| plain && number.is_finite())
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Statistic::Average => f.write_str("Average"),
            Statistic::Minimum => f.write_str("Minimum"),
            Statistic::Maximum => f.write_str("Maximum"),
            Statistic::Sum => f.write_str("Sum"),
            Statistic::SampleCount => f.write_str("SampleCount"),
            Statistic::Percentile(quantile) => quantile.fmt(f),
            INTERQUARTILE_MEAN => f.write_str("IQM"),
            Statistic::Trimmed { what, within } => {
                let name = match what {
                    Trim::Mean => "TM",
                    Trim::Count => "TC",
                    Trim::Sum => "TS",
                    Trim::WinsorizedMean => "WM",
                };
                write!(f, "{name}({within})")
            }
            Statistic::Rank { within } => write!(f, "PR({within})"),
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // Rounded, because a share of a percentage is not always exact in binary.
            Bounds::Shares { from, to } => {
                let percent = |share: f64| libm::round(share * 1e6) / 1e4;
                write!(f, "{}%:{}%", percent(from), percent(to))
            }
            Bounds::Values { from, to } => {
                if from.is_finite() {
                    write!(f, "{from}")?;
                }
                f.write_str(":")?;
                if to.is_finite() { write!(f, "{to}") } else { Ok(()) }
            }
        }
    }
}
