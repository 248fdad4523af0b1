//! What people look at: tables for the terminal, and one page with pictures that needs nothing else.
//!
//! ## Why pictures from Rust
//! A report is mailed, archived and printed. So it is one file without scripts, fonts or addresses of others, its
//! lines differ in their strokes and not only in their colours, and each picture is drawn twice: once for wide
//! windows and once for narrow ones, so that its text is legible on both.
//!
//! The crate draws plain data and knows nothing of load, gateways or ledgers. All text that comes from outside is
//! escaped.
#![warn(missing_docs)]

mod html;
mod load_curve;
mod plot;
mod scale;
mod svg;
mod table;
mod timeline;

pub use html::{Chart, Report, Section, html};
pub use load_curve::{LoadCurve, Point, load_curve};
pub use svg::Drawing;
pub use table::{Align, Table, text};
pub use timeline::{Mark, Phase, Timeline, rates, response_times};
