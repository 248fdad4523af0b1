//! The class names that a rule's source spells out: `rate.use("Search limit")`.
//!
//! ## Why not a parser
//! This check only brings an error forward, from the first request to the start of the gateway; the check at run
//! time stays the authority. So it reads words, strings and comments, recognises a known function directly followed
//! by a parenthesis and a plain string literal as the whole argument, and says nothing about anything else. It
//! blames a class in a branch that never runs; beyond that it is wrong only where a rule calls a variable of its
//! own `rate`, `slm` or `connection`.

use crate::classes::ClassKind;

/// A class named by a literal in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) kind: ClassKind,
    pub(crate) name: String,
    pub(crate) line: u32,
}

/// Every class that the source names by a literal, in order.
pub(crate) fn mentions(source: &str) -> Vec<Mention> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for window in tokens.windows(6) {
        let [object, dot, function, open, name, after] = window else { continue };
        let (Token::Word(object), Token::Word(function), Token::Text(text)) = (object.0, function.0, name.0)
        else {
            continue;
        };
        if dot.0 == Token::Mark(b'.')
            && open.0 == Token::Mark(b'(')
            && matches!(after.0, Token::Mark(b')' | b','))
            && let Some(kind) = kind(object, function)
        {
            found.push(Mention { kind, name: text.to_string(), line: name.1 });
        }
    }
    found
}

/// The kind of class that the first argument of a host function names.
fn kind(object: &str, function: &str) -> Option<ClassKind> {
    match (object, function) {
        ("connection", "setServiceLevelClass") | ("slm", "conforming") => Some(ClassKind::ServiceLevel),
        ("rate", "getBacklog" | "use" | "useNoQueue") => Some(ClassKind::Rate),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    /// A quoted string without escapes.
    Text(&'a str),
    /// A string that we do not read: with escapes, in long brackets, or interpolated.
    OtherText,
    Mark(u8),
}

/// Tokens with their lines. Strange bytes become marks, an unclosed string ends with the source.
fn tokens(source: &str) -> Vec<(Token<'_>, u32)> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let start = at;
        let first = bytes[at];
        let token = if first.is_ascii_whitespace() {
            at += 1;
            None
        } else if first == b'_' || first.is_ascii_alphanumeric() {
            at += bytes[at..].iter().take_while(|b| **b == b'_' || b.is_ascii_alphanumeric()).count();
            Some(Token::Word(&source[start..at]))
        } else if bytes[at..].starts_with(b"--") {
            let long = long_bracket(&bytes[at + 2..]).map(|length| length + 2);
            let end_of_line =
                || bytes[start..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - start);
            at += long.unwrap_or_else(end_of_line);
            None
        } else if let Some(length) = long_bracket(&bytes[at..]) {
            at += length;
            Some(Token::OtherText)
        } else if matches!(first, b'"' | b'\'' | b'`') {
            let (length, plain) = quoted(&bytes[at..]);
            at += length;
            let inner = source.get(start + 1..(at - 1).max(start + 1)).filter(|_| plain && first != b'`');
            Some(inner.map_or(Token::OtherText, Token::Text))
        } else {
            at += 1;
            Some(Token::Mark(first))
        };
        tokens.extend(token.map(|token| (token, line)));
        line += bytes[start..at].iter().filter(|b| **b == b'\n').count() as u32;
    }
    tokens
}

/// The length of a string such as `[[…]]` or `[==[…]==]`, if the bytes begin with one.
fn long_bracket(bytes: &[u8]) -> Option<usize> {
    let level = bytes.strip_prefix(b"[")?.iter().take_while(|b| **b == b'=').count();
    if bytes.get(level + 1) != Some(&b'[') {
        return None;
    }
    let close = [b"]".as_slice(), &b"=".repeat(level), b"]"].concat();
    let end = bytes.windows(close.len()).position(|window| window == close);
    Some(end.map_or(bytes.len(), |end| end + close.len()))
}

/// The length of a quoted string with its quotes, and whether it has no escapes.
fn quoted(bytes: &[u8]) -> (usize, bool) {
    let quote = bytes[0];
    let (mut at, mut plain) = (1, true);
    while at < bytes.len() && bytes[at] != quote {
        if bytes[at] == b'\\' {
            plain = false;
            at += 1;
        }
        at += 1;
    }
    ((at + 1).min(bytes.len()), plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(source: &str) -> Vec<(String, u32)> {
        mentions(source).into_iter().map(|mention| (mention.name, mention.line)).collect()
    }

    #[test]
    fn finds_literal_class_names_with_their_lines() {
        let table: &[(&str, &[(&str, u32)])] = &[
            ("rate.use('A')", &[("A", 1)]),
            ("\n\n rate.useNoQueue( \"A\", key)", &[("A", 3)]),
            ("if slm.conforming(\"T\") < 100 and rate.getBacklog(\"L\") > 0 then", &[("T", 1), ("L", 1)]),
            // Another function of the same name, a name that is computed, a longer word.
            ("mine.use('A') rate.use(A) separate.use('A')", &[]),
            // Comments and strings.
            ("-- rate.use('A')\nrate.use('B')", &[("B", 2)]),
            ("--[[ rate.use('A')\n ]] rate.use('B')", &[("B", 2)]),
            ("x = [==[ rate.use('A') ]] ]==] rate.use('B')", &[("B", 1)]),
            ("x = \"rate.use('A') \\\" \" rate.use('B')", &[("B", 1)]),
            ("rate.use('A' .. b)", &[]),
            // Escapes and interpolation are left to the check at run time.
            ("rate.use('\\65') rate.use(`A`) rate.use([[A]])", &[]),
        ];
        for (source, expected) in table {
            let expected: Vec<_> = expected.iter().map(|(name, line)| (name.to_string(), *line)).collect();
            assert_eq!(names(source), expected, "{source}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(source in "[ -~\n\\[\\]=\"'`\\\\é-]{0,80}") {
            mentions(&source);
        }
    }
}
