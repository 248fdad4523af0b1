//! The quantile curve: response times from the fastest to the slowest.
//!
//! The horizontal axis is that of HdrHistogram's plots: each step to the right has a tenth of the responses beyond it.
//! A curve ends where fewer than 30 samples are above, because such quantiles vary from run to run.

use crate::plot::{Curve, Frame, NAMES, Stroke, TEXT_ROW};
use crate::scale::{Scale, show_seconds};
use crate::svg::{Anchor, Canvas, Drawing, Size};
use measure::{Histogram, Value};
use units::Quantile;

/// The quantiles of one or two distributions, each with its name of at most twelve letters.
pub fn quantile_curve(distributions: &[(&str, &Histogram)]) -> Drawing {
    let curves: Vec<(&str, Vec<(f64, Value)>)> =
        distributions.iter().map(|(name, times)| (*name, points(times))).collect();
    Drawing::both(|size| draw(&curves, size))
}

/// Positions of the horizontal axis and their times: the position of a quantile `q` is `-log10(1 - q)`.
fn points(times: &Histogram) -> Vec<(f64, Value)> {
    let places = (0..=DECADES_MAX * STEPS).map(|step| f64::from(step) / f64::from(STEPS));
    let supported = |place: f64| {
        // The lowest quantile is above 0.
        let quantile = Quantile::new((1.0 - 10_f64.powf(-place)).max(f64::EPSILON))?;
        Some((place, times.quantile(quantile).filter(|value| value.few_above.is_none())?))
    };
    places.map_while(supported).collect()
}

fn draw(curves: &[(&str, Vec<(f64, Value)>)], size: Size) -> String {
    let all = || curves.iter().flat_map(|(_, points)| points);
    let times = Scale::fitting(all().map(|(_, value)| value.at.as_secs_f64()), 6.0);
    let last = all().map(|(place, _)| *place).fold(1.0, f64::max);
    let mut canvas = Canvas::default();
    let top = TEXT_ROW + 15.0;
    let frame = Frame {
        left: size.pick(58.0, 52.0),
        right: size.width() - if curves.len() > 1 { NAMES } else { 16.0 },
        edge: size.width(),
        top,
        bottom: top + size.pick(240.0, 190.0),
    };
    let x = |place: f64| frame.x(place / last);
    canvas.text("title", (0.0, TEXT_ROW - 3.0), Anchor::Start, "time");
    frame.vertical_axis(&mut canvas, &times, show_seconds);
    for (place, label) in TICKS.into_iter().filter(|(place, _)| *place <= last) {
        let x = x(place);
        canvas.line("grid", (x, frame.top), (x, frame.bottom));
        canvas.text("tick", (x, frame.bottom + 18.0), Anchor::Middle, label);
    }
    let middle = (frame.left + frame.right) / 2.0;
    let title = "share of requests that took at most this long";
    canvas.text("title", (middle, frame.bottom + 36.0), Anchor::Middle, title);
    let strokes = [Stroke::Solid, Stroke::Dashed, Stroke::Dotted];
    let place = |&(place, value): &(f64, Value)| (x(place), frame.y(times.at(value.at.as_secs_f64())));
    let drawn: Vec<Curve> = curves
        .iter()
        .zip(strokes)
        .map(|((name, points), stroke)| Curve {
            stroke,
            name: (*name).to_owned(),
            points: points.iter().map(|point| Some(place(point))).collect(),
        })
        .collect();
    match drawn.as_slice() {
        [only] => only.draw(&mut canvas),
        several => frame.curves(&mut canvas, frame.right, several),
    }
    // From the first request that was given up, the curve is a lower bound.
    let mut below = frame.bottom + 42.0;
    let censored: Vec<(f64, f64)> = curves
        .iter()
        .filter_map(|(_, points)| points.iter().find(|(_, value)| value.censored))
        .map(place)
        .collect();
    censored.iter().for_each(|&at| canvas.higher("censored", at));
    if !censored.is_empty() {
        below += TEXT_ROW + 4.0;
        canvas.higher("censored", (6.0, below - 4.0));
        canvas.text("title", (14.0, below), Anchor::Start, "from here on at least: requests timed out");
    }
    if all().next().is_none() {
        let middle = (middle, (frame.top + frame.bottom) / 2.0);
        canvas.text("title", middle, Anchor::Middle, "too few responses for quantiles");
    }
    canvas.finish(size, below + 6.0, "Quantiles of the response time", &shows(curves))
}

/// A text description of the chart.
fn shows(curves: &[(&str, Vec<(f64, Value)>)]) -> String {
    let curve = |(name, points): &(&str, Vec<(f64, Value)>)| {
        let ends = points.first().zip(points.last());
        ends.map_or(format!("{name}: too few samples"), |((_, first), (_, last))| {
            format!("{name}: {first} to {last}")
        })
    };
    curves.iter().map(curve).collect::<Vec<_>>().join(", ") + "."
}

/// The positions on the axis that have labels.
const TICKS: [(f64, &str); 8] = [
    (0.0, "0 %"),
    (std::f64::consts::LOG10_2, "50 %"),
    (1.0, "90 %"),
    (2.0, "99 %"),
    (3.0, "99.9 %"),
    (4.0, "99.99 %"),
    (5.0, "99.999 %"),
    (6.0, "99.9999 %"),
];
/// Points per factor of ten.
const STEPS: u32 = 50;
/// The last label.
const DECADES_MAX: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn times(count: u64, censored: u64) -> Histogram {
        let mut times = Histogram::new();
        (0..count).for_each(|n| times.record(Duration::from_micros(10_000 + n)));
        (0..censored).for_each(|_| times.record_censored(Duration::from_secs(3)));
        times
    }

    #[test]
    fn a_curve_ends_where_fewer_than_thirty_samples_lie_beyond() {
        let last = points(&times(30_000, 0)).last().unwrap().0;
        assert!((last - 3.0).abs() < 1e-9, "{last}");
        assert!(points(&times(20, 0)).is_empty());
        let picture = quantile_curve(&[("response", &times(30_000, 0))]).wide;
        assert!(picture.contains(">99.9 %<") && !picture.contains(">99.99 %<"));
    }

    #[test]
    fn odd_distributions_are_drawn() {
        for histogram in [times(0, 0), times(0, 100), times(1, 0), times(1_000, 100)] {
            let drawing = quantile_curve(&[("response", &histogram), ("service", &histogram)]);
            for picture in [&drawing.wide, &drawing.narrow] {
                roxmltree::Document::parse(picture).unwrap();
                assert!(!picture.contains("NaN") && !picture.contains("inf"));
            }
        }
    }

    #[test]
    fn the_place_from_which_times_are_lower_bounds_is_marked() {
        let picture = quantile_curve(&[("response", &times(1_000, 100))]).wide;
        assert_eq!(picture.matches("class=\"censored\"").count(), 2, "the place and its explanation");
    }
}
