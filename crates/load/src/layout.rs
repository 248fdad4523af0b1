//! The divisions of a run's results: endpoints, stages, checks. They are the same for all workers, so that their
//! results can be added index by index.

use std::collections::BTreeMap;
use std::time::Duration;
use units::Timestamp;

/// The divisions of a run's results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The kinds of requests: their names and tags. At least one.
    pub(crate) endpoints: Vec<(String, BTreeMap<String, String>)>,
    /// The names of the checks.
    pub(crate) checks: Vec<String>,
    /// The stages of the run, without gaps. At least one.
    pub(crate) stages: Vec<Span>,
    /// When the schedule ends.
    pub(crate) end: Timestamp,
}

/// One stage of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) warm_up: bool,
}

impl Layout {
    /// The stage in which an arrival is due; `guess` is the index to try first.
    pub(crate) fn stage_at(&self, intended: Timestamp, guess: usize) -> usize {
        let holds = |span: &Span| span.from <= intended && intended < span.until;
        if self.stages.get(guess).is_some_and(holds) {
            return guess;
        }
        // An arrival that is due at the very end belongs to the last one.
        self.stages.iter().position(holds).unwrap_or(self.stages.len() - 1)
    }

    /// The length of the warm-up.
    pub(crate) fn warm_up(&self) -> Duration {
        self.stages.iter().filter(|span| span.warm_up).map(|span| span.until.since(span.from)).sum()
    }

    /// Adds a warm-up to the stages: the stage in which it ends is cut in two.
    pub(crate) fn with_warm_up(stages: Vec<Span>, length: Duration) -> Vec<Span> {
        let border = Timestamp::ZERO + length;
        let mut laid = Vec::with_capacity(stages.len() + 1);
        if !length.is_zero() {
            laid.push(Span {
                name: "warm-up".to_owned(),
                from: Timestamp::ZERO,
                until: border,
                warm_up: true,
            });
        }
        laid.extend(
            stages
                .into_iter()
                .filter(|span| span.until > border)
                .map(|span| Span { from: span.from.max(border), ..span }),
        );
        laid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(name: &str, from: u64, until: u64) -> Span {
        let at = Timestamp::from_millis;
        Span { name: name.to_owned(), from: at(from), until: at(until), warm_up: false }
    }

    #[test]
    fn a_warm_up_takes_the_beginning() {
        let laid =
            Layout::with_warm_up(vec![span("a", 0, 100), span("b", 100, 200)], Duration::from_millis(150));
        let shown: Vec<_> = laid.iter().map(|span| (span.name.as_str(), span.warm_up)).collect();
        assert_eq!(shown, [("warm-up", true), ("b", false)]);
        assert_eq!(laid[1].from, Timestamp::from_millis(150));
        let layout = Layout { endpoints: vec![], checks: vec![], stages: laid, end: Timestamp::NEVER };
        assert_eq!(layout.warm_up(), Duration::from_millis(150));
        assert_eq!(
            [149, 150, 199, 500].map(|at| layout.stage_at(Timestamp::from_millis(at), 0)),
            [0, 1, 1, 1]
        );
    }

    #[test]
    fn without_a_warm_up_nothing_changes() {
        let stages = vec![span("a", 0, 100)];
        assert_eq!(Layout::with_warm_up(stages.clone(), Duration::ZERO), stages);
    }
}
