//! Plans of every shape.

use crate::connecting::Servers;
use crate::plan::{Course, Model, Plan, Targets, Users, Work};
use crate::scenario::{
    Check, Definition, Demand, Extract, Flow, Item, Part, Place, Scenario, Scope, Step, StepId, Template,
    Think, split_url,
};
use crate::schedule::{Profile, Stage, UserProfile, UserStage};
use crate::{Arrivals, Collector, Protocol, Target};
use http::dial::{Origin, Resolver};
use stats::Rng;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use units::Rate;

pub(super) fn drawn(rng: &mut Rng) -> Plan {
    let work = if rng.below(2) == 0 { targets(rng) } else { scenario(rng) };
    let mut plan = Plan::new(work, model(rng));
    plan.timeout = millis(50 + rng.below(400));
    plan.good_within = millis(50);
    plan.duration = Some(millis(300 + rng.below(2_000)));
    if rng.below(3) == 0 {
        plan.requests = Some(1 + rng.below(80) as u64);
        if rng.below(2) == 0 && !matches!(plan.model, Model::Closed { users: Users::Stages(_) }) {
            plan.duration = None;
        }
    }
    if rng.below(3) == 0 {
        plan.warm_up = millis(rng.below(1_200));
    }
    if rng.below(2) == 0 {
        let streams = NonZeroU32::new(2 + rng.below(10) as u32).unwrap();
        plan.connecting.protocol = Protocol::Http2 { streams, prior_knowledge: rng.below(2) == 0 };
    }
    plan.keep_alive = rng.below(4) > 0;
    plan.arrival_header = (rng.below(2) == 0).then(|| "X-Arrival".to_owned());
    plan.collector = (rng.below(4) == 0).then(|| Collector::new(20, 64));
    plan
}

fn millis(millis: usize) -> Duration {
    Duration::from_millis(millis as u64)
}

fn some(rng: &mut Rng, below: usize) -> NonZeroU32 {
    NonZeroU32::new(1 + rng.below(below) as u32).unwrap()
}

fn model(rng: &mut Rng) -> Model {
    let connections = (rng.below(2) == 0).then(|| some(rng, 6));
    let arrivals =
        if rng.below(2) == 0 { Arrivals::Even } else { Arrivals::Poisson { seed: rng.below(100) as u64 } };
    match rng.below(5) {
        0 => Model::closed(some(rng, 8)),
        1 => {
            let stages = (0..1 + rng.below(3)).map(|number| UserStage {
                length: millis(100 + rng.below(800)),
                from: rng.below(9) as u32,
                to: rng.below(9) as u32 + u32::from(number == 0),
                name: format!("stage {number}").into(),
            });
            Model::Closed { users: Users::Stages(Arc::new(UserProfile::new(stages.collect()).unwrap())) }
        }
        2 => {
            let mut rate = || Rate::per_second_of(1.0 + rng.below(300) as f64);
            let rates = [rate(), rate(), rate()];
            let stage = |from, to, name: &str| Stage { length: millis(500), from, to, name: name.into() };
            let stages = vec![stage(rates[0], rates[0], "a"), stage(rates[1], rates[2], "b")];
            let profile = Profile::new(stages).unwrap();
            Model::Open { course: Course::Stages(Arc::new(profile)), arrivals, connections }
        }
        _ => Model::open(Rate::per_second_of(1.0 + rng.below(500) as f64), arrivals, connections),
    }
}

fn targets(rng: &mut Rng) -> Work {
    let resolver = Resolver::default();
    let mut servers = Servers::new(&resolver);
    let list = (0..1 + rng.below(5)).map(|number| {
        let url = format!("http://10.3.0.{}/{number}", rng.below(3));
        let (method, size) = [("GET", 0), ("POST", 10), ("PUT", 2_000), ("HEAD", 0)][rng.below(4)];
        // Servers that ignore the method respond to HEAD with a body.
        let method = if method == "HEAD" { "GET" } else { method };
        Target::at(&mut servers, &url, method, &[], &vec![b'x'; size]).unwrap()
    });
    Work::Targets(Targets::new(list.collect()))
}

fn scenario(rng: &mut Rng) -> Work {
    let scope = Scope { extracted: [("id".to_owned(), 0)].into(), ..Scope::default() };
    let mut steps = Vec::new();
    for number in 0..1 + rng.below(3) {
        let url = ["/a", "/b/${id}", "http://10.3.0.1/c"][if number == 0 { 0 } else { rng.below(3) }];
        let json = Extract { slot: 0, part: Part::Json("/id".into()), regex: None };
        steps.push(Step {
            name: url.to_owned(),
            method: ["GET", "POST"][rng.below(2)].to_owned(),
            url: Template::compile(url, Place::Url, &scope).unwrap(),
            extract: if rng.below(2) == 0 { vec![json] } else { Vec::new() },
            checks: vec![Check { name: "ok".into(), demand: Demand::Status(vec![(200, 299)]) }],
            think: [Think::None, Think::Constant(millis(20))][rng.below(2)],
            ..Step::default()
        });
    }
    let items = (0..steps.len()).map(|index| Item::Step(StepId(index))).collect();
    let definition = Definition {
        name: "walk".to_owned(),
        base: Some(split_url("http://10.3.0.0").unwrap().0),
        names: vec!["id".to_owned()],
        flows: vec![Flow { name: "all".into(), weight: 1, items }],
        steps,
        redirects: rng.below(4) as u32,
        ..Definition::default()
    };
    let resolver = Resolver::default();
    let mut servers = Servers::new(&resolver);
    let base = servers.find(&Origin::of_url("http://10.3.0.0/").unwrap().0).unwrap();
    Work::Scenario { scenario: Arc::new(Scenario::new(definition)), servers: [base].into() }
}
