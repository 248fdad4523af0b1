//! Tables: aligned text for the terminal.

use crate::fold::{fold, fold_numbers, longest_number};
use crate::terminal::{Terminal, Tone};

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
    /// Cells that strike the eye: row, column and how.
    tones: Vec<(usize, usize, Tone)>,
    /// Columns that a narrow terminal does without, the first first.
    dispensable: Vec<usize>,
}

impl Table {
    /// An empty table with these headings.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Table { columns, rows: Vec::new(), tones: Vec::new(), dispensable: Vec::new() }
    }

    /// Adds a row; missing cells are empty, cells without a heading are left out.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How the cell of a column of the last row strikes the eye.
    pub fn stress(&mut self, column: usize, tone: Tone) {
        if let Some(row) = self.rows.len().checked_sub(1) {
            self.tones.push((row, column, tone));
        }
    }

    /// Names the columns that a terminal which is too narrow for the table leaves out, the first first.
    pub fn dispensable(&mut self, names: &[&str]) {
        let place = |name: &&str| self.columns.iter().position(|(known, _)| known == name);
        self.dispensable = names.iter().filter_map(place).collect();
    }

    fn tone(&self, row: usize, column: usize) -> Tone {
        let found = self.tones.iter().rev().find(|each| (each.0, each.1) == (row, column));
        found.map_or(Tone::Plain, |each| each.2)
    }
}

/// The table as lines that fit the terminal, columns two spaces apart. Where it is too wide, these give, in this order,
/// until it fits: lists of numbers, then cells of words, are folded; columns that the table can do without are left out;
/// the columns stand in blocks below each other, each block with the first column again. A number is never broken.
pub fn text(table: &Table, terminal: Terminal) -> String {
    let shape = Shape::of(table);
    let mut columns: Vec<usize> = (0..table.columns.len()).collect();
    for &column in &table.dispensable {
        if shape.least(&columns) > terminal.width {
            columns.retain(|&each| each != column);
        }
    }
    let blocks = shape.blocks(&columns, terminal.width);
    let blocks = blocks.iter().map(|columns| {
        let widths = shape.fitted(columns, terminal.width);
        block(table, columns, &widths, terminal)
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// The columns of a table that stand beside each other, each at most so wide.
fn block(table: &Table, columns: &[usize], widths: &[usize], terminal: Terminal) -> String {
    let headings = columns.iter().zip(widths).map(|(&column, &width)| fold(&table.columns[column].0, width));
    let fold_row = |cells: &Vec<String>| -> Vec<Vec<String>> {
        let places = columns.iter().zip(widths);
        places.map(|(&column, &width)| folded(&cells[column], table.columns[column].1, width)).collect()
    };
    let rows: Vec<Vec<Vec<String>>> =
        std::iter::once(headings.collect()).chain(table.rows.iter().map(fold_row)).collect();
    // Folded cells may need less than they could have.
    let length = |line: &String| line.chars().count();
    let widths: Vec<usize> = (0..columns.len())
        .map(|place| rows.iter().flat_map(|row| &row[place]).map(length).max().unwrap_or(0))
        .collect();
    let mut said = String::new();
    for (place, row) in rows.iter().enumerate() {
        let height = row.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let mut text = String::new();
            // Spaces stay back until something follows them.
            let mut spaces = 0;
            for ((&column, &width), lines) in columns.iter().zip(&widths).zip(row) {
                let part = lines.get(line).map_or("", String::as_str);
                let padding = width - part.chars().count();
                let right = table.columns[column].1 == Align::Right;
                if part.is_empty() {
                    spaces += padding;
                } else {
                    let tone = place.checked_sub(1).map_or(Tone::Plain, |row| table.tone(row, column));
                    text += &" ".repeat(spaces + if right { padding } else { 0 });
                    text += &terminal.paint(tone, part);
                    spaces = if right { 0 } else { padding };
                }
                spaces += GAP.len();
            }
            said.push_str(text.trim_end());
            said.push('\n');
        }
    }
    said
}

fn folded(cell: &str, align: Align, width: usize) -> Vec<String> {
    let cell = printable(cell);
    match align {
        _ if cell.chars().count() <= width => vec![cell],
        Align::Left => fold(&cell, width),
        Align::Right => fold_numbers(&cell, width),
    }
}

/// How wide the columns of a table want to be, and how narrow they can be.
struct Shape {
    words: Vec<bool>,
    whole: Vec<usize>,
    /// Room for the longest word.
    unbroken: Vec<usize>,
    least: Vec<usize>,
}

impl Shape {
    fn of(table: &Table) -> Self {
        let words: Vec<bool> = table.columns.iter().map(|column| column.1 == Align::Left).collect();
        let headings = table.columns.iter().map(|(name, _)| name);
        let mut whole: Vec<usize> = headings.clone().map(|name| name.chars().count()).collect();
        let mut unbroken: Vec<usize> = headings.map(|name| longest_word(name)).collect();
        for row in &table.rows {
            for (column, cell) in row.iter().enumerate() {
                whole[column] = whole[column].max(cell.chars().count());
                let longest = if words[column] { longest_word(cell) } else { longest_number(cell) };
                unbroken[column] = unbroken[column].max(longest);
            }
        }
        let least = unbroken.iter().zip(&words);
        let least = least.map(|(&width, &words)| if words { width.min(LONGEST_WORD) } else { width });
        let least = least.collect();
        Shape { words, whole, unbroken, least }
    }

    /// The least width of these columns beside each other.
    fn least(&self, columns: &[usize]) -> usize {
        sum(columns.iter().map(|&column| self.least[column]))
    }

    /// The columns in as few blocks as fit; the first column begins each.
    fn blocks(&self, columns: &[usize], width: usize) -> Vec<Vec<usize>> {
        let Some((&first, rest)) = columns.split_first() else { return vec![Vec::new()] };
        let mut blocks = vec![vec![first]];
        for &column in rest {
            let Some(block) = blocks.last_mut() else { break };
            block.push(column);
            if block.len() > 2 && self.least(block) > width {
                block.pop();
                blocks.push(vec![first, column]);
            }
        }
        blocks
    }

    /// The width of each of these columns: lists of numbers, of which few cells of a column are, are broken first; then
    /// the widest columns of words give; then their longest words are broken.
    fn fitted(&self, columns: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = columns.iter().map(|&column| self.whole[column]).collect();
        for (words, least) in [(false, &self.least), (true, &self.unbroken), (true, &self.least)] {
            while sum(widths.iter().copied()) > width {
                let able = (0..columns.len()).filter(|&place| {
                    let column = columns[place];
                    self.words[column] == words && widths[place] > least[column]
                });
                match able.max_by_key(|&place| widths[place]) {
                    Some(widest) => widths[widest] -= 1,
                    None => break,
                }
            }
        }
        widths
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0)
}

fn sum(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    widths.sum::<usize>() + gaps
}

/// Control characters from external text, such as a URL, must not reach the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

const GAP: &str = "  ";
/// Longer words, such as URLs, are broken where the terminal is narrow.
const LONGEST_WORD: usize = 15;

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
            text(&runs(), Terminal::of_width(100)),
            "id   target                                 p95\n\
             r1   http://127.0.0.1:8080/a/long/path  18.6 ms\n\
             r12  http://127.0.0.1:8080/              1.20 s\n"
        );
    }

    #[test]
    fn words_are_folded_to_the_width_and_numbers_never() {
        assert_eq!(
            text(&runs(), Terminal::of_width(36)),
            "id   target                      p95\n\
             r1   http://127.0.0.1:8080/  18.6 ms\n     a/long/path\n\
             r12  http://127.0.0.1:8080/   1.20 s\n"
        );
        assert!(text(&runs(), Terminal::of_width(0)).contains("18.6 ms"));
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_or_stand_below() {
        let mut table = Table::new(&[("stage", Align::Left), ("p50", Align::Right), ("p95", Align::Right)]);
        table.row(["calm", "18.6 ms", "~155 ms, 4 above"]);
        assert_eq!(
            text(&table, Terminal::of_width(26)),
            "stage      p50       p95\ncalm   18.6 ms  ~155 ms,\n                 4 above\n"
        );
        assert_eq!(
            text(&table, Terminal::of_width(18)),
            "stage      p50\ncalm   18.6 ms\n\nstage       p95\ncalm   ~155 ms,\n        4 above\n"
        );
        table.dispensable(&["p50"]);
        assert!(!text(&table, Terminal::of_width(18)).contains("p50"));
        assert!(text(&table, Terminal::of_width(80)).contains("p50"));
    }

    #[test]
    fn a_stressed_cell_is_as_wide_as_any() {
        let mut table = Table::new(&[("row", Align::Left), ("verdict", Align::Left), ("", Align::Left)]);
        table.row(["a", "met", "required"]);
        table.stress(1, Tone::Good);
        let shown = text(&table, Terminal { width: 80, colours: true });
        assert_eq!(shown, "row  verdict\na    \u{1b}[32mmet\u{1b}[0m      required\n");
        assert_eq!(text(&table, Terminal::PIPE), "row  verdict\na    met      required\n");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut table = Table::new(&[("target", Align::Left)]);
        table.row(["\u{1b}[2Jhello\n"]);
        assert_eq!(text(&table, Terminal::of_width(80)), "target\n\u{fffd}[2Jhello\u{fffd}\n");
    }

    #[test]
    fn odd_tables_are_harmless() {
        assert_eq!(text(&Table::new(&[]), Terminal::PIPE), "\n");
        let mut table = Table::new(&[("a", Align::Left), ("b", Align::Right)]);
        table.row(["1"]);
        table.row(["1", "2", "3"]);
        assert_eq!(text(&table, Terminal::of_width(80)), "a  b\n1\n1  2\n");
    }
}
