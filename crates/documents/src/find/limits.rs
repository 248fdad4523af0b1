//! The limits that follow from what was found, or why there are none.

use super::Outcome;
use control::search::Found;
use control::search::limits::{Facts, Limits, of_knee};
use units::Rate;

/// Why no file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFile {
    /// The search did not come to its end.
    Unfinished,
    /// No rate is known to hold.
    NoRate,
    /// A rate was found, but it did not hold in a verification.
    NotVerified,
}

impl std::fmt::Display for NoFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NoFile::Unfinished => "no file: the search did not come to its end",
            NoFile::NoRate => "no file: no rate is known to hold the goal",
            NoFile::NotVerified => "no file: the low end was not verified",
        })
    }
}

/// The limits, where the search knows enough.
///
/// # Errors
/// Why there are none.
pub fn limits(outcome: &Outcome) -> Result<Limits, NoFile> {
    match outcome.found {
        Found::Unfinished { .. } => return Err(NoFile::Unfinished),
        Found::MissedWhenCalm { .. } | Found::Unreachable { .. } | Found::Invalid => {
            return Err(NoFile::NoRate);
        }
        Found::Within(_) | Found::AtLeast { .. } => {}
    }
    let low = outcome.low().ok_or(NoFile::NotVerified)?;
    let known = (outcome.knee.as_ref(), outcome.limited_by());
    let ((Some(knee), Some(limited_by)), true) = (known, low > Rate::ZERO) else {
        return Err(NoFile::NoRate);
    };
    let (alone, carried) = of_knee(knee);
    Ok(Limits::of(&Facts {
        low,
        limited_by,
        time: outcome.target_time(),
        failed: outcome.failed_below(),
        calm: outcome.calm,
        knee: knee.knee.max(1),
        best_at: knee.best_at.max(knee.knee).max(1),
        carried,
        alone,
        only_path: outcome.only_path,
    }))
}
