//! A running gateway, as sections of cells: for a screen that redraws itself, and for plain tables.

mod history;
mod plain;
mod scaler;
mod sections;

pub use history::History;
pub use plain::text;
pub use scaler::{scaler_sections, scaler_summary, scaler_text};
pub use sections::{Cell, Section, sections, summary};
pub(crate) use sections::{bound_of, for_so_long, millis, now_of, percent};
