//! Copies of a target that was measured at several concurrencies.

use super::{FORMULAS, GROWTH, LAW, MEASURED, Point, Study, count, short};
use crate::plan::CONFIDENCE;
use documents::plan::{
    Answer, Bottleneck, Interval, Kind, Method, Plan, Response, per_second as rate_text, time,
};
use measure::queueing::{Centre, Network};

impl Study<'_> {
    /// Copies of a target that was measured at several concurrencies.
    pub(super) fn of_concurrency(&self) -> Plan {
        let Some(work) = self.working_point() else { return self.no_copy_meets() };
        let rate = self.load.per_second(work.mean);
        let copies = |per_second: f64| count(rate, per_second);
        let method = |name, value: f64, low: Option<f64>, high: Option<f64>, remark: String| Method {
            name,
            replicas: copies(value),
            low: high.and_then(copies),
            high: low.and_then(copies),
            per_second: Some(Interval { value, low, high }),
            remark,
        };
        let measured = method(
            MEASURED,
            work.per_second,
            Some(work.low),
            Some(work.high),
            format!(
                "throughput at {} in flight{}",
                short(work.at),
                if work.is_last { ", the most that was measured" } else { "" }
            ),
        );
        let ends = self.fit.throughput_interval(work.at, CONFIDENCE);
        let law = method(
            LAW,
            self.fit.law().throughput(work.at),
            ends.map(|(low, _)| low.max(0.0)),
            ends.map(|(_, high)| high),
            self.law_remark(),
        );
        let (low, value, high) = self.network(work.at);
        let formulas = method(
            FORMULAS,
            value,
            Some(low),
            Some(high),
            "one bottleneck and a delay, both from the points".to_owned(),
        );
        let methods = vec![measured, law, formulas];
        let answer = self.answer(
            &methods,
            0,
            "the goal lies between measured points, where nothing has to be assumed",
        );
        let first = self.sorted[0];
        let alone = first.mean.unwrap_or(first.at / first.per_second);
        let queue = (work.mean - alone).max(0.0);
        let flat = self.sorted.iter().map(|point| point.per_second).fold(0.0, f64::max);
        let flattens = if self.plateau().is_some() { "levels off at" } else { "still grows at" };
        let said = format!(
            "not shown by points of one number of replicas: throughput {flattens} {}, which the replica or a part that replicas share can limit; measure with 2 replicas, or plan a case file of headroom calibrate",
            rate_text(flat)
        );
        let mut notes = vec!["the number is of copies of the target that share nothing; measure 2 of them before relying on it".to_owned()];
        notes.extend(self.notes());
        Plan {
            response: Some(Response {
                mean_ms: 1e3 * work.mean,
                service_ms: 1e3 * (work.mean - queue),
                queue_ms: 1e3 * queue,
                service: Vec::new(),
                queue: Vec::new(),
                source: format!(
                    "at {} in flight; service is the response time at {}",
                    short(work.at),
                    short(first.at)
                ),
            }),
            bottleneck: Bottleneck { kind: Kind::Unknown, name: None, limit_per_second: Some(flat), said },
            load: self.load.document(self.asked.growth, Some(work.mean)),
            notes,
            ..self.plan(methods, answer)
        }
    }

    /// The most that one copy does within the goal: all of it without a goal.
    fn working_point(&self) -> Option<Working> {
        let mean = |point: &Point| point.mean.unwrap_or(point.at / point.per_second);
        let at = |point: &Point, low: f64, high: f64, is_last| Working {
            at: point.at,
            per_second: point.per_second,
            low,
            high,
            mean: mean(point),
            is_last,
        };
        let most = self.sorted.iter().max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
        let Some(goal) = self.goal else {
            let spread = self.fit.residual_standard_error().unwrap_or(0.0);
            return Some(at(most, most.per_second - spread, most.per_second + spread, false));
        };
        let within = |point: &Point| point.quantile.is_some_and(|time| time < goal.seconds());
        // A point that misses ends the range: beyond it, nothing is known to meet the goal.
        let met = self.sorted.iter().take_while(|point| within(point)).count();
        let last = self.sorted.get(met.checked_sub(1)?)?;
        let Some(next) = self.sorted.get(met) else {
            return Some(at(last, last.per_second, last.per_second, true));
        };
        let (a, b) = (last.quantile?, next.quantile?);
        let share = ((goal.seconds() - a) / (b - a).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let between = |a: f64, b: f64| a + share * (b - a);
        let (low, high) = (last.per_second.min(next.per_second), last.per_second.max(next.per_second));
        Some(Working {
            at: between(last.at, next.at),
            per_second: between(last.per_second, next.per_second),
            low,
            high,
            mean: between(mean(last), mean(next)),
            is_last: false,
        })
    }

    fn no_copy_meets(&self) -> Plan {
        let first = self.sorted[0];
        let goal = self.goal.map_or_else(String::new, |goal| goal.text());
        let why = format!(
            "no point meets {goal}: at {} in flight a response already takes {}; change the goal or the service",
            short(first.at),
            time(1e3 * first.quantile.unwrap_or_default())
        );
        let answer =
            Answer { replicas: None, low: None, high: None, trusted: Some(MEASURED), agree: true, why };
        let said = "the service itself: it misses the goal without a queue, and replicas do not change that"
            .to_owned();
        Plan {
            bottleneck: Bottleneck { kind: Kind::Replica, name: None, limit_per_second: None, said },
            load: self.load.document(self.asked.growth, None),
            ..self.plan(Vec::new(), answer)
        }
    }

    /// Throughput of one queue and a delay at a concurrency: the lower bound, mean value analysis, the upper bound.
    fn network(&self, at: f64) -> (f64, f64, f64) {
        let most = self.sorted.iter().map(|point| point.per_second).fold(0.0, f64::max);
        let first = self.sorted[0];
        // What the first point had, less what it waited itself.
        let round = (first.at / first.per_second).max(1.0 / most);
        let demand = 1.0 / most;
        let users = at.round().clamp(1.0, 1e6) as u32;
        match Network::new(vec![Centre::Queue(demand), Centre::Delay((round - demand).max(0.0))]) {
            Ok(network) => {
                let value = network.with(users).throughput;
                let (upper, ends) = (network.asymptotes().throughput(users), most / (1.0 + GROWTH));
                (value.min(ends), value, upper.max(value))
            }
            Err(_) => (most, most, most),
        }
    }
}

struct Working {
    at: f64,
    per_second: f64,
    low: f64,
    high: f64,
    mean: f64,
    is_last: bool,
}
