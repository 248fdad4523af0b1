//! The chart of a closed loop: throughput and response time against load, and the knee of the curve.
//!
//! Two panels with one horizontal axis, because with two vertical axes on one panel the crossings of lines depend on
//! the scales.

use crate::plot::{Curve, Frame, MARK_ROW, NAMES, Stroke, TEXT_ROW, TITLE_ABOVE};
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::{Anchor, Canvas, Drawing, Size};
use std::time::Duration;

/// Measurements at several loads.
#[derive(Debug, Clone)]
pub struct LoadCurve {
    /// The steps, in any order.
    pub points: Vec<Point>,
    /// The load above which more load brings no more throughput.
    pub knee: Option<f64>,
    /// Load and throughput along a curve that was fitted to the points; empty if there is none.
    pub fitted: Vec<(f64, f64)>,
    /// The quantity and unit of the load, such as `requests in flight`.
    pub axis: String,
}

/// The measurements at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The load, in the unit of the axis.
    pub load: f64,
    /// Good responses a second.
    pub throughput: f64,
    /// The median of the response time, if there is one.
    pub p50: Option<Duration>,
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
    let load = Scale::spread(points.iter().map(|point| point.load).chain(knee), size.pick(8.0, 5.0));
    let fitted: Vec<(f64, f64)> =
        curve.fitted.iter().copied().filter(|(load, rate)| load.is_finite() && rate.is_finite()).collect();
    let rates = points.iter().map(|point| point.throughput).chain(fitted.iter().map(|(_, rate)| *rate));
    let throughput = Scale::from_zero(rates, 4.0);
    let times = points.iter().filter_map(|point| point.p50).map(|span| span.as_secs_f64());
    let times = Scale::fitting(times, 6.0);

    let mut canvas = Canvas::default();
    let height = size.pick(170.0, 160.0);
    let above = 2.0 * TEXT_ROW + MARK_ROW;
    let names = if fitted.is_empty() { 16.0 } else { NAMES };
    let upper = Frame {
        left: size.pick(58.0, 52.0),
        right: size.width() - names,
        edge: size.width(),
        top: above,
        bottom: above + height,
    };
    let below = upper.bottom + 3.0 * TEXT_ROW + 2.0;
    let lower = Frame { top: below, bottom: below + height, ..upper };

    canvas.text("title", (0.0, TEXT_ROW - 3.0), Anchor::Start, "good responses per second");
    canvas.text("title", (0.0, lower.top - TITLE_ABOVE), Anchor::Start, "response time, p50");
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
    let good = Curve { stroke: Stroke::Solid, name: "measured".to_owned(), points: rates };
    let fitted = fitted
        .into_iter()
        .map(|(load_at, rate)| Some((upper.x(load.at(load_at)), upper.y(throughput.at(rate)))));
    let fitted = Curve { stroke: Stroke::Dashed, name: "fitted".to_owned(), points: fitted.collect() };
    if fitted.points.is_empty() {
        good.draw(&mut canvas);
    } else {
        let last = good.points.iter().flatten().map(|point| point.0).fold(0.0, f64::max);
        upper.curves(&mut canvas, last, &[fitted, good.clone()]);
    }
    // Dots mark measured points.
    good.points.iter().flatten().for_each(|&point| canvas.dot(good.stroke.dot(), point));
    let p50 = Curve { stroke: Stroke::Solid, name: String::new(), points: spans(|point| point.p50) };
    p50.draw(&mut canvas);
    p50.points.iter().flatten().for_each(|&at| canvas.dot(p50.stroke.dot(), at));
    if points.is_empty() {
        let middle = ((upper.left + upper.right) / 2.0, (upper.top + upper.bottom) / 2.0);
        canvas.text("title", middle, Anchor::Middle, "no data");
    }
    let shows = shows(points, knee);
    canvas.finish(size, lower.bottom + 44.0, "Throughput and response time against load", &shows)
}

/// A text description of the chart.
fn shows(points: &[Point], knee: Option<f64>) -> String {
    let steps = points
        .iter()
        .map(|point| format!("{} at {}", show_number(point.throughput), show_number(point.load)));
    let knee = knee.map(|knee| format!("the knee is at {}", show_number(knee)));
    format!("Responses per second: {}.", steps.chain(knee).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(load: f64, throughput: f64, p50_ms: u64) -> Point {
        let millis = Duration::from_millis;
        Point { load, throughput, p50: Some(millis(p50_ms)) }
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
        assert!(load_curve(&fitted).wide.contains(">fitted<"));
    }

    #[test]
    fn odd_curves_are_drawn() {
        let none = Point { load: f64::NAN, throughput: f64::INFINITY, p50: None };
        let huge = Point { load: 1e300, throughput: 1e300, p50: Some(Duration::MAX) };
        let zero = Point { load: 0.0, throughput: 0.0, p50: Some(Duration::ZERO) };
        for points in [vec![], vec![none], vec![zero], vec![huge, none, zero], vec![zero, zero]] {
            let fitted = vec![(f64::NAN, 1.0), (1.0, 2.0), (2.0, f64::INFINITY)];
            let curve = LoadCurve { points, knee: Some(f64::NAN), fitted, axis: String::new() };
            let drawing = load_curve(&curve);
            roxmltree::Document::parse(&drawing.wide).unwrap();
            assert!(!drawing.wide.contains("NaN") && !drawing.wide.contains("inf"));
        }
    }
}
