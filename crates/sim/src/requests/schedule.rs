//! The arrivals of an open model with what each request draws, without a fleet: to send the same requests to a real one.

use super::Requests;
use super::program::Op;
use crate::settings::{CLIENT, KeyId, System};
use std::time::Duration;
use units::Timestamp;

/// A request of an open model. Its number is its place in the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives at the first service.
    pub at: Timestamp,
    /// Its endpoint there, by index.
    pub endpoint: usize,
    /// Processor time of its first step, on a core of speed 1.
    pub cpu: Duration,
    /// Time that this step waits in all.
    pub wait: Duration,
    /// The value of the key `client`, if the requests have one.
    pub client: Option<u32>,
}

impl Requests {
    /// The arrivals of the whole simulated time; none in a closed model.
    pub fn schedule(system: &System) -> Vec<Arrival> {
        Requests::arrivals(system).collect()
    }

    /// The same, one after the other.
    pub fn arrivals(system: &System) -> impl Iterator<Item = Arrival> + use<> {
        let mut plant = Requests::new(system);
        let end = super::nanos(system.warm_up + system.measured);
        let client = system
            .keys
            .iter()
            .position(|key| key.name.eq_ignore_ascii_case(CLIENT))
            .map(|place| KeyId(place as u16));
        std::iter::from_fn(move || {
            if plant.arrivals.next() >= end {
                return None;
            }
            let at = Timestamp::from_nanos(plant.arrivals.next());
            plant.arrivals.advance();
            let mut draws = plant.seeds.arrive();
            let client = client.and_then(|key| plant.keys.value(key, plant.keys.identity(draws)));
            let first = plant.services.first()?;
            let endpoint = first.endpoint(draws.uniform());
            let begins = first.endpoints.get(usize::from(endpoint)).copied().unwrap_or(0);
            let (mut cpu, mut wait) = (Duration::ZERO, Duration::ZERO);
            if let Some(Op::Work { cpu: of_cpu, wait: of_wait, .. }) = plant.program.ops.get(begins as usize)
            {
                cpu = Duration::from_nanos(of_cpu.draw(&mut draws) as u64);
                wait = Duration::from_nanos(of_wait.draw(&mut draws) as u64);
            }
            Some(Arrival { at, endpoint: usize::from(endpoint), cpu, wait, client })
        })
    }
}
