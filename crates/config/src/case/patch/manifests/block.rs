//! A tree as YAML in block style.

use std::fmt::Write;
use yaml::{Kind, Node};

/// A document in block style.
pub(super) fn document(node: &Node) -> String {
    let mut text = String::new();
    block(node, 0, &mut text);
    text
}

fn block(node: &Node, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    match &node.kind {
        Kind::Table(entries) => {
            for (key, value) in entries {
                // Writing to a string cannot fail.
                let _ = write!(text, "{margin}{}:", key_text(&key.name));
                below(value, indent + 2, text);
            }
        }
        Kind::List(items) => {
            for item in items {
                let mut inner = String::new();
                block(item, indent + 2, &mut inner);
                let _ = write!(text, "{margin}- {}", inner.trim_start_matches(' '));
            }
        }
        Kind::Empty | Kind::Scalar(_) => {
            let _ = writeln!(text, "{margin}{}", value_text(node));
        }
    }
}

fn below(value: &Node, indent: usize, text: &mut String) {
    match &value.kind {
        Kind::Table(entries) if entries.is_empty() => text.push_str(" {}\n"),
        Kind::List(items) if items.is_empty() => text.push_str(" []\n"),
        Kind::Table(_) | Kind::List(_) => {
            text.push('\n');
            block(value, indent, text);
        }
        Kind::Empty | Kind::Scalar(_) => {
            let _ = writeln!(text, " {}", value_text(value));
        }
    }
}

fn value_text(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar(text) if node.inferred => text.clone(),
        Kind::Scalar(text) => crate::write::quoted(text),
        _ => "null".to_owned(),
    }
}

fn key_text(name: &str) -> String {
    crate::write::quoted(name)
}
