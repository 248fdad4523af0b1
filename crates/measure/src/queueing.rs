//! Queueing models in closed form: references for simulations, and the arithmetic of measured services.
//!
//! | queue | type | source |
//! |---|---|---|
//! | calls that find all of c servers busy are lost | [`erlang_b`] | Erlang 1917 |
//! | Poisson arrivals, exponential service, c servers | [`Servers`] (M/M/c) | Kleinrock I, 3.5 |
//! | the same with a bound on the number in the system | [`Bounded`] (M/M/c/K) | Kleinrock I, 3.6 |
//! | a fixed number of users with think time, c servers | [`Users`] (M/M/c//N) | Kleinrock I, 3.8 |
//! | any service time, one server, in order of arrival | [`General`] (M/G/1) | Pollaczek 1930, Khinchine 1932 |
//! | any service time, processors shared by all | [`Sharing`] (M/G/PS) | Kleinrock II, 4.4; Cohen 1979 |
//! | users with think time who visit several centres | [`Network`] (closed, exact MVA) | Reiser and Lavenberg 1980 |
//! | laws for any distribution | [`laws`] | Denning and Buzen 1978 |
//!
//! L. Kleinrock, "Queueing Systems", Wiley 1975 and 1976. Times are in seconds, rates in events a second. The load `a`
//! in erlangs is arrival rate over service rate: how many servers the arrivals keep busy on average.
//!
//! ```
//! use measure::queueing::Servers;
//! use units::Quantile;
//!
//! // 8 of 10 servers busy, each request takes a second.
//! let queue = Servers::new(8.0, 1.0, 10)?;
//! assert!((queue.waiting_share() - 0.409).abs() < 1e-3);
//! assert!((queue.mean_wait() - 0.2046).abs() < 1e-4);
//! assert!(queue.wait_quantile(Quantile::P99) > 1.8);
//! # Ok::<(), measure::queueing::QueueError>(())
//! ```

mod bounded;
mod erlang;
mod error;
mod general;
pub mod laws;
mod network;
mod quantile;
mod servers;
mod sharing;
mod states;
#[cfg(test)]
mod tests;
mod users;

pub use bounded::Bounded;
pub use erlang::{erlang_b, erlang_c};
pub use error::QueueError;
pub use general::General;
pub use network::{Asymptotes, Centre, Network, NetworkPoint};
pub use servers::Servers;
pub use sharing::Sharing;
pub use users::Users;
