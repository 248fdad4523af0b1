//! The tokens of a row.

use super::Wrong;
use std::time::Duration;
use units::Unit;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// `baseline.p95`, split at its dots.
    Names(Vec<String>),
    /// A number with its unit, and as it was written.
    Number(f64, Unit, String),
    /// `(02:30..05:00)`.
    Window(Duration, Duration),
    /// `< <= > >= = + - * / ( ) ..`
    Sign(&'static str),
    /// `in`.
    In,
}

const SIGNS: [&str; 12] = ["<=", ">=", "..", "<", ">", "=", "+", "-", "*", "/", "(", ")"];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Wrong> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first.is_ascii_alphabetic() {
            names(rest)
        } else if first.is_ascii_digit() || first == '$' {
            number(rest)?
        } else if let Some(found) = window(rest) {
            found
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign)).ok_or_else(|| {
                let message = format!("unexpected `{first}` in a row");
                Wrong::new(message, format!("the signs are {}", SIGNS.join(" ")))
            })?;
            (Token::Sign(sign), &rest[sign.len()..])
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn names(text: &str) -> (Token, &str) {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        // A dot between names; two are a range.
        let dot = c == '.' && next.is_some_and(|next| next.is_ascii_alphabetic());
        if !(inside(c) || dot) {
            break;
        }
        end = at + c.len_utf8();
    }
    let word = &text[..end];
    let token =
        if word == "in" { Token::In } else { Token::Names(word.split('.').map(str::to_owned).collect()) };
    (token, &text[end..])
}

fn number(text: &str) -> Result<(Token, &str), Wrong> {
    let money = text.starts_with('$');
    let start = usize::from(money);
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = start;
    while digit(end) || bytes.get(end) == Some(&b'.') && digit(end + 1) {
        end += 1;
    }
    let value: Option<f64> = text[start..end].parse().ok();
    let rest = &text[end..];
    // A rate has its unit without spaces: `124.8/s`, and not `124.8 / s`.
    let unit_end = rest.find(|c: char| !(c.is_alphabetic() || c == '%')).unwrap_or(rest.len());
    let slash = ["/s", "/min", "/h"].into_iter().find(|unit| {
        rest.strip_prefix(unit).is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    let (unit, after) = match slash {
        Some(unit) => rest.split_at(unit.len()),
        None => rest.split_at(unit_end),
    };
    let written = &text[..text.len() - after.len()];
    let scaled: Option<(f64, Unit)> = match (unit, money) {
        ("", true) => Some((1.0, Unit::Money)),
        ("", false) => Some((1.0, Unit::Number)),
        ("%", false) => Some((0.01, Unit::Share)),
        ("us" | "µs", false) => Some((1e-6, Unit::Time)),
        ("ms", false) => Some((1e-3, Unit::Time)),
        ("s", false) => Some((1.0, Unit::Time)),
        ("m" | "min", false) => Some((60.0, Unit::Time)),
        ("h", false) => Some((3600.0, Unit::Time)),
        ("/s", false) => Some((1.0, Unit::Rate)),
        ("/min", false) => Some((1.0 / 60.0, Unit::Rate)),
        ("/h", false) => Some((1.0 / 3600.0, Unit::Rate)),
        _ => None,
    };
    match value.zip(scaled) {
        Some((value, (scale, unit))) => {
            // `400ms` is exactly 0.4: divide if the scale is a fraction.
            let value = if scale < 1.0 { value / (1.0 / scale).round() } else { value * scale };
            Ok((Token::Number(value, unit, written.to_owned()), after))
        }
        None => {
            let message = format!("`{written}` is no number with a unit");
            Err(Wrong::new(message, "write `15`, `20%`, `600ms`, `124.8/s` or `$0.44`"))
        }
    }
}

/// `(02:30..05:00)`; anything else is a parenthesis.
fn window(text: &str) -> Option<(Token, &str)> {
    use crate::case::words::TimeOfDay;
    use fields::Scalar as _;
    let (inner, after) = text.strip_prefix('(')?.split_once(')')?;
    let (from, until) = inner.split_once("..")?;
    let time = |text: &str| TimeOfDay::parse(text.trim()).map(|time| time.0);
    Some((Token::Window(time(from)?, time(until)?), after))
}
