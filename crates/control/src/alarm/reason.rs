//! Why an alarm is in its state: stored as numbers, displayed in CloudWatch's words.
//!
//! The words are those of `StateReason` in CloudWatch's notifications. Times are given since the run began instead of
//! dates, unless [`Reason::with_times`] gets a calendar. Where CloudWatch reports nothing, because the state is kept,
//! the text is our own and begins with `Unchanged`.

use super::{Basis, Comparison, Missing, State};
use crate::metric::Datapoint;
use core::fmt;
use units::Timestamp;

/// Why an alarm is in its state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reason {
    /// The basis of the state.
    pub basis: Basis,
    /// The state before.
    pub old: State,
    /// The state.
    pub new: State,
    /// How a datapoint breaches.
    pub comparison: Comparison,
    /// The threshold.
    pub threshold: f64,
    /// How a missing datapoint is treated.
    pub missing: Missing,
    /// The evaluation periods.
    pub evaluation_periods: u32,
    /// How many of them have to breach.
    pub datapoints_to_alarm: u32,
    /// How many of them exist.
    pub real: u32,
    /// Their samples.
    pub samples: f64,
    /// Those that breach.
    pub crossed: Recent,
    /// Those that do not.
    pub within: Recent,
}

/// The number of datapoints of a kind, with the newest five of them: as many as CloudWatch lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recent {
    /// How many there are.
    pub count: u32,
    sum: f64,
    least: f64,
    most: f64,
    newest: [Datapoint; SHOWN],
}

/// A summary of the breaching datapoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breaching {
    /// Their mean.
    pub average: f64,
    /// The lowest.
    pub least: f64,
    /// The highest.
    pub most: f64,
    /// The newest.
    pub newest: f64,
}

impl Default for Recent {
    fn default() -> Self {
        let nothing = Datapoint { at: Timestamp::ZERO, value: 0.0, samples: 0.0 };
        let (least, most) = (f64::INFINITY, f64::NEG_INFINITY);
        Recent { count: 0, sum: 0.0, least, most, newest: [nothing; SHOWN] }
    }
}

impl Recent {
    /// The newest first, at most five.
    pub fn newest(&self) -> &[Datapoint] {
        &self.newest[..(self.count as usize).min(SHOWN)]
    }

    /// Counts a datapoint that is older than all before.
    pub(super) fn push(&mut self, datapoint: Datapoint) {
        if let Some(place) = self.newest.get_mut(self.count as usize) {
            *place = datapoint;
        }
        self.count += 1;
        self.sum += datapoint.value;
        self.least = self.least.min(datapoint.value);
        self.most = self.most.max(datapoint.value);
    }
}

impl Reason {
    /// A summary of the breaching datapoints; none where none breaches.
    pub fn breaching(&self) -> Option<Breaching> {
        let Recent { count, sum, least, most, .. } = self.crossed;
        let newest = self.crossed.newest().first()?.value;
        Some(Breaching { average: sum / f64::from(count), least, most, newest })
    }

    /// The newest datapoint, whether it breaches or not; none where none exists.
    pub fn newest(&self) -> Option<Datapoint> {
        let [crossed, within] = [self.crossed, self.within].map(|kind| kind.newest().first().copied());
        match (crossed, within) {
            (Some(one), Some(other)) => Some(if one.at > other.at { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    /// The same words, with times as `time` writes them.
    pub fn with_times<T>(&self, time: T) -> impl fmt::Display
    where
        T: Fn(Timestamp, &mut fmt::Formatter<'_>) -> fmt::Result,
    {
        Words { reason: *self, time }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Words { reason: *self, time: since_the_beginning }.fmt(f)
    }
}

struct Words<T> {
    reason: Reason,
    time: T,
}

impl<T: Fn(Timestamp, &mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Words<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = &self.reason;
        let lacking = reason.evaluation_periods.saturating_sub(reason.real);
        match reason.basis {
            Basis::Unchecked => f.write_str("Unchecked: Initial alarm creation"),
            Basis::NoData => {
                write!(f, "Insufficient Data: {} unknown.", Counted(reason.evaluation_periods, "was", "were"))
            }
            Basis::Kept => write!(f, "Unchanged: {} missing.", Counted(lacking, "is", "are")),
            Basis::FewSamples => {
                write!(f, "Unchanged: {} samples are too few for the percentile.", reason.samples)
            }
            Basis::Filled => {
                let treated = if reason.missing == Missing::Breaching { "Breaching" } else { "NonBreaching" };
                f.write_str("Threshold Crossed: ")?;
                match reason.real {
                    0 => f.write_str("no datapoints were")?,
                    real => write!(f, "{}", Counted(real, "was", "were"))?,
                }
                let periods = reason.evaluation_periods;
                write!(
                    f,
                    " received for {periods} period{} and {lacking} missing datapoint",
                    plural(periods)
                )?;
                write!(f, "{} {} treated as [{treated}].", plural(lacking), Counted::verb(lacking))
            }
            Basis::Datapoints | Basis::Premature => self.crossed(f),
        }
    }
}

impl<T: Fn(Timestamp, &mut fmt::Formatter<'_>) -> fmt::Result> Words<T> {
    fn crossed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason { comparison, threshold, evaluation_periods: periods, .. } = self.reason;
        let alarm = self.reason.new == State::Alarm;
        let (told, not) = if alarm { (self.reason.crossed, "") } else { (self.reason.within, "not ") };
        let verb = Counted::verb(told.count);
        write!(f, "Threshold Crossed: {} out of the last {} datapoints ", told.count, periods)?;
        let relation = format_args!("{verb} {not}{comparison} the threshold ({threshold:?})");
        if told.count as usize > SHOWN {
            write!(f, "{relation}. The most recent datapoints which crossed the threshold: ")?;
            self.list(told, f)?;
        } else {
            self.list(told, f)?;
            write!(f, " {relation}")?;
        }
        let needed = self.reason.datapoints_to_alarm;
        let (least, change) =
            if alarm { (needed, "OK -> ALARM") } else { (periods + 1 - needed.min(periods), "ALARM -> OK") };
        write!(f, " (minimum {least} datapoint{} for {change} transition).", plural(least))
    }

    fn list(&self, told: Recent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, datapoint) in told.newest().iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{:?} (", datapoint.value)?;
            (self.time)(datapoint.at, f)?;
            f.write_str(")")?;
        }
        f.write_str("]")
    }
}

/// `1 datapoint was`, `2 datapoints were`.
struct Counted(u32, &'static str, &'static str);

impl Counted {
    fn verb(count: u32) -> &'static str {
        if count == 1 { "was" } else { "were" }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted(count, one, many) = self;
        write!(f, "{count} datapoint{} {}", plural(*count), if *count == 1 { one } else { many })
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `2d 03:05:00`, or `03:05:00` on the first day.
fn since_the_beginning(at: Timestamp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let seconds = at.as_nanos() / 1_000_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    if days > 0 {
        write!(f, "{days}d ")?;
    }
    write!(f, "{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

/// The number of datapoints that CloudWatch lists.
const SHOWN: usize = 5;
