//! A stage is the tree of the one before it with its own changes put in.
//!
//! ## Why trees, and not settings
//! A change then may be of any key, is read and checked like the key itself, and a message shows the line of the
//! change where the change is wrong. Tables are merged key by key; anything else takes the place of what was there; a
//! key without a value takes the key away (as a JSON merge patch does, RFC 7396).

use yaml::{Key, Kind, Node};

/// The base with the changes put in.
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
                // A change of the value alone is blamed where it stands.
                known.span = key.span.clone();
            }
            (None, _) => entries.push((key.clone(), value.clone())),
        }
    }
    // Keys of tables that only the base has keep their places; the table itself is where it began.
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
            // An empty key takes the key away, where there is one.
            ("a: { b: 1, c: 2 }", "a: { b: ~ }", "{a:{c:2}}"),
            ("a: 1", "a: ~", "{}"),
        ] {
            assert_eq!(shown(&merged(&tree(base).unwrap(), &tree(changes).unwrap())), whole, "{changes}");
        }
    }
}
