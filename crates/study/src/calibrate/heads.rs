//! What the heads of responses show of a service besides its times: whether it is the same one, and its parts.

use super::figure::Figure;
use ::measure::Heads;

/// The values of `Server` at two times, if the service that responds is another one. Several values can alternate, as
/// behind a load balancer; one that is frequent at one time and absent at the other is a change.
pub(crate) fn changed(first: &Heads, now: &Heads) -> Option<(String, String)> {
    if first.sampled.min(now.sampled) < ENOUGH {
        return None;
    }
    let names = |heads: &Heads| match heads.servers.is_empty() {
        true => "absent".to_owned(),
        false => heads.servers.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
    };
    (is_missing(first, now) || is_missing(now, first)).then(|| (names(first), names(now)))
}

/// Whether `other` lacks a value that is frequent in `one`; no field is a value too.
fn is_missing(one: &Heads, other: &Heads) -> bool {
    let frequent = |count: u64| count as f64 > FREQUENT * one.sampled as f64;
    let unnamed = |heads: &Heads| heads.sampled - heads.servers.values().sum::<u64>().min(heads.sampled);
    let lacks = |(server, &count): (&String, &u64)| frequent(count) && !other.servers.contains_key(server);
    one.servers.iter().any(lacks) || (frequent(unnamed(one)) && unnamed(other) == 0)
}

/// What shows the time of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartSource {
    /// Responses.
    ServerTiming {
        /// Responses that reported it, with one user.
        reported: u64,
        /// Those that were looked at.
        sampled: u64,
    },
    /// A metric of the service.
    Metric(String),
}

impl PartSource {
    /// Its name, for people.
    pub fn name(&self) -> &str {
        match self {
            PartSource::ServerTiming { .. } => "Server-Timing",
            PartSource::Metric(metric) => metric,
        }
    }
}

/// The time that a request spends in a part of the service, as `Server-Timing` or a metric of the service reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct PartTime {
    /// The name of the part.
    pub name: String,
    /// The mean time of a request that is alone, in seconds.
    pub alone: Figure,
    /// The same at the best throughput; `None` if it is not reported there.
    pub full: Option<Figure>,
    /// What shows it.
    pub source: PartSource,
}

/// The parts that a service reports in `Server-Timing`, the longest first, from the heads with one user and at the best throughput.
pub fn parts(alone: &Heads, full: Option<&Heads>) -> Vec<PartTime> {
    let figure = |heads: &Heads, name: &str| {
        let (mean, variance) = heads.mean(name)?;
        Some(Figure::new(mean, NORMAL_90 * variance.sqrt()))
    };
    let mut parts: Vec<PartTime> = alone
        .parts
        .iter()
        .filter(|_| alone.sampled >= ENOUGH)
        .filter_map(|(name, times)| {
            Some(PartTime {
                name: name.clone(),
                alone: figure(alone, name)?,
                full: full.and_then(|heads| figure(heads, name)),
                source: PartSource::ServerTiming { reported: times.count, sampled: alone.sampled },
            })
        })
        .collect();
    sort(&mut parts);
    parts
}

fn sort(parts: &mut [PartTime]) {
    parts.sort_by(|one, other| other.alone.value.total_cmp(&one.alone.value));
}

/// The parts of `Server-Timing` and those of metrics, the longest first. Of two with one name, it is that of the metric,
/// which a flag names.
pub(super) fn together(mut reported: Vec<PartTime>, metered: Vec<PartTime>) -> Vec<PartTime> {
    reported.retain(|one| metered.iter().all(|other| other.name != one.name));
    reported.extend(metered);
    sort(&mut reported);
    reported
}

/// The part during which requests hold a place of the pool that limits the service: the only one that is neither the
/// whole request nor short, or, of several, the one that grows with the load. None where they do not tell.
pub(super) fn pooled(parts: &[PartTime], response: f64, wait: f64) -> Option<&PartTime> {
    let could = |part: &&PartTime| {
        part.alone.value >= SHORT * wait && part.alone.value <= WHOLE * response && part.alone.is_known()
    };
    let grows = |part: &&PartTime| part.full.is_some_and(|full| full.low > GROWS * part.alone.high);
    let likely: Vec<&PartTime> = parts.iter().filter(could).collect();
    let growing: Vec<&PartTime> = likely.iter().copied().filter(grows).collect();
    match (growing.as_slice(), likely.as_slice()) {
        ([one], _) | ([], [one]) => Some(one),
        _ => None,
    }
}

/// Fewer heads do not show which values there are.
const ENOUGH: u64 = 20;
/// A value with this share of the responses is not absent by chance.
const FREQUENT: f64 = 0.25;
/// The half-width of a normal distribution's interval of 90 %, in standard deviations.
const NORMAL_90: f64 = 1.645;
/// A part with less of the wait is not what limits.
const SHORT: f64 = 0.2;
/// A part with more of the response time is the request itself.
const WHOLE: f64 = 0.97;
/// A part that takes longer by this factor at the best throughput waits for something.
const GROWS: f64 = 1.3;

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(servers: &[(&str, u64)], sampled: u64) -> Heads {
        let servers = servers.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Heads { sampled, servers, ..Heads::default() }
    }

    #[test]
    fn another_server_is_a_change_and_a_rare_one_is_not() {
        let first = heads(&[("shop/1", 100)], 100);
        for (now, is_changed) in [
            (heads(&[("shop/1", 90)], 90), false),
            (heads(&[("shop/2", 90)], 90), true),
            // A deployment in the middle of it.
            (heads(&[("shop/1", 50), ("shop/2", 40)], 90), true),
            // One of many instances.
            (heads(&[("shop/1", 88), ("nginx", 2)], 90), false),
            (heads(&[], 90), true),
            (heads(&[("shop/2", 9)], 9), false),
        ] {
            assert_eq!(changed(&first, &now).is_some(), is_changed, "{now:?}");
            assert_eq!(changed(&now, &first).is_some(), is_changed, "{now:?}");
        }
        let now = heads(&[("shop/2", 90)], 90);
        assert_eq!(changed(&first, &now), Some(("shop/1".to_owned(), "shop/2".to_owned())));
    }

    fn timed(parts: &[(&str, f64)]) -> Heads {
        let mut heads = Heads { sampled: 100, ..Heads::default() };
        for (name, seconds) in parts {
            (0..100).for_each(|number| heads.add_part(name, seconds * (0.99 + 0.02 * f64::from(number % 2))));
        }
        heads
    }

    #[test]
    fn the_part_that_may_be_pooled_is_the_only_one_or_the_one_that_grows() {
        let alone = timed(&[("total", 0.050), ("db", 0.020), ("search", 0.015), ("log", 0.001)]);
        let found = |full: &Heads| {
            let parts = parts(&alone, Some(full));
            pooled(&parts, 0.050, 0.040).map(|part| part.name.clone())
        };
        assert_eq!(parts(&alone, None)[0].name, "total");
        assert_eq!(found(&alone), None);
        let growing = timed(&[("total", 0.090), ("db", 0.060), ("search", 0.015), ("log", 0.001)]);
        assert_eq!(found(&growing).as_deref(), Some("db"));
        let only = timed(&[("db", 0.020)]);
        let parts = parts(&only, None);
        assert_eq!(pooled(&parts, 0.050, 0.040).map(|part| part.name.as_str()), Some("db"));
        let few = Heads { sampled: 10, ..only };
        assert!(super::parts(&few, None).is_empty());
    }
}
