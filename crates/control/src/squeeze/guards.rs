//! Guards: what must hold for all users of the pool while some of its instances are squeezed.
//!
//! A goal is what is looked for, so trials miss it on purpose. A guard is what must not be missed: it ends the squeeze.
//! Both look at the last seconds only, so that what was before the squeeze counts for nothing.

use crate::search::Condition;
use core::fmt;
use core::time::Duration;
use units::{Ratio, show_duration};

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guards {
    /// Failed requests of the pool, as a share, are at most this.
    pub errors: Ratio,
    /// A condition on the response times of the pool.
    pub response_time: Option<Condition>,
    /// Processor time of the machine in use, as a share, is at most this.
    pub processor: Option<Ratio>,
}

/// What was seen in the last [`Guards::SPAN`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Watched {
    /// Requests of the pool that ended.
    pub ended: u64,
    /// Those that failed: shed, 5xx, or without a response.
    pub failed: u64,
    /// Responses that took as long as the bound of the guard on response times, or longer.
    pub late: u64,
    /// Processor time of the machine in use, as a share; `None` where it is not known.
    pub processor: Option<Ratio>,
}

/// A guard that did not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crossed {
    /// Failed requests.
    Errors {
        /// Their share.
        share: f64,
        /// What was allowed.
        most: Ratio,
    },
    /// Response times.
    ResponseTime {
        /// The share of late responses.
        share: f64,
        /// The condition.
        condition: Condition,
    },
    /// Processor time.
    Processor {
        /// Its share.
        share: Ratio,
        /// What was allowed.
        most: Ratio,
    },
}

impl Guards {
    /// The span over which they look.
    pub const SPAN: Duration = Duration::from_secs(3);

    /// The first guard that does not hold.
    pub fn crossed(&self, seen: &Watched) -> Option<Crossed> {
        let share = |part: u64| part as f64 / seen.ended.max(1) as f64;
        // A few of a few requests are chance.
        let beyond = |part: u64, allowed: f64| part >= FEW && share(part) > allowed;
        if beyond(seen.failed, self.errors.get()) {
            return Some(Crossed::Errors { share: share(seen.failed), most: self.errors });
        }
        if let Some(condition) = self.response_time.filter(|condition| beyond(seen.late, condition.allowed()))
        {
            return Some(Crossed::ResponseTime { share: share(seen.late), condition });
        }
        let (share, most) = seen.processor.zip(self.processor)?;
        (share > most).then_some(Crossed::Processor { share, most })
    }
}

impl Crossed {
    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Crossed::Errors { .. } => "failures",
            Crossed::ResponseTime { .. } => "response_time",
            Crossed::Processor { .. } => "processor",
        }
    }
}

impl fmt::Display for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = show_duration(Guards::SPAN);
        match self {
            Crossed::Errors { share, most } => {
                write!(f, "{:.1} % of the requests of {span} failed, {most} may", share * 100.0)
            }
            Crossed::ResponseTime { share, condition } => {
                let allowed = condition.allowed() * 100.0;
                write!(
                    f,
                    "{:.1} % of the responses of {span} missed {condition}, {allowed:.1} % may",
                    share * 100.0
                )
            }
            Crossed::Processor { share, most } => {
                write!(f, "{share} of the processor time of {span} was used, {most} may be")
            }
        }
    }
}

/// The fewest failed or late requests that cross a guard.
const FEW: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn share(share: f64) -> Ratio {
        Ratio::new(share).unwrap()
    }

    #[test]
    fn the_first_that_does_not_hold_is_named() {
        let condition: Condition = "p(99)<500ms".parse().unwrap();
        let guards =
            Guards { errors: share(0.01), response_time: Some(condition), processor: Some(share(0.9)) };
        let seen = |ended, failed, late, processor| Watched {
            ended,
            failed,
            late,
            processor: Some(share(processor)),
        };
        for (seen, expected) in [
            (seen(1_000, 10, 10, 0.9), None),
            (seen(1_000, 11, 11, 0.95), Some("1.1 % of the requests of 3.00 s failed, 1 % may")),
            (seen(1_000, 0, 11, 0.0), Some("1.1 % of the responses of 3.00 s missed p(99)<500ms, 1.0 % may")),
            (seen(1_000, 0, 0, 0.91), Some("91 % of the processor time of 3.00 s was used, 90 % may be")),
            // Two of ten are chance, three are not.
            (seen(10, 2, 2, 0.0), None),
            (seen(10, 3, 0, 0.0), Some("30.0 % of the requests of 3.00 s failed, 1 % may")),
            (Watched::default(), None),
        ] {
            assert_eq!(
                guards.crossed(&seen).map(|crossed| crossed.to_string()).as_deref(),
                expected,
                "{seen:?}"
            );
        }
        let none = Guards { errors: share(1.0), response_time: None, processor: None };
        assert_eq!(none.crossed(&seen(10, 10, 10, 1.0)), None);
    }
}
