//! Keys by which requests are grouped.

use fields::{At, Read, Report, Text, place, schema_of_word_or_table, tables};
use yaml::{Kind, Node};

tables! {
    /// A key by which requests are grouped: one of `header` and `cookie`.
    FileKeyTable {
        /// The value of this header field.
        header: Option<At<Text>>,
        /// The value of this cookie.
        cookie: Option<At<Text>>,
    }
}

/// A key by which requests are grouped: `client`, or a table.
#[derive(Debug)]
pub(crate) enum FileKey {
    Client,
    Table(FileKeyTable),
}

impl FileKey {
    /// The notations, for a message.
    pub(crate) const HELP: &'static str = "write `client`, `{ header: X-Api-Key }` or `{ cookie: sid }`";
}

impl Read for FileKey {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(word) if word == "client" => Some(FileKey::Client),
            Kind::Scalar(word) => {
                let message = format!("expected `client`, a header or a cookie, found `{word}`");
                report.wrong(&place(node, path), message, "this value", FileKey::HELP.to_owned());
                None
            }
            _ => FileKeyTable::read(node, path, report).map(FileKey::Table),
        }
    }
}

schema_of_word_or_table!(FileKey, { "const": "client" }, FileKeyTable);
