//! Writes SVG: numbers, text and shapes, always well-formed.
//!
//! Strokes and colours are classes, and the page has the style sheet, so that one picture fits light, dark and print.

use std::fmt::Write;

/// A picture in two widths; the page shows the one that fits the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    pub(crate) wide: String,
    pub(crate) narrow: String,
}

impl Drawing {
    pub(crate) fn both(draw: impl Fn(Size) -> String) -> Self {
        Drawing { wide: draw(Size::Wide), narrow: draw(Size::Narrow) }
    }
}

/// The window width for which a picture is drawn. The unit of all lengths is about one pixel of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Wide,
    Narrow,
}

impl Size {
    pub(crate) fn width(self) -> f64 {
        self.pick(960.0, 400.0)
    }

    pub(crate) fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Size::Wide => wide,
            Size::Narrow => narrow,
        }
    }

    fn class(self) -> &'static str {
        self.pick("wide", "narrow")
    }
}

/// The alignment of a text relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A mark of one value; the shapes differ without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Disc,
    Cross,
    Dash,
}

/// A picture under construction.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    body: String,
}

impl Canvas {
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        self.put(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(number);
        self.put(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#
        ));
    }

    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        let [x, y] = [x, y].map(number);
        self.put(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="2.6"/>"#));
    }

    /// A disc or a cross at one position; `tip` is shown when the pointer is on it.
    pub(crate) fn mark(&mut self, shape: Shape, class: &str, at: (f64, f64), tip: &str) {
        let title = match tip {
            "" => String::new(),
            tip => format!("<title>{}</title>", escaped(tip)),
        };
        let (x, y) = at;
        let strokes = |lines: &[[(f64, f64); 2]]| -> String {
            lines.iter().map(|line| path(&line.map(|(dx, dy)| (x + dx, y + dy)))).collect()
        };
        let drawn = match shape {
            Shape::Disc => {
                let [x, y] = [x, y].map(number);
                return self.put(format_args!(
                    r#"<circle class="{class}" cx="{x}" cy="{y}" r="4">{title}</circle>"#
                ));
            }
            Shape::Cross => strokes(&[[(-4.0, -4.0), (4.0, 4.0)], [(-4.0, 4.0), (4.0, -4.0)]]),
            Shape::Dash => strokes(&[[(-5.0, 0.0), (5.0, 0.0)]]),
        };
        self.put(format_args!(r#"<path class="{class}" d="{drawn}">{title}</path>"#));
    }

    /// A small triangle that points up: the true value is higher.
    pub(crate) fn higher(&mut self, class: &str, (x, y): (f64, f64)) {
        let points = [(x - 3.5, y + 3.0), (x, y - 3.5), (x + 3.5, y + 3.0)];
        self.put(format_args!(r#"<path class="{class}" d="{}Z"/>"#, path(&points)));
    }

    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        self.put(format_args!(r#"<path class="{class}" d="{}"/>"#, path(points)));
    }

    /// The area between the points and the height `floor`.
    pub(crate) fn area(&mut self, class: &str, points: &[(f64, f64)], floor: f64) {
        if let ([first, ..], [.., last]) = (points, points) {
            let closing = [(last.0, floor), (first.0, floor)];
            let points: Vec<_> = points.iter().copied().chain(closing).collect();
            self.put(format_args!(r#"<path class="{class}" d="{}Z"/>"#, path(&points)));
        }
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let [x, y] = [x, y].map(number);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.put(format_args!(
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// The area between two lines.
    pub(crate) fn between(&mut self, class: &str, lower: &[(f64, f64)], upper: &[(f64, f64)]) {
        let around: Vec<_> = upper.iter().chain(lower.iter().rev()).copied().collect();
        self.put(format_args!(r#"<path class="{class}" d="{}Z"/>"#, path(&around)));
    }

    /// The whole picture; its name and its text description are the text alternative.
    pub(crate) fn finish(self, size: Size, height: f64, name: &str, shows: &str) -> String {
        format!(
            "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n{}</svg>\n",
            size.class(),
            number(size.width()),
            number(height),
            escaped(name),
            escaped(shows),
            self.body
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to a string does not fail");
    }
}

/// The approximate width of a text: the letters of common fonts are half as wide as high, or a bit more.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.7
}

/// Text escaped for use between tags and in quoted attributes. Characters that XML forbids are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        let [x, y] = [x, y].map(number);
        let step = if index == 0 { 'M' } else { 'L' };
        write!(path, "{step}{x} {y}").expect("writing to a string does not fail");
    }
    path
}

/// A tenth of a pixel is precise enough; a value that is not a number would make the browser drop the whole shape.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let shown = [0.04, -0.04, 12.0, 12.34, f64::NAN, f64::INFINITY, -1e9].map(number);
        assert_eq!(shown, ["0", "0", "12", "12.3", "0", "0", "-100000"]);
    }

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            escaped("<a b=\"c\">&'\u{0}\u{1b}"),
            "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}\u{fffd}"
        );
    }
}
