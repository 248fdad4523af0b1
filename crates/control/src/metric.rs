//! Metrics as alarms read them: points of equal length, each with the data that statistics need.
//!
//! ## Why a separate store
//! An alarm reads the last minutes, every minute. It needs little of each (how many samples, their sum, minimum and
//! maximum) except for percentiles, which need the whole distribution: a [`Sketch`] for each point, merged by addition
//! if a period has several. Recording and reading allocate nothing.
//!
//! ## When a point becomes visible
//! A cloud publishes a minute some time after it has ended. The delay belongs to the series; everything before
//! [`Series::seen`] is visible, whether there is a point or not, and nothing after it.
//!
//! Follows CloudWatch's statistic sets: `SampleCount`, `Sum`, `Minimum`, `Maximum`.

mod knots;
mod settings;
mod statistic;

pub use settings::{Detail, SeriesError, SeriesSettings};
pub use statistic::{Bounds, Statistic, StatisticError, Trim};

use crate::assumption::Assumption;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use stats::Sketch;
use units::Timestamp;

/// Identifies a metric in alarms and policies: an index into the series of a scaler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MetricId(pub u16);

impl fmt::Display for MetricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metric {}", self.0)
    }
}

/// How late CloudWatch publishes a minute.
pub const PUBLICATION_DELAY: Assumption = Assumption {
    name: "publication delay",
    text: "a minute of a metric can be seen so long after it has ended; the vendor publishes no number",
};

/// How percentiles over several points are computed if only a few quantiles of each are known.
pub const INTERPOLATED_PERCENTILES: Assumption = Assumption {
    name: "interpolated percentiles",
    text: "between the quantiles that are known of a point its distribution is a straight line, and points are mixed \
           by their sample counts",
};

/// The samples of a point, aggregated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The number of samples; a fraction in a fluid model.
    pub count: f64,
    /// Their sum.
    pub sum: f64,
    /// The lowest.
    pub least: f64,
    /// The highest.
    pub most: f64,
}

impl Point {
    /// No samples.
    pub const EMPTY: Point = Point { count: 0.0, sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY };

    /// One sample.
    pub const fn of(value: f64) -> Self {
        Point { count: 1.0, sum: value, least: value, most: value }
    }

    /// Whether there are samples, and all values are finite.
    fn is_sound(self) -> bool {
        self.count > 0.0 && [self.count, self.sum, self.least, self.most].iter().all(|part| part.is_finite())
    }

    /// The samples of both.
    pub fn with(self, other: Point) -> Self {
        Point {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// A statistic over a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datapoint {
    /// When the period began.
    pub at: Timestamp,
    /// The statistic.
    pub value: f64,
    /// Samples in the period.
    pub samples: f64,
}

/// The recent points of one metric.
#[derive(Debug, Clone)]
pub struct Series {
    settings: SeriesSettings,
    resolution: u64,
    points: Vec<Kept>,
    sketches: Vec<Sketch>,
    quantiles: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    /// The index of this point from the beginning; the ring has one entry for each remainder.
    number: u64,
    point: Point,
}

impl Series {
    /// A series without points.
    ///
    /// # Errors
    /// Points of length zero, too many of them, or quantiles that are not in rising order.
    pub fn new(settings: SeriesSettings) -> Result<Self, SeriesError> {
        let resolution = nanos(settings.resolution);
        if resolution == 0 {
            return Err(SeriesError::ZeroResolution);
        }
        // One point is being filled, one may wait for its delay in part.
        let span = nanos(settings.history).saturating_add(nanos(settings.delay));
        let points = span.div_ceil(resolution).saturating_add(2);
        let most = if settings.detail == Detail::Sketch { MOST_SKETCHES } else { MOST_POINTS };
        if points > most {
            return Err(SeriesError::TooManyPoints { points, most });
        }
        let length = points as usize;
        let (mut sketches, mut quantiles) = (Vec::new(), Vec::new());
        match &settings.detail {
            Detail::Summary => {}
            Detail::Sketch => sketches.resize_with(length, Sketch::new),
            Detail::Quantiles(known) => {
                if let Some(pair) = known.windows(2).find(|pair| pair[0] >= pair[1]) {
                    return Err(SeriesError::QuantilesFall { lower: pair[1], higher: pair[0] });
                }
                quantiles = vec![0.0; length * known.len()];
            }
        }
        let points = vec![Kept { number: 0, point: Point::EMPTY }; length];
        Ok(Series { settings, resolution, points, sketches, quantiles })
    }

    /// Its settings.
    pub fn settings(&self) -> &SeriesSettings {
        &self.settings
    }

    /// Adds a sample to the point at `at`. Samples older than the history and values that are not finite are dropped.
    #[inline]
    pub fn record(&mut self, at: Timestamp, value: f64) {
        if !value.is_finite() {
            return;
        }
        if let Some(slot) = self.slot(at) {
            self.points[slot].point = self.points[slot].point.with(Point::of(value));
            if let Some(sketch) = self.sketches.get_mut(slot) {
                sketch.record(value);
            }
        }
    }

    /// Adds aggregated samples to the point at `at` (its beginning, or any time before its end). They do not count for
    /// percentiles. Dropped if too old, empty or not finite.
    pub fn add(&mut self, at: Timestamp, point: Point) {
        if !point.is_sound() {
            return;
        }
        if let Some(slot) = self.slot(at) {
            self.points[slot].point = self.points[slot].point.with(point);
        }
    }

    /// Adds the samples of a sketch to the point at `at`.
    pub fn add_sketch(&mut self, at: Timestamp, sketch: &Sketch) {
        let (Some(least), Some(most)) = (sketch.least(), sketch.most()) else { return };
        if let Some(slot) = self.slot(at) {
            let more = Point { count: sketch.count() as f64, sum: sketch.sum(), least, most };
            self.points[slot].point = self.points[slot].point.with(more);
            if let Some(mine) = self.sketches.get_mut(slot) {
                mine.add(sketch);
            }
        }
    }

    /// Sets the point at `at`, with the quantiles that [`Detail::Quantiles`] names, in its order.
    pub fn set_quantiles(&mut self, at: Timestamp, point: Point, quantiles: &[f64]) {
        if let Some(slot) = self.slot(at) {
            self.points[slot].point = point;
            let known = self.known();
            for (mine, value) in self.quantiles[slot * known..][..known].iter_mut().zip(quantiles) {
                *mine = *value;
            }
        }
    }

    /// The end of the visible data at `now`: a multiple of `step`.
    pub fn seen(&self, now: Timestamp, step: Duration) -> Timestamp {
        let visible = (now - self.settings.delay).as_nanos();
        Timestamp::from_nanos(visible - visible % nanos(step).max(1))
    }

    /// The statistic over the period that ends at `end`: over all points that end in it. None where there is no sample,
    /// or where the stored data does not provide the statistic.
    pub fn datapoint(&self, end: Timestamp, period: Duration, statistic: Statistic) -> Option<Datapoint> {
        let at = Timestamp::from_nanos(end.as_nanos().checked_sub(nanos(period))?);
        let point = self.fold(end, period)?;
        let value = match statistic {
            Statistic::Average => point.sum / point.count,
            Statistic::Minimum => point.least,
            Statistic::Maximum => point.most,
            Statistic::Sum => point.sum,
            Statistic::SampleCount => point.count,
            _ => self.distribution(end, period, point, statistic)?,
        };
        Some(Datapoint { at, value, samples: point.count })
    }

    /// All samples of the period that ends at `end`; none where there are none.
    pub fn fold(&self, end: Timestamp, period: Duration) -> Option<Point> {
        let all = self.within(end, period).fold(Point::EMPTY, |all, slot| all.with(self.points[slot].point));
        (all.count > 0.0).then_some(all)
    }

    /// Whether the stored data provides a statistic.
    pub fn tells(&self, statistic: Statistic) -> bool {
        match (&self.settings.detail, statistic) {
            (Detail::Sketch, _) => true,
            (Detail::Quantiles(_), Statistic::Percentile(_)) => true,
            (_, other) => other.is_simple(),
        }
    }

    fn distribution(
        &self,
        end: Timestamp,
        period: Duration,
        all: Point,
        statistic: Statistic,
    ) -> Option<f64> {
        // CloudWatch: no percentiles of metrics with negative values.
        if all.least < 0.0 {
            return None;
        }
        let parts = self.within(end, period);
        match &self.settings.detail {
            // If all samples are equal, every statistic of the distribution is known.
            _ if all.least == all.most => statistic.of(core::iter::once((all.least, all.count)), all.count),
            Detail::Summary => None,
            Detail::Sketch => {
                let sketches = parts.clone().map(|slot| &self.sketches[slot]);
                if let Statistic::Percentile(quantile) = statistic {
                    return Sketch::merged_quantile(sketches, quantile.get());
                }
                let merged = Sketch::merged(parts.map(|slot| &self.sketches[slot]));
                let counted = self.within(end, period).map(|slot| self.sketches[slot].count()).sum::<u64>();
                let value =
                    statistic.of(merged.map(|(value, count)| (value, count as f64)), counted as f64)?;
                Some(if statistic.is_value() { value.clamp(all.least, all.most) } else { value })
            }
            Detail::Quantiles(known) => {
                let Statistic::Percentile(wanted) = statistic else { return None };
                let count = self.known();
                let parts = parts.map(|slot| knots::Part {
                    point: self.points[slot].point,
                    values: &self.quantiles[slot * count..][..count],
                });
                Some(knots::quantile(wanted, known, parts, all))
            }
        }
    }

    /// The slots with samples whose points end in the period.
    fn within(&self, end: Timestamp, period: Duration) -> impl Iterator<Item = usize> + Clone + '_ {
        let end = end.as_nanos();
        let from = end.saturating_sub(nanos(period)) / self.resolution;
        let length = self.points.len() as u64;
        (from.max((end / self.resolution).saturating_sub(length))..end / self.resolution)
            .map(move |number| (number, (number % length) as usize))
            .filter(|(number, slot)| {
                let kept = &self.points[*slot];
                kept.number == *number && kept.point.count > 0.0
            })
            .map(|(_, slot)| slot)
    }

    /// The slot of the point at `at`, cleared if it held an older one; none if it holds a newer one.
    #[inline]
    fn slot(&mut self, at: Timestamp) -> Option<usize> {
        let number = at.as_nanos() / self.resolution;
        let slot = (number % self.points.len() as u64) as usize;
        let kept = &mut self.points[slot];
        if kept.number < number {
            *kept = Kept { number, point: Point::EMPTY };
            if let Some(sketch) = self.sketches.get_mut(slot) {
                sketch.clear();
            }
        }
        (kept.number == number).then_some(slot)
    }

    fn known(&self) -> usize {
        match &self.settings.detail {
            Detail::Quantiles(known) => known.len(),
            _ => 0,
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// More than a week of points of 10 s, the longest history of an alarm.
const MOST_POINTS: u64 = 65_536;

/// Two days of minutes, with 16 kB each.
const MOST_SKETCHES: u64 = 3_000;

#[cfg(test)]
mod tests;
