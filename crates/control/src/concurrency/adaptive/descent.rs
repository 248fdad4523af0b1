//! Has a falling limit shortened response times? Where it has not, nothing was queueing.
//!
//! A line through the logarithms of response time against those in flight, over the steps of one descent: its slope
//! is 1 where all queue and 0 where none does. A descent lasts while the limit is full and response times are beyond
//! the baseline; it begins again where they jump, because what came before the jump was another service.
//!
//! ## Why a descent waits for its verdict
//! Below the knee response times do not follow any more, so a limit that is judged by a stale baseline would fall
//! and fall. So it goes a third down at most, and further only when the slope is known to be nearer 1 than 0. A service
//! without noise shows that in four steps, and after forty a slope within a quarter of either is believed
//! whatever its error.

/// The steps of a descent.
#[derive(Debug, Clone, Default)]
pub(super) struct Descent {
    begun: Option<Step>,
    steps: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

/// What a step of a full service was like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The limit in it.
    pub(super) limit: f64,
    /// How many were in flight, on average.
    pub(super) in_flight: f64,
    /// The mean response time, in seconds.
    pub(super) mean: f64,
}

/// What a descent allows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Descends {
    /// To go on, down to a limit.
    To(f64),
    /// Response times have not followed: what they are now, in seconds.
    InVain(f64),
}

impl Descent {
    /// Takes a step.
    pub(super) fn take(&mut self, step: Step) -> Descends {
        let begin = match self.begun {
            Some(begin) if step.mean <= begin.mean * JUMP && step.limit <= begin.limit => begin,
            _ => {
                *self = Descent { begun: Some(step), ..Descent::default() };
                return Descends::To(step.limit * LOWEST);
            }
        };
        let (x, y) = (libm::log(step.in_flight), libm::log(step.mean));
        self.steps += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
        if step.limit > begin.limit * FALLEN || self.steps < LEAST_STEPS {
            return Descends::To(begin.limit * LOWEST);
        }
        let (middle_x, middle_y) = (self.x / self.steps, self.y / self.steps);
        let spread = (self.xx - self.x * middle_x).max(f64::MIN_POSITIVE);
        let together = self.xy - self.x * middle_y;
        let slope = together / spread;
        let left = (self.yy - self.y * middle_y - slope * together).max(0.0);
        let error = libm::sqrt(left / (self.steps - 2.0) / spread);
        let (flat, steep) = match self.steps {
            _ if libm::fabs(slope - FOLLOWS) > SURE * error => (FOLLOWS, FOLLOWS),
            steps if steps < LONG => return Descends::To(begin.limit * LOWEST),
            steps if steps < LONGEST => (FLAT, 1.0 - FLAT),
            _ => (FLAT, FLAT),
        };
        if slope > flat && slope < steep {
            return Descends::To(begin.limit * LOWEST);
        }
        *self = Descent::default();
        if slope > flat {
            return Descends::To(step.limit * LOWEST);
        }
        Descends::InVain(libm::exp(middle_y + slope * (x - middle_x)))
    }
}

/// Response times beyond this multiple of those at the beginning are another service's.
const JUMP: f64 = 1.5;
/// The limit has to fall to this part of where the descent began before it is judged.
const FALLEN: f64 = 0.8;
/// And falls no further than this part before it is.
const LOWEST: f64 = 0.67;
/// A line through fewer steps says nothing.
const LEAST_STEPS: f64 = 4.0;
/// After so many steps a slope that is near 0 or 1 is taken as it is; its error is then about a fifth where service times
/// are exponential.
const LONG: f64 = 40.0;
/// After so many the descent begins again, from where it is: it may have begun above the knee and have come below.
const LONGEST: f64 = 120.0;
/// This near 0 a slope is flat, and this near 1 steep.
const FLAT: f64 = 0.25;
/// From this slope on response times follow.
const FOLLOWS: f64 = 0.5;
/// So many standard errors from it the slope is believed.
const SURE: f64 = 2.5;
