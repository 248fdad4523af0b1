//! What the heads of a sample of responses show of a service: caches, the software that responds, and the times that it
//! reports of its own parts.

use std::collections::BTreeMap;

/// What the heads of a sample of good responses show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heads {
    /// Responses whose heads were read.
    pub sampled: u64,
    /// Those of them that came from a cache.
    pub cached: u64,
    /// The first field that showed a cache, such as `X-Cache: HIT`.
    pub cached_by: Option<String>,
    /// How many of them had each value of `Server`; at most [`Heads::NAMES_MAX`] values.
    pub servers: BTreeMap<String, u64>,
    /// The times that `Server-Timing` reports, by the name of the part; at most [`Heads::NAMES_MAX`] parts.
    pub parts: BTreeMap<String, Times>,
}

/// The sums of the times of a part, of which the mean and the variance follow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// Responses that reported it.
    pub count: u64,
    /// The sum of its times, in seconds.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Times {
    /// Adds the time of a response, in seconds.
    pub fn add(&mut self, seconds: f64) {
        self.plus(&Times { count: 1, sum: seconds, squares: seconds * seconds });
    }

    fn plus(&mut self, other: &Times) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

impl Heads {
    /// The most values of `Server`, and parts of `Server-Timing`, that are kept.
    pub const NAMES_MAX: usize = 20;

    /// Adds those of another worker or run.
    pub fn add(&mut self, other: &Heads) {
        self.sampled += other.sampled;
        self.cached += other.cached;
        self.cached_by = self.cached_by.take().or_else(|| other.cached_by.clone());
        for (server, count) in &other.servers {
            if let Some(sum) = place(&mut self.servers, server) {
                *sum += count;
            }
        }
        for (part, times) in &other.parts {
            if let Some(sum) = place(&mut self.parts, part) {
                sum.plus(times);
            }
        }
    }

    /// Counts a response with this value of `Server`.
    pub fn add_server(&mut self, server: &str) {
        if let Some(count) = place(&mut self.servers, server) {
            *count += 1;
        }
    }

    /// Adds the time that a response reports of a part, in seconds.
    pub fn add_part(&mut self, part: &str, seconds: f64) {
        if let Some(times) = place(&mut self.parts, part) {
            times.add(seconds);
        }
    }

    /// The mean time of a part in a response and the variance of that mean, in seconds and their squares. A response that
    /// does not report the part spent no time in it. `None` for an unknown part, and with fewer than two responses.
    pub fn mean(&self, part: &str) -> Option<(f64, f64)> {
        let times = self.parts.get(part)?;
        let count = self.sampled as f64;
        if self.sampled < 2 {
            return None;
        }
        let mean = times.sum / count;
        let variance = ((times.squares / count - mean * mean) / (count - 1.0)).max(0.0);
        Some((mean, variance))
    }
}

/// The value of a name, unless there are too many names.
fn place<'a, T: Default>(names: &'a mut BTreeMap<String, T>, name: &str) -> Option<&'a mut T> {
    if !names.contains_key(name) {
        if names.len() >= Heads::NAMES_MAX {
            return None;
        }
        names.insert(name.to_owned(), T::default());
    }
    names.get_mut(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_reported_took_no_time() {
        let mut heads = Heads { sampled: 4, ..Heads::default() };
        heads.add_part("db", 0.2);
        heads.add_part("db", 0.2);
        let (mean, variance) = heads.mean("db").unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && (variance - 0.01 / 3.0).abs() < 1e-12, "{mean} {variance}");
        assert_eq!(heads.mean("cache"), None);
    }

    #[test]
    fn names_are_bounded_and_workers_add_up() {
        let mut one = Heads { sampled: 1, ..Heads::default() };
        (0..30).for_each(|number| one.add_server(&format!("nginx/1.{number}")));
        assert_eq!(one.servers.len(), Heads::NAMES_MAX);
        let other = Heads { sampled: 2, cached: 1, cached_by: Some("Age: 5".to_owned()), ..one.clone() };
        one.add(&other);
        assert_eq!((one.sampled, one.cached, one.servers["nginx/1.0"]), (3, 1, 2));
        assert_eq!(one.cached_by.as_deref(), Some("Age: 5"));
    }
}
