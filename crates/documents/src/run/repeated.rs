//! The same run several times: what runs differ by without a change.

use measure::Measurement;
use report::{Align, Table, Terminal, rate, text, time};
use units::{Quantile, Rate};

/// All runs side by side, each with its name in the ledger, and by how much they vary.
pub fn repeated(runs: &[(Option<String>, Measurement)], terminal: Terminal) -> String {
    use Align::{Left, Right};
    let columns = [("run", Left), ("p50", Right), ("p95", Right), ("p99", Right), ("rate", Right)];
    let mut table = Table::new(&columns);
    let mut values: [Vec<Option<f64>>; 4] = Default::default();
    // Whether a number has too few samples in any run.
    let mut few = [false; 4];
    for (number, (name, measured)) in runs.iter().enumerate() {
        let times =
            [Quantile::P50, Quantile::P95, Quantile::P99].map(|point| measured.response.quantile(point));
        let mut cells = vec![name.clone().unwrap_or_else(|| (number + 1).to_string())];
        for (at, value) in times.into_iter().enumerate() {
            few[at] |= value.is_some_and(|value| value.few_above.is_some());
            values[at].push(value.map(|value| value.at.as_secs_f64()));
            cells.push(time(value));
        }
        let achieved = Some(measured.achieved()).filter(|_| !measured.elapsed.is_zero());
        values[3].push(achieved.map(Rate::per_second));
        cells.push(achieved.map_or("-".to_owned(), rate));
        table.row(cells);
    }
    let mut cells = vec!["run to run".to_owned()];
    cells.extend(values.iter().zip(few).map(|(values, few)| {
        let sign = if few { "~" } else { "" };
        deviation(values).map_or("-".to_owned(), |share| format!("{sign}{:.2} %", share * 100.0))
    }));
    table.row(cells);
    format!("\n{}\n", text(&table, terminal))
}

/// The standard deviation as a share of the mean, where all runs have the value.
fn deviation(values: &[Option<f64>]) -> Option<f64> {
    let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean > 0.0 && values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Histogram;
    use std::time::Duration;

    #[test]
    fn the_summary_has_each_run_and_what_they_vary_by() {
        let run = |micros: u64| {
            let mut response = Histogram::new();
            (0..1_000).for_each(|_| response.record(Duration::from_micros(micros)));
            Measurement {
                elapsed: Duration::from_secs(10),
                completed: 1_000,
                response,
                ..Measurement::default()
            }
        };
        let runs = [(Some("r4".to_owned()), run(20_000)), (Some("r5".to_owned()), run(21_000))];
        insta::assert_snapshot!(repeated(&runs, Terminal::PIPE));
    }

    #[test]
    fn a_value_that_a_run_lacks_has_no_deviation() {
        assert_eq!(deviation(&[Some(1.0), None]), None);
        assert_eq!(deviation(&[Some(1.0)]), None);
        assert_eq!(deviation(&[Some(1.0), Some(1.0)]), Some(0.0));
    }
}
