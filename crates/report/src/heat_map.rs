//! The chart of a grid: a cell for each combination of values, darker where the figure is higher.
//!
//! Each cell has its number, so that nothing depends on the colour alone.

use crate::scale::show_number;
use crate::svg::{Anchor, Canvas, Drawing, Size, text_width};

/// A figure over two axes.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// The figure, such as `p95`.
    pub name: String,
    /// What the columns are.
    pub across: String,
    /// The values of the columns.
    pub columns: Vec<String>,
    /// The rows from the top: the value of each, and its cells in the order of the columns.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A cell: the value that determines its colour, if there is one, and how it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The value.
    pub value: Option<f64>,
    /// The same in text.
    pub text: String,
}

/// Draws the cells.
pub fn heat_map(map: &HeatMap) -> Drawing {
    Drawing::both(|size| draw(map, size))
}

fn draw(map: &HeatMap, size: Size) -> String {
    let values = map.rows.iter().flat_map(|(_, cells)| cells).filter_map(|cell| cell.value);
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let widest = map.rows.iter().map(|(name, _)| text_width(name)).fold(0.0, f64::max);
    let left = (widest + 8.0).min(size.width() / 2.0);
    let width = ((size.width() - left) / map.columns.len().max(1) as f64).min(WIDEST);
    let mut canvas = Canvas::default();
    for (row, (name, cells)) in map.rows.iter().enumerate() {
        let top = row as f64 * ROW;
        canvas.text("tick", (left - 8.0, top + ROW / 2.0 + 4.0), Anchor::End, name);
        for (column, cell) in cells.iter().enumerate() {
            let x = left + column as f64 * width;
            canvas.rect(class(cell.value, low, high), (x, top), (width - 1.0, ROW - 1.0));
            if text_width(&cell.text) < width {
                canvas.text("", (x + width / 2.0, top + ROW / 2.0 + 4.0), Anchor::Middle, &cell.text);
            }
        }
    }
    let below = map.rows.len() as f64 * ROW;
    let fits = map.columns.iter().all(|name| text_width(name) < width);
    for (column, name) in map.columns.iter().enumerate() {
        // Where not all fit, the first and the last show the direction.
        let (first, last) = (column == 0, column + 1 == map.columns.len());
        if fits || first || last {
            let x = left + (column as f64 + 0.5) * width;
            let anchor = match (fits, last) {
                (true, _) => Anchor::Middle,
                (false, true) => Anchor::End,
                (false, false) => Anchor::Start,
            };
            canvas.text("tick", (x, below + 16.0), anchor, name);
        }
    }
    let middle = left + map.columns.len() as f64 * width / 2.0;
    canvas.text("title", (middle, below + 34.0), Anchor::Middle, &map.across);
    let shows = match low <= high {
        true => format!("{} from {} to {}.", map.name, show_number(low), show_number(high)),
        false => "No data.".to_owned(),
    };
    canvas.finish(size, below + 44.0, &map.name, &shows)
}

/// One of five shades; cells without a value are empty.
fn class(value: Option<f64>, low: f64, high: f64) -> &'static str {
    match value {
        Some(value) if value.is_finite() => {
            let share = if high > low { (value - low) / (high - low) } else { 0.0 };
            SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
        }
        _ => "heat none",
    }
}

const SHADES: [&str; 5] = ["heat one", "heat two", "heat three", "heat four", "heat five"];
const ROW: f64 = 28.0;
/// The widest cell: a grid with few columns is not stretched.
const WIDEST: f64 = 120.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_cell_is_darkest_and_a_cell_without_a_value_is_empty() {
        let cell = |value: Option<f64>| Cell {
            value,
            text: value.map_or("-".to_owned(), |value| value.to_string()),
        };
        let map = HeatMap {
            name: "p95".to_owned(),
            across: "users".to_owned(),
            columns: vec!["1".to_owned(), "2".to_owned(), "3".to_owned()],
            rows: vec![("a".to_owned(), vec![cell(Some(1.0)), cell(None), cell(Some(9.0))])],
        };
        let drawn = heat_map(&map).wide;
        let classes: Vec<&str> =
            drawn.lines().filter_map(|line| line.strip_prefix("<rect class=\"heat ")).collect();
        let names: Vec<&str> = classes.iter().filter_map(|line| line.split('"').next()).collect();
        assert_eq!(names, ["one", "none", "five"], "{drawn}");
        // Equal values have no direction.
        assert_eq!(class(Some(2.0), 2.0, 2.0), "heat one");
    }
}
