//! The law with known parameters: throughput, response time, peak, and the inverse of each.

use libm::sqrt;

/// The scalability law with its three parameters; see [the module](super).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    alpha: f64,
    beta: f64,
    gamma: f64,
}

/// The point of highest throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Requests in flight.
    pub concurrency: f64,
    /// Responses a second.
    pub throughput: f64,
}

/// Invalid parameters of the law.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LawError {
    /// Contention outside 0 to 1.
    #[error("contention (alpha) is {found}, but it is a share from 0 to 1")]
    Contention {
        /// The given value.
        found: f64,
    },
    /// Negative coherency.
    #[error("coherency (beta) is {found}, but it is a cost of 0 or more")]
    Coherency {
        /// The given value.
        found: f64,
    },
    /// A throughput that is not above zero.
    #[error("the throughput of one alone (gamma) is {found}, but it has to be above 0")]
    Alone {
        /// The given value.
        found: f64,
    },
}

impl Law {
    /// A law with contention `alpha` (0 to 1), coherency `beta` (0 or more) and the throughput `gamma` at a concurrency
    /// of one (responses a second, above 0).
    ///
    /// # Errors
    /// A parameter outside its bounds.
    pub fn new(alpha: f64, beta: f64, gamma: f64) -> Result<Self, LawError> {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(LawError::Contention { found: alpha });
        }
        if !(beta >= 0.0 && beta.is_finite()) {
            return Err(LawError::Coherency { found: beta });
        }
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(LawError::Alone { found: gamma });
        }
        Ok(Law { alpha, beta, gamma })
    }

    /// Amdahl's law: the serial share `alpha` is all that keeps it from scaling. G. Amdahl, "Validity of the single
    /// processor approach", AFIPS 1967.
    ///
    /// # Errors
    /// A parameter outside its bounds.
    pub fn amdahl(alpha: f64, gamma: f64) -> Result<Self, LawError> {
        Law::new(alpha, 0.0, gamma)
    }

    /// The caller ensures the bounds.
    pub(super) fn within(alpha: f64, beta: f64, gamma: f64) -> Self {
        Law { alpha, beta, gamma }
    }

    /// Contention: the share of the work that runs one at a time, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Coherency: the cost of a pair, in units of the response time at a concurrency of one, 0 or more.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Responses a second at a concurrency of one.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The same service without coherency cost: Amdahl's law with the same contention.
    pub fn without_coherency(&self) -> Self {
        Law { beta: 0.0, ..*self }
    }

    /// X(N): responses a second with `concurrency` in flight (0 or more, fractions allowed).
    pub fn throughput(&self, concurrency: f64) -> f64 {
        self.gamma * concurrency / self.slowdown(concurrency)
    }

    /// R(N) = N/X(N): seconds that a response takes with `concurrency` in flight.
    pub fn response_time(&self, concurrency: f64) -> f64 {
        self.slowdown(concurrency) / self.gamma
    }

    /// X(N) / (γ N): the share of perfect scaling, 0 to 1 from one in flight on.
    pub fn efficiency(&self, concurrency: f64) -> f64 {
        1.0 / self.slowdown(concurrency)
    }

    /// The point of highest throughput; `None` without coherency, where throughput always grows.
    pub fn peak(&self) -> Option<Peak> {
        if self.beta == 0.0 {
            return None;
        }
        let concurrency = sqrt((1.0 - self.alpha) / self.beta);
        Some(Peak { concurrency, throughput: self.throughput(concurrency) })
    }

    /// γ/α: the limit of throughput due to contention alone, in responses a second; `None` without contention.
    pub fn limit(&self) -> Option<f64> {
        (self.alpha > 0.0).then(|| self.gamma / self.alpha)
    }

    /// 1/α: where the initial slope meets the limit, so that more in flight adds little; `None` without contention.
    pub fn optimum(&self) -> Option<f64> {
        (self.alpha > 0.0).then(|| 1.0 / self.alpha)
    }

    /// N at X: the lowest concurrency with this throughput; `None` if it is never reached.
    ///
    /// Some programs leave coherency out of this inversion; [`Law::without_coherency`] gives their values.
    pub fn concurrency_at_throughput(&self, throughput: f64) -> Option<f64> {
        // β X N² − (γ − (α − β) X) N + (1 − α) X = 0, the smaller root in the form that also holds for β = 0.
        let middle = self.gamma - (self.alpha - self.beta) * throughput;
        let under = middle * middle - 4.0 * self.beta * (1.0 - self.alpha) * throughput * throughput;
        let is_there = throughput >= 0.0 && middle > 0.0 && under >= 0.0 && self.alpha < 1.0;
        is_there.then(|| 2.0 * (1.0 - self.alpha) * throughput / (middle + sqrt(under)))
    }

    /// R at X: seconds that a response takes at this throughput; `None` if it is never reached.
    pub fn response_time_at_throughput(&self, throughput: f64) -> Option<f64> {
        self.concurrency_at_throughput(throughput).map(|concurrency| self.response_time(concurrency))
    }

    /// N at R: the concurrency at which responses take this long (seconds); `None` if there is none.
    pub fn concurrency_at_response_time(&self, response_time: f64) -> Option<f64> {
        // β N² + (α − β) N − (γ R − (1 − α)) = 0, the positive root in the form that also holds for β = 0.
        let longer = self.gamma * response_time - (1.0 - self.alpha);
        let slope = self.alpha - self.beta;
        let below = slope + sqrt(slope * slope + 4.0 * self.beta * longer);
        (longer >= 0.0 && below > 0.0).then(|| 2.0 * longer / below)
    }

    /// X at R: responses a second when each takes this long (seconds); `None` if none does.
    pub fn throughput_at_response_time(&self, response_time: f64) -> Option<f64> {
        let concurrency = self.concurrency_at_response_time(response_time)?;
        (response_time > 0.0).then(|| concurrency / response_time)
    }

    /// The factor by which a response takes longer than at a concurrency of one.
    pub(super) fn slowdown(&self, concurrency: f64) -> f64 {
        1.0 + self.alpha * (concurrency - 1.0) + self.beta * concurrency * (concurrency - 1.0)
    }
}
