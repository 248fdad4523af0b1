//! The facts of a plan that results show.

use ::load::{Arrivals, Course, Model, Plan, Protocol, Users, Work};
use documents::run::{self, Asked};
use std::num::NonZeroU32;
use units::Timestamp;

/// The facts of a plan that results show.
pub fn asked(plan: &Plan) -> Asked {
    let end = plan.end();
    Asked {
        target: plan.url().to_owned(),
        work: work(&plan.work),
        model: model(&plan.model),
        protocol: match plan.connecting.protocol {
            Protocol::Http1 => run::Protocol::Http1,
            Protocol::Http2 { streams, .. } => run::Protocol::Http2 { streams: streams.get() },
        },
        keep_alive: plan.keep_alive,
        duration: plan.duration,
        requests: plan.requests,
        end: (end != Timestamp::NEVER).then(|| end.since(Timestamp::ZERO)),
        warm_up: plan.warm_up,
        timeout: plan.timeout,
        workers: plan.workers.get(),
    }
}

fn work(work: &Work) -> run::Work {
    match work {
        Work::Targets(targets) => {
            let address = targets.list.first().and_then(|target| target.server.addresses.first());
            run::Work::Targets { address: address.map(ToString::to_string), count: targets.list.len() }
        }
        Work::Scenario { servers, .. } => {
            let origin = servers.first().map(|server| &server.origin);
            let server = origin.map(|origin| format!("{}://{}", origin.scheme.name(), origin.authority));
            run::Work::Scenario { server }
        }
    }
}

fn model(model: &Model) -> run::Model {
    let connections = model.connections().map(NonZeroU32::get);
    match model {
        Model::Closed { users } => {
            let users = match users {
                Users::Constant(users) => run::Users::Constant(users.get()),
                Users::Stages(profile) => {
                    let stages = profile.stages().iter();
                    run::Users::Stages(stages.map(|stage| stage.name.to_string()).collect())
                }
            };
            run::Model::Closed { users, connections }
        }
        Model::Open { course, arrivals, .. } => {
            let course = match course {
                Course::Rate(rate) => run::Course::Rate(*rate),
                Course::Stages(profile) => {
                    let stages = profile.stages().iter();
                    run::Course::Stages(stages.map(|stage| stage.name.to_string()).collect())
                }
                Course::Trace(trace) => run::Course::Trace { arrivals: trace.count(), bin: trace.bin() },
                Course::Recorded(times) => run::Course::Recorded(times.len() as u64),
            };
            let arrivals = match *arrivals {
                Arrivals::Even => run::Arrivals::Even,
                Arrivals::Poisson { seed } => run::Arrivals::Poisson { seed },
            };
            run::Model::Open { course, arrivals, connections }
        }
    }
}
