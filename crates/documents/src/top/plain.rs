//! A gateway as plain tables.

use super::sections::{Section, sections, summary};
use crate::words::paragraph;
use report::{Table, Terminal, text as table_text};
use status::Status;

/// A gateway in tables for a terminal, one below the other.
pub fn text(title: &str, status: &Status, terminal: Terminal) -> String {
    paragraph(&format!("{title}   {}", summary(status)), terminal) + &tables(sections(status, None), terminal)
}

/// Sections as tables, each with its title.
pub(super) fn tables(sections: Vec<Section>, terminal: Terminal) -> String {
    let mut text = String::new();
    for section in sections {
        let mut table = Table::new(&section.columns);
        table.dispensable(section.dispensable);
        for row in section.rows {
            let tones: Vec<_> = row.iter().map(|cell| cell.tone).collect();
            table.row(row.into_iter().map(|cell| cell.text));
            tones.into_iter().enumerate().for_each(|(column, tone)| table.stress(column, tone));
        }
        text += &format!("\n{}\n{}", section.title, table_text(&table, terminal));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use status::{CopiesPaused, sample};

    #[test]
    fn a_gateway_in_plain_tables() {
        insta::assert_snapshot!(text("gateway on 127.0.0.1:9901", &sample::busy(), Terminal::PIPE));
    }

    #[test]
    fn the_first_line_says_who_paused_the_copies() {
        let paused = CopiesPaused { holder: "headroom experiment".to_owned(), left_s: 4.2 };
        let text = text("gateway", &Status { copies_paused: Some(paused), ..sample::busy() }, Terminal::PIPE);
        assert!(text.lines().next().unwrap().ends_with("   copies paused by headroom experiment"), "{text}");
    }
}
