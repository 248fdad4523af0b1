//! All problems of settings are reported.

use super::world::*;
use crate::settings::*;
use std::sync::Arc;
use std::time::Duration;

#[track_caller]
fn assert_says(system: &System, expected: &[&str]) {
    let said: Vec<String> = system.problems().iter().map(Problem::to_string).collect();
    assert_eq!(said, expected);
}

#[test]
fn a_sound_system_has_no_problems() {
    let step = work(Distribution::LogNormal { mean: ms(3), cv: 1.0 }, Distribution::ZERO, 3);
    assert_says(&system(poisson(1.0), vec![service(5, vec![step])]), &[]);
}

#[test]
fn all_problems_are_named_with_their_places() {
    let calls = Step::Calls(vec![Call { service: ServiceId(3), endpoint: 0 }]);
    let hold = Step::Hold { pool: PoolId(1), time: Distribution::HyperExponential { mean: ms(1), cv: 0.5 } };
    let mut service = service(0, vec![work(Distribution::ZERO, Distribution::ZERO, 0), hold, calls]);
    service.endpoints[0].share = 0.0;
    service.hosts[0].background = 1.5;
    service.balancing.nodes = 0;
    let traffic = Traffic::Open {
        rates: Arc::from([1.0, f64::NAN]),
        bin: Duration::ZERO,
        arrivals: Arrivals::Even,
        noise: None,
    };
    assert_says(
        &system(traffic, vec![service]),
        &[
            "`services[0].endpoints[..].share` is 0; it has to be above 0 in all, as traffic enters here",
            "`services[0].endpoints[0].steps[0].bursts` is 0; it has to be from 1 to 65535",
            "`services[0].endpoints[0].steps[1].pool` is 1; it has to be the place of one of the pools",
            "`services[0].endpoints[0].steps[1].time.cv` is 0.5; it has to be above 1 and below 10000",
            "`services[0].endpoints[0].steps[2]` is endpoint 0 of service 3; it has to be an endpoint that there is",
            "`services[0].hosts[0].background` is 1.5; it has to be at least 0 and below the cores and the quota",
            "`services[0].server.threads` is 0; it has to be at least 1",
            "`services[0].balancing.nodes` is 0; it has to be from 1 to 65535",
            "`traffic.bin` is 0; it has to be above 0",
            "`traffic.rates[1]` is NaN; it has to be at least 0",
        ],
    );
}

#[test]
fn processes_have_to_fit_into_memory() {
    let mut service = service(1, Vec::new());
    service.server.processes = 18;
    service.server.memory_per_process = units::Bytes::new(400 << 20);
    service.hosts[0].memory = Some(units::Bytes::new(7 << 30));
    let system = system(poisson(1.0), vec![service]);
    assert_eq!(system.problems().len(), 1);
    assert_eq!(system.problems()[0].place, "services[0].hosts[0].memory");
}

#[test]
fn circles_of_calls_are_found() {
    let call = |number| vec![Step::Calls(vec![Call { service: ServiceId(number), endpoint: 0 }])];
    let circle = system(poisson(1.0), vec![service(1, call(1)), service(1, call(2)), service(1, call(1))]);
    assert_says(
        &circle,
        &[
            "`services[0].endpoints[0].steps` is a circle of calls; it has to be free of calls that come back to it",
        ],
    );
    // Two calls to the same service do not form a circle.
    let mut both = call(1);
    both.extend(call(2));
    let ways = system(poisson(1.0), vec![service(1, both), service(1, call(2)), service(1, Vec::new())]);
    assert_says(&ways, &[]);
}
