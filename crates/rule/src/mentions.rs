//! The names in a rule's source: the functions that it calls, and class names as in `rate.use("Search limit")`.
//!
//! ## Why not a parser
//! This check only reports an error earlier, at the start of the gateway and not at the first request; the check at run
//! time remains decisive. So it reads words, strings and comments, recognises a known function directly followed by a
//! parenthesis and a plain string literal as the whole argument, and ignores anything else. It rejects a name in a
//! branch that never runs; beyond that it is wrong only if a rule calls a variable of its own `rate`, `slm`, `pool` or
//! `connection`. A function is unknown if nothing in the source declares its name.

use crate::classes::ClassKind;
use std::collections::BTreeSet;

/// A class or pool named by a literal in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) kind: ClassKind,
    pub(crate) name: String,
    pub(crate) line: u32,
}

/// Every class and pool that the source names by a literal, in order.
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

/// A call of a function that the source itself does not define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) library: Option<String>,
    pub(crate) function: String,
    pub(crate) line: u32,
}

impl Call {
    /// As in the source.
    pub(crate) fn shown(&self) -> String {
        match &self.library {
            Some(library) => format!("{library}.{}", self.function),
            None => self.function.clone(),
        }
    }
}

/// Every call such as `print(…)` or `http.getPath(…)` by a name that the source does not declare, in order.
pub(crate) fn calls(source: &str) -> Vec<Call> {
    let tokens = tokens(source);
    let declared = declared(&tokens);
    let mut found = Vec::new();
    for (at, &(token, line)) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let is_member = at > 0 && matches!(tokens[at - 1].0, Token::Mark(b'.' | b':'));
        let is_number = word.starts_with(|first: char| first.is_ascii_digit());
        if is_member || is_number || KEYWORDS.contains(&word) || declared.contains(word) {
            continue;
        }
        let behind = |steps: usize| tokens.get(at + steps).map(|(token, _)| *token);
        let call = match (behind(1), behind(2), behind(3)) {
            (Some(Token::Mark(b'(')), ..) => (None, word),
            (Some(Token::Mark(b'.')), Some(Token::Word(member)), Some(Token::Mark(b'('))) => {
                (Some(word), member)
            }
            _ => continue,
        };
        let library = call.0.map(str::to_owned);
        found.push(Call { library, function: call.1.to_owned(), line });
    }
    found
}

/// Names that the source declares anywhere. Scopes are ignored.
fn declared<'a>(tokens: &[(Token<'a>, u32)]) -> BTreeSet<&'a str> {
    // The implicit parameter of a method.
    let mut names = BTreeSet::from(["self"]);
    for (at, (token, _)) in tokens.iter().enumerate() {
        let behind = &tokens[at + 1..];
        match token {
            Token::Word("local" | "for") => names.extend(name_list(behind)),
            // Its name and its parameters, with their types.
            Token::Word("function") => {
                let head = behind.iter().take_while(|(token, _)| *token != Token::Mark(b')'));
                names.extend(head.filter_map(|(token, _)| match token {
                    Token::Word(name) => Some(*name),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    names
}

/// `a, b: number, c` at the beginning of the tokens.
fn name_list<'a>(tokens: &[(Token<'a>, u32)]) -> Vec<&'a str> {
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(&(Token::Word(name), line)) = tokens.get(at)
        && name != "function"
    {
        names.push(name);
        at += 1;
        if tokens.get(at).is_some_and(|(token, _)| *token == Token::Mark(b':')) {
            let is_type = |(token, found): &&(Token<'_>, u32)| {
                *found == line && !matches!(token, Token::Mark(b',' | b'=') | Token::Word("in"))
            };
            at += tokens[at..].iter().take_while(is_type).count();
        }
        if tokens.get(at).is_none_or(|(token, _)| *token != Token::Mark(b',')) {
            break;
        }
        at += 1;
    }
    names
}

const KEYWORDS: [&str; 23] = [
    "and", "break", "continue", "do", "else", "elseif", "end", "export", "false", "for", "function", "if",
    "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// The kind of class that the first argument of a host function names.
fn kind(object: &str, function: &str) -> Option<ClassKind> {
    match (object, function) {
        ("connection", "setServiceLevelClass") | ("slm", "conforming") => Some(ClassKind::ServiceLevel),
        ("rate", "getBacklog" | "use" | "useNoQueue") => Some(ClassKind::Rate),
        ("pool", "select" | "use") => Some(ClassKind::Pool),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    /// A quoted string without escapes.
    Text(&'a str),
    /// A string that is not read: with escapes, in long brackets, or interpolated.
    OtherText,
    Mark(u8),
}

/// Tokens with their lines. Unknown bytes become marks, an unclosed string ends with the source.
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
            // Another function of the same name, a computed name, a longer word.
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

    #[test]
    fn finds_calls_of_what_the_source_does_not_declare() {
        let table: &[(&str, &[(&str, u32)])] = &[
            ("http.getPth()\nprint ('x')", &[("http.getPth", 1), ("print", 2)]),
            // Declared in various ways.
            ("local f = x f()", &[]),
            ("local a, f: (number) -> string, g = 1 f() g()", &[]),
            ("local function f(g, h: string) g() h() end f()", &[]),
            ("for f, g in pairs(t) do f() g() end", &[("pairs", 1)]),
            ("local rate = mine rate.use('A')", &[]),
            ("local t = {} function t:f(g) g() self.h() end", &[]),
            // Not a call, not a name, or a method.
            ("local s = 'x' s:foo(1) return (1)", &[]),
            ("local t = { print = 1 } t.print(1) t.a.b(2)", &[]),
            ("-- print('x')\nlocal s = 'print(1)'", &[]),
            ("if (a) and (b) then end while (c) do end", &[]),
        ];
        for (source, expected) in table {
            let found: Vec<(String, u32)> =
                calls(source).iter().map(|call| (call.shown(), call.line)).collect();
            let expected: Vec<_> = expected.iter().map(|(name, line)| (name.to_string(), *line)).collect();
            assert_eq!(found, expected, "{source}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(source in "[ -~\n\\[\\]=\"'`\\\\é-]{0,80}") {
            mentions(&source);
            calls(&source);
        }
    }
}
