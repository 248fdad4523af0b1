//! A gateway as plain tables.

use super::sections::{sections, summary};
use report::{Table, text as table_text};
use status::Status;

/// A gateway in tables, one below the other, each at most `width` columns wide where its words allow it.
pub fn text(title: &str, status: &Status, width: usize) -> String {
    let mut text = format!("{title}   {}\n", summary(status));
    for section in sections(status, None) {
        let mut table = Table::new(&section.columns);
        for row in section.rows {
            table.row(row.into_iter().map(|cell| cell.text));
        }
        text += &format!("\n{}\n{}", section.title, table_text(&table, width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use status::sample;

    #[test]
    fn a_gateway_in_plain_tables() {
        insta::assert_snapshot!(text("gateway on 127.0.0.1:9901", &sample::busy(), usize::MAX));
    }
}
