//! The picture of a capacity search: throughput and response time against load, and where the curve bends.
//!
//! Two panels with one horizontal axis, because two vertical axes on one panel let the reader see any crossing.

use crate::plot::{Curve, Frame, MARK_ROW, NAMES, Stroke, TEXT_ROW};
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::{Anchor, Canvas, Drawing, Size};
use std::time::Duration;

/// What was measured at several loads.
#[derive(Debug, Clone)]
pub struct LoadCurve {
    /// The trials, in any order.
    pub points: Vec<Point>,
    /// The load beyond which more load brings no more throughput.
    pub knee: Option<f64>,
    /// Load and throughput along a curve that was fitted to the points; empty where there is none.
    pub fitted: Vec<(f64, f64)>,
    /// What the load is and its unit: `offered requests a second`, `connections`.
    pub axis: String,
}

/// What was measured at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The load, in the unit of the axis.
    pub load: f64,
    /// Good answers a second.
    pub throughput: f64,
    /// The median of the response time, where there is one.
    pub p50: Option<Duration>,
    /// The 95th percentile of the response time, where there is one.
    pub p95: Option<Duration>,
}

/// Throughput above, response time below, against load.
pub fn load_curve(curve: &LoadCurve) -> Drawing {
    let mut points: Vec<Point> =
        curve.points.iter().copied().filter(|point| point.load.is_finite()).collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    Drawing::both(|size| draw(curve, &points, size))
}

fn draw(curve: &LoadCurve, points: &[Point], size: Size) -> String {
    let knee = curve.knee.filter(|knee| knee.is_finite());
    let load = Scale::fitting(points.iter().map(|point| point.load).chain(knee), size.pick(8.0, 5.0));
    let fitted: Vec<(f64, f64)> =
        curve.fitted.iter().copied().filter(|(load, rate)| load.is_finite() && rate.is_finite()).collect();
    let rates = points.iter().map(|point| point.throughput).chain(fitted.iter().map(|(_, rate)| *rate));
    let throughput = Scale::from_zero(rates, 4.0);
    let times = points.iter().flat_map(|point| [point.p50, point.p95]).flatten();
    let times = Scale::fitting(times.map(|span| span.as_secs_f64()), 6.0);

    let mut canvas = Canvas::default();
    let height = size.pick(170.0, 160.0);
    let above = 2.0 * TEXT_ROW + MARK_ROW;
    let upper = Frame {
        left: size.pick(58.0, 52.0),
        right: size.width() - NAMES,
        top: above,
        bottom: above + height,
    };
    let below = upper.bottom + 3.0 * TEXT_ROW;
    let lower = Frame { top: below, bottom: below + height, ..upper };

    canvas.text("title", (0.0, TEXT_ROW - 3.0), Anchor::Start, "good answers a second");
    canvas.text("title", (0.0, lower.top - TEXT_ROW), Anchor::Start, "response time");
    upper.vertical_axis(&mut canvas, &throughput, show_number);
    lower.vertical_axis(&mut canvas, &times, show_seconds);
    lower.horizontal_axis(&mut canvas, &load, show_number, &curve.axis);
    if let Some(knee) = knee {
        let x = upper.x(load.at(knee));
        upper.marks(&mut canvas, &[(x, &format!("knee {}", show_number(knee)))]);
        canvas.line("mark", (x, lower.top), (x, lower.bottom));
    }

    let x = |point: &Point| upper.x(load.at(point.load));
    let rates: Vec<Option<(f64, f64)>> = points
        .iter()
        .map(|point| {
            point.throughput.is_finite().then(|| (x(point), upper.y(throughput.at(point.throughput))))
        })
        .collect();
    let spans = |span: fn(&Point) -> Option<Duration>| -> Vec<Option<(f64, f64)>> {
        let y = |span: Duration| lower.y(times.at(span.as_secs_f64()));
        points.iter().map(|point| Some((x(point), y(span(point)?)))).collect()
    };
    let good = Curve { stroke: Stroke::Solid, name: "good", points: rates };
    let fitted = fitted
        .into_iter()
        .map(|(load_at, rate)| Some((upper.x(load.at(load_at)), upper.y(throughput.at(rate)))));
    let fitted = Curve { stroke: Stroke::Dashed, name: "law", points: fitted.collect() };
    if fitted.points.is_empty() {
        curves(&mut canvas, &upper, &[good]);
    } else {
        // Dots are for what was measured.
        let last = good.points.iter().flatten().map(|point| point.0).fold(0.0, f64::max);
        good.points.iter().flatten().for_each(|&point| canvas.dot(good.stroke.dot(), point));
        upper.curves(&mut canvas, last, &[fitted, good]);
    }
    let quantiles = [
        Curve { stroke: Stroke::Dashed, name: "p95", points: spans(|point| point.p95) },
        Curve { stroke: Stroke::Solid, name: "p50", points: spans(|point| point.p50) },
    ];
    curves(&mut canvas, &lower, &quantiles);
    if points.is_empty() {
        let middle = ((upper.left + upper.right) / 2.0, (upper.top + upper.bottom) / 2.0);
        canvas.text("title", middle, Anchor::Middle, "nothing was measured");
    }
    canvas.finish(size, lower.bottom + 48.0, "Throughput and response time against load")
}

/// The curves with a dot at each trial, and their names.
fn curves(canvas: &mut Canvas, frame: &Frame, curves: &[Curve]) {
    let points =
        || curves.iter().flat_map(|curve| curve.points.iter().flatten().map(|&point| (curve.stroke, point)));
    // The last trial may be far from the end of the axis, and a name belongs to its line.
    let last = points().map(|(_, point)| point.0).fold(0.0, f64::max);
    frame.curves(canvas, last, curves);
    points().for_each(|(stroke, point)| canvas.dot(stroke.dot(), point));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(load: f64, throughput: f64, p95_ms: u64) -> Point {
        let millis = Duration::from_millis;
        Point { load, throughput, p50: Some(millis(p95_ms / 2)), p95: Some(millis(p95_ms)) }
    }

    #[test]
    fn the_knee_is_marked_in_both_panels() {
        let points = vec![point(120.0, 104.0, 900), point(50.0, 50.0, 20), point(100.0, 100.0, 30)];
        let curve = LoadCurve {
            points,
            knee: Some(104.0),
            fitted: Vec::new(),
            axis: "offered <requests> a second".to_owned(),
        };
        let drawing = load_curve(&curve);
        for picture in [&drawing.wide, &drawing.narrow] {
            let tree = roxmltree::Document::parse(picture).unwrap();
            let marks = tree.descendants().filter(|node| node.attribute("class") == Some("mark")).count();
            assert_eq!(marks, 2);
            assert!(picture.contains("knee 104") && picture.contains("&lt;requests&gt;"));
        }
    }

    #[test]
    fn a_fitted_curve_has_its_name_and_no_dots() {
        let points = vec![point(1.0, 10.0, 10), point(10.0, 50.0, 20)];
        let axis = "requests in flight".to_owned();
        let plain = LoadCurve { points, knee: None, fitted: Vec::new(), axis };
        let fitted = LoadCurve { fitted: vec![(1.0, 10.0), (5.0, 35.0), (10.0, 48.0)], ..plain.clone() };
        let count = |curve: &LoadCurve, class: &str| {
            let picture = load_curve(curve).wide;
            let tree = roxmltree::Document::parse(&picture).unwrap();
            let of = |node: &roxmltree::Node| {
                node.attribute("class").is_some_and(|found| found.starts_with(class))
            };
            tree.descendants().filter(of).count()
        };
        assert_eq!(count(&plain, "dot"), count(&fitted, "dot"));
        assert!(count(&fitted, "line dashed") > count(&plain, "line dashed"));
        assert!(load_curve(&fitted).wide.contains(">law<"));
    }

    #[test]
    fn odd_curves_are_drawn() {
        let none = Point { load: f64::NAN, throughput: f64::INFINITY, p50: None, p95: None };
        let huge = Point { load: 1e300, throughput: 1e300, p50: Some(Duration::MAX), p95: None };
        let zero = Point { load: 0.0, throughput: 0.0, p50: None, p95: Some(Duration::ZERO) };
        for points in [vec![], vec![none], vec![zero], vec![huge, none, zero], vec![zero, zero]] {
            let fitted = vec![(f64::NAN, 1.0), (1.0, 2.0), (2.0, f64::INFINITY)];
            let curve = LoadCurve { points, knee: Some(f64::NAN), fitted, axis: String::new() };
            let drawing = load_curve(&curve);
            roxmltree::Document::parse(&drawing.wide).unwrap();
            assert!(!drawing.wide.contains("NaN") && !drawing.wide.contains("inf"));
        }
    }
}
