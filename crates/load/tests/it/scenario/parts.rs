//! Scenarios, put together.

use http::dial::{Origin, Resolver};
use load::scenario::{Definition, Flow, Item, Place, Scenario, Scope, Step, StepId, Template, split_url};
use load::{Servers, Work};
use std::net::SocketAddr;
use std::sync::Arc;

pub fn step(method: &str, url: &str, scope: &Scope) -> Step {
    Step {
        name: format!("{method} {url}"),
        method: method.into(),
        url: Template::compile(url, Place::Url, scope).unwrap(),
        ..Step::default()
    }
}

pub fn get(url: &str) -> Step {
    step("GET", url, &Scope::default())
}

/// All steps, one after another.
pub fn one_flow(steps: Vec<Step>, names: &[&str]) -> Definition {
    let items = (0..steps.len()).map(|index| Item::Step(StepId(index))).collect();
    Definition {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        flows: vec![Flow { name: "all".into(), weight: 1, items }],
        steps,
        ..Definition::default()
    }
}

/// A scenario against the server at an address.
pub fn work(address: SocketAddr, definition: Definition) -> Work {
    let url = format!("http://{address}");
    let definition = Definition { base: Some(split_url(&url).unwrap().0), ..definition };
    let resolver = Resolver::default();
    let server = Servers::new(&resolver).find(&Origin::of_url(&url).unwrap().0).unwrap();
    Work::Scenario { scenario: Arc::new(Scenario::new(definition)), servers: [server].into() }
}
