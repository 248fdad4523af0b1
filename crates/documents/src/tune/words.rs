//! The result of tuning in words and tables.

use super::{Change, PatchCall, Point, Role, Saving, Tune};
use crate::plan::time;
use crate::words::{Rows, counted};
use report::Align::{Left, Right};
use report::{Table, Terminal, Tone};

impl Tune {
    /// For people.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        rows.row("case", format!("{}, stage {}", self.case, self.stage));
        rows.row("goal", format!("{} in each minute", self.goal));
        let also =
            if self.also.is_empty() { String::new() } else { format!(" and {}", self.also.join(", ")) };
        let searched = format!(
            "{} over {} of policies{also}",
            counted(self.evaluated as u64, "candidate"),
            counted(self.keys as u64, "key")
        );
        rows.row("searched", searched);
        let found = self.verdict();
        rows.row("result", found.clone());
        rows.stress(&found, if self.gains() { Tone::Good } else { Tone::Plain });
        if let Some(promised) = self.promised_saving {
            rows.row(
                "promised",
                format!("{} of today's cost on days that the search did not see", promised.range()),
            );
        }
        for (place, line) in self.worse().into_iter().enumerate() {
            rows.row(if place == 0 { "worse" } else { "" }, line);
        }
        for (place, note) in self.notes.iter().enumerate() {
            rows.row(if place == 0 { "notes" } else { "" }, format!("- {note}"));
        }
        let mut text = rows.text(terminal);
        if self.gains() {
            text += &format!(
                "\nToday and best, request by request, a run on average\n{}",
                report::text(&self.points(), terminal)
            );
            text += &format!("\nWhat each change saves\n{}", report::text(&self.changes_table(), terminal));
        }
        text += &format!(
            "\nFrontier of cost against response time and minutes outside the goal\n{}",
            report::text(&self.frontier_table(), terminal)
        );
        if self.gains() {
            text += &format!(
                "\nDays and disturbances, minute by minute\n{}",
                report::text(&self.scenario_table(), terminal)
            );
        }
        if let Some(calls) = &self.patch {
            text += "\nAs calls of the AWS CLI; nothing is applied\n";
            for PatchCall { command, name, .. } in calls {
                text += &format!("  aws {command}: {name}\n");
            }
        }
        if let Some(overrides) = &self.overrides {
            text += "\nAs override files of Terraform\n";
            text += &overrides.iter().map(|found| found.text.as_str()).collect::<Vec<_>>().join("\n");
        }
        if let Some(manifests) = &self.manifests {
            text += "\nAs manifests, for kubectl apply\n";
            text += &manifests.iter().map(|found| found.text.as_str()).collect::<Vec<_>>().join("---\n");
        }
        if let Some(stage) = &self.stage_yaml {
            text += &format!("\nAs a stage of the case file\n{stage}");
        }
        text
    }

    fn verdict(&self) -> String {
        if !self.gains() {
            let found = match self.interrupted {
                true => "interrupted before cheaper settings that keep the bounds were found",
                false => "nothing to gain: no cheaper settings keep the bounds",
            };
            return found.to_owned();
        }
        let saving = 100.0 * (1.0 - self.best.cost_per_hour / self.today.cost_per_hour);
        match saving {
            saving if saving > 0.0 => format!(
                "{saving:.1} % cheaper with {}: {} after {} an hour",
                counted(self.changes.len() as u64, "change"),
                money(self.best.cost_per_hour),
                money(self.today.cost_per_hour)
            ),
            _ => format!(
                "{} after {} minutes outside the goal, for {} after {} an hour",
                minutes(self.best.outside_goal_minutes),
                minutes(self.today.outside_goal_minutes),
                money(self.best.cost_per_hour),
                money(self.today.cost_per_hour)
            ),
        }
    }

    /// What the best settings do worse than today's.
    fn worse(&self) -> Vec<String> {
        if !self.gains() {
            return Vec::new();
        }
        let (today, best) = (&self.today, &self.best);
        let figures: [Figure<'_>; 6] = [
            ("p95", today.p95_ms, best.p95_ms, time),
            ("minutes outside the goal", today.outside_goal_minutes, best.outside_goal_minutes, minutes),
            ("share of bad responses", today.bad_share, best.bad_share, share),
            ("actions", today.actions, best.actions, minutes),
            ("flaps", today.flaps, best.flaps, minutes),
            ("cost an hour", today.cost_per_hour, best.cost_per_hour, money),
        ];
        let worse =
            figures.into_iter().filter(|(_, today, best, said)| best > today && said(*best) != said(*today));
        let mut lines: Vec<String> = worse
            .map(|(name, today, best, said)| format!("{name}: {} after {}", said(best), said(today)))
            .collect();
        let of_scenarios =
            self.scenarios.iter().filter(|found| found.best_outside_minutes > found.today_outside_minutes);
        lines.extend(of_scenarios.map(|found| {
            let (best, today) = (minutes(found.best_outside_minutes), minutes(found.today_outside_minutes));
            format!("{}: {best} after {today} minutes outside the goal", found.name)
        }));
        if lines.is_empty() {
            lines.push("nothing that was measured".to_owned());
        }
        lines
    }

    fn points(&self) -> Table {
        let mut table = Table::new(&columns(""));
        for (name, point) in [("today", &self.today), ("best", &self.best)] {
            table.row(point.cells(name.to_owned()));
        }
        table
    }

    fn frontier_table(&self) -> Table {
        let mut table = Table::new(&columns("changes"));
        for point in &self.frontier {
            let name = match point.is {
                Role::Today => "today".to_owned(),
                Role::Best => "best".to_owned(),
                Role::Other if point.within_bounds => counted(point.changes.len() as u64, "change"),
                Role::Other => format!("{}, beyond bounds", counted(point.changes.len() as u64, "change")),
            };
            table.row(point.cells(name));
        }
        table
    }

    fn changes_table(&self) -> Table {
        let mut table = Table::new(&[("key", Left), ("from", Right), ("to", Right), ("saves", Right)]);
        let keys: Vec<&str> = self.changes.iter().map(|change| change.key.as_str()).collect();
        let common = common(&keys);
        for Change { key, from, to, saves } in &self.changes {
            let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let saves = saves.map_or("-".to_owned(), Saving::range);
            table.row([key[common..].to_owned(), value(from), value(to), saves]);
        }
        table
    }

    fn scenario_table(&self) -> Table {
        let mut table = Table::new(&[
            ("", Left),
            ("outside today", Right),
            ("best", Right),
            ("cost/h today", Right),
            ("best", Right),
        ]);
        for found in &self.scenarios {
            table.row([
                found.name.clone(),
                minutes(found.today_outside_minutes),
                minutes(found.best_outside_minutes),
                money(found.today_cost_per_hour),
                money(found.best_cost_per_hour),
            ]);
        }
        table
    }
}

/// A figure: its name, today's value, the best one's, and how it is written.
type Figure<'a> = (&'a str, f64, f64, fn(f64) -> String);

fn columns(first: &str) -> [(&str, report::Align); 7] {
    [
        (first, Left),
        ("cost/h", Right),
        ("p95", Right),
        ("outside goal", Right),
        ("bad", Right),
        ("actions", Right),
        ("flaps", Right),
    ]
}

impl Point {
    fn cells(&self, name: String) -> [String; 7] {
        [
            name,
            money(self.cost_per_hour),
            time(self.p95_ms),
            format!("{} min", minutes(self.outside_goal_minutes)),
            share(self.bad_share),
            minutes(self.actions),
            minutes(self.flaps),
        ]
    }
}

impl Saving {
    fn range(self) -> String {
        format!("{:.1} % ({:.1} to {:.1})", self.percent, self.low, self.high)
    }
}

/// The length of the path that all keys begin with.
fn common(keys: &[&str]) -> usize {
    let Some(first) = keys.first() else { return 0 };
    let ends = first.match_indices('.').map(|(place, _)| place + 1);
    ends.filter(|end| keys.iter().all(|key| key.starts_with(&first[..*end]))).max().unwrap_or(0)
}

fn money(dollars: f64) -> String {
    format!("${dollars:.3}")
}

/// A count that may be a mean of a few runs.
fn minutes(count: f64) -> String {
    let text = format!("{count:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn share(bad: f64) -> String {
    match bad {
        0.0 => "0 %".to_owned(),
        bad if bad < 1e-4 => "<0.01 %".to_owned(),
        bad => format!("{:.2} %", 100.0 * bad),
    }
}
