//! The values of the keys of requests.
//!
//! ## Why from an identity
//! A request carries one word, its identity, and each value is a function of it and of the key. So a request has the
//! same values whichever policies are simulated and whether they are used, and they take no room in it. The identity of
//! a user's requests is the user: they have the same values.

use crate::settings::{Key, KeyId, SLACK, System, Values};
use stats::{Rng, SplitMix};

/// The distributions of all keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Vec<Source>);

#[derive(Debug, Clone)]
struct Source {
    /// Differs from key to key, so that values of different keys are independent.
    salt: u64,
    values: Drawn,
}

#[derive(Debug, Clone)]
enum Drawn {
    Even(u32),
    /// The cumulative shares of the values.
    UpTo(Vec<f64>),
    User,
}

impl Keys {
    pub(super) fn new(system: &System) -> Self {
        let source = |(number, key): (usize, &Key)| Source {
            salt: Rng::new(system.seed, &format!("keys/{number}")).bits(),
            values: match &key.values {
                Values::Even(count) => Drawn::Even((*count).max(1)),
                Values::Zipf { count, exponent } => {
                    let weight = |n: u32| libm::pow(f64::from(n), -exponent);
                    let all: f64 = (1..=*count).map(weight).sum();
                    Drawn::up_to((1..=*count).map(|n| weight(n) / all))
                }
                Values::Shares(shares) => Drawn::up_to(shares.iter().copied()),
                Values::Users => Drawn::User,
            },
        };
        Keys(system.keys.iter().enumerate().map(source).collect())
    }

    /// The identity of a request that enters with these random draws.
    #[inline]
    pub(super) fn identity(&self, rng: SplitMix) -> u64 {
        if self.0.is_empty() { 0 } else { { rng }.bits() ^ IDENTITY }
    }

    /// The value of a key for a request of this identity; `None` if the request has none.
    pub(super) fn value(&self, key: KeyId, identity: u64) -> Option<u32> {
        let source = &self.0[usize::from(key.0)];
        let mut rng = SplitMix::new(identity ^ source.salt);
        match &source.values {
            Drawn::User => Some(identity as u32),
            Drawn::Even(count) => Some(rng.below(*count as usize) as u32),
            Drawn::UpTo(shares) => {
                let drawn = rng.uniform();
                let at = shares.partition_point(|&up_to| up_to <= drawn);
                (at < shares.len()).then_some(at as u32)
            }
        }
    }
}

impl Drawn {
    fn up_to(shares: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut all: Vec<f64> = shares
            .map(|share| {
                sum += share;
                sum
            })
            .collect();
        if let Some(last) = all.last_mut().filter(|last| **last > 1.0 - SLACK) {
            *last = 1.0;
        }
        Drawn::UpTo(all)
    }
}

/// Separates identities from the other draws of requests.
const IDENTITY: u64 = 0x3c6e_f372_fe94_f82b;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Traffic;
    use std::sync::Arc;
    use std::time::Duration;

    fn keys(all: Vec<Values>) -> Keys {
        let arrivals = crate::settings::Arrivals::Even;
        let traffic =
            Traffic::Open { rates: Arc::from([1.0]), bin: Duration::from_secs(1), arrivals, noise: None };
        let name = || "key".to_owned();
        let keys = all.into_iter().map(|values| Key { name: name(), values }).collect();
        Keys::new(&System { keys, ..System::new(traffic, Vec::new()) })
    }

    fn shares(keys: &Keys, key: u16, values: usize) -> Vec<f64> {
        let mut counts = vec![0_u32; values + 1];
        let mut rng = SplitMix::new(5);
        let n = 200_000;
        for _ in 0..n {
            let value = keys.value(KeyId(key), keys.identity(rng.fork()));
            counts[value.map_or(values, |value| value as usize)] += 1;
        }
        counts.into_iter().map(|count| f64::from(count) / f64::from(n)).collect()
    }

    #[test]
    fn values_are_as_frequent_as_set() {
        let named = Arc::from([0.5, 0.2]);
        let keys =
            keys(vec![Values::Even(4), Values::Zipf { count: 3, exponent: 1.0 }, Values::Shares(named)]);
        let sixth = 6.0 / 11.0;
        for (key, expected) in [
            (0, vec![0.25, 0.25, 0.25, 0.25, 0.0]),
            (1, vec![sixth, sixth / 2.0, sixth / 3.0, 0.0]),
            // The rest has no value.
            (2, vec![0.5, 0.2, 0.3]),
        ] {
            let found = shares(&keys, key, expected.len() - 1);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 0.005, "key {key}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn values_of_different_keys_are_independent() {
        let keys = keys(vec![Values::Even(2), Values::Even(2)]);
        let mut rng = SplitMix::new(5);
        let same = (0..100_000).filter(|_| {
            let identity = keys.identity(rng.fork());
            keys.value(KeyId(0), identity) == keys.value(KeyId(1), identity)
        });
        let same = same.count();
        assert!((49_000..51_000).contains(&same), "{same}");
    }
}
