//! Output for people: tables for the terminal, and one self-contained page with charts; and files for other tools: CSV,
//! HdrHistogram's logs and distributions, Markdown.
//!
//! ## Why charts are drawn in Rust
//! A report is mailed, archived and printed. So it is one file without scripts, fonts or external addresses, its lines
//! differ in their strokes and not only in their colours, and each chart is drawn twice: once for wide windows and once
//! for narrow ones, so that its text is legible on both.
//!
//! The crate draws plain data and is independent of load, gateways and ledgers. All external text is escaped.
#![warn(missing_docs)]

mod blocks;
pub mod csv;
mod fleet;
mod fold;
mod hdr;
mod heat_map;
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
mod terminal;
mod timeline;
mod trials;
mod words;

pub use blocks::{Blocks, Unit, blocks};
pub use fleet::{FleetMinute, Highest, fleet, fleet_beside};
pub use fold::fold;
pub use heat_map::{Cell, HeatMap, heat_map};
pub use html::{Chart, Notice, Report, Section, Share, html};
pub use load_curve::{LoadCurve, Point, load_curve};
pub use quantile_curve::quantile_curve;
pub use svg::Drawing;
pub use table::{Align, Table, text};
pub use terminal::{Terminal, Tone};
pub use timeline::{Mark, Phase, Timeline, load_over_time, points_are_joined, rates, response_times};
pub use trials::{Band, TrialPoint, Trials, trials};
pub use words::{grouped, quantile, rate, time};
