//! Active checks: when does an instance count as healthy?
//!
//! One lost packet must not remove an instance, and one successful check must not bring it back: it *falls* after a
//! number of failed checks in a row and *rises* after a number of successful ones, as in HAProxy. This module neither
//! sends checks nor decides what passes; [`Available::set_healthy`](super::Available::set_healthy) applies the changes
//! and handles the case that too few instances are healthy.

use crate::SettingsError;

/// The checks of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthState {
    rise: u32,
    fall: u32,
    healthy: bool,
    /// Consecutive checks with the opposite result.
    against: u32,
}

/// The change of state by the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthChange {
    /// Enough consecutive checks passed: the instance is healthy from now on.
    Rose {
        /// How many.
        passed: u32,
    },
    /// Enough consecutive checks failed: the instance is unhealthy from now on.
    Fell {
        /// How many.
        failed: u32,
    },
}

impl HealthState {
    /// Healthy at first: before the first check, the instance is assumed to work. It falls after `fall` failed checks
    /// (usually 3) and rises after `rise` that passed (usually 2).
    ///
    /// # Errors
    /// Zero of either.
    pub fn new(rise: u32, fall: u32) -> Result<Self, SettingsError> {
        for (field, count) in [("rise", rise), ("fall", fall)] {
            if count == 0 {
                return Err(SettingsError::ZeroCount { field });
            }
        }
        Ok(HealthState { rise, fall, healthy: true, against: 0 })
    }

    /// The same, but unhealthy until its checks have passed: for an instance that is added to a running fleet and may
    /// still be starting.
    pub fn unproven(self) -> Self {
        HealthState { healthy: false, against: 0, ..self }
    }

    /// Counts a check.
    pub fn checked(&mut self, passed: bool) -> Option<HealthChange> {
        if passed == self.healthy {
            self.against = 0;
            return None;
        }
        self.against += 1;
        let count = self.against;
        if count < if passed { self.rise } else { self.fall } {
            return None;
        }
        self.against = 0;
        self.healthy = passed;
        Some(if passed { HealthChange::Rose { passed: count } } else { HealthChange::Fell { failed: count } })
    }

    /// Whether the instance counts as healthy.
    pub const fn is_healthy(&self) -> bool {
        self.healthy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn rises_and_falls_after_so_many_checks_in_a_row() {
        use HealthChange::{Fell, Rose};
        // (checks: passed or failed; changes with the index of their check)
        let table: [(&str, &[(usize, HealthChange)]); 6] = [
            ("pppp", &[]),
            ("ffpffpff", &[]),
            ("fff", &[(2, Fell { failed: 3 })]),
            ("ffffff", &[(2, Fell { failed: 3 })]),
            ("fffpfpfp", &[(2, Fell { failed: 3 })]),
            ("fffppfff", &[(2, Fell { failed: 3 }), (4, Rose { passed: 2 }), (7, Fell { failed: 3 })]),
        ];
        for (checks, expected) in table {
            let mut state = HealthState::new(2, 3).unwrap();
            let changes: Vec<_> = checks
                .bytes()
                .enumerate()
                .filter_map(|(index, check)| Some((index, state.checked(check == b'p')?)))
                .collect();
            assert_eq!(changes, expected, "{checks}");
            let rose = !matches!(expected.last(), Some((_, Fell { .. })));
            assert_eq!(state.is_healthy(), rose, "{checks}");
        }
    }

    #[test]
    fn an_unproven_instance_has_to_pass_first() {
        let mut state = HealthState::new(2, 3).unwrap().unproven();
        assert!(!state.is_healthy());
        assert_eq!(state.checked(true), None);
        assert_eq!(state.checked(true), Some(HealthChange::Rose { passed: 2 }));
    }

    #[test]
    fn refuses_counts_of_zero() {
        assert!(HealthState::new(0, 1).is_err() && HealthState::new(1, 0).is_err());
    }
}
