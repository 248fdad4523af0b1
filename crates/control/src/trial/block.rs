//! One block: what to run, and what was observed.

use alloc::vec::Vec;
use core::time::Duration;

/// One of the services that a trial compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// The service as it is.
    Control,
    /// The same again: its differences from the control are the noise floor.
    SecondControl,
    /// A candidate, counted from 0.
    Candidate(usize),
}

/// What a block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The arms are compared.
    Compare,
    /// The control runs alone: see [`Probes`](super::Probes).
    Probe,
}

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// What the block is for.
    pub purpose: Purpose,
    /// The arms. One after the other in this order, or the order in which each request is sent if they run at once.
    pub arms: Vec<Arm>,
    /// Whether the arms run at the same time, with copies of the same requests.
    pub at_once: bool,
    /// Whether each arm is restarted before its part.
    pub restart: bool,
    /// How long each part runs before it is measured.
    pub settle: Duration,
    /// How long each part is measured.
    pub measured: Duration,
}

/// What was observed in a block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// How late the generator was, at the 99th percentile.
    pub lag: Duration,
    /// The arms, in the order of the [`Assignment`].
    pub arms: Vec<Seen>,
}

/// What was observed of one arm.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// Requests that were sent to it, or should have been.
    pub offered: u64,
    /// Requests with a response of any status.
    pub answered: u64,
    /// Copies that were not sent.
    pub dropped: u64,
    /// The share of processor time that the hypervisor took away, 0 to 1.
    pub steal: f64,
    /// The ticks of processor time that this is a share of: the fewer they are, the more of a difference is chance. Zero where
    /// they are not counted.
    pub ticks: u64,
    /// The share of periods in which its quota of processor time was used up, 0 to 1.
    pub throttled: f64,
    /// The periods that this is a share of: the fewer they are, the more of a difference is chance. Zero where they are not
    /// counted.
    pub periods: u64,
    /// Offered requests by route or kind; empty if not counted.
    pub mix: Vec<u64>,
    /// The values, in the order of the measures of the trial; `None` where a block has none.
    pub values: Vec<Option<f64>>,
}
