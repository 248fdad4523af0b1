//! Values as results show them: their form, not their contents.
//!
//! Results go into ledgers and terminals, and responses may have secrets and personal data. A masked value keeps its length
//! and its form (a date, a UUID, a price are recognised); nothing else of it can be told.

use super::compare::Value;
use alloc::string::String;

/// What the control and a candidate have in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The control; `None` if it has nothing there.
    pub control: Option<String>,
    /// The candidate.
    pub candidate: Option<String>,
}

/// Two values from shortly before the place where they begin to differ.
pub(super) fn example(control: Option<&Value>, candidate: Option<&Value>) -> Example {
    let equal = match (control, candidate) {
        (Some(Value::Data(ours)), Some(Value::Data(theirs))) => {
            ours.chars().zip(theirs.chars()).take_while(|(ours, theirs)| ours == theirs).count()
        }
        _ => 0,
    };
    let skipped = if equal > CONTEXT_MAX { equal - CONTEXT } else { 0 };
    let shown = |value: &Value| match value {
        Value::Data(text) => masked(text, skipped),
        Value::Structure(text) => text.clone(),
    };
    Example { control: control.map(shown), candidate: candidate.map(shown) }
}

fn masked(text: &str, skipped: usize) -> String {
    let mut shown = String::new();
    if skipped > 0 {
        shown.push('…');
    }
    let mut rest = text.chars().skip(skipped);
    shown.extend(rest.by_ref().take(LENGTH_MAX).map(mask));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

fn mask(c: char) -> char {
    match c {
        _ if c.is_numeric() => '9',
        _ if c.is_uppercase() => 'A',
        _ if c.is_alphanumeric() => 'a',
        ' ' => ' ',
        _ if c.is_ascii_punctuation() => c,
        _ if c.is_whitespace() => ' ',
        // What would change the terminal, or what its neighbors mean.
        _ => '?',
    }
}

/// Characters of a value that are shown.
const LENGTH_MAX: usize = 60;
/// A longer equal beginning is cut down to this.
const CONTEXT_MAX: usize = 30;
const CONTEXT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_form_is_kept_and_the_contents_are_not() {
        for (text, expected) in [
            ("4111 1111 1111 1111", "9999 9999 9999 9999"),
            ("Jane.Doe@example.org", "Aaaa.Aaa@aaaaaaa.aaa"),
            ("2026-11-26T17:00:00Z", "9999-99-99A99:99:99A"),
            ("Żółć ½", "Aaaa 9"),
            ("a\u{1b}[2J\u{202e}b\n", "a?[9A?a "),
        ] {
            assert_eq!(masked(text, 0), expected);
        }
        assert_eq!(masked(&"x".repeat(500), 0).chars().count(), LENGTH_MAX + 1);
    }

    #[test]
    fn long_values_are_shown_where_they_begin_to_differ() {
        let value = |end: &str| Value::Data("<p>".repeat(50) + end);
        let example = example(Some(&value("Anna")), Some(&value("1")));
        assert_eq!(example.control.as_deref(), Some("…><a><a><a>Aaaa"));
        assert_eq!(example.candidate.as_deref(), Some("…><a><a><a>9"));
        let absent = super::example(None, Some(&Value::Structure("true".to_string())));
        assert_eq!((absent.control, absent.candidate.as_deref()), (None, Some("true")));
    }
}
