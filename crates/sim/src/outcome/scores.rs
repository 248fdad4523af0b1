//! The elasticity scores of the SPEC research group: how well supply followed demand.
//!
//! Demand r is the lowest number of instances that carries the minute's rate within the goal: the rate divided by the
//! capacity of an instance, rounded up. Supply s is the number that serves. With T minutes:
//!
//! | score | is |
//! |---|---|
//! | θU | mean over minutes of max(r - s, 0) / r: how much was missing |
//! | θO | mean over minutes of max(s - r, 0) / r: how much was too much |
//! | τU | share of minutes with too few |
//! | τO | share of minutes with too many |
//! | υ | share of steps from minute to minute in which supply and demand do not move the same way |
//!
//! The capacity of an instance comes from the settings, or from the run: the rate for each serving instance that 95 %
//! of the minutes within the goal did not exceed. A capacity from the run describes how the fleet was used, not what it
//! can carry: to compare runs, set it.
//!
//! The BUNGEE tool divides θ by time only and counts υ in one direction: its numbers are not comparable.
//!
//! Source: Bauer, Herbst and others, "On the Value of Service Demand Estimation for Auto-Scaling" (2018), after
//! Herbst and others, "Ready for Rain? A View from SPEC Research on the Future of Cloud Metrics" (2016).

use super::Row;

/// The scores; lower is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// θU.
    pub missing: f64,
    /// θO.
    pub excess: f64,
    /// τU.
    pub missing_time: f64,
    /// τO.
    pub excess_time: f64,
    /// υ.
    pub instability: f64,
    /// The capacity of one instance, in requests a second.
    pub capacity: f64,
}

impl Scores {
    /// The scores of these minutes; none where the capacity of an instance is unknown.
    pub fn of(rows: &[Row], capacity: Option<f64>) -> Option<Self> {
        let capacity = capacity.or_else(|| observed_capacity(rows)).filter(|capacity| *capacity > 0.0)?;
        // A value slightly above a whole number is rounded to it; without traffic the demand is zero.
        let demand = |row: &Row| (row.rate() / capacity - 1e-9).ceil().max(0.0);
        let supply = |row: &Row| f64::from(row.counts.serving);
        let minutes = rows.len() as f64;
        let mut scores = Scores {
            missing: 0.0,
            excess: 0.0,
            missing_time: 0.0,
            excess_time: 0.0,
            instability: 0.0,
            capacity,
        };
        for row in rows {
            let (needed, there) = (demand(row), supply(row));
            scores.missing += (needed - there).max(0.0) / needed.max(1.0) / minutes;
            scores.excess += (there - needed).max(0.0) / needed.max(1.0) / minutes;
            scores.missing_time += f64::from(u8::from(needed > there)) / minutes;
            scores.excess_time += f64::from(u8::from(there > needed)) / minutes;
        }
        let sign = |change: f64| if change == 0.0 { 0.0 } else { change.signum() };
        let steps = rows.windows(2);
        let unlike = steps.filter(|pair| {
            sign(supply(&pair[1]) - supply(&pair[0])) != sign(demand(&pair[1]) - demand(&pair[0]))
        });
        scores.instability = unlike.count() as f64 / (minutes - 1.0).max(1.0);
        Some(scores)
    }
}

fn observed_capacity(rows: &[Row]) -> Option<f64> {
    let mut rates: Vec<f64> = rows
        .iter()
        .filter(|row| row.within_goal == Some(true) && row.counts.serving > 0)
        .map(|row| row.rate() / f64::from(row.counts.serving))
        .collect();
    rates.sort_by(f64::total_cmp);
    let place = (0.95 * rates.len() as f64).ceil() as usize;
    rates.get(place.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::row::testing::row;

    #[test]
    fn supply_that_follows_demand_scores_nothing() {
        let rows: Vec<Row> = (1..=10).map(|n| row(n * 100, n as u32)).collect();
        let scores = Scores::of(&rows, Some(100.0)).expect("a capacity is given");
        for score in
            [scores.missing, scores.excess, scores.missing_time, scores.excess_time, scores.instability]
        {
            assert_eq!(score, 0.0, "{scores:?}");
        }
    }

    #[test]
    fn a_fixed_fleet_has_too_few_and_too_many() {
        // Demand 1, 2, 3, 4 and supply 2: one too many in the first, 1 of 3 and 2 of 4 missing at the end.
        let rows: Vec<Row> = (1..=4).map(|n| row(n * 100, 2)).collect();
        let scores = Scores::of(&rows, Some(100.0)).expect("a capacity is given");
        assert!((scores.missing - (1.0 / 3.0 + 0.5) / 4.0).abs() < 1e-12, "{scores:?}");
        assert_eq!((scores.excess, scores.missing_time, scores.excess_time), (0.25, 0.5, 0.25));
        assert_eq!(scores.instability, 1.0);
    }

    #[test]
    fn nobody_is_missing_without_traffic_and_a_hair_is_no_instance() {
        let scores = Scores::of(&[row(0, 0)], Some(100.0)).expect("a capacity is given");
        assert_eq!((scores.missing, scores.missing_time), (0.0, 0.0));
        // 7 / (7 / 3) is slightly above 3.
        for n in 1..50_u32 {
            let rows = [row(7, n)];
            let scores = Scores::of(&rows, Some(7.0 / f64::from(n))).expect("a capacity is given");
            assert_eq!((scores.missing_time, scores.excess_time), (0.0, 0.0), "{n}");
        }
    }

    #[test]
    fn without_a_goal_and_a_capacity_nothing_is_scored() {
        let mut rows = vec![row(100, 1)];
        rows[0].within_goal = None;
        assert_eq!(Scores::of(&rows, None), None);
    }
}
