//! What makes no queue.

/// These numbers make no queue.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum QueueError {
    /// A rate, time or load that cannot be.
    #[error("{field} is {found}, but it has to be {expected}")]
    Number {
        /// Which number.
        field: &'static str,
        /// What was given.
        found: f64,
        /// What it has to be.
        expected: &'static str,
    },
    /// Nobody serves.
    #[error("a queue without servers never empties; give at least 1")]
    NoServers,
    /// More arrives than can be served, so the queue grows without end and has no mean.
    #[error(
        "{load} erlangs arrive at {servers} servers, and the queue grows without end; take more servers, or bound the queue"
    )]
    Unstable {
        /// Arrival rate over service rate.
        load: f64,
        /// How many serve.
        servers: u32,
    },
    /// Who is served is there, too.
    #[error("room for {capacity} in all is less than the {servers} servers; give at least as much")]
    Capacity {
        /// Most in the system.
        capacity: u32,
        /// How many serve.
        servers: u32,
    },
    /// A network of nothing.
    #[error("a network needs at least one centre whose time is above 0")]
    NoCentre,
}

/// A number above 0.
pub(super) fn above_zero(field: &'static str, found: f64) -> Result<f64, QueueError> {
    let fits = found > 0.0 && found.is_finite();
    if fits { Ok(found) } else { Err(QueueError::Number { field, found, expected: "above 0" }) }
}

/// A number of 0 or more.
pub(super) fn not_negative(field: &'static str, found: f64) -> Result<f64, QueueError> {
    let fits = found >= 0.0 && found.is_finite();
    if fits { Ok(found) } else { Err(QueueError::Number { field, found, expected: "0 or more" }) }
}
