//! Why a trial ended, and why a candidate was stopped before.

use super::block::Arm;
use super::void::Void;
use core::fmt;

/// Why a trial ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// The planned blocks were run.
    AsPlanned,
    /// There is a finding on the primary measure of every candidate.
    Decided,
    /// The interval of the primary measure of every candidate is as narrow as it was to be.
    Precise,
    /// Every candidate was stopped.
    Stopped,
    /// What candidates are compared with gave no response in this many successive blocks.
    Silent {
        /// The control or the second control.
        arm: Arm,
        /// The number of blocks.
        blocks: u32,
    },
    /// Too few blocks counted.
    MostlyVoid {
        /// Blocks that did not count.
        void: usize,
        /// All blocks.
        of: usize,
        /// The reason of the last one.
        last: Void,
    },
}

/// Why a candidate was stopped. Its verdicts remain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stopped {
    /// It is worse by more than the harm of a measure.
    Harm {
        /// The place of the measure in the settings.
        measure: usize,
        /// By how much it is worse at least, in the unit of the effect.
        at_least: f64,
    },
    /// It gave no response in this many successive blocks, in which the control did.
    Dead {
        /// The number of blocks.
        blocks: u32,
    },
}

/// Whether so many blocks are void that the rest would take too long: the reasons of the void ones, and how many count.
pub fn mostly_void(void: &[Void], counted: usize) -> Option<Ended> {
    let last = void.last().filter(|_| void.len() >= counted + VOID_EXCESS)?;
    Some(Ended::MostlyVoid { void: void.len(), of: counted + void.len(), last: *last })
}

/// A trial is given up when its void blocks exceed the others by this many. With three void blocks of ten, one trial of
/// five thousand reaches it.
const VOID_EXCESS: usize = 10;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::AsPlanned => f.write_str("all planned blocks were run"),
            Ended::Decided => f.write_str("the primary measure is decided"),
            Ended::Precise => f.write_str("the interval of the primary measure is as narrow as `precision`"),
            Ended::Stopped => f.write_str("every candidate was stopped"),
            Ended::Silent { arm, blocks } => {
                let arm = if *arm == Arm::Control { "the control" } else { "the service beside the control" };
                write!(f, "{arm} gave no response in {blocks} successive blocks")
            }
            Ended::MostlyVoid { void, of, last } => {
                write!(f, "{void} of {of} blocks were void, the last one because {last}")?;
                match last {
                    Void::GeneratorLag(_) => f.write_str(
                        ": give the generator less to send or a core of its own, or raise `max_lag`",
                    ),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Harm { at_least, .. } => write!(f, "worse by at least {at_least:.3}"),
            Stopped::Dead { blocks } => write!(f, "no response in {blocks} successive blocks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use core::time::Duration;

    #[test]
    fn a_late_generator_has_a_way_out() {
        let void = |reason: Void| mostly_void(&[reason; 12], 2).unwrap().to_string();
        assert_eq!(
            void(Void::GeneratorLag(Duration::from_millis(7))),
            "12 of 14 blocks were void, the last one because the generator was 7.00 ms late at p99: give the generator less to send \
             or a core of its own, or raise `max_lag`"
        );
        assert_eq!(
            void(Void::Incomplete),
            "12 of 14 blocks were void, the last one because an arm had no requests"
        );
        assert_eq!(mostly_void(&[Void::Incomplete; 11], 2), None);
    }
}
