//! Kubernetes' tests of its horizontal pod autoscaler: what one metric asks for, and what becomes of it.

pub mod behaviors;
pub mod calculator;

use super::reading::{At, Problem};
use std::time::Duration;
use units::Timestamp;

/// Long enough after the beginning for everything that a case says was before.
const NOW: Timestamp = Timestamp::from_secs(100_000_000);

/// An instant that a case gives as an age in seconds.
fn ago(case: &At, field: &str) -> Result<Timestamp, Problem> {
    let age = case.field(field)?;
    let span = Duration::try_from_secs_f64(age.number()?);
    span.map(|span| NOW - span).map_err(|_| age.problem("an age is a number of seconds from 0 on"))
}
