//! A comparison for people.

use super::Compared;
use crate::summary::wrapped;
use measure::{Difference, Finding, Interval, Quantity, Row};
use report::{Align, Table, rate, text};
use std::time::Duration;
use units::{Rate, show_duration};

impl Compared {
    pub(super) fn text(&self, width: usize) -> String {
        let mut blocks = vec![self.heading()];
        if !self.differs.is_empty() {
            blocks.push(text(&self.circumstances(), width));
        }
        blocks.push(text(&self.findings(), usize::MAX));
        if self.comparison.shows_nothing() {
            blocks.push("no difference shown in any number\n".to_owned());
        }
        for warning in &self.warnings {
            blocks.push(wrapped(&format!("warning: {warning}")).join("\n         ") + "\n");
        }
        blocks.join("\n")
    }

    fn heading(&self) -> String {
        let (a, b) = (self.a.run.id, self.b.run.id);
        let of = |what: &str, name: &Option<String>| {
            name.as_ref().map_or(String::new(), |name| format!(", {what} {name}"))
        };
        let (endpoint, stage) = (of("endpoint", &self.endpoint), of("stage", &self.stage));
        let [seconds_a, seconds_b] = self.seconds;
        format!(
            "{b} compared with {a}{endpoint}{stage}: {seconds_b} and {seconds_a} whole seconds\n\
             findings hold together at 95 % (Holm)\n"
        )
    }

    fn circumstances(&self) -> Table {
        use Align::Left;
        let (a, b) = (self.a.run.id.to_string(), self.b.run.id.to_string());
        let mut table = Table::new(&[("what differs", Left), (&a, Left), (&b, Left)]);
        for each in &self.differs {
            table.row([&each.name, &each.a, &each.b].map(String::as_str));
        }
        table
    }

    fn findings(&self) -> Table {
        use Align::{Left, Right};
        let (a, b) = (self.a.run.id.to_string(), self.b.run.id.to_string());
        let mut table = Table::new(&[
            ("", Left),
            (&a, Right),
            (&b, Right),
            ("difference", Right),
            ("interval", Right),
            ("ratio", Right),
            ("finding", Left),
        ]);
        for row in &self.comparison.rows {
            let unit = Unit::of(row.quantity);
            let side =
                |side: &Result<Interval, _>| side.map_or("-".to_owned(), |interval| unit.estimate(&interval));
            let mut cells = vec![row.quantity.to_string(), side(&row.a), side(&row.b)];
            match &row.difference {
                Ok(difference) => cells.extend(self.difference(row, difference)),
                Err(refusal) => {
                    cells.extend(["-", "-", "-"].map(str::to_owned).into_iter().chain([refusal.to_string()]))
                }
            }
            table.row(cells);
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
            Finding::NoDifferenceShown => "no difference shown".to_owned(),
            Finding::Better => format!("{} is better{}", self.b.run.id, by()),
            Finding::Worse => format!("{} is worse{}", self.b.run.id, by()),
        };
        let ratio = difference.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        [unit.signed(estimate), format!("{} to {}", unit.signed(low), unit.signed(high)), ratio, finding]
    }
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
