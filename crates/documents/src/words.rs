//! How numbers and lines of summaries are written.

use report::{Terminal, Tone, fold, grouped};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;
use units::Rate;

/// So many of something, such as `1 trial` or `1,024 trials`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// The rows of a summary: each a name of at most ten letters, and what it is.
#[derive(Debug, Default)]
pub struct Rows(Vec<Row>);

/// A row of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What it is about; empty where it continues the row above.
    pub name: String,
    /// What is said.
    pub text: String,
    /// A part of the text that strikes the eye, and how.
    #[serde(skip)]
    stressed: Option<(String, Tone)>,
}

impl Rows {
    /// Adds a row.
    pub fn row(&mut self, name: &str, text: impl Into<String>) {
        self.0.push(Row { name: name.to_owned(), text: text.into(), stressed: None });
    }

    /// How the first `part` of the text of the last row strikes the eye. A part that is folded stays plain.
    pub fn stress(&mut self, part: &str, tone: Tone) {
        if let Some(row) = self.0.last_mut() {
            row.stressed = Some((part.to_owned(), tone));
        }
    }

    /// How the text of the last row up to a character strikes the eye.
    pub fn stress_until(&mut self, end: char, tone: Tone) {
        if let Some(row) = self.0.last_mut() {
            row.stressed = row.text.split_once(end).map(|(part, _)| (part.to_owned(), tone));
        }
    }

    /// The rows, from the first on.
    pub fn into_rows(self) -> Vec<Row> {
        self.0
    }

    /// The rows for a terminal: what is too long goes on below, beside the names.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut said = String::new();
        for Row { name, text, stressed } in &self.0 {
            let mut stressed = stressed.as_ref();
            for (place, line) in
                fold(text, terminal.prose().saturating_sub(NAMES).max(LEAST)).iter().enumerate()
            {
                let name = if place == 0 { name } else { "" };
                let mut line = line.clone();
                if let Some((part, tone)) = stressed
                    && line.contains(part.as_str())
                {
                    line = line.replacen(part, &terminal.paint(*tone, part), 1);
                    stressed = None;
                }
                // Writing to a string cannot fail.
                let _ = writeln!(said, "{}", format!("{name:<NAMES$}{line}").trim_end());
            }
        }
        said
    }
}

/// Sentences as lines that fit the terminal.
pub fn paragraph(text: &str, terminal: Terminal) -> String {
    fold(text, terminal.prose()).join("\n") + "\n"
}

/// Columns of the names of rows, with a space.
const NAMES: usize = 11;
/// On a terminal that is narrower than this beside the names, lines are broken by the terminal.
const LEAST: usize = 20;

/// Milliseconds as documents have them: to the microsecond, which is what the histograms keep.
pub(crate) fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Requests a second as documents have them: three decimals, more is noise.
pub(crate) fn number(rate: Rate) -> f64 {
    (rate.per_second() * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_row_goes_on_beside_the_names() {
        let mut rows = Rows::default();
        rows.row("verdict", "one two three four five six");
        rows.stress("one", Tone::Good);
        rows.row("", "more");
        assert_eq!(
            rows.text(Terminal::of_width(33)),
            "verdict    one two three four\n           five six\n           more\n"
        );
        assert_eq!(rows.text(Terminal::PIPE), "verdict    one two three four five six\n           more\n");
        let coloured = rows.text(Terminal { width: 80, colours: true });
        assert!(coloured.starts_with("verdict    \u{1b}[32mone\u{1b}[0m two"), "{coloured}");
    }
}
