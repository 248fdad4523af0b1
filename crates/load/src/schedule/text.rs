//! The text form of stages: `30s:200/s`, `1m:..500/s`, `30s:50`.
//!
//! ## Grammar
//! A length, a colon, and the load: `200/s` holds a rate of arrivals, `0/s..200/s` changes linearly from one to the
//! other, `..200/s` begins where the last stage ended (the first one at zero). Numbers without a unit of rate are users
//! of the closed model: `30s:50`, `30s:10..50`, `30s:..50`.
//!
//! ## Difference from k6
//! `--stage 30s:50` of k6 ramps: it means `30s:..50` here. Most people read a stage as a hold, and in k6 a hold needs
//! two stages. All stages of a run are of one kind, so that a run is never both open and closed.

use super::{Profile, ProfileError, Stage, UserProfile, UserStage};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use units::{Rate, parse_duration};

/// The load of a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Level {
    /// Arrivals a second (the open model).
    Rate(Rate),
    /// Users at a time (the closed model).
    Users(u32),
}

/// A stage as it was typed.
#[derive(Debug, Clone, PartialEq)]
pub struct StageText {
    /// How long it lasts, above zero.
    pub length: Duration,
    /// The load at its beginning; `None` for the end of the last stage.
    pub from: Option<Level>,
    /// The load at its end; of the same kind as at its beginning.
    pub to: Level,
    /// The text, which is also its name in results.
    pub text: Arc<str>,
}

/// A text that is not a valid stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no stage: `{found}` is no {expected}, such as 30s:200/s, 30s:0/s..200/s, 30s:..200/s or 30s:50"
)]
pub struct StageError {
    /// The whole text.
    pub text: String,
    /// The invalid part.
    pub found: String,
    /// What was expected there.
    pub expected: &'static str,
}

impl FromStr for StageText {
    type Err = StageError;

    /// Reads `30s:200/s` (hold), `30s:0/s..200/s` (ramp), `30s:..200/s` (ramp from where the last stage ended), and
    /// the same with numbers of users instead of rates.
    fn from_str(text: &str) -> Result<Self, StageError> {
        let wrong =
            |found: &str, expected| StageError { text: text.to_string(), found: found.to_string(), expected };
        let (length_text, load) = text.split_once(':').ok_or_else(|| wrong(text, COLON))?;
        let length = parse_duration(length_text).ok().filter(|length| !length.is_zero());
        let length = length.ok_or_else(|| wrong(length_text, LENGTH))?;
        let level = |text: &str| level(text.trim()).ok_or_else(|| wrong(text, LEVEL));
        let (from, to) = match load.split_once("..") {
            None => {
                let held = level(load)?;
                (Some(held), held)
            }
            Some((from, to)) if from.trim().is_empty() => (None, level(to)?),
            Some((from, to)) => (Some(level(from)?), level(to)?),
        };
        if from.is_some_and(|from| !from.same_kind(to)) {
            return Err(wrong(load, ONE_KIND));
        }
        Ok(StageText { length, from, to, text: text.trim().into() })
    }
}

impl Level {
    fn same_kind(self, other: Level) -> bool {
        matches!((self, other), (Level::Rate(_), Level::Rate(_)) | (Level::Users(_), Level::Users(_)))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Rate(rate) => rate.fmt(f),
            Level::Users(users) => users.fmt(f),
        }
    }
}

fn level(text: &str) -> Option<Level> {
    if text.contains('/') { text.parse().ok().map(Level::Rate) } else { text.parse().ok().map(Level::Users) }
}

const COLON: &str = "length and load with a colon between them";
const LENGTH: &str = "length above zero with its unit";
const LEVEL: &str = "rate with its unit and no whole number of users";
const ONE_KIND: &str = "range of one kind (rates have a unit on both sides of the dots, users on neither)";

/// The combined stages of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Stages {
    /// The course of the arrival rate (the open model).
    Rates(Profile),
    /// The course of the number of users (the closed model).
    Users(UserProfile),
}

/// Why stages cannot be combined.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StagesError {
    /// Rates and users in one run.
    #[error(
        "the stages `{one}` and `{other}` are of two kinds: one has a rate of arrivals, the other a number of users; give all of them as rates (30s:200/s) or all as users (30s:50)"
    )]
    Mixed {
        /// The first stage.
        one: Arc<str>,
        /// The first one of the other kind.
        other: Arc<str>,
    },
    /// They are not a valid profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

impl Stages {
    /// Puts typed stages one after another.
    ///
    /// # Errors
    /// Rates and users are mixed, or as for [`Profile::new`].
    pub fn new(typed: &[StageText]) -> Result<Self, StagesError> {
        let first = typed.first().ok_or(ProfileError::Empty)?;
        if let Some(other) = typed.iter().find(|stage| !stage.to.same_kind(first.to)) {
            return Err(StagesError::Mixed { one: Arc::clone(&first.text), other: Arc::clone(&other.text) });
        }
        let (mut rates, mut users) = (Vec::new(), Vec::new());
        let (mut rate, mut count) = (Rate::ZERO, 0);
        for stage in typed {
            let (length, name) = (stage.length, Arc::clone(&stage.text));
            match stage.to {
                Level::Rate(to) => {
                    let from = if let Some(Level::Rate(from)) = stage.from { from } else { rate };
                    rates.push(Stage { length, from, to, name });
                    rate = to;
                }
                Level::Users(to) => {
                    let from = if let Some(Level::Users(from)) = stage.from { from } else { count };
                    users.push(UserStage { length, from, to, name });
                    count = to;
                }
            }
        }
        Ok(match first.to {
            Level::Rate(_) => Stages::Rates(Profile::new(rates)?),
            Level::Users(_) => Stages::Users(UserProfile::new(users)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(texts: &[&str]) -> Result<Stages, StagesError> {
        let typed: Vec<_> =
            texts.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{error}"))).collect();
        Stages::new(&typed)
    }

    #[test]
    fn reads_holds_and_ramps() {
        let Ok(Stages::Rates(profile)) =
            read(&["30s:..200/s", "1m:200/s", "30s: 200/s .. 6k/m", "10s:..0/s"])
        else {
            panic!("rates")
        };
        let rates: Vec<_> =
            profile.stages().iter().map(|s| (s.from.per_second(), s.to.per_second())).collect();
        assert_eq!(rates, [(0.0, 200.0), (200.0, 200.0), (200.0, 100.0), (100.0, 0.0)]);
        assert_eq!(&*profile.stages()[0].name, "30s:..200/s");
        let Ok(Stages::Users(users)) = read(&["30s:50", "30s:..10", "30s:5..20"]) else { panic!("users") };
        let counts: Vec<_> = users.stages().iter().map(|s| (s.from, s.to)).collect();
        assert_eq!(counts, [(50, 50), (50, 10), (5, 20)]);
    }

    #[test]
    fn names_what_it_found_and_what_it_expects() {
        for (text, found) in [
            ("30s", "`30s` is no length and load"),
            ("30:200/s", "`30` is no length above zero"),
            ("0s:200/s", "`0s` is no length above zero"),
            ("30s:fast", "`fast` is no rate"),
            ("30s:2.5", "`2.5` is no rate"),
            ("30s:200/s..", "`` is no rate"),
            ("30s:", "`` is no rate"),
            ("30s:-5", "`-5` is no rate"),
            ("30s:0..200/s", "`0..200/s` is no range of one kind"),
        ] {
            let error = text.parse::<StageText>().unwrap_err().to_string();
            assert!(error.contains(found) && error.contains("30s:0/s..200/s"), "{error}");
        }
    }

    #[test]
    fn one_run_is_not_open_and_closed_at_once() {
        let error = read(&["30s:200/s", "30s:50"]).unwrap_err().to_string();
        assert!(error.contains("`30s:200/s` and `30s:50` are of two kinds"), "{error}");
        assert_eq!(read(&[]), Err(StagesError::Profile(ProfileError::Empty)));
        assert!(read(&["1s:2G/s"]).unwrap_err().to_string().contains("told apart"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,12}", length in "[0-9smh]{0,4}", load in "[0-9./smkMG]{0,9}") {
            let _ = text.parse::<StageText>();
            let _ = format!("{length}:{load}").parse::<StageText>().map(|stage| Stages::new(&[stage]));
        }
    }
}
