//! Tables: aligned text for the terminal.

/// The alignment of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows and columns of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub(crate) columns: Vec<(String, Align)>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headings.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, cells without a heading are left out.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }
}

/// The table as lines of at most `width` characters: columns two spaces apart. If that is too wide, the widest column
/// of words is cut, and its cut cells end in `…`. Numbers are never cut, so a table with many of them may still be
/// wider.
pub fn text(table: &Table, width: usize) -> String {
    let widths = fitted(table, width);
    let headings: Vec<String> = table.columns.iter().map(|(name, _)| name.clone()).collect();
    let mut lines = String::new();
    for cells in std::iter::once(&headings).chain(&table.rows) {
        let mut line = String::new();
        for ((cell, &width), &(_, align)) in cells.iter().zip(&widths).zip(&table.columns) {
            let cell = cut(&printable(cell), width);
            let padding = " ".repeat(width - cell.chars().count());
            match align {
                Align::Left => line.extend([&cell, padding.as_str()]),
                Align::Right => line.extend([padding.as_str(), &cell]),
            }
            line.push_str(GAP);
        }
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    lines
}

fn fitted(table: &Table, width: usize) -> Vec<usize> {
    let length = |text: &String| text.chars().count();
    let mut widths: Vec<usize> = table.columns.iter().map(|(name, _)| length(name)).collect();
    let least = widths.clone();
    for row in &table.rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = length(cell).max(*width);
        }
    }
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let words = (0..widths.len()).filter(|&i| table.columns[i].1 == Align::Left);
        match words.filter(|&i| widths[i] > least[i].max(LEAST_WORDS)).max_by_key(|&i| widths[i]) {
            Some(widest) => widths[widest] -= 1,
            None => break,
        }
    }
    widths
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Control characters from external text, such as a URL, must not reach the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

const GAP: &str = "  ";
/// Words that are cut further than this are not understandable.
const LEAST_WORDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Table {
        let mut table = Table::new(&[("id", Align::Left), ("target", Align::Left), ("p95", Align::Right)]);
        table.row(["r1", "http://127.0.0.1:8080/a/long/path", "18.6 ms"]);
        table.row(["r12", "http://127.0.0.1:8080/", "1.20 s"]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            text(&runs(), 100),
            "id   target                                 p95\n\
             r1   http://127.0.0.1:8080/a/long/path  18.6 ms\n\
             r12  http://127.0.0.1:8080/              1.20 s\n"
        );
    }

    #[test]
    fn words_are_cut_to_the_width_and_numbers_never() {
        let narrow = text(&runs(), 30);
        assert!(narrow.lines().all(|line| line.chars().count() <= 30), "{narrow}");
        assert!(narrow.contains("http://127.0.0.…  18.6 ms"), "{narrow}");
        assert!(text(&runs(), 0).contains("18.6 ms"));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut table = Table::new(&[("target", Align::Left)]);
        table.row(["\u{1b}[2Jhello\n"]);
        assert_eq!(text(&table, 80), "target\n\u{fffd}[2Jhello\u{fffd}\n");
    }

    #[test]
    fn odd_tables_are_harmless() {
        assert_eq!(text(&Table::new(&[]), 80), "\n");
        let mut table = Table::new(&[("a", Align::Left), ("b", Align::Right)]);
        table.row(["1"]);
        table.row(["1", "2", "3"]);
        assert_eq!(text(&table, 80), "a  b\n1\n1  2\n");
    }
}
