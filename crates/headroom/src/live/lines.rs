//! One plain line a second on standard error.

use super::pulse::{Pulse, errors};
use ::load::{Model, Plan};
use report::{grouped, quantile, rate};
use std::io::Write;
use units::Quantile;

/// Writes the last second as a line.
pub fn show(plan: &Plan, pulse: &Pulse) {
    super::heard(writeln!(std::io::stderr(), "{}", line(plan, pulse)));
}

fn line(plan: &Plan, pulse: &Pulse) -> String {
    let Some(last) = pulse.last() else { return String::new() };
    let now = &pulse.now;
    let at = |point| quantile(&pulse.recent, point);
    let mut line = format!(
        "{:>4.0} s  offered {}  answered {}  p50 {}  p95 {}  p99 {}  errors {} (all: {})  in flight {}",
        now.at.as_secs_f64(),
        rate(last.offered),
        rate(last.answered),
        at(Quantile::P50),
        at(Quantile::P95),
        at(Quantile::P99),
        grouped(last.errors),
        grouped(errors(&now.accounting)),
        grouped(now.in_flight),
    );
    if matches!(plan.model, Model::Open { .. }) {
        let delay = pulse.dispatch_delay();
        line += &format!("  waiting {}  dispatch delay p99 {delay}", grouped(now.waiting));
    }
    line
}
