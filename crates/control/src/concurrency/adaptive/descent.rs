//! Has a falling limit shortened response times? If not, nothing was queueing.
//!
//! A regression line through the logarithms of response time and concurrency, over the steps of one descent: its slope
//! is 1 if all requests queue and 0 if none does. A descent lasts while the limit is full and response times are above
//! the baseline; it restarts when response times jump, because the service was a different one before the jump.
//!
//! ## Why a descent waits for its verdict
//! Below the knee response times no longer follow the limit, so a limit that is compared with an outdated baseline
//! would keep falling. It falls by at most a third, and further only if the slope is known to be nearer to 1 than to
//! zero. A service without noise shows that in four steps, and after forty, a slope within a quarter of either is
//! accepted regardless of its error.

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

/// One step of a full service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The limit in it.
    pub(super) limit: f64,
    /// The mean concurrency.
    pub(super) in_flight: f64,
    /// The mean response time, in seconds.
    pub(super) mean: f64,
}

/// The verdict of a descent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Descends {
    /// Continue, down to a limit.
    To(f64),
    /// Response times have not followed: their present value, in seconds.
    InVain(f64),
}

impl Descent {
    /// Records a step.
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

/// Response times beyond this multiple of those at the beginning are those of a different service.
const JUMP: f64 = 1.5;
/// The limit has to fall to this share of its value at the beginning of the descent before it is judged.
const FALLEN: f64 = 0.8;
/// And falls no lower than this share before that.
const LOWEST: f64 = 0.67;
/// A line through fewer steps is not meaningful.
const LEAST_STEPS: f64 = 4.0;
/// After this many steps a slope near 0 or 1 is accepted; its error is then about a fifth for exponential service
/// times.
const LONG: f64 = 40.0;
/// After this many steps the descent restarts from the present limit: it may have begun above the knee and have crossed
/// it.
const LONGEST: f64 = 120.0;
/// This near 0 a slope is flat, and this near 1 steep.
const FLAT: f64 = 0.25;
/// With a slope of at least this, response times follow the limit.
const FOLLOWS: f64 = 0.5;
/// A slope is accepted at this many standard errors from that value.
const SURE: f64 = 2.5;
