//! Charts over time: panels one below the other, each with its own unit, all under one time axis.
//!
//! ## Why panels and not two vertical axes
//! With two axes on one panel, the crossings of lines depend on the scales. Panels with one time axis show what rose
//! together, and each value has its unit.
//!
//! ## Long runs
//! A chart has room for [`MOST_POINTS`] points. The caller combines more samples than that, and gives each sample its
//! mean, its lowest and its highest value; the band behind the line reaches from one to the other, so that no extreme
//! is lost.

use crate::plot::{Curve, Frame, MARK_ROW, NAMES, Stroke, TEXT_ROW, TITLE_ABOVE};
use crate::scale::{Scale, TimeUnit, show_number};
use crate::svg::{Anchor, Canvas, Drawing, Size, text_width};
use crate::timeline::{Mark, Phase};

/// A chart over time.
#[derive(Debug)]
pub(crate) struct OverTime<'a> {
    /// Its text alternative.
    pub(crate) name: &'a str,
    pub(crate) axis: Axis,
    pub(crate) panels: Vec<Panel>,
    pub(crate) phases: &'a [Phase],
    pub(crate) marks: &'a [Mark],
}

/// The time axis: from 0 to a number of seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    /// In seconds.
    pub(crate) span: f64,
    /// The format of its labels.
    pub(crate) labels: Labels,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Labels {
    /// Seconds, minutes or hours since the start.
    SinceStart,
    /// The hour of the day; the axis begins at this second of it.
    HourOfDay(f64),
    /// Days since the start.
    Days,
}

/// Values with one unit.
#[derive(Debug)]
pub(crate) struct Panel {
    /// The quantity and its unit.
    pub(crate) title: String,
    pub(crate) scale: Scale,
    pub(crate) show: fn(f64) -> String,
    pub(crate) lines: Vec<Line>,
    /// Values for comparison, each with its label.
    pub(crate) goals: Vec<(f64, String)>,
}

/// One quantity over time.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) stroke: Stroke,
    /// In order of time; `None` is a gap.
    pub(crate) samples: Vec<Option<Sample>>,
    /// Counts belong to their whole interval and are drawn as steps: a slope would begin before its cause.
    pub(crate) steps: bool,
    /// Whether the area below it is hatched.
    pub(crate) hatched: bool,
}

/// A value over a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Seconds since the start.
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) value: f64,
    /// The lowest and the highest of the combined values.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether the true value is higher.
    pub(crate) at_least: bool,
}

impl Sample {
    /// A single value, not combined with others.
    pub(crate) fn one(from: f64, until: f64, value: f64) -> Self {
        Sample { from, until, value, low: value, high: value, at_least: false }
    }

    /// Several values combined: their mean, the lowest and the highest, of those that are finite; `None` without any.
    pub(crate) fn combined(from: f64, until: f64, values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let finite = values.filter(|value| value.is_finite());
        let low = finite.clone().reduce(f64::min)?;
        let high = finite.clone().reduce(f64::max)?;
        let value = finite.clone().sum::<f64>() / finite.count() as f64;
        Some(Sample { from, until, value, low, high, at_least: false })
    }
}

impl OverTime<'_> {
    pub(crate) fn drawing(&self) -> Drawing {
        Drawing::both(|size| Sheet::new(self, size).finish(self))
    }

    /// The lines as text: the first and last value of each.
    fn shows(&self) -> String {
        let line = |panel: &Panel, line: &Line| {
            let values = || line.samples.iter().flatten();
            let low = values().map(|sample| sample.low).filter(|low| low.is_finite()).reduce(f64::min);
            let high = values().map(|sample| sample.high).filter(|high| high.is_finite()).reduce(f64::max);
            match (low, high) {
                (Some(low), Some(high)) => {
                    format!("{}: {} to {}", line.name, (panel.show)(low), (panel.show)(high))
                }
                _ => format!("{}: no values", line.name),
            }
        };
        let panel = |panel: &Panel| {
            let lines: Vec<String> = panel.lines.iter().map(|one| line(panel, one)).collect();
            let goals = panel.goals.iter().map(|(_, label)| label.clone());
            format!("{}. {}.", panel.title, lines.into_iter().chain(goals).collect::<Vec<_>>().join(", "))
        };
        self.panels.iter().map(panel).collect::<Vec<_>>().join(" ")
    }
}

/// A chart under construction.
struct Sheet {
    canvas: Canvas,
    size: Size,
    frame: Frame,
    time: Scale,
    unit: TimeUnit,
    /// The meaning of the numbers in the band, if the names do not fit.
    key: Vec<String>,
}

impl Sheet {
    /// The frame of the first panel below the title, the band of the phases and the labels of the marks.
    fn new(chart: &OverTime<'_>, size: Size) -> Self {
        let ticks = match chart.axis.labels {
            Labels::SinceStart => size.pick(10.0, 5.0),
            Labels::HourOfDay(_) | Labels::Days => size.pick(14.0, 7.0),
        };
        let names = chart.panels.iter().any(|panel| panel.lines.len() > 1);
        let mut frame = Frame {
            left: size.pick(58.0, 52.0),
            right: size.width() - if names { NAMES } else { 16.0 },
            edge: size.width(),
            top: TEXT_ROW + 7.0,
            bottom: 0.0,
        };
        let (time, unit) = Scale::time(chart.axis.span, ticks);
        let band = frame.top;
        if !chart.phases.is_empty() {
            frame.top += BAND;
        }
        let marks = place_marks(chart.marks, &frame, &time);
        frame.top += 8.0 + MARK_ROW * frame.mark_row_count(&marks) as f64;
        frame.bottom = frame.top + height(chart, size);
        let mut sheet = Sheet { canvas: Canvas::default(), size, frame, time, unit, key: Vec::new() };
        let below = sheet.bottom(chart);
        sheet.phases(chart.phases, band, below);
        sheet
    }

    /// Where the last panel ends.
    fn bottom(&self, chart: &OverTime<'_>) -> f64 {
        let more = chart.panels.len().saturating_sub(1) as f64;
        self.frame.bottom + more * (height(chart, self.size) + GAP)
    }

    /// The band with the names of the phases, or their numbers if the names do not fit.
    fn phases(&mut self, phases: &[Phase], top: f64, bottom: f64) {
        let x = |at: std::time::Duration| self.frame.x(self.time.at(at.as_secs_f64()));
        let edges: Vec<(f64, f64)> = phases.iter().map(|phase| (x(phase.start), x(phase.end))).collect();
        let fits = |(phase, (from, to)): (&Phase, &(f64, f64))| text_width(&phase.name) + 6.0 <= to - from;
        let fit = phases.iter().zip(&edges).all(fits);
        for (index, (phase, &(from, to))) in phases.iter().zip(&edges).enumerate() {
            let number = (index + 1).to_string();
            let shade = if index % 2 == 0 { "phase even" } else { "phase odd" };
            self.canvas.rect(shade, (from, top), (to - from, bottom - top));
            self.canvas.line("boundary", (from, top), (from, bottom));
            let name = if fit { &phase.name } else { &number };
            if fit || text_width(&number) <= to - from {
                self.canvas.text("phase-name", ((from + to) / 2.0, top + 15.0), Anchor::Middle, name);
            }
            if !fit {
                self.key.push(format!("{number}: {}", phase.name));
            }
        }
    }

    fn finish(mut self, chart: &OverTime<'_>) -> String {
        let mut frame = self.frame;
        let all = Frame { bottom: self.bottom(chart), ..frame };
        let marks = place_marks(chart.marks, &frame, &self.time);
        let mut any_at_least = false;
        let mut title = TEXT_ROW - 3.0;
        for panel in &chart.panels {
            self.canvas.text("title", (0.0, title), Anchor::Start, &panel.title);
            self.panel(&frame, panel);
            any_at_least |=
                panel.lines.iter().any(|line| line.samples.iter().flatten().any(|sample| sample.at_least));
            title = frame.bottom + GAP - TITLE_ABOVE;
            let top = frame.bottom + GAP;
            frame = Frame { top, bottom: top + height(chart, self.size), ..frame };
        }
        self.time_axis(&all, chart.axis);
        all.marks(&mut self.canvas, &marks);
        let mut below = all.bottom + 42.0;
        if any_at_least {
            below += TEXT_ROW + 4.0;
            self.canvas.higher("censored", (6.0, below - 4.0));
            self.canvas.text("title", (14.0, below), Anchor::Start, "at least: requests timed out");
        }
        for line in wrapped(&self.key, self.size.width()) {
            below += TEXT_ROW + 4.0;
            self.canvas.text("title", (0.0, below), Anchor::Start, &line);
        }
        self.canvas.finish(self.size, below + 6.0, chart.name, &chart.shows())
    }

    fn panel(&mut self, frame: &Frame, panel: &Panel) {
        let Panel { scale, show, lines, goals, .. } = panel;
        frame.vertical_axis(&mut self.canvas, scale, show);
        let (time, canvas) = (&self.time, &mut self.canvas);
        let x = |at: f64| frame.x(time.at(at));
        let y = |value: f64| frame.y(scale.at(value));
        let mut curves = Vec::new();
        for line in lines {
            let ends = |sample: &Sample| match line.steps {
                true => vec![x(sample.from), x(sample.until)],
                false => vec![x((sample.from + sample.until) / 2.0)],
            };
            for piece in line.samples.split(Option::is_none) {
                let edge = |of: fn(&Sample) -> f64| -> Vec<(f64, f64)> {
                    let places = |sample: &Sample| {
                        let height = y(of(sample));
                        ends(sample).into_iter().map(move |x| (x, height))
                    };
                    piece.iter().flatten().flat_map(places).collect()
                };
                if piece.iter().flatten().any(|sample| sample.low < sample.high) {
                    let (low, high) = (edge(|sample| sample.low), edge(|sample| sample.high));
                    canvas.between(line.stroke.band(), &low, &high);
                }
                if line.hatched {
                    canvas.area("hatched", &edge(|sample| sample.value), frame.bottom);
                }
            }
            let points = line.samples.iter().flat_map(|sample| match sample {
                None => vec![None],
                Some(sample) => ends(sample).into_iter().map(|x| Some((x, y(sample.value)))).collect(),
            });
            curves.push(Curve { stroke: line.stroke, name: line.name.clone(), points: points.collect() });
        }
        match curves.as_slice() {
            [only] => only.draw(canvas),
            several => frame.curves(canvas, frame.right, several),
        }
        for (value, label) in goals {
            frame.goal(canvas, y(*value), label);
        }
        for line in lines {
            let mut before = f64::NEG_INFINITY;
            for sample in line.samples.iter().flatten().filter(|sample| sample.at_least) {
                let at = x((sample.from + sample.until) / 2.0);
                if at - before >= TRIANGLES_APART {
                    canvas.higher("censored", (at, y(sample.value)));
                    before = at;
                }
            }
        }
        if !lines.iter().any(|line| line.samples.iter().any(Option::is_some)) {
            let middle = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
            canvas.text("title", middle, Anchor::Middle, "no data");
        }
    }

    fn time_axis(&mut self, frame: &Frame, axis: Axis) {
        let unit = self.unit;
        let show = |at: f64| {
            show_number(match axis.labels {
                Labels::SinceStart => at / unit.seconds,
                Labels::HourOfDay(begins) => ((begins + at) / 3_600.0) % 24.0,
                Labels::Days => at / DAY,
            })
        };
        let title = match axis.labels {
            Labels::SinceStart => format!("{} since the start", unit.name),
            Labels::HourOfDay(_) => "hour of the day".to_owned(),
            Labels::Days => "days".to_owned(),
        };
        frame.horizontal_axis(&mut self.canvas, &self.time, show, &title);
    }
}

/// The height of a panel: several panels share about the height of one.
fn height(chart: &OverTime<'_>, size: Size) -> f64 {
    match chart.panels.len() {
        0 | 1 => size.pick(260.0, 190.0),
        2 => size.pick(200.0, 160.0),
        _ => size.pick(150.0, 130.0),
    }
}

fn place_marks<'a>(marks: &'a [Mark], frame: &Frame, time: &Scale) -> Vec<(f64, &'a str)> {
    let mut placed: Vec<(f64, &str)> =
        marks.iter().map(|mark| (frame.x(time.at(mark.at.as_secs_f64())), mark.label.as_str())).collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed
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

/// More would overlap.
pub(crate) const MOST_POINTS: usize = 600;
/// Nearer triangles would hide each other.
const TRIANGLES_APART: f64 = 8.0;
/// The height of the band with the names of the phases.
const BAND: f64 = 22.0;
/// Between two panels: the title of the lower one.
const GAP: f64 = 46.0;
const DAY: f64 = 86_400.0;
