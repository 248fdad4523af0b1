//! The rules that changed from one minor version of Kubernetes to another.
//!
//! ## Why only these
//! Each is a difference in what the same object does. Mistakes that were mended in patch releases of all versions
//! that were alive then (`selectPolicy: Min` that never scaled, the metrics of pods that end) are not reproduced:
//! nobody wants to simulate a cluster that nobody should run.

use core::fmt;

/// A minor version of Kubernetes: 1.18 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u16);

impl Version {
    /// The oldest whose rules are known here: the first with `behavior`.
    pub const OLDEST: Version = Version(18);
    /// The newest whose rules were read; a newer one is taken to be the same.
    pub const NEWEST: Version = Version(37);

    /// Version `1.minor`; `None` where it is older than [`Version::OLDEST`].
    pub const fn new(minor: u16) -> Option<Self> {
        if minor >= Version::OLDEST.0 { Some(Version(minor)) } else { None }
    }

    /// The minor number.
    pub const fn minor(self) -> u16 {
        self.0
    }

    /// Whether both stabilisation windows bound each recommendation (pull request 97348, 1.21). Before, only the
    /// window of the direction in which the recommendation pointed, so that an old one could scale the other way.
    pub(super) fn both_windows(self) -> bool {
        self.0 >= 21
    }

    /// Whether one metric that fails suppresses scaling down (issue 99394, 1.21).
    pub(super) fn a_failed_metric_blocks_scaling_down(self) -> bool {
        self.0 >= 21
    }

    /// Whether a rate policy counts what was scaled in both directions (pull request 109058, 1.25).
    pub(super) fn rates_count_both_directions(self) -> bool {
        self.0 >= 25
    }

    /// Whether a pod without metric counts as using the target where that is above its request (pull request
    /// 112178, 1.26). Before, as using its request.
    pub(super) fn missing_pods_use_the_target(self) -> bool {
        self.0 >= 26
    }

    /// Whether pods without metric are left out of an average that is exactly at its target (pull request 117845,
    /// 1.28). Before, they counted as using nothing.
    pub(super) fn averages_at_target_stay(self) -> bool {
        self.0 >= 28
    }

    /// Whether `behavior` may have tolerances of its own (alpha in 1.33, on by default from 1.35).
    pub(super) fn own_tolerances(self) -> bool {
        self.0 >= 33
    }
}

impl Default for Version {
    fn default() -> Self {
        Version::NEWEST
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}
