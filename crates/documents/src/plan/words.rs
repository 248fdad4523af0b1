//! A plan in words and tables.

use super::{Change, Interval, Kind, Law, Method, Plan, Response, Share};
use crate::words::{Rows, counted};
use report::Align::{Left, Right};
use report::{Table, Terminal, Tone, grouped};

impl Plan {
    /// For people.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        let mut from = match self.source.kind {
            "case" => format!("case {}", self.source.name),
            "runs" => format!("{} of {}", counted(self.source.points.len() as u64, "run"), self.source.name),
            _ => format!("table {}, {}", self.source.name, counted(self.source.points.len() as u64, "point")),
        };
        if let Some(replicas) = self.source.replicas {
            from += &format!(", now {} of {}", counted(u64::from(replicas), "replica"), self.source.replica);
        }
        rows.row("from", from);
        rows.row("load", self.load_text());
        rows.row(
            "goal",
            self.goal.as_deref().unwrap_or(match (self.source.kind, self.load.users) {
                ("case", Some(_)) => {
                    "none (--slo sets one): 90 % of the throughput that users would have without queues"
                }
                ("case", None) => "none (--slo sets one): the rate has only to be carried",
                _ => "none (--slo sets one): the limit of throughput counts",
            }),
        );
        let replicas = self.replicas_text();
        rows.row("replicas", replicas.clone());
        rows.stress(&replicas, if self.is_answered() { Tone::Good } else { Tone::Bad });
        rows.row("", self.answer.why.as_str());
        rows.row("bottleneck", self.bottleneck.said.as_str());
        if let Some(response) = &self.response {
            response.rows(&mut rows);
        }
        if let Some(law) = &self.law {
            rows.row("law", law.text());
        }
        for (place, note) in self.notes.iter().enumerate() {
            rows.row(if place == 0 { "notes" } else { "" }, format!("- {note}"));
        }
        let mut text = rows.text(terminal);
        text += &format!("\n{}", report::text(&self.methods_table(), terminal));
        if !self.parts.is_empty() {
            text += &format!("\n{}", report::text(&self.parts_table(), terminal));
        }
        if !self.changes.is_empty() {
            text += &format!("\n{}", report::text(&self.changes_table(), terminal));
        }
        text
    }

    fn load_text(&self) -> String {
        let load = &self.load;
        let mut text = match (load.users, load.per_second) {
            (Some(users), rate) => {
                let think = load.think_ms.filter(|think| *think > 0.0);
                let think = think
                    .map_or("without think time".to_owned(), |ms| format!("with {} think time", time(ms)));
                let rate = rate
                    .map_or(String::new(), |rate| format!(": {} by the response time law", per_second(rate)));
                format!("{} {think}{rate}", counted(u64::from(users), "user"))
            }
            (None, rate) => per_second(rate.unwrap_or_default()),
        };
        if load.growth_percent != 0.0 {
            text += &format!(" (growth of {} % included)", number(load.growth_percent));
        }
        text
    }

    fn replicas_text(&self) -> String {
        match self.answer.replicas {
            Some(replicas) => format!(
                "{}{}",
                grouped(u64::from(replicas)),
                range(self.answer.low, self.answer.high, Some(replicas))
                    .map_or(String::new(), |range| format!(" ({range})"))
            ),
            None => match range(self.answer.low, self.answer.high, None) {
                Some(range) => format!("not determined: {range}"),
                None if self.answer.trusted.is_some() => "no number is enough".to_owned(),
                None => "not determined".to_owned(),
            },
        }
    }

    fn methods_table(&self) -> Table {
        let limit = match self.source.axis {
            None => "limit now",
            Some("replicas") => "limit",
            Some(_) => "one copy",
        };
        let mut table = Table::new(&[("method", Left), ("replicas", Right), (limit, Right), ("", Left)]);
        for method in &self.methods {
            table.row([
                method.name.to_owned(),
                method.said(),
                method.per_second.map_or("-".to_owned(), |limit| limit.said("/s")),
                method.remark.clone(),
            ]);
        }
        table
    }

    fn parts_table(&self) -> Table {
        let mut table = Table::new(&[
            ("part", Left),
            ("belongs to", Left),
            ("a request", Right),
            ("at once", Right),
            ("limit", Right),
            ("in use", Right),
        ]);
        for part in &self.parts {
            table.row([
                part.name.clone(),
                match part.kind {
                    Kind::Replica => "replica".to_owned(),
                    _ => "shared".to_owned(),
                },
                time(part.demand_ms),
                number(part.servers),
                per_second(part.limit_per_second),
                format!("{:.0} %", part.utilization * 100.0),
            ]);
        }
        table
    }

    fn changes_table(&self) -> Table {
        let at_load = self.changes.iter().any(|change| change.throughput_percent.is_some());
        let mut columns = vec![("one more", Left), ("limit", Right), ("limit changes by", Right)];
        if at_load {
            columns.push(("at the load", Right));
        }
        let quantile =
            self.goal.as_deref().and_then(|goal| goal.split_once('<')).map_or("p95", |(name, _)| name);
        let quantiles = self.changes.iter().any(|change| change.response_ms.is_some());
        if quantiles {
            columns.push((quantile, Right));
        }
        let mut table = Table::new(&columns);
        for change in &self.changes {
            table.row(change.cells(at_load, quantiles));
        }
        table
    }
}

impl Change {
    fn cells(&self, at_load: bool, quantiles: bool) -> Vec<String> {
        let mut cells =
            vec![self.what.clone(), per_second(self.limit_per_second), self.limit_percent.percent()];
        if at_load {
            cells.push(self.throughput_percent.map_or("-".to_owned(), |gain| gain.percent()));
        }
        if quantiles {
            cells.push(self.response_ms.map_or("-".to_owned(), time));
        }
        cells
    }
}

impl Method {
    fn said(&self) -> String {
        let range = range(self.low, self.high, self.replicas);
        match (self.replicas, range) {
            (Some(replicas), Some(range)) => format!("{} ({range})", grouped(u64::from(replicas))),
            (Some(replicas), None) => grouped(u64::from(replicas)),
            (None, Some(range)) => range,
            (None, None) => "none".to_owned(),
        }
    }
}

impl Response {
    fn rows(&self, rows: &mut Rows) {
        let share = |ms: f64| 100.0 * ms / self.mean_ms.max(f64::MIN_POSITIVE);
        rows.row(
            "response",
            format!(
                "{} on average = {} in queues ({:.0} %) + {} of service; {}",
                time(self.mean_ms),
                time(self.queue_ms),
                share(self.queue_ms),
                time(self.service_ms),
                self.source
            ),
        );
        for (name, shares) in [("service", &self.service), ("queues", &self.queue)] {
            let of = |Share { name, ms }: &Share| format!("{} {name}", time(*ms));
            let shares: Vec<String> = shares.iter().map(of).collect();
            if !shares.is_empty() {
                rows.row(name, shares.join(" + "));
            }
        }
    }
}

impl Law {
    fn text(&self) -> String {
        let peak = match (&self.peak, &self.refused) {
            (Some(peak), _) => format!("the peak is at {} {}", peak.said(""), self.of),
            (None, Some(refused)) => format!("no peak is claimed: {refused}"),
            (None, None) => "no peak is claimed".to_owned(),
        };
        let percent = |share: Interval| {
            let by = |end: f64| 100.0 * end;
            Interval { value: by(share.value), low: share.low.map(by), high: share.high.map(by) }.said(" %")
        };
        format!(
            "over {}: contention {}, coherency {}; {peak}",
            self.of,
            percent(self.contention),
            percent(self.coherency)
        )
    }
}

impl Interval {
    fn said(self, unit: &str) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) if low < high => {
                format!("{}{unit} ({} to {})", number(self.value), number(low), number(high))
            }
            (Some(low), None) => format!("{}{unit} ({} or more)", number(self.value), number(low)),
            _ => format!("{}{unit}", number(self.value)),
        }
    }

    fn percent(self) -> String {
        let one = |value: f64| format!("{:+.0}", if value.abs() < 0.5 { 0.0 } else { value });
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} % ({} to {})", one(self.value), one(low), one(high)),
            _ => format!("{} %", one(self.value)),
        }
    }
}

fn range(low: Option<u32>, high: Option<u32>, at: Option<u32>) -> Option<String> {
    let number = |replicas: u32| grouped(u64::from(replicas));
    match (low, high) {
        (Some(low), Some(high)) if low == high && at.is_none_or(|at| at == low) => {
            at.is_none().then(|| number(low))
        }
        (Some(low), Some(high)) => Some(format!("{} to {}", number(low), number(high))),
        (Some(low), None) => Some(format!("{} or more", number(low))),
        (None, Some(high)) => Some(format!("at most {}", number(high))),
        (None, None) => None,
    }
}

/// Milliseconds, in the unit that fits.
pub fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 1e3 => format!("{} s", number(ms / 1e3)),
        ms if ms >= 1.0 || ms == 0.0 => format!("{} ms", number(ms)),
        ms => format!("{} µs", number(ms * 1e3)),
    }
}

/// Requests a second, with three digits.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", number(rate))
}

/// Three significant digits.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "unlimited".to_owned() };
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    if decimals == 0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs().round() as u64));
    }
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
