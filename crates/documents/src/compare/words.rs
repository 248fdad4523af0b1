//! A comparison for people.

use super::{Compared, Side};
use crate::words::paragraph;
use measure::{
    Basis, Difference, Finding, Interval, LEAST_FREEDOM_OF_HISTORY, LEAST_OF_TWO_RUNS, Quantity, Refusal, Row,
};
use report::{Align, Table, Terminal, Tone, fold, rate, text};
use std::time::Duration;
use units::{Rate, show_duration};

impl Compared {
    /// The comparison as a text for a terminal.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut blocks = vec![self.heading()];
        if !self.differs.is_empty() {
            blocks.push(text(&self.circumstances(), terminal));
        }
        blocks.push(text(&self.findings(), terminal));
        if self.comparison.shows_nothing() {
            blocks.push("no difference shown in any number\n".to_owned());
        }
        blocks.push(paragraph(&self.basis(), terminal));
        for warning in &self.warnings {
            blocks.push(warned(warning, terminal));
        }
        blocks.join("\n")
    }

    fn heading(&self) -> String {
        let of = |what: &str, name: &Option<String>| {
            name.as_ref().map_or(String::new(), |name| format!(", {what} {name}"))
        };
        let (endpoint, stage) = (of("endpoint", &self.choice.endpoint), of("stage", &self.choice.stage));
        let seconds = |side: &Side| side.all().map(|each| each.seconds).sum::<usize>();
        let runs = match (self.b.count(), self.a.count()) {
            (1, 1) => String::new(),
            (b, a) => format!("{b} and {a} runs, "),
        };
        let (confidence, method) = match self.comparison.basis {
            Basis::TwoRuns => (self.comparison.confidence, "Holm"),
            Basis::History { .. } | Basis::Repetitions { .. } => {
                (self.comparison.confidence, "rotation test")
            }
        };
        format!(
            "{} compared with {}{endpoint}{stage}: {runs}{} and {} whole seconds\n\
             findings hold together at {:.0} % ({method})\n",
            self.b.label(),
            self.a.label(),
            seconds(&self.b),
            seconds(&self.a),
            confidence * 100.0
        )
    }

    /// What the noise from run to run is known from, and what follows.
    fn basis(&self) -> String {
        let others = "other runs of the same target, host and plan";
        match self.comparison.basis {
            Basis::TwoRuns => format!(
                "These findings hold for these two runs. The ledger has fewer than {} {others}, so what runs differ by \
                 without a change is not known, and a difference below {:.0} % is not shown. For more, repeat both: \
                 headroom load ... --repeat 5",
                LEAST_FREEDOM_OF_HISTORY + 1,
                LEAST_OF_TWO_RUNS * 100.0
            ),
            Basis::History { runs, .. } => format!(
                "What runs differ by without a change (\"run to run\", a standard deviation) is known from {runs} {others}."
            ),
            Basis::Repetitions { freedom } => {
                let few = match freedom {
                    0..=3 => " They are few, so only large differences are shown: take five a side.",
                    _ => "",
                };
                format!(
                    "The intervals include what the runs of a side differ by (\"run to run\", a standard deviation).{few}"
                )
            }
        }
    }

    fn circumstances(&self) -> Table {
        use Align::Left;
        let (a, b) = (self.a.first.id(), self.b.first.id());
        let mut table = Table::new(&[("what differs", Left), (&a, Left), (&b, Left)]);
        for each in &self.differs {
            table.row([&each.name, &each.a, &each.b].map(String::as_str));
        }
        table
    }

    fn findings(&self) -> Table {
        use Align::{Left, Right};
        let (a, b) = (self.a.label(), self.b.label());
        let mut columns = vec![("", Left), (a.as_str(), Right), (b.as_str(), Right)];
        let noisy = self.comparison.basis != Basis::TwoRuns;
        if noisy {
            columns.push(("run to run", Right));
        }
        columns.extend([("difference", Right), ("interval", Right), ("ratio", Right), ("finding", Left)]);
        let mut table = Table::new(&columns);
        for row in &self.comparison.rows {
            let unit = Unit::of(row.quantity);
            let side = |side: &Result<Interval, Refusal>| match side {
                Ok(interval) => unit.estimate(interval),
                Err(Refusal::FewSamples(value)) => value.to_string(),
                Err(_) => "-".to_owned(),
            };
            let mut cells = vec![row.quantity.to_string(), side(&row.a), side(&row.b)];
            if noisy {
                cells.push(row.noise.map_or("-".to_owned(), |noise| format!("{:.2} %", noise * 100.0)));
            }
            match &row.difference {
                Ok(difference) => cells.extend(self.difference(row, difference)),
                Err(refusal) => {
                    cells.extend(["-", "-", "-"].map(str::to_owned).into_iter().chain([refusal.to_string()]))
                }
            }
            let column = cells.len() - 1;
            table.row(cells);
            if let Ok(difference) = &row.difference {
                match difference.finding {
                    Finding::Better => table.stress(column, Tone::Good),
                    Finding::Worse => table.stress(column, Tone::Bad),
                    Finding::NoDifferenceShown => {}
                }
            }
        }
        table
    }

    fn difference(&self, row: &Row, difference: &Difference) -> [String; 4] {
        let unit = Unit::of(row.quantity);
        let Interval { estimate, low, high, .. } = difference.interval;
        let by = || match (unit, difference.ratio) {
            // A share that rises from 1 to 2 % is worse by one point, and by 100 %: only the first is clear.
            (Unit::Share, _) => format!(" by {:.3} points", estimate.abs() * 100.0),
            (_, Some(ratio)) => format!(" by {:.1} %", (ratio - 1.0).abs() * 100.0),
            (_, None) => String::new(),
        };
        let finding = match difference.finding {
            Finding::NoDifferenceShown if difference.too_small => {
                format!("no difference shown (below {:.0} %)", LEAST_OF_TWO_RUNS * 100.0)
            }
            Finding::NoDifferenceShown => "no difference shown".to_owned(),
            Finding::Better => format!("{} {} better{}", self.b.label(), self.verb(), by()),
            Finding::Worse => format!("{} {} worse{}", self.b.label(), self.verb(), by()),
        };
        let ratio = difference.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        [unit.signed(estimate), format!("{} to {}", unit.signed(low), unit.signed(high)), ratio, finding]
    }

    fn verb(&self) -> &'static str {
        if self.b.count() == 1 { "is" } else { "are" }
    }
}

fn warned(warning: &str, terminal: Terminal) -> String {
    let lines = fold(warning, terminal.prose().saturating_sub("warning: ".len()));
    format!("{} {}\n", terminal.paint(Tone::Busy, "warning:"), lines.join("\n         "))
}

/// How a quantity is shown.
#[derive(Clone, Copy)]
enum Unit {
    Time,
    Rate,
    Share,
}

impl Unit {
    fn of(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Response(_) => Unit::Time,
            Quantity::Rate => Unit::Rate,
            Quantity::Errors | Quantity::Shed => Unit::Share,
        }
    }

    fn estimate(self, interval: &Interval) -> String {
        let more = if interval.lower_bound { "> " } else { "" };
        format!("{more}{}", self.amount(interval.estimate))
    }

    fn signed(self, value: f64) -> String {
        if value.is_infinite() {
            return "unknown".to_owned();
        }
        let sign = match value {
            0.0 => "",
            ..0.0 => "-",
            _ => "+",
        };
        format!("{sign}{}", self.amount(value.abs()))
    }

    fn amount(self, value: f64) -> String {
        match self {
            Unit::Time => Duration::try_from_secs_f64(value)
                .map_or("unknown".to_owned(), |span| show_duration(span).to_string()),
            Unit::Rate => rate(Rate::try_per_second(value).unwrap_or(Rate::ZERO)),
            Unit::Share => format!("{:.3} %", value * 100.0),
        }
    }
}
