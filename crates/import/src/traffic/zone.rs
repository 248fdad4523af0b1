//! Civil times without a zone, in a zone given by the caller.
//!
//! ## The repeated hour
//! When clocks go back, an hour of civil time occurs twice, and only the order of rows distinguishes them: within that
//! hour, rows are of the first occurrence until they jump back. If rows are in descending order, it is vice versa. The
//! assumption is a notice; times that do not exist are an error.

use super::notice::{Notice, Place};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// Converts the times of one table.
pub(super) struct Zone {
    zone: TimeZone,
    name: String,
    /// The last two civil times, as microseconds.
    before: Option<i64>,
    step: i64,
    /// Within a repeated hour: whether rows are in its second occurrence.
    second: bool,
    told: Vec<Notice>,
}

impl Zone {
    pub(super) fn new(name: &str) -> Option<Zone> {
        let zone = TimeZone::get(name).ok()?;
        Some(Zone { zone, name: name.to_owned(), before: None, step: 0, second: false, told: Vec::new() })
    }

    /// The time of a civil time, given as if it were UTC; the civil time in words if it does not exist.
    pub(super) fn instant(&mut self, civil_micros: i64, place: impl Fn() -> Place) -> Result<i64, String> {
        let out_of_range = |_| format!("{civil_micros} µs");
        let civil = Timestamp::from_microsecond(civil_micros).map_err(out_of_range)?;
        let civil = Offset::UTC.to_datetime(civil);
        let step = self.before.map_or(0, |before| civil_micros - before);
        let offset = match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => {
                self.second = false;
                offset
            }
            AmbiguousOffset::Gap { .. } => return Err(shown(civil)),
            AmbiguousOffset::Fold { before, after } => {
                self.within_fold(civil, step, place);
                let backwards = self.step < 0;
                if self.second != backwards { after } else { before }
            }
        };
        if step != 0 && step.abs() < HALF_AN_HOUR || self.before.is_none() || self.step == 0 {
            self.step = step;
        }
        self.before = Some(civil_micros);
        let instant = offset.to_timestamp(civil).map_err(|_| shown(civil))?;
        Ok(instant.as_microsecond())
    }

    /// Records whether rows jump to the other occurrence of the hour.
    fn within_fold(&mut self, civil: DateTime, step: i64, place: impl Fn() -> Place) {
        let in_it = matches!(self.told.last(), Some(Notice::RepeatedHour { time, .. }) if time[..13] == shown(civil)[..13]);
        if !in_it {
            self.second = false;
            let (time, zone) = (shown(civil), self.name.clone());
            self.told.push(Notice::RepeatedHour { place: place(), time, zone, second: None });
            return;
        }
        let against = if self.step < 0 { step >= HALF_AN_HOUR } else { step <= -HALF_AN_HOUR };
        let hourly_again = step == 0 && self.step.abs() >= HALF_AN_HOUR;
        if (against || hourly_again) && !self.second {
            self.second = true;
            if let Some(Notice::RepeatedHour { second, .. }) = self.told.last_mut() {
                *second = Some(place());
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The assumptions.
    pub(super) fn notices(self) -> Vec<Notice> {
        self.told
    }
}

fn shown(civil: DateTime) -> String {
    civil.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

const HALF_AN_HOUR: i64 = 1_800_000_000;
