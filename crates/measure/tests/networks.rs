//! The closed forms against networks that Ciw simulated (`bench/sim/references`), as independent references.

use measure::queueing::Servers;
use serde_json::Value;

const REFERENCES: &str = include_str!("../../../bench/sim/references/networks.json");

/// With twelve runs, chance alone exceeds this many standard errors once in some thousand figures.
const FAR: f64 = 5.0;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

#[track_caller]
fn agrees(exact: f64, simulated: &Value, what: &str) {
    let (mean, error) = (number(simulated, "mean"), number(simulated, "standard_error"));
    assert!((exact - mean).abs() <= FAR * error, "{what}: {exact} exactly, {mean} ± {error} simulated");
    assert!(number(simulated, "low") < mean && mean < number(simulated, "high"), "{what}");
}

#[test]
fn networks_in_product_form_have_the_means_of_their_queues() {
    let references: Value = serde_json::from_str(REFERENCES).unwrap();
    let networks = references["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 20);
    assert!(references["origin"]["by"].as_str().unwrap().starts_with("Ciw "));
    for network in networks.iter().filter(|network| network["product_form"] == true) {
        let name = network["name"].as_str().unwrap();
        let services = network["services"].as_array().unwrap();
        let routes = network["routes"].as_array().unwrap();
        let visits = || {
            routes.iter().flat_map(|route| {
                let rate = route["per_second"].as_f64().unwrap();
                route["visits"].as_array().unwrap().iter().map(move |visit| (rate, visit))
            })
        };
        let mut there = 0.0;
        for (place, service) in services.iter().enumerate() {
            let here = || visits().filter(|(_, visit)| visit["service"].as_u64() == Some(place as u64));
            let arrivals: f64 = here().map(|(rate, _)| rate).sum();
            let mean = here().next().unwrap().1["mean_s"].as_f64().unwrap();
            let servers = service["servers"].as_u64().unwrap() as u32;
            let queue = Servers::new(arrivals, 1.0 / mean, servers).unwrap();
            // Very rare waits have too large errors.
            if queue.waiting_share() > 0.01 {
                let simulated = &service["wait_s"];
                let (exact, found) = (queue.mean_wait(), simulated["mean"].as_f64().unwrap());
                let error = simulated["standard_error"].as_f64().unwrap();
                assert!(
                    (exact - found).abs() <= FAR * error,
                    "{name}, wait at {place}: {exact}, {found} ± {error}"
                );
            }
            agrees(queue.mean_in_system(), &service["in_system"], &format!("{name}, in service {place}"));
            there += queue.mean_in_system();
        }
        // Little's law over the whole network.
        let rate: f64 = routes.iter().map(|route| route["per_second"].as_f64().unwrap()).sum();
        let response = &network["response_s"]["mean"];
        agrees(there / rate, response, &format!("{name}, response time"));
        let (mean, error) = (number(response, "mean"), number(response, "standard_error"));
        assert!(error < 0.02 * mean, "{name}: {error} is too much of {mean} to tell anything");
    }
}
