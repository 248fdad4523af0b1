//! Responses whose times are not those of the work: shed, from a cache, or failed.

use ::measure::{Accounting, Heads};
use std::collections::BTreeMap;

/// Why the responses of a part of load cannot be used, with their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfit {
    /// Status 429 or 503: refused without work.
    Shed(u64),
    /// Status 304: a cache compared the request, nothing worked.
    Cached(u64),
    /// A field of their heads shows a cache: so many of so many heads that were read, and the first field.
    FromCache { cached: u64, sampled: u64, field: String },
    /// No response, or another status that is not good.
    NotGood(u64),
}

/// What more than one in a hundred requests had, if anything.
pub(super) fn unfit(accounting: &Accounting, statuses: &BTreeMap<u16, u64>, heads: &Heads) -> Option<Unfit> {
    let with = |of: fn(u16) -> bool| -> u64 {
        statuses.iter().filter(|(status, _)| of(**status)).map(|(_, count)| *count).sum()
    };
    let shed = accounting.shed.max(with(|status| matches!(status, 429 | 503)));
    let cached = with(|status| status == 304);
    let bad = with(|status| !(200..400).contains(&status)).max(shed);
    let failed = accounting.failed + accounting.timed_out + bad;
    let many = |count: u64| count as f64 > FAILED * accounting.scheduled as f64;
    [(shed, Unfit::Shed(shed)), (cached, Unfit::Cached(cached)), (failed, Unfit::NotGood(failed))]
        .into_iter()
        .find(|(count, _)| many(*count))
        .map(|(_, why)| why)
        .or_else(|| from_cache(heads))
}

fn from_cache(heads: &Heads) -> Option<Unfit> {
    let Heads { sampled, cached, .. } = *heads;
    let field = heads.cached_by.clone().filter(|_| cached as f64 > FAILED * sampled as f64)?;
    Some(Unfit::FromCache { cached, sampled, field })
}

/// A larger share makes a calibration impossible.
const FAILED: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_shed_cached_and_failed_apart() {
        let sent = Accounting { scheduled: 1_000, answered: 1_000, ..Accounting::default() };
        let direct = Heads::default();
        let of = |statuses: &[(u16, u64)]| unfit(&sent, &statuses.iter().copied().collect(), &direct);
        assert_eq!(of(&[(200, 990), (503, 10)]), None);
        assert_eq!(of(&[(200, 989), (503, 6), (429, 5)]), Some(Unfit::Shed(11)));
        assert_eq!(of(&[(200, 900), (304, 100)]), Some(Unfit::Cached(100)));
        assert_eq!(of(&[(200, 900), (302, 100)]), None);
        assert_eq!(of(&[(200, 900), (500, 100)]), Some(Unfit::NotGood(100)));
        let timed_out = Accounting { scheduled: 1_000, timed_out: 11, ..Accounting::default() };
        assert_eq!(unfit(&timed_out, &BTreeMap::new(), &direct), Some(Unfit::NotGood(11)));
        let field = Some("X-Cache: HIT".to_owned());
        let by_cache = |cached| Heads { sampled: 200, cached, cached_by: field.clone(), ..Heads::default() };
        let ok = BTreeMap::from([(200, 1_000)]);
        assert_eq!(unfit(&sent, &ok, &by_cache(2)), None);
        let found = Unfit::FromCache { cached: 3, sampled: 200, field: "X-Cache: HIT".to_owned() };
        assert_eq!(unfit(&sent, &ok, &by_cache(3)), Some(found));
    }
}
