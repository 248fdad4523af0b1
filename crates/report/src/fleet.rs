//! The picture of a fleet over a day or a week: instances, processor use and response time on one scale.
//!
//! ## Why one axis for three units
//! This is how a team put them on its own chart: percent for processors, tenths of a second for p95, so that all three
//! move between 0 and a few dozen and their common rises show. There is one vertical axis, of plain numbers; the names
//! of the lines say their units.

use crate::plot::{Curve, Frame, NAMES, Stroke, TEXT_ROW};
use crate::scale::{Scale, show_number};
use crate::svg::{Anchor, Canvas, Drawing, Size};
use std::time::Duration;

/// A minute of a fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetMinute {
    /// Instances that run.
    pub instances: f64,
    /// Average processor use, 0 to 1.
    pub cpu: Option<f64>,
    /// p95 of the response time, in seconds.
    pub p95: Option<f64>,
}

impl FleetMinute {
    /// The highest of its three values in the picture, so that several pictures can have one scale.
    pub fn highest(&self) -> f64 {
        let FleetMinute { instances, cpu, p95 } = *self;
        [Some(instances), cpu.map(|cpu| cpu * 100.0), p95.map(|p95| p95 * 10.0)]
            .into_iter()
            .flatten()
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max)
    }
}

/// Instances, average processor use in percent and p95 in tenths of a second over time. `begins` is the time of the day
/// of the first minute; `top` the highest value that the axis must have room for.
pub fn fleet(minutes: &[FleetMinute], begins: Duration, top: f64) -> Drawing {
    let per_point = minutes.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<FleetMinute> = minutes.chunks(per_point).map(average).collect();
    Drawing::both(|size| draw(&points, per_point, minutes.len(), begins, top, size))
}

fn draw(
    points: &[FleetMinute],
    per_point: usize,
    minutes: usize,
    begins: Duration,
    top: f64,
    size: Size,
) -> String {
    let values = Scale::from_zero(std::iter::once(top), 6.0);
    let span = minutes as f64 * 60.0;
    let (time, unit) = Scale::time(span, size.pick(13.0, 7.0));
    let mut canvas = Canvas::default();
    let frame = Frame {
        left: size.pick(40.0, 34.0),
        right: size.width() - NAMES - 20.0,
        top: TEXT_ROW,
        bottom: TEXT_ROW + size.pick(240.0, 200.0),
    };
    frame.vertical_axis(&mut canvas, &values, show_number);
    let hours = unit.seconds >= 3_600.0 && span <= 2.0 * DAY;
    let days = span > 2.0 * DAY;
    let begins = begins.as_secs_f64();
    let label = |at: f64| match (days, hours) {
        (true, _) => show_number(at / DAY),
        (_, true) => show_number(((begins + at) / 3_600.0) % 24.0),
        _ => show_number(at / unit.seconds),
    };
    let title = match (days, hours) {
        (true, _) => "days".to_owned(),
        (_, true) => "hour of the day".to_owned(),
        _ => format!("{} since the start", unit.name),
    };
    frame.horizontal_axis(&mut canvas, &time, label, &title);
    let line = |of: fn(&FleetMinute) -> Option<f64>| -> Vec<Option<(f64, f64)>> {
        let place = |(index, minute): (usize, &FleetMinute)| {
            let value = of(minute).filter(|value| value.is_finite())?;
            let at = (index as f64 + 0.5) * per_point as f64 * 60.0;
            Some((frame.x(time.at(at)), frame.y(values.at(value))))
        };
        points.iter().enumerate().map(place).collect()
    };
    let curves = [
        Curve { stroke: Stroke::Solid, name: "instances", points: line(|minute| Some(minute.instances)) },
        Curve { stroke: Stroke::Dotted, name: "CPU, %", points: line(|minute| Some(minute.cpu? * 100.0)) },
        Curve {
            stroke: Stroke::Dashed,
            name: "p95, s × 10",
            points: line(|minute| Some(minute.p95? * 10.0)),
        },
    ];
    frame.curves(&mut canvas, frame.right, &curves);
    if points.is_empty() {
        let middle = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
        canvas.text("title", middle, Anchor::Middle, "nothing was measured");
    }
    canvas.finish(size, frame.bottom + 48.0, "Instances, average processor use and p95 over time")
}

fn average(minutes: &[FleetMinute]) -> FleetMinute {
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
        (count > 0).then(|| sum / f64::from(count))
    };
    FleetMinute {
        instances: mean(&mut minutes.iter().map(|minute| minute.instances)).unwrap_or(0.0),
        cpu: mean(&mut minutes.iter().filter_map(|minute| minute.cpu)),
        p95: mean(&mut minutes.iter().filter_map(|minute| minute.p95)),
    }
}

/// Half a pixel each in a wide window.
const MOST_POINTS: usize = 1440;
const DAY: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(instances: f64) -> FleetMinute {
        FleetMinute { instances, cpu: Some(0.17), p95: Some(0.513) }
    }

    #[test]
    fn a_day_has_the_hours_of_its_clock_and_a_week_has_days() {
        let day = fleet(&vec![minute(32.0); 1440], Duration::from_secs(20 * 3600), 40.0);
        assert!(day.wide.contains("hour of the day") && day.wide.contains(">20<"), "{}", day.wide);
        let week = fleet(&vec![minute(32.0); 7 * 1440], Duration::ZERO, 40.0);
        assert!(week.wide.contains(">days<") && week.wide.contains("p95, s × 10"));
        for picture in [&day.wide, &day.narrow, &week.wide, &week.narrow] {
            roxmltree::Document::parse(picture).unwrap();
        }
    }

    #[test]
    fn odd_fleets_are_drawn() {
        let none = FleetMinute { instances: f64::NAN, cpu: None, p95: Some(f64::INFINITY) };
        for minutes in [vec![], vec![none], vec![none, minute(1.0)], vec![minute(1e300)]] {
            let drawing = fleet(&minutes, Duration::ZERO, f64::NAN);
            roxmltree::Document::parse(&drawing.wide).unwrap();
            assert!(!drawing.wide.contains("NaN") && !drawing.wide.contains("inf"));
        }
        assert_eq!(minute(3.0).highest(), 17.0);
    }
}
