//! Invalid parameters of a queue.

/// Invalid parameters of a queue.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum QueueError {
    /// A rate, time or load out of range.
    #[error("{field} is {found}, but it has to be {expected}")]
    Number {
        /// The parameter.
        field: &'static str,
        /// The given value.
        found: f64,
        /// The valid range.
        expected: &'static str,
    },
    /// There are no servers.
    #[error("a queue without servers never empties; give at least 1")]
    NoServers,
    /// More arrives than can be served, so the queue grows without end and has no mean.
    #[error(
        "{load} erlangs arrive at {servers} servers, and the queue grows without end; take more servers, or bound the queue"
    )]
    Unstable {
        /// Arrival rate over service rate.
        load: f64,
        /// The number of servers.
        servers: u32,
    },
    /// Customers in service count as in the system, too.
    #[error("room for {capacity} in all is less than the {servers} servers; give at least as much")]
    Capacity {
        /// Most in the system.
        capacity: u32,
        /// The number of servers.
        servers: u32,
    },
    /// A network without a centre that takes time.
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
