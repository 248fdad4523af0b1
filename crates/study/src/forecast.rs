//! The load of the next two days, and how good such forecasts were on the history itself.
//!
//! ## The backtest
//! A rolling origin: at every hour of the history, the forecaster knows what was before and forecasts one, six and 24
//! hours ahead. Beside it stands the seasonal naive forecast, the same hour of last week (of yesterday, with less than four
//! weeks): who cannot do better needs no forecaster. The first week (the first day of less than two weeks) is not judged.

use config::case::Case;
use control::scaling::predictive::{Forecaster, LEAST_HISTORY, MOST_AHEAD};
use documents::forecast::{Backtest, Forecast, Point, hour_name};
use sim::settings::Traffic;
use std::time::Duration;
use units::show_duration;

/// What is forecast.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Where the history is from, for people.
    pub source: String,
    /// The beginning of its first hour, in microseconds since 1970; `None` if it is not known.
    pub start: Option<i64>,
    /// Requests of each hour; `None` for gaps.
    pub loads: Vec<Option<f64>>,
    /// How many hours are forecast, from 1 to 48.
    pub ahead: usize,
    /// The version of the document.
    pub version: &'static str,
}

/// A forecast of the backtest: one that was possible then, beside what came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Hours of history that were known.
    pub origin: usize,
    /// Hours from the newest known one to the forecast one.
    pub ahead: usize,
    /// Requests of the hour: expected, and the band of 90 %.
    pub expected: f64,
    /// The lower end of the band.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// What came.
    pub load: f64,
    /// The seasonal naive forecast; `None` where the hour it is from is a gap.
    pub naive: Option<f64>,
}

/// The traffic of the first stage of a case, hour by hour from its beginning, which the first value has in microseconds
/// since 1970 if the case has a date.
///
/// # Errors
/// If its traffic are users, who have no rate of their own.
pub fn history_of(case: &Case) -> Result<(Option<i64>, Vec<Option<f64>>), Unfit> {
    let Some(stage) = case.stages.first() else { return Err(Unfit::Short { hours: "0s".to_owned() }) };
    let Traffic::Open { rates, bin, .. } = &stage.system.traffic else { return Err(Unfit::Users) };
    let start = stage
        .begins
        .and_then(|begins| begins.checked_sub(i64::try_from(stage.system.warm_up.as_micros()).ok()?));
    let mut loads = Vec::new();
    let seconds = bin.as_secs_f64();
    for (place, rate) in rates.iter().enumerate() {
        // A row may reach over several hours.
        let (mut from, until) = (seconds * place as f64, seconds * (place + 1) as f64);
        while from < until - TINY {
            let hour = ((from + TINY) / HOUR_SECONDS).floor();
            let end = until.min((hour + 1.0) * HOUR_SECONDS);
            if loads.len() <= hour as usize {
                loads.resize(hour as usize + 1, 0.0);
            }
            loads[hour as usize] += rate * (end - from);
            from = end;
        }
    }
    // The rest of an hour is not one.
    let whole = ((seconds * rates.len() as f64 + TINY) / HOUR_SECONDS).floor() as usize;
    loads.truncate(whole);
    Ok((start, loads.into_iter().map(Some).collect()))
}

/// A history that nothing can be forecast from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is too short.
    #[error(
        "{hours} of history: a forecast needs {}; bring traffic of a day or more, such as a file of counts a minute",
        show_duration(hours_of(LEAST_HISTORY))
    )]
    Short {
        /// Its length.
        hours: String,
    },
    /// It has no rates.
    #[error("the traffic of the case is users, whose rate depends on the service: name a file with traffic")]
    Users,
    /// Most of it is missing.
    #[error(
        "{missing} of {hours} hours of the history are gaps: bring traffic of which at least half was measured"
    )]
    Gaps {
        /// Hours without a measured load.
        missing: usize,
        /// All hours.
        hours: usize,
    },
}

/// Forecasts, with a trial for each origin from a day of history on, in their order.
///
/// # Errors
/// If the history is shorter than a day, or most of it is missing.
pub fn forecast(asked: &Asked) -> Result<(Forecast, Vec<Trial>), Unfit> {
    let loads = &asked.loads;
    if loads.len() < LEAST_HISTORY {
        return Err(Unfit::Short { hours: show_duration(hours_of(loads.len())).to_string() });
    }
    let missing = loads.iter().filter(|load| load.is_none()).count();
    if 2 * missing > loads.len() {
        return Err(Unfit::Gaps { missing, hours: loads.len() });
    }
    let taught = if loads.len() < 2 * WEEK { DAY } else { WEEK };
    let season = if loads.len() < 4 * WEEK { DAY } else { WEEK };
    let mut forecaster = Forecaster::new();
    let mut trials: Vec<Trial> = Vec::new();
    for (hour, load) in loads.iter().enumerate() {
        forecaster.observe(*load);
        let origin = hour + 1;
        if origin < LEAST_HISTORY {
            continue;
        }
        for ahead in AHEAD {
            let place = hour + ahead;
            let (Some(Some(load)), Some(expected)) = (loads.get(place), forecaster.expect(ahead)) else {
                continue;
            };
            trials.push(Trial {
                origin,
                ahead,
                expected: expected.load,
                low: expected.low,
                high: expected.high,
                load: *load,
                naive: place.checked_sub(season).and_then(|place| loads[place]),
            });
        }
    }
    let points = (1..=asked.ahead.min(MOST_AHEAD)).filter_map(|ahead| {
        let expected = forecaster.expect(ahead)?;
        Some(Point {
            at: hour_name(asked.start, loads.len() + ahead - 1, ahead),
            rate_per_second: expected.load / HOUR_SECONDS,
            low: expected.low / HOUR_SECONDS,
            high: expected.high / HOUR_SECONDS,
        })
    });
    let judged: Vec<Trial> = trials.iter().copied().filter(|trial| trial.origin >= taught).collect();
    let document = Forecast {
        version: asked.version,
        source: asked.source.clone(),
        hours: loads.len(),
        missing_hours: missing,
        season_hours: season,
        points: points.collect(),
        backtest: AHEAD.iter().filter_map(|ahead| backtest(&judged, *ahead)).collect(),
        notes: notes(loads.len()),
    };
    Ok((document, trials))
}

/// The errors of one distance; none without a trial.
fn backtest(trials: &[Trial], ahead: usize) -> Option<Backtest> {
    let of = || trials.iter().filter(|trial| trial.ahead == ahead);
    let total: f64 = of().map(|trial| trial.load).sum();
    let count = of().count();
    if count == 0 || total <= 0.0 {
        return None;
    }
    let errors: f64 = of().map(|trial| (trial.expected - trial.load).abs()).sum();
    // The naive forecast is compared where there is one.
    let both = || of().filter_map(|trial| Some((trial, trial.naive?)));
    let ours: f64 = both().map(|(trial, _)| (trial.expected - trial.load).abs()).sum();
    let naive: f64 = both().map(|(trial, naive)| (naive - trial.load).abs()).sum();
    let inside = of().filter(|trial| (trial.low..=trial.high).contains(&trial.load)).count();
    Some(Backtest {
        ahead_hours: ahead,
        forecasts: count,
        error_percent: 100.0 * errors / total,
        scaled_error: (naive > 0.0).then(|| ours / naive),
        inside_percent: 100.0 * inside as f64 / count as f64,
    })
}

fn notes(hours: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if hours < 2 * DAY {
        notes.push(
            "less than two days of history: nothing could be checked yet, bands are a guess".to_owned(),
        );
    } else if hours < 2 * WEEK {
        notes.push("less than two weeks of history: weekdays are not told apart yet".to_owned());
    }
    notes
}

fn hours_of(count: usize) -> Duration {
    Duration::from_secs(3600 * count as u64)
}

/// Seconds; less than any row.
const TINY: f64 = 1e-6;
const AHEAD: [usize; 3] = [1, 6, 24];
const DAY: usize = 24;
const WEEK: usize = 168;
const HOUR_SECONDS: f64 = 3600.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(loads: Vec<Option<f64>>) -> Asked {
        Asked { source: "test".to_owned(), start: Some(0), loads, ahead: 48, version: "0" }
    }

    /// A day's shape, lower at weekends, with noise that repeats after 7 hours.
    fn load(hour: usize) -> f64 {
        let day = if (hour / 24) % 7 < 5 { 1.0 } else { 0.6 };
        let shape = 1.0 + 0.5 * (hour as f64 / 24.0 * std::f64::consts::TAU).sin();
        36_000.0 * day * shape * (1.0 + 0.02 * ((hour % 7) as f64 - 3.0) / 3.0)
    }

    #[test]
    fn a_week_with_weekends_is_learned_and_the_band_holds() {
        let loads = (0..6 * WEEK).map(|hour| Some(load(hour))).collect();
        let (forecast, trials) = forecast(&asked(loads)).unwrap();
        for (place, point) in forecast.points.iter().enumerate() {
            let truth = load(6 * WEEK + place) / 3600.0;
            assert!((point.rate_per_second / truth - 1.0).abs() < 0.1, "{place}: {point:?}, {truth}");
        }
        assert_eq!(forecast.points[0].at, "1970-02-12T00:00:00Z");
        assert_eq!(forecast.points.len(), 48);
        for found in &forecast.backtest {
            assert!(found.error_percent < 5.0 && found.inside_percent > 80.0, "{found:?}");
        }
        assert!(trials.iter().all(|trial| trial.origin + trial.ahead <= 6 * WEEK));
    }

    #[test]
    fn an_outage_a_gap_and_a_crowd_do_not_become_the_season() {
        let mut loads: Vec<Option<f64>> = (0..4 * WEEK).map(|hour| Some(load(hour))).collect();
        let odd = 4 * WEEK - 60;
        loads[odd..odd + 4].fill(Some(0.0));
        loads[odd + 10..odd + 20].fill(None);
        loads[odd + 24..odd + 26].fill(Some(900_000.0));
        let (forecast, _) = forecast(&asked(loads)).unwrap();
        for (place, point) in forecast.points.iter().enumerate() {
            let truth = load(4 * WEEK + place) / 3600.0;
            assert!((point.rate_per_second / truth - 1.0).abs() < 0.35, "{place}: {point:?}, {truth}");
        }
        assert_eq!(forecast.missing_hours, 10);
    }

    /// Half of the usual load on a Monday or a Tuesday, of the last week or of the one before: the next forecast of that weekday would
    /// be half as high if it repeated last week.
    #[test]
    fn a_holiday_does_not_become_the_season() {
        for (days, most) in [(7, 0.25), (6, 0.25), (14, 0.03), (13, 0.03)] {
            let mut loads: Vec<Option<f64>> = (0..4 * WEEK).map(|hour| Some(load(hour))).collect();
            let holiday = 4 * WEEK - days * DAY;
            loads[holiday..holiday + DAY].iter_mut().for_each(|load| *load = load.map(|load| 0.5 * load));
            let (forecast, _) = forecast(&asked(loads)).unwrap();
            let same_day = forecast.points.iter().enumerate().skip((7 - days % 7) % 7 * DAY).take(DAY);
            let errors =
                same_day.map(|(place, point)| point.rate_per_second * 3600.0 / load(4 * WEEK + place) - 1.0);
            let mean = errors.sum::<f64>() / DAY as f64;
            assert!(mean.abs() < most, "{days} days ago: {mean:+.2}");
        }
    }

    #[test]
    fn what_cannot_be_forecast_is_refused_with_a_way_out() {
        let short = forecast(&asked(vec![Some(1.0); 23])).unwrap_err().to_string();
        assert_eq!(
            short,
            "23.0 h of history: a forecast needs 24.0 h; bring traffic of a day or more, such as a file of counts a minute"
        );
        let mut loads = vec![None; 40];
        loads.extend([Some(1.0); 10]);
        let gaps = forecast(&asked(loads)).unwrap_err().to_string();
        assert_eq!(
            gaps,
            "40 of 50 hours of the history are gaps: bring traffic of which at least half was measured"
        );
    }

    #[test]
    fn a_day_is_enough() {
        let loads = (0..DAY).map(|hour| Some(load(hour))).collect();
        let (forecast, _) = forecast(&asked(loads)).unwrap();
        assert_eq!((forecast.points.len(), forecast.backtest.len(), forecast.notes.len()), (48, 0, 1));
        assert!(forecast.points.iter().all(|point| point.low <= point.rate_per_second
            && point.rate_per_second <= point.high
            && point.high > 0.0));
    }
}
