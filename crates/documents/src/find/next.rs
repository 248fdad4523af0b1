//! What to do after a search.

use super::Outcome;
use std::path::Path;
use units::Rate;

/// The next sensible command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next<'a> {
    /// Run the gateway with the file that was written.
    Gateway(&'a Path),
    /// Send the rate that was found.
    Hold(Rate),
    /// Measure the service with one connection: no rate was found.
    Measure,
}

/// The next sensible command after a search that wrote `written`.
pub fn next<'a>(outcome: &Outcome, written: Option<&'a Path>) -> Next<'a> {
    Next::of(written, outcome.low())
}

impl<'a> Next<'a> {
    /// After a search that wrote a file or not, and verified a rate or not.
    pub(super) fn of(written: Option<&'a Path>, low: Option<Rate>) -> Self {
        match (written, low) {
            (Some(path), _) => Next::Gateway(path),
            (None, Some(low)) => Next::Hold(low),
            (None, None) => Next::Measure,
        }
    }
}
