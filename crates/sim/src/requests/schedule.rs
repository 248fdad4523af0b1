//! The arrivals of an open model with what each request draws, without a fleet: to send the same requests to a real one.

use super::Requests;
use super::draw::draw_of;
use super::program::Op;
use crate::settings::{CLIENT, KeyId, System};
use stats::Draw;
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
    /// Bytes of the body of its response, if its endpoint has sizes.
    pub bytes: Option<u64>,
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
        let endpoints = system.services.first().map_or(&[][..], |first| &first.endpoints);
        let sizes: Vec<Option<Draw>> = endpoints
            .iter()
            .map(|one| one.bytes.as_ref().map(|sizes| draw_of(sizes.nanoseconds())))
            .collect();
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
            let endpoint = usize::from(endpoint);
            // Drawn last: the times are those of the same case without sizes.
            let size = sizes.get(endpoint).and_then(Option::as_ref);
            let bytes = size.map(|size| size.draw(&mut draws).round() as u64);
            Some(Arrival { at, endpoint, cpu, wait, client, bytes })
        })
    }
}
