//! The rules that changed between minor versions of Kubernetes.
//!
//! ## Why only these
//! Each changes the behaviour of the same object. Bugs that were fixed in patch releases of all versions supported at
//! that time (`selectPolicy: Min` that never scaled, the metrics of pods that end) are not reproduced: no cluster
//! should run these releases.

use core::fmt;

/// A minor version of Kubernetes: 1.18 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u16);

impl Version {
    /// The oldest supported version: the first with `behavior`.
    pub const OLDEST: Version = Version(18);
    /// The newest version whose rules were checked; a newer one is assumed to be the same.
    pub const NEWEST: Version = Version(37);

    /// Version `1.minor`; `None` where it is older than [`Version::OLDEST`].
    pub const fn new(minor: u16) -> Option<Self> {
        if minor >= Version::OLDEST.0 { Some(Version(minor)) } else { None }
    }

    /// The minor number.
    pub const fn minor(self) -> u16 {
        self.0
    }

    /// Whether both stabilisation windows limit each recommendation (pull request 97348, 1.21). Before, only the window
    /// for the recommendation's direction did, so that an old recommendation could scale in the other direction.
    pub(super) fn both_windows(self) -> bool {
        self.0 >= 21
    }

    /// Whether one failed metric suppresses scaling down (issue 99394, 1.21).
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

    /// Whether pods without metric are excluded from an average that is exactly at its target (pull request 117845,
    /// 1.28). Before, they counted as using nothing.
    pub(super) fn averages_at_target_stay(self) -> bool {
        self.0 >= 28
    }

    /// Whether `behavior` may have its own tolerances (alpha in 1.33, on by default from 1.35).
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
