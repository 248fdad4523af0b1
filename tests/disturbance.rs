//! Tests that measure, on a machine that others use too.

use host::{Disturbance, Sample};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Runs a test that measures time: again where it failed while the hypervisor gave this machine's processor time to
/// others, or while something waited for a processor most of the time, as beside other tests. Where neither was, or after
/// the last attempt, the test has failed. Not for tests of anything else: what is wrong now and then must not pass.
pub fn again_if_disturbed(test: impl Fn()) {
    const ATTEMPTS: u32 = 4;
    for attempt in 1..=ATTEMPTS {
        let before = Sample::now();
        let Err(failure) = catch_unwind(AssertUnwindSafe(&test)) else { return };
        let disturbance = Disturbance::between(&before, &Sample::now());
        let share = |ratio: Option<units::Ratio>| ratio.map_or(0.0, units::Ratio::get);
        let (stolen, waited) = (share(disturbance.stolen), share(disturbance.cpu_wait));
        if attempt == ATTEMPTS || (stolen < 0.002 && waited < 0.5) {
            resume_unwind(failure);
        }
        eprintln!(
            "attempt {attempt} failed while others had {:.1} % of the processor time and tasks waited for it for {:.0} % of the time",
            100.0 * stolen,
            100.0 * waited
        );
        // For a minute at most, until it is over.
        for _ in 0..30 {
            let before = Sample::now();
            std::thread::sleep(Duration::from_secs(2));
            if stolen_since(&before) < 0.02 {
                break;
            }
        }
    }
}

/// The share of this machine's processor time that the hypervisor gave to others.
fn stolen_since(before: &Sample) -> f64 {
    Disturbance::between(before, &Sample::now()).stolen.map_or(0.0, units::Ratio::get)
}
