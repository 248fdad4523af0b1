//! The growth rates of a route's counts.

use crate::metrics::Totals;
use status::Flow;
use std::collections::BTreeMap;

/// The counts of a route, with their growth over the last second.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub(super) demand: Flow,
    pub(super) answered: BTreeMap<String, Flow>,
    pub(super) shed: BTreeMap<String, Flow>,
    pub(super) failed: BTreeMap<String, Flow>,
}

impl Flows {
    /// Adds the totals of a worker: now, and `seconds` before; `None` if they have not changed since.
    pub(crate) fn add(&mut self, before: Option<&Totals>, now: &Totals, seconds: f64) {
        let before = before.unwrap_or(now);
        grow(&mut self.demand, before.demand, now.demand, seconds);
        for (flows, before, now) in [
            (&mut self.answered, &before.answered, &now.answered),
            (&mut self.shed, &before.shed, &now.shed),
            (&mut self.failed, &before.failed, &now.failed),
        ] {
            for &(name, total) in now {
                let before = before.iter().find(|(known, _)| *known == name).map_or(0, |&(_, total)| total);
                grow(flows.entry(name.to_owned()).or_default(), before, total, seconds);
            }
        }
    }
}

fn grow(flow: &mut Flow, before: u64, now: u64, seconds: f64) {
    flow.total += now;
    if seconds > 0.0 {
        flow.per_second += now.saturating_sub(before) as f64 / seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_the_growth_of_all_workers() {
        let totals = |demand, shed| Totals { demand, shed: vec![("rate_class", shed)], ..Totals::default() };
        let mut flows = Flows::default();
        flows.add(Some(&totals(400, 0)), &totals(500, 50), 1.0);
        // Nothing changed on the other worker.
        flows.add(None, &totals(70, 7), 1.1);
        assert_eq!((flows.demand.total, flows.demand.per_second), (570, 100.0));
        assert_eq!((flows.shed["rate_class"].total, flows.shed["rate_class"].per_second), (57, 50.0));
        assert!(flows.answered.is_empty());
        // Just started: there is no second before.
        let mut flows = Flows::default();
        flows.add(Some(&Totals::default()), &totals(5, 0), 0.0);
        assert_eq!((flows.demand.total, flows.demand.per_second), (5, 0.0));
    }
}
