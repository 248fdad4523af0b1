//! How closely is simulated.

/// How closely a fleet is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Fidelity {
    /// Request by request: the reference
    #[default]
    Request,
    /// Minute by minute, from minutes that are recorded request by request first
    Minute,
    /// Both, with the differences between them
    Both,
}

impl Fidelity {
    /// What the rows are judged by.
    pub fn judged(self) -> sim::Fidelity {
        match self {
            Fidelity::Request | Fidelity::Both => sim::Fidelity::Request,
            Fidelity::Minute => sim::Fidelity::Minute,
        }
    }
}
