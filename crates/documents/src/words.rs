//! How numbers and lines of summaries are written.

use report::grouped;
use std::fmt::Write;
use std::time::Duration;

/// So many of something, such as `1 trial` or `1,024 trials`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A line of a summary: a name of at most ten letters, and what it is.
pub fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:<11}{value}");
}

/// Sentences in lines that fit a terminal of 80 columns beside the names.
pub fn wrapped(text: &str) -> Vec<String> {
    wrapped_to(text, WIDTH)
}

/// Sentences in lines of at most so many characters, where their words allow it.
pub fn wrapped_to(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = word.to_owned(),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Of 80 columns, without those of the names.
const WIDTH: usize = 69;

/// Milliseconds as documents have them: to the microsecond, which is what the histograms keep.
pub(crate) fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
