//! Limits of every kind, drawn from a seed, and what must be left of them at the end.

use super::millis;
use crate::settings::{
    Adaptive, ConcurrencySettings, KeyBy, Keyed, Pool, Queue, RateClassSettings, RoutePriority,
};
use crate::shared::Shared;
use stats::Rng;
use units::Ratio;

pub(super) const PRIORITIES: [&str; 2] = ["low", "high"];
pub(super) const PATIENCE: &str = "x-patience";

/// The limit-related headers of a request.
pub(super) fn headers(rng: &mut Rng) -> String {
    let mut headers = String::new();
    if rng.below(3) == 0 {
        headers += &format!("X-Priority: {}\r\n", ["low", "HIGH", "odd"][rng.below(3)]);
    }
    if rng.below(4) == 0 {
        headers += &format!("X-Patience: {}\r\n", ["5ms", "50ms", "1s", "soon"][rng.below(4)]);
    }
    if rng.below(3) == 0 {
        headers += &format!("Cookie: a=b; sid={}\r\n", rng.below(3));
    }
    headers
}

fn queue(rng: &mut Rng) -> Option<Queue> {
    (rng.below(2) == 0)
        .then(|| Queue { places: 1 + rng.below(4) as u32, longest_wait: millis(1 + rng.below(300)) })
}

pub(super) fn places(pool: &mut Pool, rng: &mut Rng) {
    if rng.below(3) == 0 {
        pool.instance_concurrency = Some(1 + rng.below(3) as u32);
        pool.queue = queue(rng);
    }
}

pub(super) fn refine(class: &mut RateClassSettings, rng: &mut Rng) {
    let by = match rng.below(6) {
        0 => KeyBy::Client,
        1 => KeyBy::Cookie("sid".to_owned()),
        2 => KeyBy::Header("x-priority".to_owned()),
        _ => return,
    };
    class.keyed = Some(Keyed { by, keys: 1 + rng.below(4) as u32 });
    class.shadow = rng.below(3) == 0;
}

/// A limit, and whether the policy is in shadow.
pub(super) fn concurrency(rng: &mut Rng) -> (ConcurrencySettings, bool) {
    let mut limit = ConcurrencySettings::from(1 + rng.below(3) as u32);
    limit.queue = queue(rng);
    if rng.below(2) == 0 {
        limit.priorities = vec![Ratio::new(0.5).unwrap(), Ratio::ONE];
    }
    let shadow = rng.below(4) == 0;
    limit.shadow = rng.below(5) == 0;
    if !shadow && !limit.shadow && rng.below(2) == 0 {
        limit.adaptive = Some(Adaptive { least: 1, most: 10, prior: None });
    }
    (limit, shadow)
}

pub(super) fn priority(rng: &mut Rng) -> Option<RoutePriority> {
    match rng.below(4) {
        0 => Some(RoutePriority::Class(rng.below(2) as u8)),
        1 => Some(RoutePriority::Header { name: "x-priority".to_owned(), otherwise: rng.below(2) as u8 }),
        _ => None,
    }
}

pub(super) fn check_nothing_is_left(shared: &Shared) -> Result<(), String> {
    let rooms = shared.concurrency.iter().filter_map(|limit| limit.waiting.as_ref());
    let pools = shared.places.iter().flatten();
    let rooms = rooms.chain(pools.clone().filter_map(|places| places.waiting.as_deref()));
    if let Some(room) = rooms.into_iter().find(|room| !room.is_empty()) {
        return Err(format!("{} hold a place in a queue at the end", room.len()));
    }
    if let Some(instance) =
        pools.flat_map(|places| places.instances.values()).find(|instance| instance.in_flight() > 0)
    {
        return Err(format!("{} at an instance at the end", instance.in_flight()));
    }
    let shadows = shared.routes.iter().flat_map(|route| &route.shadows).flatten();
    let limits = shadows.filter_map(|shadow| shadow.limits().concurrency.as_ref());
    match limits.into_iter().find(|limit| limit.in_flight() > 0) {
        Some(limit) => Err(format!("{} in flight for a shadow at the end", limit.in_flight())),
        None => Ok(()),
    }
}
