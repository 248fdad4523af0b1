//! The chart of a search's trials: the result of each rate, with the goal and the sustainable rate.
//!
//! Two panels with one horizontal axis. The marks of good and of bad trials differ in their shape; no lines join them,
//! because trials are made in the order of the search and not in that of their rates.

use crate::plot::{Frame, MARK_ROW, TEXT_ROW, TITLE_ABOVE};
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::{Anchor, Canvas, Drawing, Shape, Size, text_width};
use std::time::Duration;

/// The trials of a search.
#[derive(Debug, Clone)]
pub struct Trials {
    /// The trials, in any order.
    pub trials: Vec<TrialPoint>,
    /// Bounds of the goal on response times, each with its label, such as `p(95)<50ms`.
    pub goals: Vec<(Duration, String)>,
    /// The range of the sustainable rate; none if none was found.
    pub found: Option<Band>,
    /// The peak rate to carry, with its label; shown if it is among the trials.
    pub peak: Option<(f64, String)>,
}

/// A trial at one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPoint {
    /// Requests offered, a second.
    pub offered: f64,
    /// Responses, a second.
    pub achieved: f64,
    /// The median of the response time, if there is one.
    pub p50: Option<Duration>,
    /// The 95th percentile of the response time, if there is one.
    pub p95: Option<Duration>,
    /// Whether the goal was met.
    pub met: bool,
    /// Shown when the pointer is on its marks.
    pub says: String,
}

/// A range of rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The lower end, a second.
    pub low: f64,
    /// The upper end; `None` if there is none.
    pub high: Option<f64>,
    /// Its name.
    pub label: String,
}

/// Responses a second above, response times below, by offered rate.
pub fn trials(trials: &Trials) -> Drawing {
    let mut sorted = trials.clone();
    sorted.trials.retain(|trial| trial.offered.is_finite());
    sorted.trials.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    Drawing::both(|size| draw(&sorted, size))
}

fn draw(shown: &Trials, size: Size) -> String {
    let Trials { trials, goals, found, peak } = shown;
    // A peak far from the trials would take their space.
    let lowest = trials.iter().map(|trial| trial.offered).fold(f64::INFINITY, f64::min);
    let highest = trials.iter().map(|trial| trial.offered).fold(0.0, f64::max);
    let peak = peak.as_ref().filter(|(rate, _)| (lowest..=highest).contains(rate));
    let ends = found.iter().flat_map(|band| [Some(band.low), band.high]).flatten();
    let offered = trials.iter().map(|trial| trial.offered).chain(ends);
    let rates = Scale::spread(offered, size.pick(9.0, 5.0));
    let achieved = Scale::spread(trials.iter().map(|trial| trial.achieved), 5.0);
    let spans = trials.iter().flat_map(|trial| [trial.p50, trial.p95]).flatten();
    // With space above the line of a goal.
    let bounds = goals.iter().map(|(bound, _)| bound.as_secs_f64() * 1.15);
    let times = Scale::fitting(spans.map(|span| span.as_secs_f64()).chain(bounds), 6.0);

    let mut canvas = Canvas::default();
    let height = size.pick(190.0, 170.0);
    let mut upper = Frame {
        left: size.pick(58.0, 52.0),
        right: size.width() - 16.0,
        edge: size.width(),
        top: 0.0,
        bottom: 0.0,
    };
    let legend = legend(&mut canvas, size);
    let mut lines: Vec<(f64, &str)> = found
        .iter()
        .map(|band| (upper.x(rates.at(band.low)), band.label.as_str()))
        .chain(peak.iter().map(|(rate, label)| (upper.x(rates.at(*rate)), label.as_str())))
        .collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    upper.top = legend + TEXT_ROW + 10.0 + MARK_ROW * upper.mark_row_count(&lines) as f64;
    upper.bottom = upper.top + height;
    let below = upper.bottom + 3.0 * TEXT_ROW + 2.0;
    let lower = Frame { top: below, bottom: below + height, ..upper };

    if let Some(band) = found {
        let [from, to] = [band.low, band.high.unwrap_or(f64::INFINITY)].map(|rate| upper.x(rates.at(rate)));
        for frame in [&upper, &lower] {
            canvas.rect("found", (from, frame.top), ((to - from).max(2.0), frame.bottom - frame.top));
            canvas.line("found-edge", (to, frame.top), (to, frame.bottom));
        }
    }
    canvas.text("title", (0.0, legend + TEXT_ROW - 3.0), Anchor::Start, "responses per second");
    canvas.text("title", (0.0, lower.top - TITLE_ABOVE), Anchor::Start, "response time: p95 and p50");
    upper.vertical_axis(&mut canvas, &achieved, show_number);
    lower.vertical_axis(&mut canvas, &times, show_seconds);
    lower.horizontal_axis(&mut canvas, &rates, show_number, "offered requests per second");
    upper.marks(&mut canvas, &lines);
    for &(x, _) in &lines {
        canvas.line("mark", (x, lower.top), (x, lower.bottom));
    }
    for (bound, label) in goals {
        lower.goal(&mut canvas, lower.y(times.at(bound.as_secs_f64())), label);
    }
    for trial in trials {
        let x = upper.x(rates.at(trial.offered));
        let (shape, class) = match trial.met {
            true => (Shape::Disc, "trial met"),
            false => (Shape::Cross, "trial missed"),
        };
        if trial.achieved.is_finite() {
            canvas.mark(shape, class, (x, upper.y(achieved.at(trial.achieved))), &trial.says);
        }
        let y = |span: Duration| lower.y(times.at(span.as_secs_f64()));
        if let Some(p50) = trial.p50 {
            canvas.mark(Shape::Dash, "trial median", (x, y(p50)), &trial.says);
        }
        if let Some(p95) = trial.p95 {
            canvas.mark(shape, class, (x, y(p95)), &trial.says);
        }
    }
    if trials.is_empty() {
        let middle = ((upper.left + upper.right) / 2.0, (upper.top + upper.bottom) / 2.0);
        canvas.text("title", middle, Anchor::Middle, "no trial was completed");
    }
    let name = "Trials: responses per second and response time by offered rate";
    canvas.finish(size, lower.bottom + 44.0, name, &shows(shown))
}

/// The meaning of the marks, in rows at the top; returns where the rows end.
fn legend(canvas: &mut Canvas, size: Size) -> f64 {
    let (mut x, mut y) = (6.0, TEXT_ROW - 3.0);
    for (shape, class, text) in [
        (Shape::Disc, "trial met", "goal met"),
        (Shape::Cross, "trial missed", "goal missed"),
        (Shape::Dash, "trial median", "p50"),
    ] {
        let width = 26.0 + text_width(text);
        if x + width > size.width() {
            (x, y) = (6.0, y + TEXT_ROW + 3.0);
        }
        canvas.mark(shape, class, (x, y - 4.0), "");
        canvas.text("legend", (x + 11.0, y), Anchor::Start, text);
        x += width + 6.0;
    }
    y + TEXT_ROW
}

/// A text description of the chart.
fn shows(Trials { trials, goals, found, peak }: &Trials) -> String {
    let met = trials.iter().filter(|trial| trial.met).count();
    let mut parts = vec![format!("{met} of {} trials met the goal", trials.len())];
    parts.extend(goals.iter().map(|(_, label)| label.clone()));
    parts.extend(found.iter().map(|band| band.label.clone()));
    parts.extend(peak.iter().map(|(_, label)| label.clone()));
    parts.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(offered: f64, achieved: f64, p95_ms: u64, met: bool) -> TrialPoint {
        let millis = Duration::from_millis;
        TrialPoint {
            offered,
            achieved,
            p50: Some(millis(p95_ms / 2)),
            p95: Some(millis(p95_ms)),
            met,
            says: format!("at {offered}/s <tip>"),
        }
    }

    fn search() -> Trials {
        Trials {
            trials: vec![
                trial(110.0, 100.0, 900, false),
                trial(90.0, 90.0, 20, true),
                trial(100.0, 100.0, 30, true),
            ],
            goals: vec![(Duration::from_millis(50), "goal: p95 < 50 ms".to_owned())],
            found: Some(Band { low: 100.0, high: Some(105.0), label: "sustainable".to_owned() }),
            peak: Some((95.0, "peak 95/s".to_owned())),
        }
    }

    fn count(picture: &str, class: &str) -> usize {
        let tree = roxmltree::Document::parse(picture).unwrap();
        tree.descendants().filter(|node| node.attribute("class") == Some(class)).count()
    }

    #[test]
    fn good_and_bad_trials_differ_in_their_marks() {
        let drawing = trials(&search());
        for picture in [&drawing.wide, &drawing.narrow] {
            // Two trials in two panels, and the legend.
            assert_eq!((count(picture, "trial met"), count(picture, "trial missed")), (5, 3));
            assert_eq!((count(picture, "goal"), count(picture, "found"), count(picture, "mark")), (1, 2, 4));
            assert!(picture.contains("&lt;tip&gt;") && picture.contains("peak 95/s"));
            assert!(picture.contains("2 of 3 trials met the goal; goal: p95 &lt; 50 ms"), "{picture}");
        }
    }

    #[test]
    fn a_peak_far_from_the_trials_takes_no_width() {
        let far = trials(&Trials { peak: Some((5.0, "peak 5/s".to_owned())), ..search() });
        let without = trials(&Trials { peak: None, ..search() });
        assert_eq!(count(&far.wide, "mark"), count(&without.wide, "mark"));
        assert!(!far.wide.contains(">peak 5/s<"));
    }

    #[test]
    fn a_rate_without_upper_end_is_shaded_to_the_edge() {
        let found = Some(Band { low: 100.0, high: None, label: "at least 100/s".to_owned() });
        let picture = trials(&Trials { found, ..search() }).wide;
        assert_eq!(count(&picture, "found"), 2);
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
    }

    #[test]
    fn odd_trials_are_drawn() {
        let none = TrialPoint { p50: None, p95: None, ..trial(f64::NAN, f64::INFINITY, 0, true) };
        let huge = TrialPoint { p50: Some(Duration::MAX), ..trial(1e300, 1e300, 1, false) };
        let zero = trial(0.0, 0.0, 0, false);
        for points in [
            vec![],
            vec![none.clone()],
            vec![zero.clone()],
            vec![huge, none, zero.clone()],
            vec![zero.clone(), zero],
        ] {
            for found in [None, Some(Band { low: f64::NAN, high: None, label: String::new() })] {
                let shown =
                    Trials { trials: points.clone(), found, peak: Some((0.0, String::new())), ..search() };
                let drawing = trials(&shown);
                for picture in [&drawing.wide, &drawing.narrow] {
                    roxmltree::Document::parse(picture).unwrap();
                    assert!(!picture.contains("NaN") && !picture.contains("inf"));
                }
            }
        }
    }
}
