//! Balancing within and across zones.

use super::world::*;
use crate::Requests;
use crate::plant::{InstanceId, Plant, Window};
use crate::settings::*;
use units::Timestamp;

/// One instance in the first of two zones and three in the second; a request takes 10 ms of a core.
fn unequal(across: bool) -> (Requests, Vec<InstanceId>) {
    let mut one = service(50, vec![work(Distribution::Constant(ms(10)), Distribution::ZERO, 1)]);
    one.zones = Zones { names: ["a", "b"].map(String::from).to_vec(), across, failures: Vec::new() };
    one.balancing.nodes = 2;
    let mut plant = Requests::new(&system(poisson(40.0), vec![one]));
    let mut instances = Vec::new();
    for zone in [0, 1, 1, 1] {
        let instance = plant.launch(ServiceId(0), 0);
        plant.put(instance, zone);
        plant.serve(instance);
        instances.push(instance);
    }
    (plant, instances)
}

/// The share of the processor time that the first instance used.
fn share_of_the_first(plant: &mut Requests, instances: &[InstanceId]) -> f64 {
    let used: Vec<f64> = instances.iter().map(|instance| plant.take_cpu(*instance)).collect();
    used[0] / used.iter().sum::<f64>()
}

#[test]
fn a_zone_gets_its_share_however_few_instances_it_has() {
    for (across, expected) in [(true, 0.25), (false, 0.5)] {
        let (mut plant, instances) = unequal(across);
        plant.run_until(Timestamp::from_secs(600));
        let share = share_of_the_first(&mut plant, &instances);
        assert!((share - expected).abs() < 0.02, "across {across}: {share}");
    }
}

#[test]
fn a_zone_without_instances_gets_no_requests() {
    for leave in [Plant::drain, Plant::stop] {
        let (mut plant, instances) = unequal(false);
        plant.run_until(Timestamp::from_secs(60));
        let mut window = Window::default();
        leave(&mut plant, instances[0]);
        plant.take_window(ServiceId(0), &mut window);
        plant.run_until(Timestamp::from_secs(600));
        plant.take_window(ServiceId(0), &mut window);
        assert!(window.arrived > 20_000 && window.failed == 0, "{window:?}");
        assert!(window.arrived.abs_diff(window.answered) < 50, "{window:?}");
        // In the other zone, nothing changes when the first gets an instance that boots.
        let again = plant.launch(ServiceId(0), 0);
        plant.put(again, 0);
        plant.run_until(Timestamp::from_secs(660));
        plant.serve(again);
        instances.iter().skip(1).chain([&again]).for_each(|one| {
            plant.take_cpu(*one);
        });
        plant.run_until(Timestamp::from_secs(1260));
        let share = share_of_the_first(&mut plant, &[again, instances[1], instances[2], instances[3]]);
        assert!((share - 0.5).abs() < 0.02, "{share}");
    }
}

#[test]
fn a_failed_zone_loses_its_requests_until_it_is_noticed() {
    let (mut plant, instances) = unequal(false);
    plant.run_until(Timestamp::from_secs(60));
    let mut window = Window::default();
    plant.take_window(ServiceId(0), &mut window);
    plant.fail(instances[0]);
    plant.run_until(Timestamp::from_secs(660));
    plant.take_window(ServiceId(0), &mut window);
    let failed = window.failed as f64 / window.arrived as f64;
    assert!((failed - 0.5).abs() < 0.02, "{failed}");
}
