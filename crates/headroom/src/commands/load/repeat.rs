//! `load --repeat`: the same run several times, so that what runs differ by without a change is known.
//!
//! Each repetition has the next seed: with one seed for all, a run's own draw of arrivals would be the same in each, and be
//! taken for a property of the service. Otherwise the runs are what `load` makes without the flag, and each is printed as it
//! ends; with `--json` there is a document for each run, one after the other.

use super::args::Args;
use super::drive::{self, Once, Run};
use super::plan::Planned;
use crate::exit::Exit;
use crate::output::{note, print};
use crate::recorder::Begun;
use ::load::{Arrivals, Model, Plan};
use measure::Measurement;
use report::{Align, Table, rate, text};
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

/// Runs the plan as often as was asked; ends early where a run fails or is interrupted. The exit code is that of the first
/// run that did not end well.
pub fn run(args: &Args, planned: &Planned) -> Exit {
    let times = args.repeat.get();
    let (mut first, mut exit): (Option<Begun>, Exit) = (None, Exit::Done);
    let mut measured = Vec::new();
    for number in 0..times {
        note(&format!("run {} of {times}", number + 1));
        let run = Run {
            command: "load",
            plan: seeded(&planned.plan, number),
            thresholds: planned.thresholds.clone(),
            json: args.json,
            plain: args.plain,
            outputs: &args.outputs,
            ledger: &args.ledger,
            next: |_, _, _| String::new(),
        };
        let Once { exit: ended_as, begun, ended } = drive::once(&run, first);
        first = first.or(begun);
        if exit == Exit::Done {
            exit = ended_as;
        }
        let Some((one, interrupted)) = ended else { break };
        measured.push((begun.and_then(Begun::name), one));
        if interrupted {
            break;
        }
    }
    let name = first.and_then(Begun::name);
    if args.json || measured.len() < 2 {
        return exit;
    }
    match print(&summary(&measured, name.as_deref())) {
        Exit::Done => exit,
        said => said,
    }
}

/// The plan with the seed of this repetition; the first has the seed that was given.
fn seeded(plan: &Plan, number: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number));
    if let Model::Open { arrivals: Arrivals::Poisson { seed }, .. } = &mut plan.model {
        *seed = seed.wrapping_add(u64::from(number));
    }
    plan
}

/// All runs side by side, and by how much they vary.
fn summary(runs: &[(Option<String>, Measurement)], first: Option<&str>) -> String {
    use Align::{Left, Right};
    let columns = [("run", Left), ("p50", Right), ("p95", Right), ("p99", Right), ("rate", Right)];
    let mut table = Table::new(&columns);
    let mut values: [Vec<Option<f64>>; 4] = Default::default();
    for (number, (name, measured)) in runs.iter().enumerate() {
        let time = |quantile| measured.response.supported(quantile).ok().map(|value| value.at.as_secs_f64());
        let seconds = measured.elapsed.as_secs_f64();
        let answered = (seconds > 0.0).then(|| measured.completed as f64 / seconds);
        let row = [time(Quantile::P50), time(Quantile::P95), time(Quantile::P99), answered];
        let mut cells = vec![name.clone().unwrap_or_else(|| (number + 1).to_string())];
        for (at, value) in row.iter().enumerate() {
            cells.push(
                value.map_or("-".to_owned(), |value| if at == 3 { per_second(value) } else { span(value) }),
            );
            values[at].push(*value);
        }
        table.row(cells);
    }
    let mut cells = vec!["run to run".to_owned()];
    cells.extend(
        values.iter().map(|values| {
            deviation(values).map_or("-".to_owned(), |share| format!("{:.2} %", share * 100.0))
        }),
    );
    table.row(cells);
    let next = first.map_or(String::new(), |first| {
        format!(
            "next: headroom compare {first} RUN   (after a change, with the first of the runs that follow)\n"
        )
    });
    format!("\n{}\n{next}", text(&table, usize::MAX))
}

/// The standard deviation as a share of the mean, where all runs have the value.
fn deviation(values: &[Option<f64>]) -> Option<f64> {
    let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean > 0.0 && values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean)
}

fn span(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or("-".to_owned(), |span| show_duration(span).to_string())
}

fn per_second(value: f64) -> String {
    rate(Rate::try_per_second(value).unwrap_or(Rate::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Histogram;

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
        insta::assert_snapshot!(summary(&runs, Some("r4")));
    }

    #[test]
    fn a_value_that_a_run_lacks_has_no_deviation() {
        assert_eq!(deviation(&[Some(1.0), None]), None);
        assert_eq!(deviation(&[Some(1.0)]), None);
        assert_eq!(deviation(&[Some(1.0), Some(1.0)]), Some(0.0));
    }
}
