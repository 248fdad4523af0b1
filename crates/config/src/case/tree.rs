//! Paths in the tree of a file, and setting the value at one.
//!
//! A variant, a point of a grid and a manifest of a patch are a tree with other values at some paths. They differ in what
//! happens to a key that is not there: a user who names one by hand has made a mistake, and a change that a program made
//! adds it.

use fields::suggestion;
use std::ops::Range;
use yaml::{Key, Kind, Node};

/// What happens to tables on the path that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// They are added; what is not a table becomes one.
    Added,
    /// They are refused.
    Refused,
}

/// Why a value was not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Where the path ends.
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) help: String,
}

/// A path in one word: `services.web.failures[0].every`.
pub(super) fn key_of(path: &[String]) -> String {
    path.iter().fold(String::new(), |key, part| joined(&key, part))
}

/// The parts of such a word; none if it is not a path.
pub(super) fn path_of(key: &str) -> Option<Vec<String>> {
    let mut path = Vec::new();
    for part in key.split('.') {
        let (name, items) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return None;
        }
        path.push(name.to_owned());
        for item in items.split_terminator(']') {
            let place: usize = item.strip_prefix('[')?.parse().ok()?;
            path.push(format!("[{place}]"));
        }
        if !(items.is_empty() || items.ends_with(']')) {
            return None;
        }
    }
    Some(path)
}

/// The place of an item in its list: `[2]`.
pub(super) fn index(part: &str) -> Option<usize> {
    part.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// The node at a path.
pub(super) fn at<'a, S: AsRef<str>>(node: &'a Node, path: &[S]) -> Option<&'a Node> {
    let Some((first, rest)) = path.split_first() else { return Some(node) };
    let first = first.as_ref();
    match (&node.kind, index(first)) {
        (Kind::List(items), Some(place)) => at(items.get(place)?, rest),
        (Kind::Table(entries), _) => at(&entries.iter().find(|(key, _)| key.name == *first)?.1, rest),
        _ => None,
    }
}

/// Sets a value; none removes the key. Problems with the value are shown at the one that it replaces, or at the table that
/// it is added to.
pub(super) fn set(
    node: &mut Node,
    path: &[String],
    value: Option<Node>,
    absent: Absent,
) -> Result<(), Wrong> {
    set_below(node, path, String::new(), value, absent)
}

fn set_below(
    node: &mut Node,
    path: &[String],
    above: String,
    value: Option<Node>,
    absent: Absent,
) -> Result<(), Wrong> {
    let span = node.span.clone();
    let [part, rest @ ..] = path else {
        // An item of a list is not removed: those after it would have other places.
        if let Some(value) = value {
            *node = moved(value, &span);
        }
        return Ok(());
    };
    let shown = if above.is_empty() { "the case".to_owned() } else { format!("`{above}`") };
    let wrong = |message: String, help: String| Err(Wrong { span: span.clone(), message, help });
    let item = index(part);
    if absent == Absent::Added && item.is_none() && !matches!(node.kind, Kind::Table(_)) {
        node.kind = Kind::Table(Vec::new());
    }
    match (&mut node.kind, item) {
        (Kind::Table(entries), None) => {
            let place = entries.iter().position(|(key, _)| key.name == *part);
            match (place, rest, value) {
                (Some(place), [], None) => drop(entries.remove(place)),
                (Some(place), rest, value) => {
                    return set_below(&mut entries[place].1, rest, joined(&above, part), value, absent);
                }
                (None, [], None) => {}
                (None, [_, ..], _) if absent == Absent::Refused => {
                    return wrong(
                        format!("{shown} has no key `{part}`"),
                        suggestion(part, entries.iter().map(|(key, _)| key.name.as_str())),
                    );
                }
                (None, _, None) => {}
                // A key that the file leaves at its default.
                (None, rest, Some(value)) => {
                    let mut added =
                        Node { kind: Kind::Table(Vec::new()), span: span.clone(), inferred: false };
                    let done = set_below(&mut added, rest, joined(&above, part), Some(value), absent);
                    entries.push((Key { name: part.clone(), span: span.clone() }, added));
                    return done;
                }
            }
            Ok(())
        }
        (Kind::List(items), Some(place)) => match items.len() {
            length if place >= length => wrong(
                format!("{shown} has {length} items"),
                format!("count from 0: at most {above}[{}]", length.max(1) - 1),
            ),
            _ => set_below(&mut items[place], rest, joined(&above, part), value, absent),
        },
        (kind, _) => {
            let help = if matches!(kind, Kind::List(_)) {
                format!("write {above}[0]")
            } else {
                format!("end the key at {above}")
            };
            wrong(format!("{shown} is {}, which has no `{part}`", kind.shown()), help)
        }
    }
}

/// A path with another part.
fn joined(path: &str, part: &str) -> String {
    let dot = if path.is_empty() || part.starts_with('[') { "" } else { "." };
    format!("{path}{dot}{part}")
}

/// The value with the span of what it stands for: its own is of another text.
fn moved(node: Node, span: &Range<usize>) -> Node {
    let kind = match node.kind {
        Kind::List(items) => Kind::List(items.into_iter().map(|item| moved(item, span)).collect()),
        Kind::Table(entries) => {
            let entry = |(key, value): (Key, Node)| (Key { span: span.clone(), ..key }, moved(value, span));
            Kind::Table(entries.into_iter().map(entry).collect())
        }
        plain => plain,
    };
    Node { kind, span: span.clone(), inferred: node.inferred }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "{ a: { b: [{ c: 1 }, 2] }, d: 3 }";

    fn after(key: &str, value: Option<&str>, absent: Absent) -> Result<Node, String> {
        let mut tree = yaml::tree(TREE).unwrap();
        let value = value.map(|text| yaml::tree(text).unwrap());
        match set(&mut tree, &path_of(key).unwrap(), value, absent) {
            Ok(()) => Ok(tree),
            Err(Wrong { message, help, .. }) => Err(format!("{message}; {help}")),
        }
    }

    fn is(found: &Node, text: &str) -> bool {
        super::super::vary::flow(found) == super::super::vary::flow(&yaml::tree(text).unwrap())
    }

    #[test]
    fn words_are_paths() {
        for key in ["a", "a.b[0].c", "a[1][2].b"] {
            assert_eq!(key_of(&path_of(key).unwrap()), key);
        }
        for key in ["", "a..b", "a[", "a[x]", "a[0]b", "[0]"] {
            assert_eq!(path_of(key), None, "{key}");
        }
    }

    #[test]
    fn values_take_the_place_of_others() {
        for absent in [Absent::Added, Absent::Refused] {
            for (key, value, found) in [
                ("a.b[0].c", Some("5"), "{ a: { b: [{ c: 5 }, 2] }, d: 3 }"),
                ("a.b[1]", Some("[7]"), "{ a: { b: [{ c: 1 }, [7]] }, d: 3 }"),
                ("a.b", None, "{ a: {}, d: 3 }"),
                ("a.new", Some("4"), "{ a: { b: [{ c: 1 }, 2], new: 4 }, d: 3 }"),
                ("a.new", None, TREE),
            ] {
                assert!(is(&after(key, value, absent).unwrap(), found), "{key}");
            }
        }
    }

    #[test]
    fn tables_that_are_not_there_are_added_or_refused() {
        let added = after("a.x.y", Some("4"), Absent::Added).unwrap();
        assert!(is(&added, "{ a: { b: [{ c: 1 }, 2], x: { y: 4 } }, d: 3 }"));
        assert!(is(
            &after("d.e", Some("4"), Absent::Added).unwrap(),
            "{ a: { b: [{ c: 1 }, 2] }, d: { e: 4 } }"
        ));
        for (key, said) in [
            ("a.x.y", "`a` has no key `x`"),
            ("a.b[2]", "`a.b` has 2 items; count from 0: at most a.b[1]"),
            ("a.b.c", "which has no `c`; write a.b[0]"),
            ("d.e", "which has no `e`; end the key at d"),
        ] {
            let found = after(key, Some("1"), Absent::Refused).unwrap_err();
            assert!(found.contains(said), "{found}");
        }
    }
}
