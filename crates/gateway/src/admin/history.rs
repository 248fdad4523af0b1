//! The last second of the counts, from which rates come.
//!
//! A rate that a reader makes of two looks at counters depends on when it looked; here all readers see the same, also
//! one that looks once.

use super::status::Flow;
use crate::metrics::Counts;
use crate::settings::Settings;
use crate::shared::lock;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;
use units::Timestamp;

/// The counts of the last second and a bit.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<VecDeque<Sample>>);

/// The counts of all routes at a moment.
#[derive(Debug, Clone)]
struct Sample {
    at: Timestamp,
    routes: Vec<(String, Totals)>,
}

/// What is counted of a route.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) demand: u64,
    pub(super) answered: BTreeMap<String, u64>,
    pub(super) shed: BTreeMap<String, u64>,
    pub(super) failed: BTreeMap<String, u64>,
}

impl History {
    /// Notes the counts of now.
    pub(crate) fn note(&self, counts: &Counts, settings: &Settings) {
        let sample = Sample::of(counts, settings);
        let mut samples = lock(&self.0);
        if samples.back().is_some_and(|last| last.at >= sample.at) {
            return;
        }
        // One that is older than the window is what the window is measured from.
        while samples.len() > 1 && samples.get(1).is_some_and(|second| sample.at.since(second.at) >= WINDOW) {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The flows of each route up to `counts`.
    pub(super) fn flows(&self, counts: &Counts, settings: &Settings) -> Vec<Flows> {
        let now = Sample::of(counts, settings);
        let samples = lock(&self.0);
        let before = samples.iter().rev().find(|sample| now.at.since(sample.at) >= WINDOW);
        let before = before.or(samples.front()).filter(|sample| sample.at < now.at);
        let seconds = before.map_or(0.0, |before| now.at.since(before.at).as_secs_f64());
        now.routes
            .iter()
            .map(|(name, totals)| {
                let known = before.and_then(|sample| sample.routes.iter().find(|(known, _)| known == name));
                Flows::between(known.map(|(_, totals)| totals), totals, seconds)
            })
            .collect()
    }
}

impl Sample {
    fn of(counts: &Counts, settings: &Settings) -> Self {
        let routes = settings.routes.iter().zip(&counts.routes).map(|(route, counts)| {
            let mut totals = Totals { demand: counts.demand(), ..Totals::default() };
            for answer in counts.answers.iter().filter(|answer| answer.is_from_upstream()) {
                *totals.answered.entry(answer.class().to_owned()).or_default() += answer.count();
            }
            let named = |counts: &BTreeMap<&'static str, u64>| {
                counts.iter().map(|(&name, &count)| (name.to_owned(), count)).collect()
            };
            totals.shed = named(&counts.shed);
            totals.failed = named(&counts.failed);
            (route.name.clone(), totals)
        });
        Sample { at: counts.at, routes: routes.collect() }
    }
}

/// Totals with their rates.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub(super) demand: Flow,
    pub(super) answered: BTreeMap<String, Flow>,
    pub(super) shed: BTreeMap<String, Flow>,
    pub(super) failed: BTreeMap<String, Flow>,
}

impl Flows {
    fn between(before: Option<&Totals>, now: &Totals, seconds: f64) -> Self {
        let flow = |before: Option<u64>, total: u64| {
            // A route that was not there before began with nothing.
            let grown = total.saturating_sub(before.unwrap_or(0)) as f64;
            Flow { total, per_second: if seconds > 0.0 { grown / seconds } else { 0.0 } }
        };
        let map = |before: Option<&BTreeMap<String, u64>>, now: &BTreeMap<String, u64>| {
            let flows = now.iter().map(|(name, &total)| {
                let known = before.and_then(|before| before.get(name).copied());
                (name.clone(), flow(known, total))
            });
            flows.collect()
        };
        Flows {
            demand: flow(before.map(|before| before.demand), now.demand),
            answered: map(before.map(|before| &before.answered), &now.answered),
            shed: map(before.map(|before| &before.shed), &now.shed),
            failed: map(before.map(|before| &before.failed), &now.failed),
        }
    }
}

/// How far back a rate looks.
const WINDOW: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::RouteCounts;
    use crate::settings::{PathMatch, Route};
    use std::net::SocketAddr;

    #[test]
    fn rates_are_those_of_the_last_second() {
        let settings = Settings {
            routes: vec![Route::new("all", PathMatch::Prefix("/".to_owned()), 0)],
            ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
        };
        let (history, mut route) = (History::default(), RouteCounts::default());
        let counts = |millis, route: &RouteCounts| Counts {
            at: Timestamp::from_millis(millis),
            routes: vec![route.clone()],
            ..Counts::default()
        };
        let flow = |history: &History, counts: &Counts| history.flows(counts, &settings).remove(0);
        assert_eq!(flow(&history, &counts(0, &route)).demand.per_second, 0.0);
        for tick in 1..=50 {
            // Ten in a tick, all shed after two seconds.
            for _ in 0..10 {
                if tick <= 20 {
                    route.answered(b"GET", 200, WINDOW, WINDOW, Duration::ZERO);
                } else {
                    route.shed("rate_class");
                }
            }
            history.note(&counts(tick * 100, &route), &settings);
        }
        let found = flow(&history, &counts(5_000, &route));
        assert_eq!((found.demand.total, found.demand.per_second.round()), (500, 100.0));
        assert_eq!((found.answered["2xx"].total, found.answered["2xx"].per_second), (200, 0.0));
        assert_eq!(
            (found.shed["rate_class"].total, found.shed["rate_class"].per_second.round()),
            (300, 100.0)
        );
        assert!(lock(&history.0).len() <= 12);
    }
}
