//! The endpoints of a plan's work, each by itself: work that shows what one kind of request costs.
//!
//! ## Why a step is repeated
//! A step of a scenario may need values and cookies of the steps before it, so it cannot be sent without them. They are
//! sent once, and the step many times after them; what the others cost is then small, and known from their own work.

use crate::plan::{Targets, Work};
use crate::scenario::{Definition, Flow, Item, Scenario, StepId, Think};
use std::sync::Arc;

/// One endpoint of a plan's work.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name in results.
    pub name: String,
    /// Its share of the requests, 0 to 1; `None` where only a run shows it.
    pub share: Option<f64>,
    /// Work that consists of it, for the most part.
    pub work: Work,
    /// Its place among the endpoints of the results of that work.
    pub place: usize,
    /// Its place among the endpoints of the results of the whole work.
    pub place_in_whole: usize,
}

impl Work {
    /// Its endpoints, each by itself; empty if there is only one. A step that no flow has is left out.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let endpoints = match self {
            Work::Targets(targets) => of_targets(targets),
            Work::Scenario { scenario, servers } => {
                let whole = scenario.endpoints().iter().enumerate();
                let found = whole.filter_map(|(place, endpoint)| {
                    let scenario = Arc::new(repeating(scenario, place)?);
                    let work = Work::Scenario { scenario, servers: Arc::clone(servers) };
                    Some(Endpoint {
                        name: endpoint.name.clone(),
                        share: None,
                        work,
                        place,
                        place_in_whole: place,
                    })
                });
                found.collect()
            }
        };
        if endpoints.len() > 1 { distinct(endpoints) } else { Vec::new() }
    }

    /// The same work without think times.
    #[must_use]
    pub fn without_think(&self) -> Self {
        match self {
            Work::Targets(_) => self.clone(),
            Work::Scenario { scenario, servers } => {
                let scenario = Scenario::new(thoughtless(scenario.definition().clone()));
                Work::Scenario { scenario: Arc::new(scenario), servers: Arc::clone(servers) }
            }
        }
    }
}

/// Endpoints of a scenario may differ in their tags only.
fn distinct(mut endpoints: Vec<Endpoint>) -> Vec<Endpoint> {
    for place in 1..endpoints.len() {
        let taken = |name: &str| endpoints[..place].iter().any(|one| one.name == name);
        let name = endpoints[place].name.clone();
        let free = (2..).map(|number| format!("{name} {number}")).find(|name| !taken(name));
        if let Some(free) = free.filter(|_| taken(&name)) {
            endpoints[place].name = free;
        }
    }
    endpoints
}

fn of_targets(targets: &Targets) -> Vec<Endpoint> {
    let all: Vec<usize> = match &targets.order {
        Some(order) => order.iter().map(|&place| place as usize).collect(),
        None => (0..targets.list.len()).collect(),
    };
    let endpoint = |place: usize| targets.endpoint_of.get(place).map(|&endpoint| endpoint as usize);
    let one = |(number, name): (usize, &String)| {
        let own: Vec<_> = all.iter().copied().filter(|&place| endpoint(place) == Some(number)).collect();
        let list: Vec<_> = own.iter().filter_map(|&place| targets.list.get(place).cloned()).collect();
        (!list.is_empty()).then(|| Endpoint {
            name: name.clone(),
            share: Some(own.len() as f64 / all.len() as f64),
            // The endpoint of the rest has requests of several names.
            work: Work::Targets(Targets::new(list.into_iter().map(|target| target.named(name)).collect())),
            place: 0,
            place_in_whole: number,
        })
    };
    targets.endpoints.iter().enumerate().filter_map(one).collect()
}

/// A scenario whose users send the first step of this endpoint many times, after the steps before it.
fn repeating(scenario: &Scenario, endpoint: usize) -> Option<Scenario> {
    let definition = scenario.definition();
    let is_it = |step: &StepId| scenario.endpoint(*step) == endpoint;
    let in_flow = |flow: &Flow| {
        flow.items.iter().enumerate().find_map(|(place, item)| match item {
            Item::Step(step) => is_it(step).then_some((place, *step)),
            Item::Mix(mix) => mix.iter().map(|(_, step)| *step).find(is_it).map(|step| (place, step)),
        })
    };
    let (flow, (place, step)) = definition.flows.iter().find_map(|flow| Some((flow, in_flow(flow)?)))?;
    let mut items = flow.items[..place].to_vec();
    items.extend((0..REPEATED).map(|_| Item::Step(step)));
    let flow = Flow { items, weight: 1, ..flow.clone() };
    Some(Scenario::new(thoughtless(Definition { flows: vec![flow], ..definition.clone() })))
}

fn thoughtless(mut definition: Definition) -> Definition {
    definition.steps.iter_mut().for_each(|step| step.think = Think::None);
    definition
}

/// How often a step is sent after those that it needs.
const REPEATED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use crate::scenario::Step;

    fn target(path: &str) -> Target {
        Target::new(&format!("http://127.0.0.1:1{path}"), "GET", &[], &[]).unwrap()
    }

    #[test]
    fn each_name_is_an_endpoint_with_its_share() {
        let list = vec![target("/a"), target("/b").named("/a"), target("/c")];
        let work = Work::Targets(Targets::new(list).in_order([0, 0, 1, 2].into()));
        let found = work.endpoints();
        let shares: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.share)).collect();
        assert_eq!(shares, [("/a", Some(0.75)), ("/c", Some(0.25))]);
        let Work::Targets(first) = &found[0].work else { panic!("{found:?}") };
        let paths: Vec<&str> = first.list.iter().map(|target| target.path.as_str()).collect();
        assert_eq!((paths, first.endpoints.len()), (vec!["/a", "/a", "/b"], 1));
        assert!(Work::from(target("/")).endpoints().is_empty());
    }

    #[test]
    fn a_step_is_repeated_after_those_before_it() {
        let step = |name: &str| Step {
            name: name.to_owned(),
            method: "GET".to_owned(),
            think: Think::Constant(std::time::Duration::from_secs(1)),
            ..Step::default()
        };
        let items = vec![Item::Step(StepId(0)), Item::Mix(vec![(1, StepId(1)), (2, StepId(2))])];
        let flow = Flow { name: "buy".to_owned(), weight: 3, items };
        let steps = ["log in", "cart", "pay", "never sent"].map(step).into();
        let scenario = Scenario::new(Definition { flows: vec![flow], steps, ..Definition::default() });
        let work = Work::Scenario { scenario: Arc::new(scenario), servers: [].into() };
        let found = work.endpoints();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["log in", "cart", "pay"]);
        let Work::Scenario { scenario, .. } = &found[2].work else { panic!("{found:?}") };
        let items = &scenario.definition().flows[0].items;
        assert!(matches!(items[..2], [Item::Step(StepId(0)), Item::Step(StepId(2))]), "{items:?}");
        assert_eq!((items.len(), found[2].place), (1 + REPEATED, 2));
        let twice = distinct([found.clone(), found.clone()].concat());
        assert_eq!((twice[3].name.as_str(), twice[5].name.as_str()), ("log in 2", "pay 2"));
        for work in [&found[2].work, &work.without_think()] {
            let Work::Scenario { scenario, .. } = work else { panic!("{work:?}") };
            assert!(scenario.definition().steps.iter().all(|step| step.think == Think::None));
        }
    }
}
