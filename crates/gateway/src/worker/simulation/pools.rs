//! Pools of every kind, whose instances are added and removed, fail and recover.

use super::{address, millis};
use crate::control_room::ControlRoom;
use crate::pool::{self, InstanceChange, InstanceChangeError};
use crate::settings::{Affinity, Balance, Ejection, Health, Instance, KeyBy, Pool, Retries};
use control::balance::Weight;
use stats::Rng;
use units::{Rate, Ratio, Timestamp};

/// A pool of up to three instances.
pub(super) fn random(number: usize, rng: &mut Rng, calm: bool) -> Pool {
    let instances = (0..=rng.below(3)).map(|instance| Instance {
        weight: weight(rng),
        // The first one takes requests.
        draining: instance > 0 && rng.below(6) == 0,
        ..Instance::new(address(number, instance))
    });
    let instances = instances.collect();
    let balance = match rng.below(7) {
        0 => Balance::RoundRobin,
        1 => Balance::PeakEwma,
        2 => Balance::Hash(KeyBy::Client),
        3 => Balance::Hash(KeyBy::Header("x-user".to_owned())),
        _ => Balance::LeastOutstanding,
    };
    let hashed = matches!(balance, Balance::Hash(_));
    let affinity = (!hashed && rng.below(3) == 0).then(|| Affinity { cookie: "at".to_owned() });
    let ejection = (rng.below(3) == 0).then(|| Ejection {
        consecutive_failures: 1 + rng.below(4) as u32,
        interval: millis(200),
        min_requests: 2,
        min_instances: 2,
        base: millis(1 + rng.below(300)),
        max_share: share(rng),
        ..Ejection::default()
    });
    Pool {
        instances,
        balance,
        affinity,
        ejection,
        health: (rng.below(3) == 0).then(|| Health {
            healthy_after: 1 + rng.below(2) as u32,
            unhealthy_after: 1 + rng.below(2) as u32,
            ..Health::new("/healthz")
        }),
        slow_start: (rng.below(3) == 0).then(|| millis(1 + rng.below(800))),
        // An added instance is not healthy before its checks have passed; some instance has to serve until then.
        panic_below: if calm { Ratio::ONE } else { share(rng) },
        retries: Retries {
            // Without faults, every request that is safe to retry has to be retried; there only idle connections close.
            budget: if calm { Ratio::ONE } else { share(rng) },
            least: Rate::per_second_of(if calm { 100.0 } else { rng.below(5) as f64 }),
            tries: 1 + u32::from(calm) + rng.below(3) as u32,
        },
        ..Pool::new(&format!("pool {number}"), Vec::new())
    }
}

/// A header that pools may balance by.
pub(super) fn mark(id: u64, rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => format!("X-User: {}\r\n", id % 5),
        1 => {
            let number = rng.below(2);
            let value = pool::cookie_value(&format!("pool {number}"), address(number, rng.below(3)));
            format!("Cookie: at={value:016x}\r\n")
        }
        2 => "Cookie: at=0123456789abcdef\r\n".to_owned(),
        _ => String::new(),
    }
}

fn weight(rng: &mut Rng) -> Weight {
    Weight::new(1 + rng.below(4) as u32).unwrap_or(Weight::ONE)
}

fn share(rng: &mut Rng) -> Ratio {
    Ratio::new(rng.below(5) as f64 / 4.0).unwrap_or(Ratio::ONE)
}

/// Changes of the instances while requests are in flight.
pub(super) struct Upheaval {
    next: Timestamp,
    calm: bool,
}

impl Upheaval {
    pub(super) fn new(rng: &mut Rng, calm: bool) -> Self {
        let next =
            if rng.below(2) == 0 { Timestamp::from_millis(rng.below(500) as u64) } else { Timestamp::NEVER };
        Upheaval { next, calm }
    }

    /// An instance is added, removed, drained or checked.
    pub(super) fn act(&mut self, room: &ControlRoom, now: Timestamp, rng: &mut Rng) -> Result<(), String> {
        if now < self.next {
            return Ok(());
        }
        self.next = now + millis(1 + rng.below(300));
        let number = rng.below(2);
        let address = address(number, rng.below(3));
        let change = match rng.below(5) {
            0 => InstanceChange::Add { address, weight: weight(rng) },
            1 => InstanceChange::Drain { address },
            2 => InstanceChange::Resume { address },
            3 => InstanceChange::Remove { address },
            _ => {
                let (_, shared) = room.current();
                // Without faults no check fails.
                shared.pools[number].checked(address, self.calm || rng.below(2) == 0);
                return Ok(());
            }
        };
        match room.change_instances(&format!("pool {number}"), change, now) {
            Ok(())
            | Err(
                InstanceChangeError::UnknownInstance { .. }
                | InstanceChangeError::AlreadyThere { .. }
                | InstanceChangeError::LastInstance { .. },
            ) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}
