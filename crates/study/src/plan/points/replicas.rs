//! Replicas of a target that was measured with several numbers of them.

use super::{FORMULAS, GROWTH, LAW, MEASURED, Point, Study, by_law, count, overlapping, refused, short};
use crate::plan::CONFIDENCE;
use documents::plan::{Answer, Bottleneck, Change, Interval, Kind, Method, Plan, per_second as rate_text};

impl Study<'_> {
    /// Replicas of a target that was measured with several numbers of them.
    pub(super) fn of_replicas(&self) -> Plan {
        let times: Vec<f64> = self.sorted.iter().filter_map(|point| point.mean).collect();
        let alone = times.iter().copied().fold(f64::INFINITY, f64::min);
        let response = if alone.is_finite() { alone } else { 0.0 };
        let rate = self.load.per_second(response);
        let met = |point: &Point| {
            point.per_second >= rate
                && self.goal.is_none_or(|goal| point.quantile.is_some_and(|time| time < goal.seconds()))
        };
        let first = self.sorted.iter().find(|point| met(point)).map(|point| point.at.ceil() as u32);
        let below = first.map(|first| {
            let fewer = self.sorted.iter().filter(|point| point.at < f64::from(first));
            fewer.map(|point| point.at.floor() as u32 + 1).max().unwrap_or(1)
        });
        let most = self.sorted.iter().map(|point| point.per_second).fold(0.0, f64::max);
        let last = self.sorted.last().map_or(1.0, |point| point.at);
        let measured = Method {
            name: MEASURED,
            replicas: first,
            low: below.or(Some(last.floor() as u32 + 1)),
            high: first,
            per_second: Some(Interval::exact(most)),
            remark: match first {
                Some(_) => "the fewest that were measured with it".to_owned(),
                None => format!("not reached by the {} that were measured", short(last)),
            },
        };
        let (low, replicas, high) = by_law(&self.fit, rate);
        let ends = |replicas: f64| self.fit.throughput_interval(replicas, CONFIDENCE);
        let law = Method {
            name: LAW,
            replicas,
            low,
            high,
            per_second: ends(last).map(|(low, high)| Interval {
                value: self.fit.law().throughput(last),
                low: Some(low.max(0.0)),
                high: Some(high),
            }),
            remark: self.law_remark(),
        };
        let each = self.sorted.iter().map(|point| point.per_second / point.at).fold(0.0, f64::max);
        let flat = self.plateau();
        let fewest = count(rate, each).filter(|_| flat.is_none_or(|flat| rate <= flat));
        let formulas = Method {
            name: FORMULAS,
            replicas: fewest,
            low: fewest,
            high: None,
            per_second: flat.map(Interval::exact),
            remark: format!(
                "bounds: {} a replica at most{}",
                rate_text(each),
                flat.map_or_else(String::new, |flat| format!(", and {} by a shared part", rate_text(flat)))
            ),
        };
        let methods = vec![measured, law, formulas];
        let answer = match (first, self.fit.trusted().is_ok() && methods[1].replicas.is_some()) {
            (Some(_), _) => self.answer(&methods, 0, "the load lies within the measured replicas"),
            (None, true) => self.answer(
                &methods,
                1,
                "the load lies beyond the measured replicas, and the points follow the law",
            ),
            (None, false) => Answer {
                replicas: None,
                low: methods[0].low,
                high: None,
                trusted: None,
                agree: overlapping(&methods),
                why: format!(
                    "the load of {} lies beyond the measured replicas, and the law cannot be trusted there: {}; measure more replicas",
                    rate_text(rate),
                    self.fit.trusted().err().map_or_else(
                        || "it does not reach the load".to_owned(),
                        |refusal| refused(&refusal, self.points.axis.of())
                    )
                ),
            },
        };
        Plan {
            bottleneck: self.of_scaling(flat, each),
            load: self.load.document(self.asked.growth, Some(response).filter(|time| *time > 0.0)),
            changes: self.one_more(last),
            notes: self.notes(),
            ..self.plan(methods, answer)
        }
    }

    fn of_scaling(&self, flat: Option<f64>, each: f64) -> Bottleneck {
        let (first, last) = (self.sorted[0], self.sorted[self.sorted.len() - 1]);
        let gain =
            (last.per_second / first.per_second - 1.0) / (last.at / first.at - 1.0).max(f64::MIN_POSITIVE);
        let gained = format!(
            "with {}: {}, with {}: {}",
            short(first.at),
            rate_text(first.per_second),
            short(last.at),
            rate_text(last.per_second)
        );
        // What the last replicas bring counts: the first ones may have been the limit before.
        let enough =
            self.sorted.iter().find(|point| flat.is_some_and(|flat| point.per_second >= NEAR * flat));
        let enough = enough.map_or(String::new(), |point| {
            format!("; more than {} bring nothing", counted(point.at, "replica"))
        });
        let (kind, said) = match gain {
            gain if gain < LITTLE || flat.is_some() => (
                Kind::Shared,
                format!(
                    "not the replica: {gained}{enough}; a part that all replicas share, the load generator, or the number of users is the limit"
                ),
            ),
            gain if gain > NEARLY_ALL => {
                (Kind::Replica, format!("the replica: {gained}, nearly in proportion"))
            }
            _ => (
                Kind::Unknown,
                format!("both: {gained}; replicas help, and a part that they share limits what they bring"),
            ),
        };
        let limit = flat.or((kind == Kind::Replica).then_some(each * last.at));
        Bottleneck { kind, name: None, limit_per_second: limit, said }
    }

    /// What one more replica brings, by the law, if it can be trusted.
    fn one_more(&self, last: f64) -> Vec<Change> {
        if self.fit.trusted().is_err() {
            return Vec::new();
        }
        let law = self.fit.law();
        let (before, after) = (law.throughput(last), law.throughput(last + 1.0));
        let percent = |rate: f64| 100.0 * (rate / before - 1.0);
        let ends = self.fit.throughput_interval(last + 1.0, CONFIDENCE);
        vec![Change {
            what: format!("replica, after {}", short(last)),
            part: None,
            kind: Kind::Replica,
            limit_per_second: after,
            limit_percent: Interval {
                value: percent(after),
                low: ends.map(|(low, _)| percent(low)),
                high: ends.map(|(_, high)| percent(high)),
            },
            throughput_percent: None,
            response_ms: None,
        }]
    }
}

fn counted(count: f64, what: &str) -> String {
    format!("{} {what}{}", short(count), if count == 1.0 { "" } else { "s" })
}

/// A throughput above this share of the highest one is as high.
const NEAR: f64 = 1.0 / (1.0 + GROWTH);
/// Replicas that bring a smaller share of their number are not the limit.
const LITTLE: f64 = 0.2;
/// Replicas that bring a larger one are.
const NEARLY_ALL: f64 = 0.8;
