//! In which way arms share the time and the machines.
//!
//! - Arms that run at once see the same traffic, the same hour and the same neighbors, and only differences remain (Bulej
//!   and others, "Duet benchmarking", ICPE 2020: five times as accurate on average).
//! - Arms that use the same database slow each other down, and a comparison at the same time is wrong, even in its sign.
//!   Then they take turns (Bojinov, Simchi-Levi and Zhao, "Design and analysis of switchback experiments", Management
//!   Science 69, 2023), and the first part of each turn is not measured.
//! - Alternating blocks are in random order, because a drift favors the second (Abedi and Brecht, "Conducting repeatable
//!   experiments in highly variable cloud computing environments", ICPE 2017).
//! - If a restart changes the level for as long as the process lives, more blocks of the same two processes measure the
//!   restarts and not the change (Zhang and others, "Treadmill", ISCA 2016).

use core::fmt;

/// How a trial is arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// All arms at once, with copies of the same requests.
    Duet,
    /// One arm after the other in random order, without a pause.
    Alternating,
    /// As `Alternating`; the first part of each turn is not measured.
    Slices,
    /// As `Slices`; each arm is restarted before its part.
    Restarts,
}

/// Why a design was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// The arms can run at once and share nothing.
    AtOnce,
    /// They cannot run at once, and an arm is at its level as soon as it takes over.
    InTurns,
    /// They share something that both load.
    Shared,
    /// They cannot run at once, and an arm needs time to reach its level.
    CarriesOver,
    /// Restarts differ more than blocks of one process.
    RestartsDiffer {
        /// The standard deviation between restarts, as a difference of the primary measure.
        between: f64,
        /// That of the blocks of one process.
        within: f64,
        /// The probability that equal restarts differ this much.
        p: f64,
    },
    /// Probes found that the control is slower, or faster, while the others run.
    Disturbed {
        /// The change of the control's primary measure, at least; in the unit of its effect.
        at_least: f64,
    },
}

impl Design {
    /// Whether all arms run at the same time.
    pub fn is_at_once(self) -> bool {
        self == Design::Duet
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Design::Duet => "duet",
            Design::Alternating => "alternating blocks",
            Design::Slices => "time slices",
            Design::Restarts => "restarts",
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::AtOnce => f.write_str("the arms can run at once and share nothing"),
            Why::InTurns => f.write_str("the arms cannot run at once"),
            Why::Shared => f.write_str("the arms share something that both load"),
            Why::CarriesOver => {
                f.write_str("the arms cannot run at once, and need time to reach their level")
            }
            Why::RestartsDiffer { between, within, p } => write!(
                f,
                "restarts differ by {:.1} %, blocks of one process by {:.1} % (p = {p:.3})",
                100.0 * between,
                100.0 * within
            ),
            Why::Disturbed { at_least } => {
                write!(
                    f,
                    "the control changes by {:.1} % or more while the other arms run",
                    100.0 * at_least.abs()
                )
            }
        }
    }
}
