//! The course of the arrival rate over time.
//!
//! ## Why linear pieces
//! Holds, ramps, steps and spikes are all stages with a rate at their beginning and one at their end. The number of
//! arrivals up to an instant is then a piecewise quadratic, known exactly, and so is its inverse: the instant at which
//! the count passes k. Arrivals placed by that inverse neither drift over a ramp nor get lost where one stage meets the
//! next.
//!
//! ## Difference from k6
//! A stage of k6 (`30s:200`) always ramps from the end of the last one to its target. Here `30s:200/s` holds the rate
//! from the first instant, and a ramp is written with two dots: `30s:..200/s`. See [`super::StageText`].

use super::Stage;
use std::sync::Arc;
use std::time::Duration;
use units::{Rate, Timestamp};

/// Why stages are not a valid profile.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// No stage at all.
    #[error("there is no stage; give at least one, such as 30s:200/s")]
    Empty,
    /// A stage without a length.
    #[error(
        "stage {stage} (`{name}`) has a length of zero; give it one, such as 30s (a jump needs no stage)"
    )]
    NoLength {
        /// Its number, counted from 1.
        stage: usize,
        /// Its name.
        name: Arc<str>,
    },
    /// A rate whose gaps are shorter than a nanosecond.
    #[error("stage {stage} (`{name}`) has a rate of {found}, at most {max} can be told apart", max = rate_max())]
    TooFast {
        /// Its number, counted from 1.
        stage: usize,
        /// Its name.
        name: Arc<str>,
        /// The higher of its rates.
        found: Rate,
    },
    /// The stages are longer than a timestamp can represent.
    #[error("the stages last longer than 584 years together; make them shorter")]
    TooLong,
}

/// The course of the rate over time: stages one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    stages: Vec<Stage>,
    /// When each stage begins, and how many arrivals are before it; one more entry than stages, for the end.
    marks: Vec<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    at: Timestamp,
    count: f64,
}

impl Profile {
    /// Stages one after another.
    ///
    /// # Errors
    /// There is none, one has no length or a rate above a thousand million a second, or all of them together are longer
    /// than 584 years.
    pub fn new(stages: Vec<Stage>) -> Result<Self, ProfileError> {
        if stages.is_empty() {
            return Err(ProfileError::Empty);
        }
        let mut marks = Vec::with_capacity(stages.len() + 1);
        let mut length = Duration::ZERO;
        let mut count = 0.0;
        marks.push(Mark { at: Timestamp::ZERO, count });
        for (index, stage) in stages.iter().enumerate() {
            let name = || Arc::clone(&stage.name);
            if stage.length.is_zero() {
                return Err(ProfileError::NoLength { stage: index + 1, name: name() });
            }
            let fastest = if stage.from > stage.to { stage.from } else { stage.to };
            if fastest > rate_max() {
                return Err(ProfileError::TooFast { stage: index + 1, name: name(), found: fastest });
            }
            length = length.checked_add(stage.length).ok_or(ProfileError::TooLong)?;
            let at = u64::try_from(length.as_nanos()).map_err(|_| ProfileError::TooLong)?;
            count = snap(count + stage.count());
            marks.push(Mark { at: Timestamp::from_nanos(at), count });
        }
        Ok(Profile { stages, marks })
    }

    /// A constant rate.
    ///
    /// # Errors
    /// As for [`Profile::new`].
    pub fn constant(rate: Rate, length: Duration) -> Result<Self, ProfileError> {
        Profile::new(vec![Stage::hold(rate, length)])
    }

    /// From one rate to another, linearly.
    ///
    /// # Errors
    /// As for [`Profile::new`].
    pub fn ramp(from: Rate, to: Rate, length: Duration) -> Result<Self, ProfileError> {
        Profile::new(vec![Stage::ramp(from, to, length)])
    }

    /// `steps` rates from `first` to `last`, equally far apart, each held for `each`.
    ///
    /// # Errors
    /// As for [`Profile::new`]; zero steps mean no stage.
    pub fn steps(first: Rate, last: Rate, steps: u32, each: Duration) -> Result<Self, ProfileError> {
        let (first, last) = (first.per_second(), last.per_second());
        let stages = (0..steps).map(|step| {
            let share = f64::from(step) / f64::from((steps - 1).max(1));
            Stage::hold(Rate::per_second_of(first * (1.0 - share) + last * share), each)
        });
        Profile::new(stages.collect())
    }

    /// A base rate, a sudden peak, and the base rate again.
    ///
    /// # Errors
    /// As for [`Profile::new`].
    pub fn spike(
        base: Rate,
        peak: Rate,
        before: Duration,
        spike: Duration,
        after: Duration,
    ) -> Result<Self, ProfileError> {
        Profile::new(vec![
            Stage::hold(base, before).named("before"),
            Stage::hold(peak, spike).named("spike"),
            Stage::hold(base, after).named("after"),
        ])
    }

    /// The same stages `times` times, one round after another.
    ///
    /// # Errors
    /// As for [`Profile::new`]; zero times mean no stage.
    pub fn repeated(&self, times: u32) -> Result<Self, ProfileError> {
        Profile::new((0..times).flat_map(|_| self.stages.iter().cloned()).collect())
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// How long all stages last together.
    pub fn length(&self) -> Duration {
        self.end().since(Timestamp::ZERO)
    }

    /// When the last stage ends.
    pub fn end(&self) -> Timestamp {
        self.last_mark().at
    }

    /// The number of arrivals of all stages: the integral of the rate.
    pub fn count(&self) -> f64 {
        self.last_mark().count
    }

    /// The stage at an instant, counted from 0; `None` from the end on. A boundary belongs to the stage that begins
    /// there.
    pub fn stage_at(&self, at: Timestamp) -> Option<usize> {
        let index = self.marks.partition_point(|mark| mark.at <= at) - 1;
        (index < self.stages.len()).then_some(index)
    }

    /// When a stage begins; `None` if there is no such stage.
    pub fn start_of(&self, stage: usize) -> Option<Timestamp> {
        (stage < self.stages.len()).then(|| self.marks[stage].at)
    }

    /// The rate at an instant; zero from the end on.
    pub fn rate_at(&self, at: Timestamp) -> Rate {
        let Some(index) = self.stage_at(at) else { return Rate::ZERO };
        let stage = &self.stages[index];
        let rate = stage.from.per_second() + stage.slope() * at.since(self.marks[index].at).as_secs_f64();
        Rate::try_per_second(rate.max(0.0)).unwrap_or(stage.to)
    }

    /// The arrivals before an instant: the integral of the rate up to it.
    pub fn count_until(&self, at: Timestamp) -> f64 {
        let Some(index) = self.stage_at(at) else { return self.count() };
        let mark = self.marks[index];
        mark.count + self.stages[index].count_after(at.since(mark.at).as_secs_f64())
    }

    /// The instant at which the count passes `count`; `None` if the profile ends before. While the rate is zero no
    /// count is passed, so an arrival is never inside a pause, but at its end.
    pub fn time_of(&self, count: f64) -> Option<Timestamp> {
        self.time_of_from(&mut 0, count)
    }

    /// As [`Profile::time_of`], for counts that ascend: `stage` is where the last one was found.
    pub(super) fn time_of_from(&self, stage: &mut usize, count: f64) -> Option<Timestamp> {
        while self.marks.get(*stage + 1)?.count <= count {
            *stage += 1;
        }
        let (mark, next) = (self.marks[*stage], self.marks[*stage + 1]);
        let seconds = self.stages[*stage].seconds_to(count - mark.count);
        let at = mark.at + Duration::from_nanos((seconds * 1e9) as u64);
        // Counts are rounded at the boundaries; the instants stay inside.
        Some(at.min(next.at - Duration::from_nanos(1)))
    }

    fn last_mark(&self) -> Mark {
        *self.marks.last().expect("a profile has a mark for its beginning")
    }
}

/// A count that differs from a whole number only by rounding is that number: 0.1/s for 30 s is three arrivals, the
/// fourth belongs to the next stage.
pub(super) fn snap(count: f64) -> f64 {
    let whole = count.round();
    if (count - whole).abs() <= 1e-12 * whole { whole } else { count }
}

fn rate_max() -> Rate {
    Rate::per_second_of(1e9)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn per_second(rate: f64) -> Rate {
        Rate::per_second_of(rate)
    }

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn a_ramp_has_half_the_arrivals_of_its_peak() {
        let ramp = Profile::ramp(Rate::ZERO, per_second(100.0), S(10)).unwrap();
        assert_eq!(ramp.count(), 500.0);
        assert_eq!(ramp.count_until(Timestamp::from_secs(5)), 125.0);
        assert_eq!(ramp.time_of(125.0), Some(Timestamp::from_secs(5)));
        assert_eq!(ramp.rate_at(Timestamp::from_secs(5)), per_second(50.0));
        assert_eq!(ramp.time_of(500.0), None);
        let down = Profile::ramp(per_second(100.0), Rate::ZERO, S(10)).unwrap();
        assert_eq!(down.time_of(375.0), Some(Timestamp::from_secs(5)));
    }

    #[test]
    fn stages_meet_at_their_boundaries() {
        let profile = Profile::spike(per_second(10.0), per_second(100.0), S(10), S(1), S(5)).unwrap();
        assert_eq!(profile.count(), 250.0);
        assert_eq!(profile.length(), S(16));
        assert_eq!(profile.stage_at(Timestamp::from_secs(10)), Some(1));
        assert_eq!(profile.stage_at(Timestamp::from_secs(16)), None);
        assert_eq!(profile.time_of(100.0), Some(Timestamp::from_secs(10)));
        assert_eq!(profile.time_of(200.0), Some(Timestamp::from_secs(11)));
        assert_eq!(profile.rate_at(Timestamp::from_secs(16)), Rate::ZERO);
        assert_eq!(&*profile.stages()[1].name, "spike");
        assert_eq!(profile.start_of(2), Some(Timestamp::from_secs(11)));
    }

    #[test]
    fn nothing_arrives_in_a_pause() {
        let hold = |rate| Stage::hold(per_second(rate), S(10));
        let profile = Profile::new(vec![hold(0.0), hold(1.0), hold(0.0), hold(1.0)]).unwrap();
        assert_eq!(profile.time_of(0.0), Some(Timestamp::from_secs(10)));
        assert_eq!(profile.time_of(10.0), Some(Timestamp::from_secs(30)));
        assert_eq!(profile.repeated(2).unwrap().time_of(20.0), Some(Timestamp::from_secs(50)));
    }

    #[test]
    fn steps_are_equally_far_apart() {
        let profile = Profile::steps(per_second(100.0), per_second(300.0), 3, S(1)).unwrap();
        let rates: Vec<_> = profile.stages().iter().map(|stage| stage.to.per_second()).collect();
        assert_eq!(rates, [100.0, 200.0, 300.0]);
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |stages| Profile::new(stages).unwrap_err().to_string();
        assert!(error(vec![]).contains("30s:200/s"));
        let long = || Stage::hold(per_second(1.0), Duration::from_nanos(u64::MAX));
        assert!(error(vec![long(), long()]).contains("584 years"));
        let short = error(vec![Stage::hold(per_second(1.0), S(0)).named("warm")]);
        assert!(short.contains("stage 1 (`warm`)"), "{short}");
        let fast = error(vec![Stage::ramp(per_second(2e9), Rate::ZERO, S(1))]);
        assert!(fast.contains("2000000000/s, at most 1000000000/s"), "{fast}");
    }

    pub(in crate::schedule) fn any_profile() -> impl Strategy<Value = Profile> {
        let rate = prop_oneof![Just(0.0), 0.1_f64..500.0, (0_u32..50).prop_map(f64::from)];
        let stage = (rate.clone(), rate, 1_u64..3_000, any::<bool>()).prop_map(|(from, to, ms, hold)| {
            let from = if hold { to } else { from };
            Stage::ramp(per_second(from), per_second(to), Duration::from_millis(ms))
        });
        prop::collection::vec(stage, 1..6).prop_map(|stages| Profile::new(stages).unwrap())
    }

    proptest! {
        #[test]
        fn time_inverts_count(profile in any_profile(), share in 0.0_f64..1.0) {
            let count = share * profile.count();
            if let Some(at) = profile.time_of(count) {
                // Within the effect of one nanosecond and of the rounding at the boundaries.
                prop_assert!((profile.count_until(at) - count).abs() < 1e-5, "{} {count}", profile.count_until(at));
                prop_assert!(at < profile.end());
            } else {
                prop_assert!(count >= profile.count());
            }
        }
    }
}
