//! A stage is the tree of the stage before it, merged with its own changes.
//!
//! ## Why trees and not settings
//! So a change may be of any key, is read and checked like the key itself, and a message shows the line of the change
//! if the change is wrong. Tables are merged key by key; other values are replaced; a key without a value removes the
//! key (as a JSON merge patch does, RFC 7396).

use yaml::{Key, Kind, Node};

/// The base, merged with the changes.
pub(super) fn merged(base: &Node, changes: &Node) -> Node {
    let (Kind::Table(old), Kind::Table(new)) = (&base.kind, &changes.kind) else { return changes.clone() };
    let mut entries: Vec<(Key, Node)> = old.clone();
    for (key, value) in new {
        let place = entries.iter().position(|(known, _)| known.name == key.name);
        match (place, &value.kind) {
            (Some(place), Kind::Empty) => {
                entries.remove(place);
            }
            (Some(place), _) => {
                let (known, found) = &mut entries[place];
                *found = merged(found, value);
                // A change of only the value is reported at the change.
                known.span = key.span.clone();
            }
            (None, _) => entries.push((key.clone(), value.clone())),
        }
    }
    // Keys that only the base has keep their places; the table itself keeps its own.
    Node { kind: Kind::Table(entries), span: base.span.clone(), inferred: false }
}

/// The tree without some of its keys.
pub(super) fn without(node: &Node, names: &[&str]) -> Node {
    let Kind::Table(entries) = &node.kind else { return node.clone() };
    let kept = entries.iter().filter(|(key, _)| !names.contains(&key.name.as_str())).cloned().collect();
    Node { kind: Kind::Table(kept), span: node.span.clone(), inferred: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yaml::tree;

    fn shown(node: &Node) -> String {
        match &node.kind {
            Kind::Empty => "~".to_owned(),
            Kind::Scalar(text) => text.clone(),
            Kind::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Kind::Table(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{}:{}", key.name, shown(value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn tables_are_merged_and_the_rest_is_replaced() {
        for (base, changes, whole) in [
            // A key in a table in a table.
            ("a: { b: { c: 1, d: 2 } }", "a: { b: { c: 3 } }", "{a:{b:{c:3 d:2}}}"),
            // A new key comes last.
            ("a: 1", "b: 2", "{a:1 b:2}"),
            // Lists are replaced, not added to.
            ("a: [1, 2]", "a: [3]", "{a:[3]}"),
            // A table replaces a value, and vice versa.
            ("a: 1", "a: { b: 2 }", "{a:{b:2}}"),
            ("a: { b: 2 }", "a: 1", "{a:1}"),
            // A key without a value removes the key, if present.
            ("a: { b: 1, c: 2 }", "a: { b: ~ }", "{a:{c:2}}"),
            ("a: 1", "a: ~", "{}"),
        ] {
            assert_eq!(shown(&merged(&tree(base).unwrap(), &tree(changes).unwrap())), whole, "{changes}");
        }
    }
}
