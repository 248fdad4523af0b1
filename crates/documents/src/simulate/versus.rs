//! Two stages under the same requests: what differs, and by how much more than chance.
//!
//! Both stages draw the same random numbers for arrivals and demands, so minutes are compared in pairs: the noise that
//! both share falls out. The interval of a mean difference respects that neighbouring minutes are alike (see
//! `stats::LongRun`); several seeds narrow it.

use super::Simulated;
use report::Align::{Left, Right};
use report::Table;
use serde::Serialize;
use sim::outcome::Row;
use stats::{LongRun, student_t};
use units::Unit;

/// The differences of B from A.
#[derive(Debug)]
pub struct Versus {
    a: String,
    b: String,
    rows: Vec<Difference>,
}

/// The mean difference of a quantity.
#[derive(Debug)]
struct Difference {
    name: &'static str,
    unit: Unit,
    a: f64,
    b: f64,
    /// Half the width of the 95 % interval; none where minutes are too few.
    within: Option<f64>,
}

/// The differences as JSON has them.
#[derive(Debug, Serialize)]
pub(super) struct Compared<'a> {
    a: &'a str,
    b: &'a str,
    rows: Vec<ComparedRow>,
}

#[derive(Debug, Serialize)]
struct ComparedRow {
    quantity: &'static str,
    a: f64,
    b: f64,
    difference: f64,
    /// Of the 95 % interval; null where minutes are too few.
    low: Option<f64>,
    high: Option<f64>,
    finding: String,
}

impl Difference {
    fn finding(&self) -> &'static str {
        match self.within {
            None => "too few minutes",
            Some(within) if (self.b - self.a).abs() <= within => "no difference shown",
            Some(_) if self.b > self.a => "more",
            Some(_) => "less",
        }
    }
}

type Of = fn(&Row) -> Option<f64>;

/// What is compared, minute by minute.
const QUANTITIES: [(&str, Unit, Of); 10] = [
    ("instances", Unit::Number, |row| Some(f64::from(row.counts.running))),
    ("CPU average", Unit::Share, |row| row.cpu_average),
    ("CPU maximum", Unit::Share, |row| row.cpu_maximum),
    ("p50", Unit::Time, |row| Some(row.balancer?.p50)),
    ("p95", Unit::Time, |row| Some(row.balancer?.p95)),
    ("p99", Unit::Time, |row| Some(row.balancer?.p99)),
    ("app p95", Unit::Time, |row| Some(row.application?.p95)),
    ("queued", Unit::Time, |row| row.queued),
    ("cost an hour", Unit::Money, |row| Some(row.cost_per_hour())),
    ("bad requests", Unit::Share, |row| (row.arrived > 0).then(|| row.bad() as f64 / row.arrived as f64)),
];

impl Versus {
    /// The entry services of two stages, by their places in the case; none where one of them was not run.
    pub fn of(simulated: &Simulated, a: usize, b: usize) -> Option<Versus> {
        let (left, right) = (simulated.of(a)?, simulated.of(b)?);
        let mut rows = Vec::new();
        let priced = left.prices.is_some() || right.prices.is_some();
        for (name, unit, of) in QUANTITIES.into_iter().filter(|(_, unit, _)| priced || *unit != Unit::Money) {
            let mut seeds = Vec::new();
            for (left, right) in left.outcomes.iter().zip(&right.outcomes) {
                let (left, right) = (&left.services.first()?.rows, &right.services.first()?.rows);
                let pairs: Vec<(f64, f64)> = left
                    .iter()
                    .zip(right)
                    .filter_map(|(left, right)| Some((of(left)?, of(right)?)))
                    .collect();
                if !pairs.is_empty() {
                    seeds.push(pairs);
                }
            }
            rows.extend(difference(name, unit, &seeds));
        }
        Some(Versus { a: left.name.clone(), b: right.name.clone(), rows })
    }

    /// For the terminal and the page.
    pub(super) fn table(&self) -> Table {
        let (a, b) = (self.a.as_str(), self.b.as_str());
        let mut table = Table::new(&[
            ("mean of minutes", Left),
            (a, Right),
            (b, Right),
            ("difference", Right),
            ("95 % interval", Right),
            ("", Left),
        ]);
        for row in &self.rows {
            let difference = row.b - row.a;
            let signed = |value: f64| {
                let sign = if value < 0.0 { "-" } else { "+" };
                format!("{sign}{}", row.unit.shown(value.abs()))
            };
            let interval = row.within.map_or("-".to_owned(), |within| {
                format!("{} to {}", signed(difference - within), signed(difference + within))
            });
            table.row([
                row.name.to_owned(),
                row.unit.shown(row.a),
                row.unit.shown(row.b),
                signed(difference),
                interval,
                row.finding().to_owned(),
            ]);
        }
        table
    }

    /// For scripts.
    pub(super) fn document(&self) -> Compared<'_> {
        let row = |row: &Difference| ComparedRow {
            quantity: row.name,
            a: row.a,
            b: row.b,
            difference: row.b - row.a,
            low: row.within.map(|within| row.b - row.a - within),
            high: row.within.map(|within| row.b - row.a + within),
            finding: row.finding().replace(" ", "_"),
        };
        Compared { a: &self.a, b: &self.b, rows: self.rows.iter().map(row).collect() }
    }
}

fn difference(name: &'static str, unit: Unit, seeds: &[Vec<(f64, f64)>]) -> Option<Difference> {
    if seeds.is_empty() {
        return None;
    }
    let count = seeds.len() as f64;
    let mean = |pairs: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
    };
    let a = seeds.iter().map(|pairs| mean(pairs, |pair| pair.0)).sum::<f64>() / count;
    let b = seeds.iter().map(|pairs| mean(pairs, |pair| pair.1)).sum::<f64>() / count;
    let mut variance = 0.0;
    let mut freedom = 0.0;
    let mut known = true;
    for pairs in seeds {
        let middle = mean(pairs, |pair| pair.1 - pair.0);
        let deviations: Vec<f64> = pairs.iter().map(|pair| pair.1 - pair.0 - middle).collect();
        match LongRun::of(&deviations) {
            Some(of_seed) => {
                variance += of_seed.variance / (count * count);
                freedom += of_seed.freedom;
            }
            None => known = false,
        }
    }
    let within = known.then(|| student_t(0.05, freedom) * variance.sqrt());
    Some(Difference { name, unit, a, b, within })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_share_falls_out() {
        // A wave that both have, and a small difference.
        let wave = |minute: u32| 10.0 * (f64::from(minute) / 30.0).sin();
        let noise = |minute: u32| f64::from(minute.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 - 0.5;
        let pairs: Vec<(f64, f64)> =
            (0..240).map(|minute| (wave(minute), wave(minute) + 0.3 + 0.2 * noise(minute))).collect();
        let found = difference("x", Unit::Number, &[pairs.clone(), pairs]).unwrap();
        assert_eq!(found.finding(), "more");
        let within = found.within.unwrap();
        assert!((found.b - found.a - 0.3).abs() <= within && within < 0.05, "{found:?}");
    }

    #[test]
    fn few_minutes_tell_nothing() {
        let found = difference("x", Unit::Number, &[vec![(1.0, 2.0), (1.0, 2.0)]]).unwrap();
        assert_eq!(found.finding(), "too few minutes");
    }
}
