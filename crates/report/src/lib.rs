//! What people look at: tables for the terminal, and one page with pictures that needs nothing else; and the files
//! that other tools read: CSV, HdrHistogram's logs and distributions, Markdown.
//!
//! ## Why pictures from Rust
//! A report is mailed, archived and printed. So it is one file without scripts, fonts or addresses of others, its
//! lines differ in their strokes and not only in their colours, and each picture is drawn twice: once for wide
//! windows and once for narrow ones, so that its text is legible on both.
//!
//! The crate draws plain data and knows nothing of load, gateways or ledgers. All text that comes from outside is
//! escaped.
#![warn(missing_docs)]

pub mod csv;
mod fleet;
mod hdr;
pub mod hgrm;
pub mod hlog;
mod html;
mod load_curve;
pub mod markdown;
mod over_time;
mod plot;
mod quantile_curve;
#[cfg(test)]
mod sample;
mod scale;
mod svg;
mod table;
mod timeline;
mod trials;
mod words;

pub use fleet::{FleetMinute, Highest, fleet};
pub use html::{Chart, Notice, Report, Section, Share, html};
pub use load_curve::{LoadCurve, Point, load_curve};
pub use quantile_curve::quantile_curve;
pub use svg::Drawing;
pub use table::{Align, Table, text};
pub use timeline::{Mark, Phase, Timeline, load_over_time, rates, response_times};
pub use trials::{Band, TrialPoint, Trials, trials};
pub use words::{grouped, quantile, rate, time};
