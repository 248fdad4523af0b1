//! One plain line a second on standard error.

use super::pulse::{Pulse, errors};
use crate::summary::{grouped, quantile};
use std::io::Write;
use units::{Quantile, show_duration};

/// Writes the last second as a line.
pub fn show(pulse: &Pulse) {
    // The story goes on where nobody listens to it.
    let _ = writeln!(std::io::stderr(), "{}", line(pulse));
}

fn line(pulse: &Pulse) -> String {
    let Some(last) = pulse.last() else { return String::new() };
    let now = &pulse.now;
    let at = |point| quantile(&last.response, point);
    let mut line = format!(
        "{:>4.0} s  offered {}  answered {}  p50 {}  p95 {}  p99 {}  errors {}  in flight {}  lag {}",
        now.at.as_secs_f64(),
        last.offered,
        last.answered,
        at(Quantile::P50),
        at(Quantile::P95),
        at(Quantile::P99),
        grouped(errors(&now.accounting)),
        grouped(now.in_flight),
        show_duration(now.lag),
    );
    if now.waiting > 0 {
        line += &format!("  waiting {}", grouped(now.waiting));
    }
    line
}
