//! The parts that the charts share: the frame with its axes, lines with gaps, labels that do not overlap.

use crate::scale::Scale;
use crate::svg::{Anchor, Canvas, text_width};

/// The area of one panel's values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    /// Where the picture ends.
    pub(crate) edge: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    pub(crate) fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    /// Horizontal lines with their values to the left; the lowest one is the axis.
    pub(crate) fn vertical_axis(&self, canvas: &mut Canvas, scale: &Scale, show: impl Fn(f64) -> String) {
        for &tick in &scale.ticks {
            let y = self.y(scale.at(tick));
            canvas.line("grid", (self.left, y), (self.right, y));
            canvas.text("tick", (self.left - 7.0, y + 4.0), Anchor::End, &show(tick));
        }
        canvas.line("axis", (self.left, self.bottom), (self.right, self.bottom));
    }

    /// Ticks below the frame with their values, and their meaning on the line after.
    pub(crate) fn horizontal_axis(
        &self,
        canvas: &mut Canvas,
        scale: &Scale,
        show: impl Fn(f64) -> String,
        title: &str,
    ) {
        for &tick in &scale.ticks {
            let x = self.x(scale.at(tick));
            canvas.line("axis", (x, self.bottom), (x, self.bottom + 4.0));
            canvas.text("tick", (x, self.bottom + 18.0), Anchor::Middle, &show(tick));
        }
        let middle = (self.left + self.right) / 2.0;
        canvas.text("title", (middle, self.bottom + 36.0), Anchor::Middle, title);
    }

    /// Draws the curves, with their names to the right of `x`, at the height where each ends, joined by a piece of its
    /// stroke. Names of curves that end together are moved apart.
    pub(crate) fn curves(&self, canvas: &mut Canvas, x: f64, curves: &[Curve]) {
        for curve in curves {
            curve.draw(canvas);
        }
        let mut ends: Vec<(&Curve, f64)> = curves
            .iter()
            .filter_map(|curve| Some((curve, curve.points.iter().rev().flatten().next()?.1)))
            .collect();
        ends.sort_by(|a, b| a.1.total_cmp(&b.1));
        let places = apart(&ends.iter().map(|end| end.1).collect::<Vec<_>>(), self.bottom);
        for ((curve, end), place) in ends.into_iter().zip(places) {
            canvas.polyline(curve.stroke.line(), &[(x + 4.0, end), (x + 21.0, place)]);
            canvas.text("name", (x + 25.0, place + 4.0), Anchor::Start, &curve.name);
        }
    }

    /// A horizontal line over the whole width, with its label above or below the line, whichever has room.
    pub(crate) fn goal(&self, canvas: &mut Canvas, y: f64, label: &str) {
        canvas.line("goal", (self.left, y), (self.right, y));
        let at = if y - self.top < TEXT_ROW { y + TEXT_ROW } else { y - 5.0 };
        canvas.text("goal-label", (self.left + 6.0, at), Anchor::Start, label);
    }

    /// Vertical lines with their labels in rows above the frame, where nothing else is drawn.
    pub(crate) fn marks(&self, canvas: &mut Canvas, marks: &[(f64, &str)]) {
        for (&(x, label), row) in marks.iter().zip(self.mark_rows(marks)) {
            let y = self.top - 7.0 - MARK_ROW * row as f64;
            canvas.line("mark", (x, y + 4.0), (x, self.bottom));
            let (from, _) = self.mark_span(x, label);
            // The width is an estimate: a label to the left of its line ends there, whatever its width is.
            let is_left = from < x - 4.0 && from > 0.0;
            let (at, anchor) = if is_left { (x + 4.0, Anchor::End) } else { (from, Anchor::Start) };
            canvas.text("mark-label", (at, y), anchor, label);
        }
    }

    /// The horizontal extent of a label: to the right of its line if it fits there.
    fn mark_span(&self, x: f64, label: &str) -> (f64, f64) {
        let (from, width) = (x - 4.0, text_width(label));
        if from + width <= self.edge {
            return (from, from + width);
        }
        let from = (x + 4.0 - width).max(0.0);
        (from, from + width)
    }

    /// How many rows the labels of the marks take.
    pub(crate) fn mark_row_count(&self, marks: &[(f64, &str)]) -> usize {
        self.mark_rows(marks).into_iter().max().map_or(0, |row| row + 1)
    }

    /// The row of each label, from below: the first in which it does not touch an earlier one.
    fn mark_rows(&self, marks: &[(f64, &str)]) -> Vec<usize> {
        let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut rows = Vec::new();
        for &(x, label) in marks {
            let span = self.mark_span(x, label);
            let free = |row: &Vec<(f64, f64)>| {
                row.iter().all(|other| span.1 + 8.0 < other.0 || other.1 + 8.0 < span.0)
            };
            let row = taken.iter().position(free).unwrap_or(taken.len());
            if row == taken.len() {
                taken.push(Vec::new());
            }
            taken[row].push(span);
            rows.push(row);
        }
        rows
    }
}

/// A line with its name; a missing point is a gap.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) stroke: Stroke,
    pub(crate) name: String,
    pub(crate) points: Vec<Option<(f64, f64)>>,
}

impl Curve {
    /// A line through the existing points; a point between two gaps becomes a dot.
    pub(crate) fn draw(&self, canvas: &mut Canvas) {
        for piece in self.points.split(Option::is_none) {
            let piece: Vec<(f64, f64)> = piece.iter().copied().flatten().collect();
            match piece.as_slice() {
                [] => {}
                [alone] => canvas.dot(self.stroke.dot(), *alone),
                several => canvas.polyline(self.stroke.line(), several),
            }
        }
    }
}

/// The style of a line; the styles differ without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid,
    Dashed,
    Dotted,
    DashDotted,
    Thin,
}

impl Stroke {
    pub(crate) fn line(self) -> &'static str {
        match self {
            Stroke::Solid => "line solid",
            Stroke::Dashed => "line dashed",
            Stroke::Dotted => "line dotted",
            Stroke::DashDotted => "line dash-dotted",
            Stroke::Thin => "line thin",
        }
    }

    pub(crate) fn dot(self) -> &'static str {
        match self {
            Stroke::Solid => "dot solid",
            Stroke::Dashed => "dot dashed",
            Stroke::Dotted => "dot dotted",
            Stroke::DashDotted => "dot dash-dotted",
            Stroke::Thin => "dot thin",
        }
    }

    /// The area from the lowest to the highest value behind a line.
    pub(crate) fn band(self) -> &'static str {
        match self {
            Stroke::Solid => "band solid",
            Stroke::Dashed => "band dashed",
            Stroke::Dotted => "band dotted",
            Stroke::DashDotted => "band dash-dotted",
            Stroke::Thin => "band thin",
        }
    }
}

/// Moves ascending heights apart, so that a line of text fits between two, and none is below `bottom`.
fn apart(heights: &[f64], bottom: f64) -> Vec<f64> {
    let mut places = heights.to_vec();
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + TEXT_ROW);
    }
    let mut lowest = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(lowest);
        lowest = *place - TEXT_ROW;
    }
    places
}

/// The height of a line of text.
pub(crate) const TEXT_ROW: f64 = 15.0;
/// How far above a frame its title is, so that it does not touch the label of the highest tick.
pub(crate) const TITLE_ABOVE: f64 = 15.0;
/// The height of a row of mark labels.
pub(crate) const MARK_ROW: f64 = 16.0;
/// The space to the right of a frame for the names of its lines.
pub(crate) const NAMES: f64 = 90.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_apart() {
        assert_eq!(apart(&[10.0, 100.0], 200.0), [10.0, 100.0]);
        assert_eq!(apart(&[10.0, 12.0], 200.0), [10.0, 25.0]);
        assert_eq!(apart(&[200.0, 200.0, 200.0], 200.0), [170.0, 185.0, 200.0]);
        assert_eq!(apart(&[], 200.0), [0.0; 0]);
    }

    #[test]
    fn labels_of_near_marks_take_rows() {
        let frame = Frame { left: 50.0, right: 640.0, edge: 720.0, top: 60.0, bottom: 260.0 };
        assert_eq!(
            frame.mark_rows(&[(100.0, "policy on"), (110.0, "policy off"), (400.0, "later")]),
            [0, 1, 0]
        );
        assert_eq!(frame.mark_row_count(&[]), 0);
    }

    #[test]
    fn a_long_label_stays_in_the_picture() {
        let frame = Frame { left: 50.0, right: 384.0, edge: 400.0, top: 60.0, bottom: 260.0 };
        let label = "sustainable rate: 102.6/s to 108.6/s and more";
        for x in [50.0, 150.0, 250.0, 384.0] {
            let (from, to) = frame.mark_span(x, label);
            assert!(from >= 0.0 && to <= frame.edge, "{x}: {from} to {to}");
        }
    }
}
