//! Data: rows of a CSV or NDJSON file, one for each iteration.
//!
//! ## Why a row is a function of the arrival or the user
//! A cursor shared by all users would need a lock, and its rows would depend on timing. A row that follows from the
//! number of the arrival is the same on one machine and on ten, and so are the requests.

use super::value::Value;
use serde_json::{Map, Value as Json};
use stats::Rng;
use thiserror::Error;

/// Which row an iteration gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The n-th arrival gets the n-th row.
    InOrder,
    /// A random row, drawn from the user's seed; rows may repeat.
    Random,
    /// The n-th user keeps the n-th row.
    PerUser,
}

/// What happens after the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnEnd {
    /// The first row again.
    Repeat,
    /// No further iteration begins.
    Stop,
}

/// Rows with named columns.
#[derive(Debug, Clone)]
pub struct Feed {
    name: String,
    columns: Vec<String>,
    /// Row after row.
    cells: Vec<Value>,
    order: Order,
    on_end: OnEnd,
}

/// Why data cannot be read. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FeedError {
    /// There is no row.
    #[error("it has no rows")]
    NoRows,
    /// The first line does not name columns.
    #[error("line 1, column {column}: {name:?} is not a valid column name, or is a duplicate")]
    Header {
        /// The column.
        column: usize,
        /// What was found there.
        name: String,
    },
    /// A row has more or fewer columns than the header.
    #[error("line {line}, column {column}: the row has {found} of {expected} columns")]
    Columns {
        /// The line on which the row begins.
        line: u64,
        /// The first column that is missing or too many.
        column: u64,
        /// How many the row has.
        found: u64,
        /// How many the header has.
        expected: u64,
    },
    /// Not UTF-8.
    #[error("line {line}, column {column}: the text is not UTF-8")]
    Encoding {
        /// The line on which the row begins.
        line: u64,
        /// The column.
        column: u64,
    },
    /// A line that is not a JSON object.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// The line.
        line: u64,
        /// The character.
        column: u64,
        /// What is wrong with it.
        message: String,
    },
}

impl Feed {
    /// Reads comma-separated values (RFC 4180) whose first line names the columns.
    ///
    /// # Errors
    /// The first row whose columns differ from the header.
    pub fn csv(name: &str, text: &[u8], order: Order, on_end: OnEnd) -> Result<Self, FeedError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(text);
        let header = reader.headers().map_err(|error| csv_error(&error))?;
        let columns: Vec<String> = header.iter().map(|column| column.trim().to_owned()).collect();
        check_columns(&columns)?;
        let mut cells = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|error| csv_error(&error))?;
            cells.extend(row.iter().map(|cell| Value::text(cell.to_owned())));
        }
        Feed::checked(name, columns, cells, order, on_end)
    }

    /// Reads one JSON object per line. The first names the columns; later ones may have more, but not fewer.
    ///
    /// # Errors
    /// The first line that is not such an object.
    pub fn ndjson(name: &str, text: &[u8], order: Order, on_end: OnEnd) -> Result<Self, FeedError> {
        let mut columns: Vec<String> = Vec::new();
        let mut cells = Vec::new();
        for (line, bytes) in (1_u64..).zip(text.split(|&byte| byte == b'\n')) {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let wrong = |column: usize, message| FeedError::Json { line, column: column as u64, message };
            let row: Map<String, Json> = serde_json::from_slice(bytes).map_err(|error| {
                let text = error.to_string();
                wrong(error.column(), text.split(" at line ").next().unwrap_or(&text).to_owned())
            })?;
            if columns.is_empty() {
                columns = row.keys().cloned().collect();
                check_columns(&columns)?;
            }
            for column in &columns {
                let cell = row.get(column).ok_or_else(|| wrong(1, format!("`{column}` is missing")))?;
                cells.push(Value::of_json(cell));
            }
        }
        Feed::checked(name, columns, cells, order, on_end)
    }

    fn checked(
        name: &str,
        columns: Vec<String>,
        cells: Vec<Value>,
        order: Order,
        on_end: OnEnd,
    ) -> Result<Self, FeedError> {
        if cells.is_empty() {
            return Err(FeedError::NoRows);
        }
        Ok(Feed { name: name.to_owned(), columns, cells, order, on_end })
    }

    /// Its name in placeholders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows it has; at least one.
    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns.len()
    }

    /// The row of an iteration; `None` after the last.
    pub(crate) fn row(&self, user: u64, arrival: u64, rng: &mut Rng) -> Option<usize> {
        let rows = self.rows() as u64;
        let row = match self.order {
            Order::Random => return Some(rng.below(self.rows())),
            Order::InOrder => arrival,
            Order::PerUser => user,
        };
        (row < rows || self.on_end == OnEnd::Repeat).then_some((row % rows) as usize)
    }

    pub(crate) fn cell(&self, row: usize, column: usize) -> &Value {
        &self.cells[row * self.columns.len() + column]
    }
}

/// A column is referred to by its name, which a `}` would end.
fn check_columns(columns: &[String]) -> Result<(), FeedError> {
    for (index, name) in columns.iter().enumerate() {
        let unusable = name.is_empty() || name.contains('}') || name.chars().any(char::is_control);
        if unusable || columns[..index].contains(name) {
            return Err(FeedError::Header { column: index + 1, name: name.clone() });
        }
    }
    if columns.is_empty() {
        return Err(FeedError::Header { column: 1, name: String::new() });
    }
    Ok(())
}

fn csv_error(error: &csv::Error) -> FeedError {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => FeedError::Columns {
            line,
            column: (*expected_len).min(*len) + 1,
            found: *len,
            expected: *expected_len,
        },
        csv::ErrorKind::Utf8 { err, .. } => FeedError::Encoding { line, column: err.field() as u64 + 1 },
        // Reading from memory cannot fail, and nothing is deserialized or sought.
        _ => FeedError::NoRows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(error: Result<Feed, FeedError>) -> String {
        error.unwrap_err().to_string()
    }

    #[test]
    fn errors_name_line_and_column() {
        let csv = |text: &[u8]| told(Feed::csv("f", text, Order::InOrder, OnEnd::Repeat));
        assert_eq!(csv(b"a,b\n1,2\n1\n"), "line 3, column 2: the row has 1 of 2 columns");
        assert_eq!(csv(b"a,b\n1,2,3\n"), "line 2, column 3: the row has 3 of 2 columns");
        assert_eq!(csv(b"a,b\n1,\xff\n"), "line 2, column 2: the text is not UTF-8");
        assert_eq!(
            csv(b"a,a\n1,2\n"),
            "line 1, column 2: \"a\" is not a valid column name, or is a duplicate"
        );
        assert_eq!(csv(b"a\n"), "it has no rows");
        assert!(csv(b"").starts_with("line 1, column 1"));
        let json = |text: &[u8]| told(Feed::ndjson("f", text, Order::InOrder, OnEnd::Repeat));
        assert_eq!(json(b"{\"a\":1}\n\n{\"b\":1}\n"), "line 3, column 1: `a` is missing");
        assert!(json(b"{\"a\":1}\n{\"a\" 1}\n").starts_with("line 2, column 6: expected `:`"));
        assert!(json(b"[1]\n").starts_with("line 1, column "));
        assert!(json(b"{}\n").starts_with("line 1, column 1"));
        assert_eq!(json(b""), "it has no rows");
    }

    #[test]
    fn rows_follow_the_order() {
        let mut rng = Rng::new(1, "test");
        let feed = |order, on_end| Feed::csv("f", b"a\nx\ny\nz\n", order, on_end).unwrap();
        let in_order = feed(Order::InOrder, OnEnd::Stop);
        let rows: Vec<_> = (0..4).map(|arrival| in_order.row(9, arrival, &mut rng)).collect();
        assert_eq!(rows, [Some(0), Some(1), Some(2), None]);
        assert_eq!(feed(Order::InOrder, OnEnd::Repeat).row(0, 4, &mut rng), Some(1));
        assert_eq!(feed(Order::PerUser, OnEnd::Stop).row(2, 77, &mut rng), Some(2));
        assert_eq!(feed(Order::PerUser, OnEnd::Stop).row(3, 0, &mut rng), None);
        let random = feed(Order::Random, OnEnd::Repeat);
        let mut seen = [0; 3];
        (0..300).for_each(|_| seen[random.row(0, 0, &mut rng).unwrap()] += 1);
        assert!(seen.iter().all(|&count| count > 60), "{seen:?}");
    }

    #[test]
    fn quoted_cells_may_hold_commas_and_lines() {
        let text = b"\xef\xbb\xbfname,text\r\nJo,\"a, \"\"b\"\"\nc\"\r\n";
        let feed = Feed::csv("f", text, Order::InOrder, OnEnd::Repeat).unwrap();
        assert_eq!(feed.columns(), ["name", "text"]);
        assert_eq!(feed.cell(0, 1).as_str(), "a, \"b\"\nc");
    }
}
