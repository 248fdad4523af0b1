//! Capacity search: the highest arrival rate at which the goal holds in the long run, as an interval.
//!
//! ```text
//! rhythm        are responses of a calm service regular, or late in clusters? → how long a trial has to be
//! closed_loop   the highest throughput in the closed model → a hint, the knee, the calm response time
//! capacity      which rate to try next, and when is the result known? → trials, then an interval
//!   judge       does the goal hold at this rate? decides one trial while it runs
//!   goal        what must hold
//!   limited_by what kept a higher rate from holding it
//! calm          is the service calm again?
//! disturbance   did the generator's own machine cause the verdict?
//! recovery      does the service recover from an overload, and how soon?
//! limits        the limits that protect the service, derived from the result
//! time_bound    how long all of it takes at most
//! instances     what the interval means for a fleet
//! tune          cheaper settings of a simulated fleet: which candidates to evaluate next, and how closely
//! ```
//!
//! All parts are state machines: the caller drives load (or a simulation) and reports what it measured.

mod at_limit;
pub mod calm;
pub mod capacity;
pub mod closed_loop;
pub mod disturbance;
mod found;
mod goal;
mod instances;
mod judge;
mod limited_by;
pub mod limits;
pub mod recovery;
pub mod rhythm;
pub mod time_bound;
pub mod tune;

pub use at_limit::Loaded;
pub use capacity::{CapacitySearch, Settings, Step};
pub use found::{Ceiling, Found, Interval, Purpose, Report, Trial, TrialOutcome};
pub use goal::{CONDITIONS_MAX, Condition, ConditionError, Goal, GoalError, bound_named, quantile_named};
pub use instances::{headroom, instances_needed};
pub use judge::{Bad, Good, HORIZON, Judge, Progress, Share, Verdict};
pub use limited_by::{LimitedBy, Missed};
