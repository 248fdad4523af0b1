//! Pictures over time: what was offered, good and shed, and how long responses took.

use crate::plot::{Curve, Frame, MARK_ROW, NAMES, Stroke, TEXT_ROW};
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::{Anchor, Canvas, Drawing, Size, text_width};
use measure::{Second, Series};
use std::time::Duration;
use units::Quantile;

/// A run, or several one after the other, with names for what happened when. All times count from the first second.
#[derive(Debug, Clone)]
pub struct Timeline<'a> {
    /// What was measured, second by second.
    pub seconds: &'a Series,
    /// The parts of the story; a band above the picture names them.
    pub phases: Vec<Phase>,
    /// The moments at which something was changed.
    pub marks: Vec<Mark>,
}

/// A part of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Phase {
    pub name: String,
    pub start: Duration,
    pub end: Duration,
}

/// A moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Mark {
    pub at: Duration,
    pub label: String,
}

/// Requests offered, answered well and shed, a second, over time.
pub fn rates(timeline: &Timeline<'_>) -> Drawing {
    let bins = bins(timeline.seconds);
    let scale = Scale::from_zero(bins.iter().flat_map(|bin| [bin.offered, bin.good, bin.shed]), 6.0);
    Drawing::both(|size| {
        let mut sheet = Sheet::new(timeline, size, "requests a second");
        sheet.frame.vertical_axis(&mut sheet.canvas, &scale, show_number);
        let (frame, time) = (sheet.frame, sheet.time.clone());
        // Steps, because a count belongs to its whole second: a slope would begin before its cause.
        let points = |value: fn(&Bin) -> f64| -> Vec<Option<(f64, f64)>> {
            let ends = |bin: &Bin| [bin.start, bin.end].map(|end| (end, value(bin)));
            let place = |(at, value)| Some((frame.x(time.at(at)), frame.y(scale.at(value))));
            bins.iter().flat_map(ends).map(place).collect()
        };
        let (offered, good, shed) =
            (points(|bin| bin.offered), points(|bin| bin.good), points(|bin| bin.shed));
        let area: Vec<(f64, f64)> = shed.iter().copied().flatten().collect();
        sheet.canvas.area("hatched", &area, frame.bottom);
        let curves = [
            Curve { stroke: Stroke::Dotted, name: "offered", points: offered },
            Curve { stroke: Stroke::Dashed, name: "shed", points: shed },
            Curve { stroke: Stroke::Solid, name: "good", points: good },
        ];
        frame.curves(&mut sheet.canvas, frame.right, &curves);
        sheet.finish(timeline, "Requests offered, answered well and shed, a second, over time", false)
    })
}

/// Quantiles of the response time over time, logarithmic where they range over more than 1 to 50.
///
/// Time-outs count as at least the time they had reached; a triangle marks such a value.
pub fn response_times(timeline: &Timeline<'_>) -> Drawing {
    let bins = bins(timeline.seconds);
    let values = bins.iter().flat_map(|bin| bin.quantiles).flatten().map(|value| value.at.as_secs_f64());
    let scale = Scale::fitting(values, 6.0);
    Drawing::both(|size| {
        let mut sheet = Sheet::new(timeline, size, "response time");
        sheet.frame.vertical_axis(&mut sheet.canvas, &scale, show_seconds);
        let (frame, time) = (sheet.frame, sheet.time.clone());
        let place = |bin: &Bin, value: measure::Value| {
            (frame.x(time.at((bin.start + bin.end) / 2.0)), frame.y(scale.at(value.at.as_secs_f64())))
        };
        let points = |which: usize| -> Vec<Option<(f64, f64)>> {
            bins.iter().map(|bin| bin.quantiles[which].map(|value| place(bin, value))).collect()
        };
        let curves = [
            Curve { stroke: Stroke::Dotted, name: "p99", points: points(2) },
            Curve { stroke: Stroke::Dashed, name: "p95", points: points(1) },
            Curve { stroke: Stroke::Solid, name: "p50", points: points(0) },
        ];
        frame.curves(&mut sheet.canvas, frame.right, &curves);
        let mut any_censored = false;
        for which in 0..3 {
            let mut before = f64::NEG_INFINITY;
            for bin in &bins {
                let Some(value) = bin.quantiles[which].filter(|value| value.censored) else { continue };
                any_censored = true;
                let (x, y) = place(bin, value);
                if x - before >= TRIANGLES_APART {
                    sheet.canvas.higher("censored", (x, y));
                    before = x;
                }
            }
        }
        sheet.finish(timeline, "Quantiles of the response time over time", any_censored)
    })
}

/// Some seconds that become one point.
#[derive(Debug)]
struct Bin {
    /// Seconds since the start of the run.
    start: f64,
    end: f64,
    offered: f64,
    good: f64,
    shed: f64,
    /// p50, p95, p99.
    quantiles: [Option<measure::Value>; 3],
}

/// At most [`MOST_POINTS`] points: more would lie on each other.
fn bins(series: &Series) -> Vec<Bin> {
    let count = series.seconds.len();
    let width = count.div_ceil(MOST_POINTS).max(1);
    (0..count)
        .step_by(width)
        .map(|from| {
            let to = (from + width).min(count);
            let Second { accounting, good, response, .. } = series.between(from, to);
            let seconds = (to - from) as f64;
            let dense = response.dense();
            Bin {
                start: from as f64,
                end: to as f64,
                offered: accounting.scheduled as f64 / seconds,
                good: good as f64 / seconds,
                shed: accounting.shed as f64 / seconds,
                quantiles: [Quantile::P50, Quantile::P95, Quantile::P99].map(|q| dense.quantile(q)),
            }
        })
        .collect()
}

/// A picture over time while it is drawn.
struct Sheet<'a> {
    canvas: Canvas,
    size: Size,
    frame: Frame,
    time: Scale,
    time_title: String,
    show_time: f64,
    marks: Vec<(f64, &'a str)>,
    /// What the numbers in the band mean, where the names do not fit.
    key: Vec<String>,
}

impl<'a> Sheet<'a> {
    /// The title of the vertical axis, the band of the phases and the frame's place.
    fn new(timeline: &'a Timeline<'_>, size: Size, title: &str) -> Self {
        let last = timeline.phases.iter().map(|phase| phase.end).max().unwrap_or_default().as_secs_f64();
        let span = last.max(timeline.seconds.seconds.len() as f64);
        let (time, unit) = Scale::time(span, size.pick(8.0, 5.0));
        let mut frame = Frame {
            left: size.pick(58.0, 52.0),
            right: size.width() - NAMES,
            top: TEXT_ROW + 7.0,
            bottom: 0.0,
        };
        let mut marks: Vec<(f64, &str)> = timeline
            .marks
            .iter()
            .map(|mark| (frame.x(time.at(mark.at.as_secs_f64())), mark.label.as_str()))
            .collect();
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let band = frame.top;
        if !timeline.phases.is_empty() {
            frame.top += BAND;
        }
        frame.top += 8.0 + MARK_ROW * frame.mark_row_count(&marks) as f64;
        frame.bottom = frame.top + size.pick(210.0, 180.0);

        let mut canvas = Canvas::default();
        canvas.text("title", (0.0, TEXT_ROW - 3.0), Anchor::Start, title);
        let edges: Vec<(f64, f64)> = timeline
            .phases
            .iter()
            .map(|phase| [phase.start, phase.end].map(|edge| frame.x(time.at(edge.as_secs_f64()))).into())
            .collect();
        let fit = timeline
            .phases
            .iter()
            .zip(&edges)
            .all(|(phase, (from, to))| text_width(&phase.name) + 6.0 <= to - from);
        let mut key = Vec::new();
        for (index, (phase, &(from, to))) in timeline.phases.iter().zip(&edges).enumerate() {
            let number = (index + 1).to_string();
            let shade = if index % 2 == 0 { "phase even" } else { "phase odd" };
            canvas.rect(shade, (from, band), (to - from, frame.bottom - band));
            canvas.line("boundary", (from, band), (from, frame.bottom));
            let name = if fit { &phase.name } else { &number };
            canvas.text("phase-name", ((from + to) / 2.0, band + 15.0), Anchor::Middle, name);
            if !fit {
                key.push(format!("{number} {}", phase.name));
            }
        }
        let time_title = format!("{} since the start", unit.name);
        Sheet { canvas, size, frame, time, time_title, show_time: unit.seconds, marks, key }
    }

    fn finish(mut self, timeline: &Timeline<'_>, name: &str, censored: bool) -> String {
        let unit = self.show_time;
        self.frame.horizontal_axis(
            &mut self.canvas,
            &self.time,
            |seconds| show_number(seconds / unit),
            &self.time_title,
        );
        self.frame.marks(&mut self.canvas, &self.marks);
        let mut below = self.frame.bottom + 42.0;
        if timeline.seconds.seconds.is_empty() {
            let middle =
                ((self.frame.left + self.frame.right) / 2.0, (self.frame.top + self.frame.bottom) / 2.0);
            self.canvas.text("title", middle, Anchor::Middle, "nothing was measured");
        }
        if censored {
            below += TEXT_ROW + 4.0;
            self.canvas.higher("censored", (6.0, below - 4.0));
            self.canvas.text("title", (14.0, below), Anchor::Start, "at least: some requests were given up");
        }
        for line in wrapped(&self.key, self.size.width()) {
            below += TEXT_ROW + 4.0;
            self.canvas.text("title", (0.0, below), Anchor::Start, &line);
        }
        self.canvas.finish(self.size, below + 6.0, name)
    }
}

fn wrapped(words: &[String], width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(word) + 14.0 <= width => {
                line.push_str(" · ");
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

/// Half a pixel each in a wide window.
const MOST_POINTS: usize = 600;
/// Nearer than this they would hide each other.
const TRIANGLES_APART: f64 = 8.0;
/// The height of the band with the names of the phases.
const BAND: f64 = 22.0;

#[cfg(test)]
mod tests;
