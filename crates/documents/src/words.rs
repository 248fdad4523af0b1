//! How numbers and lines of summaries are written.

use report::grouped;
use std::fmt::Write;

/// So many of something, such as `1 trial` or `1,024 trials`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A line of a summary: a name of at most ten letters, and what it is.
pub fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:<11}{value}");
}
