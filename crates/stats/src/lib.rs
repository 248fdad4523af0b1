//! The mathematics that decisions need.
//!
//! `no_std`, and every transcendental function comes from `libm`, so that the same inputs give the same digits on
//! every machine.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod centre;
mod change_points;
mod components;
mod dispersion;
mod distance;
mod draw;
mod drift;
mod exact;
mod long_run;
mod rng;
mod rotation;
mod sketch;
mod split_mix;
mod spread;
mod student;
mod threshold;
mod ziggurat;

pub use centre::{Centre, Interval, LEAST, found_effect, planned_count};
pub use change_points::{ChangePoint, change_points};
pub use components::Components;
pub use dispersion::Dispersion;
pub use distance::{Count, Distance};
pub use draw::{Draw, NumberedRequests, Requests};
pub use drift::Drift;
pub use exact::{Share, more_often};
pub use long_run::LongRun;
pub use rng::Rng;
pub use rotation::{Contrast, half_widths};
pub use sketch::Sketch;
pub use split_mix::SplitMix;
pub use spread::{effective_spread, median, robust_scale};
pub use student::{share_limits, student_t, student_t_beyond};
pub use threshold::{Evidence, Threshold};
