//! Alarm: has a metric crossed its threshold for long enough?
//!
//! ## Why datapoints and not samples
//! One slow call must not add three servers. The samples of a period are first combined into one datapoint; only then
//! are datapoints counted.
//!
//! ## How it is evaluated
//! Each minute (each 10 s where the period is shorter than a minute, and each second on the grid of a local fleet),
//! over periods that end at the newest visible minute: with a period of five minutes, two consecutive evaluations share
//! four of them. The state is a pure function of the datapoints and the previous state ([`evaluation::evaluate`]);
//! [`Alarm`] adds the windows and the time.
//!
//! Actions are invoked when the state changes. Those of Auto Scaling are invoked again once a minute while the state
//! lasts, so that step scaling continues until the alarm ends; [`Repeat`] is a setting so that a simulation can show
//! its effect, and so that a local fleet can continue each period.
//!
//! Follows CloudWatch's user guide, *Using Amazon CloudWatch alarms*, and the API's `PutMetricAlarm`.

mod error;
pub mod evaluation;
mod reason;
mod settings;

pub use error::AlarmError;
pub use evaluation::{Basis, Rule};
pub use reason::{Breaching, Reason, Recent};
pub use settings::{AlarmSettings, Comparison, FewSamples, Grid, Missing, Repeat, Windows};

use crate::metric::{Datapoint, Series};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use evaluation::Newest;
use units::Timestamp;

/// The state of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum State {
    /// Not enough data; the initial state of every alarm.
    #[default]
    InsufficientData,
    /// The threshold is not crossed.
    Ok,
    /// The threshold is crossed, for long enough.
    Alarm,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::InsufficientData => "INSUFFICIENT_DATA",
            State::Ok => "OK",
            State::Alarm => "ALARM",
        })
    }
}

/// The result of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    /// When it was.
    pub at: Timestamp,
    /// The state before.
    pub old: State,
    /// The state from now on.
    pub new: State,
    /// Whether the actions of the new state are invoked now.
    pub invoked: bool,
    /// Why, in CloudWatch's words when displayed.
    pub reason: Reason,
}

impl Evaluation {
    /// Whether the state changed.
    pub fn changed(&self) -> bool {
        self.old != self.new
    }
}

/// An alarm on one metric.
///
/// ```
/// use control::alarm::{Alarm, AlarmSettings, Comparison, State};
/// use control::metric::{Detail, MetricId, Series, SeriesSettings, Statistic};
/// use std::time::Duration;
/// use units::Timestamp;
///
/// let minute = Duration::from_secs(60);
/// let mut alarm = Alarm::new(AlarmSettings {
///     evaluation_periods: 2,
///     datapoints_to_alarm: 2,
///     ..AlarmSettings::new(MetricId(0), Statistic::Average, minute, Comparison::GreaterThan, 60.0)
/// })?;
/// let history = alarm.settings().history();
/// let mut cpu =
///     Series::new(SeriesSettings { resolution: minute, history, delay: Duration::ZERO, detail: Detail::Summary })?;
/// cpu.record(Timestamp::from_secs(0), 63.0);
/// cpu.record(Timestamp::from_secs(60), 64.0);
///
/// let found = alarm.evaluate(Timestamp::from_secs(120), &cpu).unwrap();
/// assert_eq!((found.new, found.invoked), (State::Alarm, true));
/// assert_eq!(
///     found.reason.to_string(),
///     "Threshold Crossed: 2 out of the last 2 datapoints [64.0 (00:01:00), 63.0 (00:00:00)] were greater than the \
///      threshold (60.0) (minimum 2 datapoints for OK -> ALARM transition)."
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Alarm {
    settings: AlarmSettings,
    step: u64,
    state: State,
    /// The step of the last evaluation.
    evaluated: Option<u64>,
    /// When the actions of the present state were last invoked.
    invoked: Option<Timestamp>,
    told: Vec<Told>,
}

/// A percentile that was computed before, with the samples that it was computed from.
#[derive(Debug, Clone, Copy)]
struct Told {
    end: Timestamp,
    samples: f64,
    sum: f64,
    value: Option<f64>,
}

impl Alarm {
    /// An alarm without history.
    ///
    /// # Errors
    /// The first of the problems that [`AlarmSettings::problems`] lists.
    pub fn new(settings: AlarmSettings) -> Result<Self, AlarmError> {
        if let Some(problem) = settings.problems().first() {
            return Err(*problem);
        }
        let step = settings.step();
        let looks_back = settings.history().as_nanos() / step.as_nanos();
        let told = if settings.statistic.is_simple() { 0 } else { looks_back as usize + 1 };
        let nothing = Told { end: Timestamp::ZERO, samples: -1.0, sum: 0.0, value: None };
        Ok(Alarm {
            settings,
            step: step.as_nanos() as u64,
            state: State::default(),
            evaluated: None,
            invoked: None,
            told: vec![nothing; told],
        })
    }

    /// Its settings.
    pub fn settings(&self) -> &AlarmSettings {
        &self.settings
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.state
    }

    /// Sets the state until the next evaluation, as `SetAlarmState` does; if that evaluation keeps `ALARM`, it invokes
    /// its actions.
    pub fn set_state(&mut self, state: State) {
        self.state = state;
        self.invoked = None;
    }

    /// Evaluates the metric if it is due: at most once per [`AlarmSettings::step`].
    pub fn evaluate(&mut self, now: Timestamp, series: &Series) -> Option<Evaluation> {
        let step = now.as_nanos() / self.step;
        if self.evaluated.is_some_and(|last| last >= step) {
            return None;
        }
        self.evaluated = Some(step);
        let newest = self.newest(now, series);
        let old = self.state;
        let (new, basis) = self.judge(&newest);
        let repeat = self.settings.repeat.interval(self.settings.period);
        let again = match self.invoked {
            Some(last) => repeat.is_some_and(|interval| now.since(last) >= interval),
            // The state was set by a caller.
            None => new == State::Alarm,
        };
        let invoked = new != old || again;
        if invoked {
            self.invoked = Some(now);
        }
        self.state = new;
        let reason = newest.reason(basis, &self.settings, old, new);
        Some(Evaluation { at: now, old, new, invoked, reason })
    }

    fn judge(&self, newest: &Newest) -> (State, Basis) {
        let few = self.settings.few_samples == FewSamples::Ignore
            && self.settings.samples_needed().is_some_and(|needed| newest.samples < needed)
            && newest.real > 0;
        if few { (self.state, Basis::FewSamples) } else { newest.judge(self.settings.rule(), self.state) }
    }

    /// The newest datapoints of the evaluation range, until the state is decided.
    fn newest(&mut self, now: Timestamp, series: &Series) -> Newest {
        let align = match self.settings.windows {
            Windows::Sliding => self.settings.step(),
            Windows::WallClock => self.settings.period,
        };
        let (range, rule) = (self.settings.range(), self.settings.rule());
        let mut end = series.seen(now, align);
        let mut newest = Newest::new(rule);
        for age in 1..=range {
            let datapoint = self.datapoint(end, series);
            newest
                .look(age, datapoint, |value| self.settings.comparison.holds(value, self.settings.threshold));
            if newest.decided() || end.since(Timestamp::ZERO) < self.settings.period {
                // Periods before the beginning count as missing.
                break;
            }
            end = end - self.settings.period;
        }
        newest
    }

    /// A datapoint; a percentile is not computed again from the same samples.
    fn datapoint(&mut self, end: Timestamp, series: &Series) -> Option<Datapoint> {
        let AlarmSettings { period, statistic, .. } = self.settings;
        if self.told.is_empty() {
            return series.datapoint(end, period, statistic);
        }
        let all = series.fold(end, period)?;
        let place = ((end.as_nanos() / self.step) % self.told.len() as u64) as usize;
        let told = &mut self.told[place];
        if (told.end, told.samples, told.sum) != (end, all.count, all.sum) {
            let value = series.datapoint(end, period, statistic).map(|datapoint| datapoint.value);
            *told = Told { end, samples: all.count, sum: all.sum, value };
        }
        told.value.map(|value| Datapoint { at: end - period, value, samples: all.count })
    }
}

/// The evaluation interval for periods of a minute or longer.
const MINUTE: Duration = Duration::from_secs(60);

/// The evaluation interval for shorter periods.
const TEN_SECONDS: Duration = Duration::from_secs(10);

/// The evaluation interval for shorter periods on the autoscaler's own metrics.
const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
