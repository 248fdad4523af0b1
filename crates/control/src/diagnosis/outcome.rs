//! What became of a finding: an experiment with the change that it proposes has confirmed or refuted it.

use crate::trial;
use core::fmt;

/// What an experiment says of the finding that it was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The service is better with the change.
    Confirmed,
    /// It is worse or the same with it.
    Refuted,
    /// The experiment cannot tell.
    Open,
}

impl Outcome {
    /// From the findings on the primary measure, one for each candidate: a change that helps confirms, whatever others do; and as
    /// long as one may still help, the finding is not refuted.
    pub fn of(candidates: &[trial::Finding]) -> Self {
        let has = |wanted| candidates.contains(&wanted);
        match () {
            () if has(trial::Finding::Better) => Outcome::Confirmed,
            () if candidates.is_empty() || has(trial::Finding::CannotTell) => Outcome::Open,
            () => Outcome::Refuted,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Confirmed => "confirmed",
            Outcome::Refuted => "refuted",
            Outcome::Open => "open",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::Finding::{Better, CannotTell, Same, Worse};

    #[test]
    fn only_a_better_candidate_confirms() {
        for (candidates, expected) in [
            (&[Better][..], Outcome::Confirmed),
            (&[Worse], Outcome::Refuted),
            (&[Same], Outcome::Refuted),
            (&[CannotTell], Outcome::Open),
            // Of several values of the variable one helps, or may.
            (&[Worse, Better], Outcome::Confirmed),
            (&[Worse, CannotTell], Outcome::Open),
            (&[Worse, Same], Outcome::Refuted),
            // No candidate was compared.
            (&[], Outcome::Open),
        ] {
            assert_eq!(Outcome::of(candidates), expected, "{candidates:?}");
        }
    }
}
