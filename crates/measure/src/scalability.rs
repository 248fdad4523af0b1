//! Scalability: the throughput of a service as a function of concurrency, as a law with three parameters and their
//! errors.
//!
//! ## The law
//! With N requests in flight (or users, or processors) the throughput is
//!
//! `X(N) = γ N / (1 + α (N − 1) + β N (N − 1))`
//!
//! - γ, responses a second at a concurrency of one,
//! - α, contention: the share of the work that runs one at a time,
//! - β, coherency: the cost of each pair of requests that has to be kept consistent (caches, locks, garbage
//!   collection).
//!
//! Contention makes throughput level off at γ/α; coherency makes it fall again beyond a peak at √((1 − α)/β). With
//! β = 0 it is Amdahl's law. N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007
//! (<https://doi.org/10.1007/978-3-540-31010-5>), and "A General Theory of Computational Scalability", 2008
//! (<https://arxiv.org/abs/0808.1431>).
//!
//! ## Why the fit is bounded
//! Negative coherency has no meaning, but unbounded least squares finds it for services whose throughput does not fall:
//! the curve then rises to infinity just beyond the last point.
//!
//! ## Why a peak may be refused
//! Three parameters fit almost any four points. A peak beyond all points is an extrapolation, where the law is least
//! reliable. [`Fit::peak`] says why it refuses.
//!
//! ```
//! use measure::scalability::{Point, fit};
//!
//! let points = [(1, 1.0), (2, 1.8868), (4, 3.0769), (6, 3.5294), (8, 3.5398), (10, 3.3557)];
//! let fit = fit(&points.map(|(users, rate)| Point { concurrency: f64::from(users), throughput: rate }))?;
//! assert!((fit.law().alpha() - 0.02).abs() < 1e-4);
//! let peak = fit.peak().expect("six points, and the peak among them");
//! assert!((peak.concurrency - 7.0).abs() < 0.05);
//! # Ok::<(), measure::scalability::FitError>(())
//! ```

mod fit;
mod law;
mod solve;
#[cfg(test)]
mod tests;

pub use fit::{Estimate, Fit, FitError, LEAST_POINTS, PeakEstimate, Point, Refusal, fit};
pub use law::{Law, LawError, Peak};
