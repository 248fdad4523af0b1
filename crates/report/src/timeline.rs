//! Charts of runs over time: offered, good and shed requests, and response times.

use crate::over_time::{Axis, Labels, Line, MOST_POINTS, OverTime, Panel, Sample};
use crate::plot::Stroke;
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::Drawing;
use measure::{Histogram, Outcome, Second, Series, Watched};
use std::time::Duration;
use units::Quantile;

/// A run, or several one after the other, with names for its phases and events. All times count from the first second.
#[derive(Debug, Clone)]
pub struct Timeline<'a> {
    /// The measurements by second.
    pub seconds: &'a Series,
    /// The phases of the run; a band above the chart names them.
    pub phases: Vec<Phase>,
    /// The times of changes.
    pub marks: Vec<Mark>,
    /// When the schedule ended, if not with the last second: that second was shorter then.
    pub end: Option<Duration>,
}

/// A phase of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Phase {
    pub name: String,
    pub start: Duration,
    pub end: Duration,
}

/// A point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Mark {
    pub at: Duration,
    pub label: String,
}

/// Requests offered, good and shed, a second, over time.
pub fn rates(timeline: &Timeline<'_>) -> Drawing {
    let panel = rate_panel(
        timeline,
        vec![
            ("offered", Stroke::Dotted, |second| second.accounting.scheduled),
            ("shed", Stroke::Dashed, |second| second.accounting.shed),
            ("good", Stroke::Solid, |second| second.good),
        ],
    );
    timeline.chart("Requests offered, with a good response and shed per second, over time", vec![panel])
}

/// Quantiles of the response time over time, logarithmic if they range over more than 1 to 50.
///
/// Time-outs count as at least the time they had reached; a triangle marks such a value.
pub fn response_times(timeline: &Timeline<'_>) -> Drawing {
    let panel = time_panel(timeline, &[P99, P95, P50], &[]);
    timeline.chart("Quantiles of the response time over time", vec![panel])
}

/// A run of load: rates by outcome, response times with their bounds, and watched series, below each other under one
/// time axis.
///
/// Good responses have a status from 200 to 399, as in the summary of a run. Outcomes that did not occur have no line.
pub fn load_over_time(
    timeline: &Timeline<'_>,
    bounds: &[(Duration, String)],
    watched: &[(String, &Watched)],
) -> Drawing {
    let all: [(&'static str, Stroke, Count); 4] = [
        ("offered", Stroke::Dotted, |second| second.accounting.scheduled),
        ("failed", Stroke::DashDotted, failed),
        ("shed", Stroke::Dashed, |second| second.accounting.shed),
        ("good", Stroke::Solid, good),
    ];
    let occurs = |(name, _, count): &(&str, Stroke, Count)| {
        matches!(*name, "offered" | "good") || timeline.seconds.seconds.iter().any(|second| count(second) > 0)
    };
    let mut panels = vec![
        rate_panel(timeline, all.into_iter().filter(occurs).collect()),
        time_panel(timeline, &[MAX, P99, P95, P50], bounds),
    ];
    panels.extend(watched.iter().map(|(title, watched)| watched_panel(title, watched)));
    timeline.chart("Requests per second and response time over time", panels)
}

/// Whether a run is so long that a point of its charts stands for several seconds.
pub fn points_are_joined(series: &Series) -> bool {
    series.seconds.len() > MOST_POINTS
}

/// A count of a second's arrivals.
type Count = fn(&Second) -> u64;

/// Responses with a status from 200 to 399. Runs of older versions have no outcomes by second, only the count of good
/// responses with 2xx.
fn good(second: &Second) -> u64 {
    let good = |outcome| matches!(outcome, Outcome::Success | Outcome::Redirect);
    match second.cells.as_slice() {
        [] => second.good,
        cells => cells.iter().filter(|cell| good(cell.outcome)).map(|cell| cell.times.count()).sum(),
    }
}

/// Neither a response with a status from 200 to 399 nor shed.
fn failed(second: &Second) -> u64 {
    second.accounting.scheduled.saturating_sub(good(second)).saturating_sub(second.accounting.shed)
}

impl Timeline<'_> {
    /// The length of the whole, in seconds.
    fn span(&self) -> f64 {
        let last = self.phases.iter().map(|phase| phase.end).max().unwrap_or_default().as_secs_f64();
        last.max(self.last_end())
    }

    /// When the last second ended.
    fn last_end(&self) -> f64 {
        let whole = self.seconds.seconds.len() as f64;
        self.end.map_or(whole, |end| end.as_secs_f64().clamp((whole - 1.0).max(0.0), whole))
    }

    fn chart(&self, name: &str, panels: Vec<Panel>) -> Drawing {
        let axis = Axis { span: self.span(), labels: Labels::SinceStart };
        OverTime { name, axis, panels, phases: &self.phases, marks: &self.marks }.drawing()
    }

    /// The seconds as at most [`MOST_POINTS`] stretches: more would overlap.
    fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let seconds = &self.seconds.seconds;
        let width = seconds.len().div_ceil(MOST_POINTS).max(1);
        let end = self.last_end();
        seconds.chunks(width).enumerate().map(move |(index, seconds)| {
            let from = (index * width) as f64;
            Stretch { from, until: (from + seconds.len() as f64).min(end), seconds }
        })
    }
}

/// Several seconds that become one point.
struct Stretch<'a> {
    /// Seconds since the start.
    from: f64,
    until: f64,
    seconds: &'a [Second],
}

impl Stretch<'_> {
    /// The mean rate, and the lowest and the highest of its seconds; none for a last second that is too short.
    fn rate(&self, count: Count) -> Option<Sample> {
        let Stretch { from, until, seconds } = *self;
        let length = until - from;
        let sum: f64 = seconds.iter().map(|second| count(second) as f64).sum();
        let value = (length > SHORTEST).then(|| sum / length)?;
        // The last second may be partial, so its count is not a rate.
        let whole = seconds.iter().take(length as usize).map(|second| count(second) as f64);
        let low = whole.clone().fold(value, f64::min);
        let high = whole.fold(value, f64::max);
        Some(Sample { from, until, value, low, high, at_least: false })
    }

    /// A value of all response times of the stretch.
    fn time(&self, value: Option<measure::Value>) -> Option<Sample> {
        let value = value?;
        let one = Sample::one(self.from, self.until, value.at.as_secs_f64());
        Some(Sample { at_least: value.censored, ..one })
    }
}

/// A line of the response times: its name, its stroke and its statistic of a distribution.
type Statistic = (&'static str, Stroke, fn(&Histogram) -> Option<measure::Value>);

const P50: Statistic = ("p50", Stroke::Solid, |times| times.quantile(Quantile::P50));
const P95: Statistic = ("p95", Stroke::Dashed, |times| times.quantile(Quantile::P95));
const P99: Statistic = ("p99", Stroke::Dotted, |times| times.quantile(Quantile::P99));
const MAX: Statistic = ("max", Stroke::Thin, Histogram::max);

fn rate_panel(timeline: &Timeline<'_>, counts: Vec<(&'static str, Stroke, Count)>) -> Panel {
    let lines: Vec<Line> = counts
        .into_iter()
        .map(|(name, stroke, count)| Line {
            name: name.to_owned(),
            stroke,
            samples: timeline.stretches().map(|stretch| stretch.rate(count)).collect(),
            steps: true,
            hatched: name == "shed",
        })
        .collect();
    let highest = lines.iter().flat_map(|line| line.samples.iter().flatten()).map(|sample| sample.high);
    let scale = Scale::from_zero(highest, 6.0);
    let title = "requests per second".to_owned();
    Panel { title, scale, show: show_number, lines, goals: Vec::new() }
}

/// A stretch's quantiles are those of all its requests; its highest time is a line of its own.
fn time_panel(timeline: &Timeline<'_>, statistics: &[Statistic], bounds: &[(Duration, String)]) -> Panel {
    let mut lines: Vec<Line> = statistics
        .iter()
        .map(|&(name, stroke, _)| Line {
            name: name.to_owned(),
            stroke,
            samples: Vec::new(),
            steps: false,
            hatched: false,
        })
        .collect();
    for stretch in timeline.stretches() {
        let mut times = Histogram::new();
        stretch.seconds.iter().for_each(|second| times.add_sparse(&second.response));
        for (line, &(_, _, of)) in lines.iter_mut().zip(statistics) {
            line.samples.push(stretch.time(of(&times)));
        }
    }
    let goals: Vec<(f64, String)> =
        bounds.iter().map(|(bound, label)| (bound.as_secs_f64(), label.clone())).collect();
    let values = lines.iter().flat_map(|line| line.samples.iter().flatten()).map(|sample| sample.value);
    // With room above the line of a goal.
    let scale = Scale::fitting(values.chain(goals.iter().map(|(bound, _)| bound * 1.15)), 6.0);
    Panel { title: "response time".to_owned(), scale, show: show_seconds, lines, goals }
}

fn watched_panel(title: &str, watched: &Watched) -> Panel {
    let each = watched.samples.len().div_ceil(MOST_POINTS).max(1);
    let samples: Vec<Option<Sample>> = watched
        .samples
        .chunks(each)
        .map(|chunk| {
            let at = |(at, _): &(units::Timestamp, f64)| at.since(units::Timestamp::ZERO).as_secs_f64();
            let values = || chunk.iter().map(|(_, value)| *value);
            Some(Sample {
                from: at(chunk.first()?),
                until: at(chunk.last()?),
                value: values().sum::<f64>() / chunk.len() as f64,
                low: values().fold(f64::INFINITY, f64::min),
                high: values().fold(f64::NEG_INFINITY, f64::max),
                at_least: false,
            })
        })
        .collect();
    let ends = samples.iter().flatten().flat_map(|sample| [sample.low, sample.high]);
    let scale = Scale::signed(ends, 4.0);
    let name = watched.name.clone();
    let line = Line { name, stroke: Stroke::Solid, samples, steps: false, hatched: false };
    Panel { title: title.to_owned(), scale, show: show_number, lines: vec![line], goals: Vec::new() }
}

/// A shorter second, in seconds, has too few arrivals to be a rate.
const SHORTEST: f64 = 0.1;

#[cfg(test)]
mod tests;
