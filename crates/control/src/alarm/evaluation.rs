//! The state of an alarm, as a pure function of its newest datapoints and the previous state.
//!
//! The rules for missing data follow all cells of the two tables in CloudWatch's user guide (*Configuring how
//! CloudWatch alarms treat missing data*): if the evaluation range has enough datapoints, the newest ones decide and
//! nothing is filled in; otherwise the setting applies to the missing ones.

use super::{AlarmSettings, Missing, Reason, Recent, State};
use crate::metric::Datapoint;

/// How many datapoints have to breach, of how many, and how missing ones are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// N.
    pub evaluation_periods: u32,
    /// M.
    pub datapoints_to_alarm: u32,
    /// How a missing datapoint is treated.
    pub missing: Missing,
}

/// The basis of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Basis {
    /// No evaluation yet.
    #[default]
    Unchecked,
    /// There were enough datapoints: the newest decided.
    Datapoints,
    /// Missing datapoints were treated as the setting says.
    Filled,
    /// There was no datapoint, or too few to decide.
    NoData,
    /// All existing datapoints breach, and the oldest of them is old enough: the evaluation does not wait for missing
    /// ones.
    Premature,
    /// The state is kept because of missing datapoints.
    Kept,
    /// The state is kept because a percentile had too few samples.
    FewSamples,
}

/// The state of an alarm for these datapoints, the newest first, up to the evaluation range: whether each breaches, or
/// none where it is missing.
///
/// ```
/// use control::alarm::evaluation::evaluate;
/// use control::alarm::{Basis, Missing, Rule, State};
///
/// let rule = Rule { evaluation_periods: 3, datapoints_to_alarm: 3, missing: Missing::Missing };
/// let range = [None, None, Some(true), None, None];
/// assert_eq!(evaluate(range, rule, State::Ok), (State::Alarm, Basis::Premature));
/// ```
pub fn evaluate(
    newest_first: impl IntoIterator<Item = Option<bool>>,
    rule: Rule,
    current: State,
) -> (State, Basis) {
    let mut newest = Newest::new(rule);
    for (age, breaches) in (1..).zip(newest_first) {
        newest.count(age, breaches);
    }
    newest.judge(rule, current)
}

/// The newest datapoints, counted from the newest on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    needed: u32,
    /// How many of the datapoints that count exist.
    pub(super) real: u32,
    /// How many of them breach.
    breaching: u32,
    /// The age of the oldest that breaches; that of the newest datapoint is 1.
    oldest: u32,
    /// Their samples.
    pub(super) samples: f64,
    crossed: Recent,
    within: Recent,
}

impl Newest {
    pub(super) fn new(rule: Rule) -> Self {
        let needed = rule.evaluation_periods;
        let (crossed, within) = (Recent::default(), Recent::default());
        Newest { needed, real: 0, breaching: 0, oldest: 0, samples: 0.0, crossed, within }
    }

    /// Whether there are enough, so that older ones do not matter.
    pub(super) fn decided(&self) -> bool {
        self.real >= self.needed
    }

    pub(super) fn look(&mut self, age: u32, datapoint: Option<Datapoint>, breaches: impl Fn(f64) -> bool) {
        let breaching = datapoint.map(|datapoint| breaches(datapoint.value));
        if let Some((datapoint, breaches)) = datapoint.zip(breaching) {
            self.samples += datapoint.samples;
            let kept = if breaches { &mut self.crossed } else { &mut self.within };
            kept.push(datapoint);
        }
        self.count(age, breaching);
    }

    fn count(&mut self, age: u32, breaches: Option<bool>) {
        if self.decided() {
            return;
        }
        if let Some(breaches) = breaches {
            self.real += 1;
            if breaches {
                self.breaching += 1;
                self.oldest = age;
            }
        }
    }

    pub(super) fn judge(&self, rule: Rule, current: State) -> (State, Basis) {
        let needed = rule.datapoints_to_alarm;
        let alarm = |breaching: u32| if breaching >= needed { State::Alarm } else { State::Ok };
        let lacking = rule.evaluation_periods.saturating_sub(self.real);
        if lacking == 0 {
            return (alarm(self.breaching), Basis::Datapoints);
        }
        match rule.missing {
            Missing::Breaching => (alarm(self.breaching + lacking), Basis::Filled),
            Missing::NotBreaching => (alarm(self.breaching), Basis::Filled),
            Missing::Missing if self.real == 0 => (State::InsufficientData, Basis::NoData),
            Missing::Ignore if self.real == 0 => (current, Basis::Kept),
            _ if self.breaching >= needed => (State::Alarm, Basis::Datapoints),
            _ if self.breaching < self.real => (State::Ok, Basis::Datapoints),
            Missing::Missing if self.oldest >= needed => (State::Alarm, Basis::Premature),
            Missing::Missing | Missing::Ignore => (current, Basis::Kept),
        }
    }

    pub(super) fn reason(&self, basis: Basis, settings: &AlarmSettings, old: State, new: State) -> Reason {
        Reason {
            basis,
            old,
            new,
            comparison: settings.comparison,
            threshold: settings.threshold,
            missing: settings.missing,
            evaluation_periods: settings.evaluation_periods,
            datapoints_to_alarm: settings.datapoints_to_alarm,
            real: self.real,
            samples: self.samples,
            crossed: self.crossed,
            within: self.within,
        }
    }
}
