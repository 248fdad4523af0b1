//! Zones: where instances are, and what the loss of one does.

use super::testing::*;
use crate::outcome::{Outcome, Row};
use crate::settings::{System, ZoneFailure, Zones};
use std::time::Duration;

fn zoned(names: &[&str], failures: Vec<ZoneFailure>) -> Zones {
    Zones { names: names.iter().map(|name| (*name).to_owned()).collect(), across: true, failures }
}

fn lost(zone: u16, at: u64, lasts: u64, noticed_after: u64) -> ZoneFailure {
    let secs = Duration::from_secs;
    ZoneFailure { zone, at: secs(at), lasts: secs(lasts), noticed_after: secs(noticed_after) }
}

fn run(system: &System) -> Outcome {
    crate::run_on(system, Fluid::new(system), &mut |_| {})
}

fn by_zone(outcome: &Outcome) -> Vec<&[u32]> {
    outcome.services[0].rows.iter().map(|row: &Row| row.zones.as_slice()).collect()
}

#[test]
fn instances_are_launched_where_there_are_fewest_and_end_where_there_are_most() {
    let mut service = service(2);
    service.zones = zoned(&["a", "b", "c"], Vec::new());
    // Five from the 2nd minute on, four from the 6th, one from the 9th.
    service.scaling.policy = by_hand(&[(2, 5), (6, 4), (9, 1)]);
    let outcome = run(&system(service, &[10.0; 12]));
    let zones = by_zone(&outcome);
    assert_eq!(zones[0], [1, 1, 0]);
    assert_eq!(zones[4], [2, 2, 1]);
    assert_eq!(zones[7], [1, 2, 1], "of the oldest of the two zones with two");
    let last = zones[11];
    assert_eq!(last.iter().sum::<u32>(), 1);
    let totals = &outcome.services[0].zones;
    assert_eq!(totals.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(totals.iter().map(|zone| zone.highest).collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn a_lost_zone_is_replaced_in_the_others_and_gets_instances_again_when_it_is_back() {
    let mut service = service(6);
    service.zones = zoned(&["a", "b", "c"], vec![lost(1, 90, 300, 25)]);
    service.scaling.policy = by_hand(&[(9, 8)]);
    let outcome = run(&system(service, &[10.0; 12]));
    let zones = by_zone(&outcome);
    assert_eq!(zones[0], [2, 2, 2]);
    // Noticed at 115 s; in the other zones provisioned until 160 s.
    assert_eq!(zones[1], [2, 0, 2]);
    assert_eq!(zones[2], [3, 0, 3]);
    // Nothing moves back at 390 s; the next two do.
    assert_eq!(zones[7], [3, 0, 3]);
    assert_eq!(zones[10], [3, 2, 3]);
    let happened: Vec<String> =
        outcome.services[0].happenings.notes().iter().map(|note| note.what.to_string()).collect();
    assert_eq!(happened, ["zone b lost: 2 instances failed", "zone b is back"]);
}

#[test]
fn without_a_zone_nothing_is_launched() {
    let mut service = service(2);
    // The second failure of the zone lasts longer than the first.
    service.zones = zoned(&["a"], vec![lost(0, 30, 60, 0), lost(0, 60, 180, 0)]);
    let outcome = run(&system(service, &[10.0; 8]));
    let running: Vec<u32> = by_zone(&outcome).iter().map(|zones| zones[0]).collect();
    // Back at 240 s, provisioned until 285 s.
    assert_eq!(running, [0, 0, 0, 0, 2, 2, 2, 2]);
    let serving: Vec<u32> = outcome.services[0].rows.iter().map(|row| row.counts.serving).collect();
    assert_eq!(serving[..6], [0, 0, 0, 0, 0, 2]);
}

#[test]
fn instances_that_do_not_serve_yet_are_lost_with_their_zone() {
    let mut service = service(1);
    service.zones = zoned(&["a", "b"], vec![lost(1, 130, 600, 0)]);
    // The second is launched in b at 120 s, and again in a at 130 s.
    service.scaling.policy = by_hand(&[(2, 2)]);
    let outcome = run(&system(service, &[10.0; 5]));
    assert_eq!(by_zone(&outcome)[4], [2, 0]);
}
