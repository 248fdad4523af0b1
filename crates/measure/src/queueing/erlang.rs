//! Erlang's formulas: the share of arrivals that find all servers busy.
//!
//! ## Why a recursion
//! The printed formula has `a^c / c!`, which overflows from some 170 servers on. The recursion over the servers adds
//! and multiplies positive numbers only. It computes the inverse, so that a share below the smallest double ends as 0
//! and not as noise.

use super::QueueError;
use super::error::not_negative;

/// Erlang B: the share of arrivals that is lost if there is no queue, 0 to 1. `load` in erlangs, 0 or more; any number
/// of servers. Shares below 1e-308 are 0. Holds for any distribution of service times.
///
/// # Errors
/// A load out of range.
pub fn erlang_b(servers: u32, load: f64) -> Result<f64, QueueError> {
    let load = not_negative("the load in erlangs", load)?;
    if load == 0.0 {
        return Ok(if servers == 0 { 1.0 } else { 0.0 });
    }
    let mut inverse = 1.0;
    for server in 1..=servers {
        inverse = 1.0 + f64::from(server) / load * inverse;
        if inverse == f64::INFINITY && load < f64::from(server) {
            return Ok(0.0);
        }
    }
    Ok(1.0 / inverse)
}

/// Erlang C: the share of arrivals that waits if none is lost, 0 to 1. `load` in erlangs, 0 or more and below the
/// number of servers.
///
/// # Errors
/// A load out of range, or more than the servers can carry.
pub fn erlang_c(servers: u32, load: f64) -> Result<f64, QueueError> {
    let lost = erlang_b(servers, load)?;
    if servers == 0 {
        return Err(QueueError::NoServers);
    }
    if load >= f64::from(servers) {
        return Err(QueueError::Unstable { load, servers });
    }
    let busy = load / f64::from(servers);
    Ok(lost / (1.0 - busy * (1.0 - lost)))
}
