//! The last seconds of what has a picture.

use status::{LimitKind, Status};
use std::collections::{HashMap, VecDeque};

/// The last seconds, a value each.
#[derive(Debug, Default)]
pub struct History {
    seconds: HashMap<(&'static str, String), VecDeque<f64>>,
    /// The second of the gateway's time that is being filled.
    second: Option<u64>,
}

impl History {
    /// Notes how the gateway is. Within a second the highest value stays, and the lowest share of what conforms: a
    /// moment of trouble shall be seen.
    pub fn note(&mut self, status: &Status) {
        let second = status.uptime_s.unwrap_or(0.0) as u64;
        let begins = self.second.replace(second) != Some(second);
        let mut seen = Vec::new();
        for class in &status.service_levels {
            seen.push((("conforming", class.name.clone()), class.conforming.unwrap_or(1.0)));
        }
        for limit in &status.limits {
            let used = match limit.kind {
                LimitKind::Concurrency => limit.in_flight,
                LimitKind::RateClass => limit.backlog,
            };
            seen.push(((limit_kind(limit.kind), limit.name.clone()), used.unwrap_or(0).into()));
        }
        for route in &status.routes {
            seen.push((("demand", route.name.clone()), route.demand.per_second));
        }
        for pool in &status.pools {
            for instance in &pool.instances {
                let name = instance_name(&pool.name, &instance.address);
                seen.push((("instance", name), instance.in_flight as f64));
            }
        }
        // What is gone needs no memory.
        self.seconds.retain(|key, _| seen.iter().any(|(known, _)| known == key));
        for (key, value) in seen {
            let worst = if key.0 == "conforming" { f64::min } else { f64::max };
            let values = self.seconds.entry(key).or_default();
            match values.back_mut().filter(|_| !begins) {
                Some(last) => *last = worst(*last, value),
                None => values.push_back(value),
            }
            if values.len() > SECONDS {
                values.pop_front();
            }
        }
    }

    /// The last seconds as small bars, up to `most`; up to the highest of them where `most` is zero.
    pub(super) fn picture(&self, kind: &'static str, name: &str, now: f64, most: f64) -> String {
        let values = self.seconds.get(&(kind, name.to_owned()));
        let values = values.map_or(vec![now], |values| values.iter().copied().collect());
        let most = if most > 0.0 { most } else { values.iter().copied().fold(0.0, f64::max) };
        let bar = |value: f64| {
            if value <= 0.0 || most <= 0.0 {
                return ' ';
            }
            let eighths = (value / most * 8.0).ceil().clamp(1.0, 8.0) as usize;
            BARS[eighths - 1]
        };
        values.into_iter().map(bar).collect()
    }
}

/// What the pictures of a kind of limit are kept under: limits of both kinds may have one name.
pub(super) fn limit_kind(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Concurrency => "concurrency limit",
        LimitKind::RateClass => "rate class",
    }
}

/// An instance as one pool sees it: others may send it requests too.
pub(super) fn instance_name(pool: &str, address: &str) -> String {
    format!("{pool} {address}")
}

const SECONDS: usize = 20;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;
    use status::sample;

    #[test]
    fn an_instance_in_two_pools_has_a_picture_in_each() {
        let mut status = sample::calm();
        let address = status.pools[0].instances[0].address.clone();
        status.pools[1].instances[0].address = address.clone();
        status.pools[0].instances[0].in_flight = 7;
        let mut history = History::default();
        history.note(&status);
        let picture = |pool| history.picture("instance", &instance_name(pool, &address), 0.0, 7.0);
        assert_eq!((picture("search").as_str(), picture("others").as_str()), ("█", " "));
    }
}
