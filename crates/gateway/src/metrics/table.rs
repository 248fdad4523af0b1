//! One worker's counts of all routes, and the counts that it has published.
//!
//! ## Why only changes are copied
//! With ten thousand routes, a copy of every count ten times a second would block the event loop for milliseconds each
//! time. Few routes have a request within a tenth of a second: counts are shared with their readers until the next
//! request changes them, and a route without requests takes one word.

use super::{Counts, RouteCounts};
use crate::shared::Shared;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// The counts of each route, by its index in the configuration; `None` if it had no requests.
pub(crate) type Routes = Vec<Option<Arc<RouteCounts>>>;

/// One worker's counts of the routes of one configuration.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    routes: Routes,
    /// The routes whose counts differ from those that were published last. Their counts have no other owner.
    changed: Vec<usize>,
    /// The routes that had requests in flight or waiting at the last update.
    busy: Vec<usize>,
}

impl RouteTable {
    pub(crate) fn new(routes: usize) -> Self {
        RouteTable { routes: vec![None; routes], ..RouteTable::default() }
    }

    /// The counts of a route, to be changed.
    pub(crate) fn change(&mut self, route: usize) -> &mut RouteCounts {
        let counts = match &mut self.routes[route] {
            Some(counts) => {
                if Arc::get_mut(counts).is_none() {
                    self.changed.push(route);
                }
                counts
            }
            none => {
                self.changed.push(route);
                none.insert(Arc::default())
            }
        };
        Arc::make_mut(counts)
    }

    /// The counts of the routes that had requests.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = &RouteCounts> {
        self.routes.iter().flatten().map(|counts| &**counts)
    }

    /// The counts of a route that had requests.
    #[cfg(test)]
    pub(crate) fn counted(&self, route: usize) -> &RouteCounts {
        self.routes[route].as_deref().expect("a request was for it")
    }

    /// Takes over the counts of an earlier configuration; `place` returns the present index of one of its routes.
    pub(crate) fn absorb(&mut self, earlier: &mut RouteTable, place: impl Fn(usize) -> Option<usize>) {
        let counted = earlier.routes.iter_mut().enumerate();
        for (route, counts) in counted.filter_map(|(route, counts)| Some((route, counts.take()?))) {
            let Some(now) = place(route) else { continue };
            match &mut self.routes[now] {
                Some(_) => self.change(now).add(&counts),
                none => *none = Some(counts),
            }
            // Until the next update of their number.
            self.busy.extend(self.routes[now].as_ref().filter(|counts| counts.is_busy()).map(|_| now));
        }
        for route in earlier.changed.drain(..) {
            self.changed.extend(place(route).filter(|&now| self.routes[now].is_some()));
        }
        earlier.busy.clear();
    }

    /// Updates how many requests of each route are at the upstream, and how many wait; routes that are not in
    /// `under_way` have none.
    pub(crate) fn note_under_way(&mut self, under_way: &HashMap<usize, (u64, u64)>) {
        let before = std::mem::take(&mut self.busy);
        for route in before.into_iter().chain(under_way.keys().copied()) {
            let now = under_way.get(&route).copied().unwrap_or_default();
            let known = self.routes[route].as_ref().map_or((0, 0), |found| (found.in_flight, found.waiting));
            if known != now {
                let counts = self.change(route);
                (counts.in_flight, counts.waiting) = now;
            }
        }
        self.busy.extend(under_way.keys());
    }
}

/// A worker's published counts, and those of a second ago.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(super) counts: Counts,
    /// The changes from one publication to the next, the latest last.
    steps: VecDeque<Step>,
}

/// What a publication replaced.
#[derive(Debug)]
struct Step {
    /// When what it replaced was published.
    since: Timestamp,
    /// The totals that it replaced, by route.
    totals: Vec<(usize, Totals)>,
}

impl Published {
    /// Takes over the changes since the last time. The routes of `counts` are those of `table`.
    pub(crate) fn publish(&mut self, counts: &Counts, table: &mut RouteTable) {
        let view = counts
            .view
            .as_ref()
            .filter(|now| self.counts.view.as_ref().is_some_and(|published| !Arc::ptr_eq(published, now)));
        if let Some(view) = view {
            self.follow(view);
        }
        let mut routes = std::mem::take(&mut self.counts.routes);
        routes.resize(table.routes.len(), None);
        let mut totals = Vec::new();
        for route in table.changed.drain(..) {
            let (published, now) = (&mut routes[route], &table.routes[route]);
            let is_known =
                matches!((&*published, now), (Some(ours), Some(theirs)) if Arc::ptr_eq(ours, theirs));
            if !is_known {
                totals.push((route, published.as_deref().map(Totals::of).unwrap_or_default()));
                published.clone_from(now);
            }
        }
        self.steps.push_back(Step { since: self.counts.at, totals });
        while self.steps.get(1).is_some_and(|second| counts.at.since(second.since) >= WINDOW) {
            self.steps.pop_front();
        }
        self.counts.clone_from(counts);
        self.counts.routes = routes;
    }

    /// Reorders the published counts by the routes of another configuration.
    fn follow(&mut self, view: &Arc<Shared>) {
        let Some(old) = self.counts.view.as_ref() else { return };
        let places = view.places_of(old);
        let mut routes: Routes = vec![None; view.settings.routes.len()];
        for (counts, place) in self.counts.routes.drain(..).zip(&places) {
            if let (Some(counts), Some(place)) = (counts, *place) {
                routes[place] = Some(counts);
            }
        }
        self.counts.routes = routes;
        for step in &mut self.steps {
            step.totals.retain_mut(|(route, _)| match places.get(*route).copied().flatten() {
                Some(place) => {
                    *route = place;
                    true
                }
                None => false,
            });
        }
    }

    /// The last published counts.
    pub(crate) fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The counts, and those of about a second before: the seconds in between, and the totals of the routes that have
    /// changed since.
    pub(crate) fn with_before(&self) -> (Counts, f64, HashMap<usize, Totals>) {
        let now = self.counts.at;
        let (mut since, mut before) = (now, HashMap::new());
        for step in self.steps.iter().rev() {
            before.extend(step.totals.iter().cloned());
            since = step.since;
            if now.since(since) >= WINDOW {
                break;
            }
        }
        (self.counts.clone(), now.since(since).as_secs_f64(), before)
    }
}

/// The counts of a route, in brief.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) demand: u64,
    /// By class of status, with a response of an instance.
    pub(crate) answered: Vec<(&'static str, u64)>,
    pub(crate) shed: Vec<(&'static str, u64)>,
    pub(crate) failed: Vec<(&'static str, u64)>,
}

impl Totals {
    pub(crate) fn of(counts: &RouteCounts) -> Self {
        let mut answered: Vec<(&'static str, u64)> = Vec::new();
        for answer in counts.answers.iter().filter(|answer| answer.is_from_upstream()) {
            match answered.iter_mut().find(|(class, _)| *class == answer.class()) {
                Some((_, count)) => *count += answer.count(),
                None => answered.push((answer.class(), answer.count())),
            }
        }
        let named = |counts: &std::collections::BTreeMap<&'static str, u64>| {
            counts.iter().map(|(&name, &count)| (name, count)).collect()
        };
        Totals { demand: counts.demand(), answered, shed: named(&counts.shed), failed: named(&counts.failed) }
    }
}

/// The period over which a rate is computed.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(published: &mut Published, table: &mut RouteTable, millis: u64) {
        published.publish(&Counts { at: Timestamp::from_millis(millis), ..Counts::default() }, table);
    }

    #[test]
    fn publishes_what_changed_and_knows_the_second_before() {
        let (mut table, mut published) = (RouteTable::new(3), Published::default());
        publish(&mut published, &mut table, 0);
        for tick in 1..=50 {
            // Ten per tick, all shed after two seconds.
            for _ in 0..10 {
                if tick <= 20 {
                    table.change(1).answered(b"GET", 200, WINDOW, WINDOW, Duration::ZERO);
                } else {
                    table.change(1).shed("rate_class");
                }
            }
            assert_eq!(table.changed, [1]);
            publish(&mut published, &mut table, tick * 100);
            assert!(table.changed.is_empty());
        }
        let (counts, seconds, before) = published.with_before();
        assert!(counts.routes[0].is_none() && counts.routes[2].is_none());
        let now = Totals::of(counts.route(1));
        assert_eq!(
            (now.demand, &now.answered, &now.shed),
            (500, &vec![("2xx", 200)], &vec![("rate_class", 300)])
        );
        let expected = Totals { demand: 400, shed: vec![("rate_class", 200)], ..now };
        assert_eq!((seconds, before), (1.0, HashMap::from([(1, expected)])));
        assert!(published.steps.len() <= 11, "{}", published.steps.len());
    }

    #[test]
    fn what_a_reader_has_does_not_change() {
        let (mut table, mut published) = (RouteTable::new(1), Published::default());
        table.change(0).shed("rate_class");
        publish(&mut published, &mut table, 100);
        let (read, ..) = published.with_before();
        table.change(0).shed("rate_class");
        assert_eq!(read.route(0).demand(), 1);
        publish(&mut published, &mut table, 200);
        assert_eq!((read.route(0).demand(), published.with_before().0.route(0).demand()), (1, 2));
    }

    #[test]
    fn requests_in_flight_are_noted_until_they_end() {
        let (mut table, mut published) = (RouteTable::new(2), Published::default());
        table.note_under_way(&HashMap::from([(1, (3, 1))]));
        publish(&mut published, &mut table, 100);
        assert_eq!(published.counts.route(1).demand(), 4);
        table.note_under_way(&HashMap::from([(1, (3, 1))]));
        assert!(table.changed.is_empty(), "nothing changed");
        table.note_under_way(&HashMap::new());
        publish(&mut published, &mut table, 200);
        assert_eq!(published.counts.route(1).demand(), 0);
    }

    #[test]
    fn counts_follow_their_route_to_another_place() {
        let (mut old, mut new) = (RouteTable::new(3), RouteTable::new(2));
        old.change(0).shed("rate_class");
        old.change(2).shed("deadline");
        new.change(0).shed("deadline");
        // The first route is gone, the third is the first now.
        new.absorb(&mut old, |route| (route == 2).then_some(0));
        let mut published = Published::default();
        publish(&mut published, &mut new, 100);
        assert_eq!(published.counts.route(0).shed, [("deadline", 2)].into());
        assert_eq!(published.counts.route(1).demand(), 0);
        assert!(old.routes.iter().all(Option::is_none));
    }
}
