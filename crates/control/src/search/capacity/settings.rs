//! The settings of a search.

use super::super::rhythm::Rhythm;
use super::super::time_bound;
use core::time::Duration;
use units::{Rate, Ratio};

/// The settings of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The best throughput of a closed loop, measured beforehand: the sustainable rate is near or below it.
    pub hint: Option<Rate>,
    /// The first rate if there is no hint.
    pub start: Rate,
    /// How much a rate that held is raised by, as a share of it, until one does not hold. `None`: by a factor of three, or
    /// near a hint in small steps that grow.
    pub step: Option<Ratio>,
    /// The lowest rate worth trying.
    pub lowest: Rate,
    /// The highest rate allowed.
    pub highest: Rate,
    /// A rate that this machine is known to have sent: a disturbed trial below it is not beyond the machine's capacity.
    pub sent: Rate,
    /// Clusters of late responses of the calm service: trials cover several of their gaps and do not pass early.
    pub rhythm: Rhythm,
    /// Requests in a trial of full length, unless the lengths below say otherwise.
    pub samples: u64,
    /// The shortest full length.
    pub length_min: Duration,
    /// The longest full length, unless the rhythm requires more.
    pub length_max: Duration,
    /// The interval is narrow enough when (high - low) / low is at most this.
    pub precision: Ratio,
    /// An interval of this width is accepted where the remaining load time cannot reach the precision; a wider one is
    /// narrowed as long as load time remains.
    pub acceptable: Ratio,
    /// Probability that the interval contains the sustainable rate.
    pub confidence: Ratio,
    /// Good trials at or above the low end before it counts as verified; one of them must have held to its end.
    pub verifications: u32,
    /// Trials in total, including disturbed ones.
    pub trials_max: u32,
    /// Load time in total.
    pub budget: Duration,
    /// Total time that the search may wait between trials until the service is calm.
    pub waiting: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let share = |value| Ratio::new(value).expect("a constant share");
        Settings {
            hint: None,
            start: Rate::per_second_of(10.0),
            step: None,
            lowest: Rate::per_second_of(0.5),
            highest: Rate::per_second_of(1e6),
            sent: Rate::ZERO,
            rhythm: Rhythm::default(),
            samples: 1_000,
            length_min: Duration::from_secs(2),
            length_max: Duration::from_secs(10),
            precision: share(0.05),
            acceptable: share(0.3),
            confidence: share(0.955),
            verifications: 2,
            trials_max: 60,
            budget: Duration::from_secs(75),
            waiting: Duration::from_secs(75),
        }
    }
}

impl Settings {
    /// For a service whose best throughput and rhythm are known. `budget` is the load time of all trials, if it is
    /// `None`, it is derived from them.
    pub fn for_service(best: Rate, rhythm: Rhythm, budget: Option<Duration>) -> Self {
        let usual = Settings::default();
        let budget = budget.unwrap_or_else(|| time_bound::load_time(best, &rhythm));
        let far_below = best * FAR_BELOW_BEST;
        Settings {
            hint: Some(best),
            sent: best,
            lowest: if usual.lowest < far_below { usual.lowest } else { far_below },
            length_min: time_bound::TRIAL_MIN,
            length_max: time_bound::full_length(best, &Rhythm::default()),
            precision: PRECISION,
            acceptable: PRECISION,
            budget,
            waiting: time_bound::waiting_time(budget),
            rhythm,
            ..usual
        }
    }
}

/// The interval is narrowed to this width as long as load time remains; limits that are derived from it use its low
/// end.
const PRECISION: Ratio = Ratio::new(0.01).expect("a share");
/// A goal that does not hold at this share of the best throughput holds at no useful rate.
const FAR_BELOW_BEST: f64 = 0.1;
