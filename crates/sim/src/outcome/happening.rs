//! Events of instances.

use crate::cloud::Shortage;
use std::fmt;

/// An event of a service's instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// Instances could not be launched. Recorded once; they are launched when there is capacity again.
    Unfulfilled {
        /// How many are missing.
        missing: u32,
        /// Why.
        shortage: Shortage,
    },
    /// A deployment began.
    DeploymentBegan {
        /// Its number, from 1.
        version: u32,
    },
    /// All instances are of the new version.
    DeploymentEnded {
        /// Its number, from 1.
        version: u32,
    },
    /// A deployment that may neither stop an old instance nor start a new one.
    DeploymentStuck {
        /// Its number, from 1.
        version: u32,
    },
    /// Instances failed.
    Failed {
        /// How many.
        instances: u32,
    },
    /// A zone was lost.
    ZoneLost {
        /// Its name.
        zone: String,
        /// How many instances failed.
        instances: u32,
    },
    /// A lost zone is back; instances are launched there again.
    ZoneBack {
        /// Its name.
        zone: String,
    },
    /// The instances' credits are spent: they are limited to about their baseline.
    HeldAtBaseline {
        /// How many.
        instances: u32,
    },
    /// They have credits again.
    HeldNoMore,
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happening::Unfulfilled { missing, shortage } => {
                write!(f, "Unfulfilled: {shortage}; {missing} not launched")
            }
            Happening::DeploymentBegan { version } => write!(f, "deployment {version} began"),
            Happening::DeploymentEnded { version } => {
                write!(f, "deployment {version} ended: all instances replaced")
            }
            Happening::DeploymentStuck { version } => write!(
                f,
                "deployment {version} cannot begin: it may neither stop an old instance nor start a new one; lower \
                 `least_healthy` or raise `most`"
            ),
            Happening::Failed { instances } => write!(f, "{instances} failed"),
            Happening::ZoneLost { zone, instances } => {
                write!(f, "zone {zone} lost: {instances} instances failed")
            }
            Happening::ZoneBack { zone } => write!(f, "zone {zone} is back"),
            Happening::HeldAtBaseline { instances } => {
                write!(f, "credits spent: {instances} held near the baseline")
            }
            Happening::HeldNoMore => f.write_str("credits again: none held at the baseline"),
        }
    }
}
