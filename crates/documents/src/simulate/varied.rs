//! A grid of simulations: the figures of each combination of values, as a table and as pictures.

use super::{Simulated, Stage};
use report::Align::Right;
use report::{Cell, Chart, HeatMap, Section, Table, grouped, heat_map};
use serde::Serialize;
use units::Unit;

/// The keys that were varied; the stages of the result are the combinations of their values.
#[derive(Debug, Clone)]
pub struct Varied {
    /// The keys.
    pub keys: Vec<String>,
    /// The values of the keys in each stage, in the order of the stages; those of the last key change first.
    pub values: Vec<Vec<String>>,
}

/// The figures of a combination: means over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figures {
    /// US dollars an hour, of all services; none without prices.
    cost_per_hour: Option<f64>,
    /// Mean of the p95 of each minute at the balancer of the entry service; none without a response.
    p95_ms: Option<f64>,
    /// Minutes outside the goal; none without a goal.
    outside_goal_minutes: Option<f64>,
    /// Share of the requests without a good response.
    bad_share: f64,
    /// Mean instances of all services.
    instances: f64,
    /// Scaling actions of all services.
    actions: f64,
    /// Actions that reverse one of the last 15 minutes.
    flaps: f64,
}

/// For scripts.
#[derive(Debug, Serialize)]
pub(super) struct VariedDocument<'a> {
    keys: &'a [String],
    points: Vec<Point<'a>>,
}

#[derive(Debug, Serialize)]
struct Point<'a> {
    values: &'a [String],
    #[serde(flatten)]
    figures: Figures,
}

/// A figure of the table.
struct Column {
    name: &'static str,
    of: fn(&Figures) -> Option<f64>,
    shown: fn(f64) -> String,
}

const COLUMNS: [Column; 7] = [
    Column { name: "cost an hour", of: |of| of.cost_per_hour, shown: |value| Unit::Money.shown(value) },
    Column { name: "p95", of: |of| of.p95_ms.map(|ms| ms / 1e3), shown: |value| Unit::Time.shown(value) },
    Column {
        name: "outside goal",
        of: |of| of.outside_goal_minutes,
        shown: |value| format!("{} min", number(value)),
    },
    Column { name: "bad", of: |of| Some(of.bad_share), shown: |value| Unit::Share.shown(value) },
    Column { name: "instances", of: |of| Some(of.instances), shown: |value| format!("{value:.1}") },
    Column { name: "actions", of: |of| Some(of.actions), shown: number },
    Column { name: "flaps", of: |of| Some(of.flaps), shown: number },
];

impl Varied {
    pub(super) fn table(&self, simulated: &Simulated) -> Table {
        let labels = self.labels();
        let figures = figures(simulated);
        let columns = columns(&figures);
        let keys = labels.iter().map(|label| (label.as_str(), Right));
        let mut table =
            Table::new(&keys.chain(columns.iter().map(|column| (column.name, Right))).collect::<Vec<_>>());
        for (values, figures) in self.values.iter().zip(&figures) {
            let cells = columns.iter().map(|column| shown(column, figures));
            table.row(values.iter().cloned().chain(cells));
        }
        table
    }

    /// What explains the table: the keys in full where their columns have a part of them, the goal, the seeds.
    pub(super) fn notes(&self, simulated: &Simulated) -> Vec<String> {
        let pairs = self.labels().into_iter().zip(&self.keys).filter(|(label, key)| label != *key);
        let keys: Vec<String> = pairs.map(|(label, key)| format!("{label}: {key}")).collect();
        let mut notes = if keys.is_empty() { Vec::new() } else { vec![keys.join("; ")] };
        notes.extend(super::words::notes(simulated, ""));
        match simulated.seeds.as_slice() {
            [_] => {}
            seeds => notes.push(format!("The figures are means over {} seeds.", seeds.len())),
        }
        notes
    }

    /// A picture of each figure that changes: the values of the last key across, those of the others down.
    pub(super) fn charts(&self, simulated: &Simulated) -> Vec<Section> {
        let figures = figures(simulated);
        let labels = self.labels();
        let Some((across, down)) = labels.split_last() else { return Vec::new() };
        let down_of = |values: &Vec<String>| values[..values.len() - 1].to_vec();
        let width =
            self.values.iter().take_while(|values| down_of(values) == down_of(&self.values[0])).count();
        let changes = |column: &&Column| {
            let first = figures.first().and_then(column.of);
            figures.iter().any(|figures| (column.of)(figures) != first)
        };
        let chart = |column: Column| {
            let rows = self.values.chunks(width.max(1)).zip(figures.chunks(width.max(1)));
            let row = |(values, figures): (&[Vec<String>], &[Figures])| {
                let pairs = down.iter().zip(&values[0]).map(|(label, value)| format!("{label} {value}"));
                let cell =
                    |figures: &Figures| Cell { value: (column.of)(figures), text: shown(&column, figures) };
                (pairs.collect::<Vec<_>>().join(", "), figures.iter().map(cell).collect())
            };
            let columns = self.values.iter().take(width).filter_map(|values| values.last().cloned());
            let map = HeatMap {
                name: column.name.to_owned(),
                across: across.clone(),
                columns: columns.collect(),
                rows: rows.map(row).collect(),
            };
            Section::Chart(Chart {
                title: column.name.to_owned(),
                caption: "Darker is higher.".to_owned(),
                drawing: heat_map(&map),
            })
        };
        columns(&figures).into_iter().filter(|column| changes(&column)).map(chart).collect()
    }

    pub(super) fn document(&self, simulated: &Simulated) -> VariedDocument<'_> {
        let points = self.values.iter().zip(figures(simulated));
        let points = points.map(|(values, figures)| Point { values, figures }).collect();
        VariedDocument { keys: &self.keys, points }
    }

    /// The shortest ends of the keys that tell them apart.
    fn labels(&self) -> Vec<String> {
        let label = |key: &String| {
            let parts: Vec<&str> = key.split('.').collect();
            let ends = (1..=parts.len()).map(|count| parts[parts.len() - count..].join("."));
            let is_only = |end: &String| {
                let of = |other: &&String| other.ends_with(end.as_str());
                self.keys.iter().filter(of).count() == 1
            };
            ends.into_iter().find(is_only).unwrap_or_else(|| key.clone())
        };
        self.keys.iter().map(label).collect()
    }
}

/// The figures that at least one combination has.
fn columns(figures: &[Figures]) -> Vec<Column> {
    COLUMNS
        .into_iter()
        .filter(|column| figures.iter().any(|figures| (column.of)(figures).is_some()))
        .collect()
}

fn shown(column: &Column, figures: &Figures) -> String {
    (column.of)(figures).map_or("-".to_owned(), column.shown)
}

fn number(value: f64) -> String {
    if value % 1.0 == 0.0 { grouped(value as u64) } else { format!("{value:.1}") }
}

fn figures(simulated: &Simulated) -> Vec<Figures> {
    simulated.stages.iter().map(Figures::of).collect()
}

impl Figures {
    /// Means over the seeds of a stage.
    fn of(stage: &Stage) -> Figures {
        let mean = |of: &dyn Fn(&sim::Outcome) -> Option<f64>| {
            let found: Vec<f64> = stage.outcomes.iter().filter_map(of).collect();
            (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
        };
        let sum = |of: fn(&sim::outcome::Totals) -> f64| {
            mean(&|outcome| Some(outcome.services.iter().map(|service| of(&service.totals)).sum()))
                .unwrap_or_default()
        };
        let hours = stage.outcomes.first().map_or(1.0, |outcome| outcome.measured.as_secs_f64() / 3600.0);
        let entry = |outcome: &sim::Outcome| outcome.services.first().map(|service| service.totals.clone());
        Figures {
            cost_per_hour: stage.prices.is_some().then(|| sum(|totals| totals.cost) / hours),
            p95_ms: mean(&|outcome| Some(entry(outcome)?.balancer_by_minute?.p95 * 1e3)),
            outside_goal_minutes: (!stage.goals.is_empty())
                .then(|| sum(|totals| totals.minutes_outside as f64)),
            bad_share: mean(&|outcome| {
                let totals = entry(outcome)?;
                (totals.arrived > 0).then(|| totals.bad() as f64 / totals.arrived as f64)
            })
            .unwrap_or_default(),
            instances: sum(|totals| totals.mean),
            actions: sum(|totals| totals.actions as f64),
            flaps: sum(|totals| totals.flaps as f64),
        }
    }
}
