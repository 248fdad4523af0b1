//! Active checks of a service's instances, with the gateway's thresholds.
//!
//! As in the gateway, the instances of the beginning are healthy until their checks fail, and those that are added later
//! are unhealthy until they have passed. Only one check of an instance runs at a time. Changes are seen at the next tick,
//! every tenth of a second.

use crate::settings::HealthChecks;
use control::balance::{HealthState, InstanceId};
use units::Timestamp;

/// The checks of a service.
#[derive(Debug)]
pub(super) struct Health {
    checks: HealthChecks,
    first: HealthState,
    /// By slot.
    instances: Vec<Option<Checked>>,
}

#[derive(Debug, Clone, Copy)]
struct Checked {
    state: HealthState,
    /// When the next check begins.
    next: Timestamp,
    /// When the present check fails.
    fails: Option<Timestamp>,
}

impl Health {
    /// None for contradictory settings, which are among [`System::problems`](crate::settings::System::problems).
    pub(super) fn new(checks: HealthChecks) -> Option<Self> {
        let first = HealthState::new(checks.healthy_after, checks.unhealthy_after).ok()?;
        Some(Health { checks, first, instances: Vec::new() })
    }

    /// Checks a new instance from now on; returns whether it is healthy.
    pub(super) fn added(&mut self, now: Timestamp, slot: u32) -> bool {
        let place = slot as usize;
        if self.instances.len() <= place {
            self.instances.resize(place + 1, None);
        }
        let state = if now == Timestamp::ZERO { self.first } else { self.first.unproven() };
        self.instances[place] = Some(Checked { state, next: now, fails: None });
        state.is_healthy()
    }

    pub(super) fn removed(&mut self, slot: u32) {
        if let Some(checked) = self.instances.get_mut(slot as usize) {
            *checked = None;
        }
    }

    /// Ends and begins the checks that are due, and passes each change to `change`.
    pub(super) fn tick(
        &mut self,
        now: Timestamp,
        responds: impl Fn(u32) -> bool,
        mut change: impl FnMut(InstanceId, bool),
    ) {
        for (slot, checked) in (0..).zip(&mut self.instances) {
            let Some(Checked { state, next, fails }) = checked else { continue };
            let mut result = fails.take_if(|at| *at <= now).map(|_| false);
            if fails.is_none() && *next <= now {
                *next = now + self.checks.interval;
                if responds(slot) {
                    result = Some(true);
                } else {
                    *fails = Some(now + self.checks.timeout);
                }
            }
            if result.is_some_and(|passed| state.checked(passed).is_some()) {
                change(InstanceId(slot), state.is_healthy());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The times in tenths of a second at which the instance changes, checked each second.
    fn changes(added: u64, fails_at: u64) -> Vec<(u64, bool)> {
        let checks = HealthChecks {
            interval: Duration::from_secs(1),
            timeout: Duration::from_millis(300),
            healthy_after: 2,
            unhealthy_after: 3,
        };
        let mut health = Health::new(checks).expect("counts above zero");
        let mut found = Vec::new();
        for tenth in added..200 {
            let now = Timestamp::ZERO + Duration::from_millis(100 * tenth);
            if tenth == added {
                assert_eq!(health.added(now, 0), added == 0);
            }
            health.tick(now, |_| tenth < fails_at, |_, healthy| found.push((tenth, healthy)));
        }
        found
    }

    #[test]
    fn an_instance_falls_and_rises_after_its_thresholds() {
        // Healthy from the beginning; the checks at 5, 6 and 7 s fail, the last after its time-out.
        assert_eq!(changes(0, 50), [(73, false)]);
        // Added later: the checks at 2 and 3 s pass.
        assert_eq!(changes(20, 1000), [(30, true)]);
        assert_eq!(changes(20, 0), []);
    }
}
