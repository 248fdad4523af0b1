//! Charts of a fleet over a day or a week: instances, processor use and response time, each with its unit, under one
//! time axis.

use crate::over_time::{Axis, Labels, Line, OverTime, Panel, Sample};
use crate::plot::Stroke;
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::Drawing;
use std::time::Duration;

/// A row of a fleet: a minute, or a span of another length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetMinute {
    /// Instances that run.
    pub instances: f64,
    /// Desired instances, simulated and real, where the real number is known.
    pub desired: Option<(f64, f64)>,
    /// Average processor use, 0 to 1.
    pub cpu: Option<f64>,
    /// p95 of the response time, in seconds.
    pub p95: Option<f64>,
}

/// The highest value of each chart, so that several fleets can have the same axes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Highest {
    instances: f64,
    desired: f64,
    cpu: f64,
    p95: f64,
}

impl Highest {
    /// The highest values of these minutes.
    pub fn of<'a>(minutes: impl IntoIterator<Item = &'a FleetMinute>) -> Self {
        let higher =
            |so_far: f64, value: Option<f64>| so_far.max(value.filter(|v| v.is_finite()).unwrap_or(0.0));
        minutes.into_iter().fold(Highest::default(), |so_far, minute| Highest {
            instances: higher(so_far.instances, Some(minute.instances)),
            desired: higher(so_far.desired, minute.desired.map(|(simulated, real)| simulated.max(real))),
            cpu: higher(so_far.cpu, minute.cpu),
            p95: higher(so_far.p95, minute.p95),
        })
    }
}

/// Instances, average processor use and p95 over time; where the real desired number is known, also the desired numbers,
/// simulated and real. `row` is the length of a row, `begins` the time of day of the first one.
pub fn fleet(minutes: &[FleetMinute], row: Duration, begins: Duration, highest: Highest) -> Drawing {
    let row = row.as_secs_f64();
    let span = minutes.len() as f64 * row;
    let labels = match span {
        span if span > 2.0 * DAY => Labels::Days,
        span if span >= 2.0 * HOUR => Labels::HourOfDay(begins.as_secs_f64()),
        _ => Labels::SinceStart,
    };
    let line = |name: &str, stroke, steps, of: fn(&FleetMinute) -> Option<f64>| Line {
        name: name.to_owned(),
        stroke,
        samples: joined(minutes, row, of),
        steps,
        hatched: false,
    };
    let scale = |highest: f64| Scale::from_zero(std::iter::once(highest), 5.0);
    let panel = |title: &str, highest: f64, show, steps, of: fn(&FleetMinute) -> Option<f64>| Panel {
        title: title.to_owned(),
        scale: scale(highest),
        show,
        lines: vec![line(title, Stroke::Solid, steps, of)],
        goals: Vec::new(),
    };
    let mut panels = vec![
        panel("running instances", highest.instances, show_number, true, |minute| Some(minute.instances)),
        panel("average processor use", highest.cpu, show_percent, false, |minute| minute.cpu),
        panel("response time, p95", highest.p95, show_seconds, false, |minute| minute.p95),
    ];
    if minutes.iter().any(|minute| minute.desired.is_some()) {
        let lines = vec![
            line("simulated", Stroke::Solid, true, |minute| Some(minute.desired?.0)),
            line("real", Stroke::Dashed, true, |minute| Some(minute.desired?.1)),
        ];
        let (title, scale) = ("desired instances".to_owned(), scale(highest.desired));
        panels.insert(1, Panel { title, scale, show: show_number, lines, goals: Vec::new() });
    }
    let name = "Running instances, average processor use and p95 of the response time over time";
    OverTime { name, axis: Axis { span, labels }, panels, phases: &[], marks: &[] }.drawing()
}

/// The same quantities of a simulated and a real fleet, over each other.
pub fn fleet_beside(
    simulated: &[FleetMinute],
    real: &[FleetMinute],
    row: Duration,
    highest: Highest,
) -> Drawing {
    let row = row.as_secs_f64();
    let panel = |title: &str, highest: f64, show, steps, of: fn(&FleetMinute) -> Option<f64>| {
        let line = |name: &str, stroke, minutes: &[FleetMinute]| Line {
            name: name.to_owned(),
            stroke,
            samples: joined(minutes, row, of),
            steps,
            hatched: false,
        };
        Panel {
            title: title.to_owned(),
            scale: Scale::from_zero(std::iter::once(highest), 5.0),
            show,
            lines: vec![line("simulated", Stroke::Solid, simulated), line("real", Stroke::Dashed, real)],
            goals: Vec::new(),
        }
    };
    let panels = vec![
        panel("running instances", highest.instances, show_number, true, |minute| Some(minute.instances)),
        panel("average processor use", highest.cpu, show_percent, false, |minute| minute.cpu),
        panel("response time, p95", highest.p95, show_seconds, false, |minute| minute.p95),
    ];
    let name =
        "Running instances, average processor use and p95 of the response time over time, simulated and real";
    let axis = Axis { span: simulated.len().max(real.len()) as f64 * row, labels: Labels::SinceStart };
    OverTime { name, axis, panels, phases: &[], marks: &[] }.drawing()
}

/// The minutes combined into at most [`MOST_POINTS`] samples, each with its mean, its lowest and its highest value.
fn joined(minutes: &[FleetMinute], row: f64, of: fn(&FleetMinute) -> Option<f64>) -> Vec<Option<Sample>> {
    let each = minutes.len().div_ceil(MOST_POINTS).max(1);
    let sample = |(index, chunk): (usize, &[FleetMinute])| {
        let from = (index * each) as f64 * row;
        Sample::combined(from, from + chunk.len() as f64 * row, chunk.iter().filter_map(of))
    };
    minutes.chunks(each).enumerate().map(sample).collect()
}

fn show_percent(share: f64) -> String {
    format!("{} %", show_number(share * 100.0))
}

/// A day by minutes, each about half a pixel in a wide window.
const MOST_POINTS: usize = 1440;
const HOUR: f64 = 3_600.0;
const DAY: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn minute(instances: f64) -> FleetMinute {
        FleetMinute { instances, desired: None, cpu: Some(0.17), p95: Some(0.513) }
    }

    #[test]
    fn a_day_has_the_hours_of_its_clock_and_a_week_has_days() {
        let draw = |count, begins| {
            let minutes = vec![minute(32.0); count];
            fleet(&minutes, MINUTE, Duration::from_secs(begins), Highest::of(&minutes))
        };
        let (day, week) = (draw(1440, 20 * 3600), draw(7 * 1440, 0));
        assert!(day.wide.contains("hour of the day") && day.wide.contains(">20<"), "{}", day.wide);
        assert!(week.wide.contains(">days<"));
        for picture in [&day.wide, &day.narrow, &week.wide, &week.narrow] {
            roxmltree::Document::parse(picture).unwrap();
        }
    }

    #[test]
    fn each_quantity_has_a_panel_with_its_unit() {
        let minutes = [minute(32.0), minute(8.0)];
        let picture = fleet(&minutes, MINUTE, Duration::ZERO, Highest::of(&minutes)).wide;
        for text in [">running instances<", ">average processor use<", ">20 %<", ">600 ms<"] {
            assert!(picture.contains(text), "{text} {picture}");
        }
        assert!(picture.contains("running instances: 8 to 32"), "{picture}");
        assert_eq!(
            picture.matches("minutes since the start").count() + picture.matches("seconds since").count(),
            1
        );
    }

    #[test]
    fn real_instances_are_beside_the_simulated_ones() {
        let minutes =
            [(3.0, 2.0), (3.0, 4.0)].map(|desired| FleetMinute { desired: Some(desired), ..minute(3.0) });
        let picture = fleet(&minutes, MINUTE, Duration::ZERO, Highest::of(&minutes)).wide;
        assert!(picture.contains("desired instances. simulated: 3 to 3, real: 2 to 4."), "{picture}");
        roxmltree::Document::parse(&picture).unwrap();
    }

    #[test]
    fn a_simulated_and_a_real_fleet_are_drawn_over_each_other() {
        let (simulated, real) = ([minute(3.0), minute(4.0)], [minute(3.0), minute(5.0)]);
        let highest = Highest::of(simulated.iter().chain(&real));
        let picture = fleet_beside(&simulated, &real, Duration::from_secs(1), highest).wide;
        assert!(picture.contains("running instances. simulated: 3 to 4, real: 3 to 5."), "{picture}");
        roxmltree::Document::parse(&picture).unwrap();
    }

    #[test]
    fn a_peak_of_one_minute_stays_in_a_month() {
        let mut minutes = vec![minute(4.0); 30 * 1440];
        minutes[12_345].instances = 40.0;
        let samples = joined(&minutes, 60.0, |minute| Some(minute.instances));
        assert!(samples.len() <= MOST_POINTS);
        let highest = samples.iter().flatten().map(|sample| sample.high).fold(0.0, f64::max);
        assert_eq!(highest, 40.0);
        let picture = fleet(&minutes, MINUTE, Duration::ZERO, Highest::of(&minutes)).wide;
        assert!(picture.contains("band solid"));
    }

    #[test]
    fn odd_fleets_are_drawn() {
        let none = FleetMinute {
            instances: f64::NAN,
            desired: Some((f64::NAN, 1.0)),
            cpu: None,
            p95: Some(f64::INFINITY),
        };
        for minutes in [vec![], vec![none], vec![none, minute(1.0)], vec![minute(1e300)]] {
            let drawing = fleet(&minutes, MINUTE, Duration::ZERO, Highest::of(&minutes));
            roxmltree::Document::parse(&drawing.wide).unwrap();
            assert!(!drawing.wide.contains("NaN") && !drawing.wide.contains("inf"));
        }
    }
}
