//! The sheet of all tests as a page: the sheet, then each test with what was expected, changed, measured and decided.

use super::log::Line;
use super::{Log, Run};
use crate::experiment::signed;
use crate::words::counted;
use report::{Align, Blocks, Chart, Report, Section, Table, Unit, html};
use serde_json::Value as Json;

impl Log {
    /// The page of these tests; `runs` has the results of the experiments among them.
    pub fn page(&self, runs: &[Run]) -> String {
        let mut sections = vec![Section::Table(self.table())];
        for line in &self.tests {
            let name = line.said.name.as_deref().unwrap_or(&line.command);
            sections.push(Section::Heading(format!("{} {name}", line.id)));
            sections.push(Section::Table(line.facts()));
            let run = runs.iter().find(|run| run.id == line.id && run.command == "experiment");
            let result = run.and_then(|run| serde_json::from_str::<Json>(run.result.as_deref()?).ok());
            sections.extend(result.iter().flat_map(outcome).map(Section::Table));
            sections.extend(result.iter().filter_map(blocks).map(Section::Chart));
        }
        let subtitle = match (self.tests.first(), self.tests.last()) {
            (Some(first), Some(last)) => {
                let count = counted(self.tests.len() as u64, "test");
                format!("{count}, {} to {}", day(&first.began), day(&last.began))
            }
            _ => "No tests".to_owned(),
        };
        html(&Report { title: "Tests".to_owned(), subtitle, sections })
    }
}

impl Line {
    /// What is known of the test, a row each.
    fn facts(&self) -> Table {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        let said = |text: &Option<String>| text.clone().unwrap_or_default();
        let tags = self.said.tags.iter().map(|(key, value)| format!("{key}={value}"));
        let [rate, p95, lost] = self.measured();
        let measured = [("", rate), ("p95 ", p95), ("lost ", lost)];
        let measured = measured.into_iter().filter(|(_, text)| !text.is_empty());
        for (name, text) in [
            ("began", format!("{} UTC", self.began())),
            ("test", self.what()),
            ("tags", tags.collect::<Vec<_>>().join(", ")),
            ("hypothesis", said(&self.said.hypothesis)),
            ("change", self.change()),
            ("measured", measured.map(|(name, text)| format!("{name}{text}")).collect::<Vec<_>>().join(", ")),
            ("verdict", self.verdict.clone()),
            ("bottleneck", self.bottleneck()),
            ("brought", self.brought()),
            ("decision", self.decision()),
            ("comments", self.said.comments.join("\n")),
        ] {
            if !text.is_empty() {
                table.row([name.to_owned(), text]);
            }
        }
        table
    }
}

/// The values of a search, and the verdicts of an experiment. Of a search with a best value, what is known of its other measures: of
/// values that are not told from it, and of those that are better than it in one.
fn outcome(found: &Json) -> Vec<Table> {
    let search = &found["search"];
    let values = search["values"].as_array().map(|values| searched(found, values));
    let is_shown = |verdict: &&Json| {
        let remains = search["remaining"].as_array().is_some_and(|all| all.contains(&verdict["candidate"]));
        let is_known = remains && verdict["verdict"] != "cannot_tell";
        search["best"].is_null() || verdict["primary"] != true && (is_known || verdict["verdict"] == "better")
    };
    let shown: Vec<&Json> = found["verdicts"].as_array().into_iter().flatten().filter(is_shown).collect();
    values.into_iter().chain(verdicts(&shown)).collect()
}

fn verdicts(all: &[&Json]) -> Option<Table> {
    let mut table = Table::new(&[
        ("candidate", Align::Left),
        ("route", Align::Left),
        ("measure", Align::Left),
        ("verdict", Align::Left),
        ("effect", Align::Right),
        ("95 % interval", Align::Left),
    ]);
    for verdict in all {
        let text = |name: &str| verdict[name].as_str().unwrap_or_default().replace('_', " ");
        let measure = verdict["measure"].as_str().unwrap_or_default();
        let effect = |name: &str| verdict[name].as_f64().map(|effect| signed(effect, measure));
        let interval = effect("low").zip(effect("high")).map(|(low, high)| format!("{low} to {high}"));
        let primary = if verdict["primary"] == true { " (primary)" } else { "" };
        table.row([
            text("candidate"),
            text("route"),
            format!("{}{primary}", text("measure")),
            text("verdict"),
            effect("effect").unwrap_or_default(),
            interval.unwrap_or_default(),
        ]);
    }
    (!all.is_empty()).then_some(table)
}

/// The primary measure of all requests, block by block. A search has too many services, of which each block has one.
fn blocks(found: &Json) -> Option<Chart> {
    let (primary, data) = (found["primary"].as_str()?, &found["data"]);
    let arms = data["arms"].as_array().filter(|arms| arms.len() <= Blocks::SERVICES_MAX)?;
    let measures = data["measures"].as_array()?;
    let place = measures.iter().position(|one| one["route"] == "all" && one["measure"] == primary)?;
    let all = data["blocks"].as_array().filter(|blocks| !blocks.is_empty() && found["search"].is_null())?;
    let value = |block: &Json, arm: usize| {
        let part = block["parts"].as_array()?.iter().find(|part| part["arm"] == arm)?;
        part["values"][place].as_f64().filter(|_| block["void"].is_null())
    };
    let services = arms.iter().enumerate().map(|(arm, name)| {
        let values = all.iter().map(|block| value(block, arm)).collect();
        (name.as_str().unwrap_or_default().to_owned(), values)
    });
    let unit = match measures[place]["unit"].as_str()? {
        "s" => Unit::Seconds,
        "bytes" => Unit::Bytes,
        _ => Unit::Share,
    };
    let void = all.iter().filter(|block| !block["void"].is_null()).count();
    Some(Chart {
        title: format!("{}, block by block", primary.replace('_', " ")),
        caption: match void {
            0 => String::new(),
            _ => format!("Left out: {} that did not count.", counted(void as u64, "block")),
        },
        drawing: report::blocks(&Blocks {
            title: primary.replace('_', " "),
            unit,
            ended: all.iter().filter_map(|block| block["ended"].as_f64()).collect(),
            services: services.collect(),
        }),
    })
}

fn searched(found: &Json, values: &[Json]) -> Table {
    let primary = found["primary"].as_str().unwrap_or_default();
    let variable = found["variable"].as_str().unwrap_or_default();
    let title = primary.replace('_', " ");
    let mut table = Table::new(&[
        (variable, Align::Left),
        (&title, Align::Right),
        ("rounds", Align::Right),
        ("limited by", Align::Left),
        ("", Align::Left),
    ]);
    let search = &found["search"];
    let is_same = |value: &Json| {
        let mut all = found["verdicts"].as_array().into_iter().flatten();
        all.any(|one| one["primary"] == true && one["candidate"] == *value && one["verdict"] == "same")
    };
    for value in values {
        let remains = search["remaining"].as_array().is_some_and(|all| all.contains(&value["value"]));
        let state = match (value["value"] == search["best"], remains) {
            (true, _) => "best",
            (false, true) if is_same(&value["value"]) => "as good",
            (false, true) => "not told from it",
            (false, false) => "eliminated",
        };
        let measured = value["measures"][primary].as_f64();
        table.row([
            value["value"].as_str().unwrap_or_default().to_owned(),
            measured.map_or(String::new(), |value| crate::experiment::shown_measure(primary, value)),
            value["rounds"].to_string(),
            value["examined"]["bottleneck"]["sentence"].as_str().unwrap_or_default().to_owned(),
            state.to_owned(),
        ]);
    }
    table
}

fn day(began: &str) -> &str {
    began.split('T').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_count_are_drawn() {
        let block = |ended: f64, void: Option<&str>, values: [f64; 2]| {
            let part = |(arm, value): (usize, f64)| serde_json::json!({ "arm": arm, "values": [0.0, value] });
            // In the order in which they got load.
            let parts = values.into_iter().enumerate().rev().map(part).collect::<Vec<_>>();
            serde_json::json!({ "ended": ended, "void": void, "parts": parts })
        };
        let mut found = serde_json::json!({
            "primary": "p50",
            "data": {
                "arms": ["control", "8ms"],
                "measures": [
                    { "route": "/a", "measure": "p50", "unit": "s" },
                    { "route": "all", "measure": "p50", "unit": "s" },
                ],
                "blocks": [
                    block(2.0, None, [0.005, 0.008]),
                    block(4.0, Some("the generator was late"), [0.9, 0.9]),
                    block(6.0, None, [0.006, 0.009]),
                ],
            },
        });
        let chart = blocks(&found).unwrap();
        assert_eq!(chart.caption, "Left out: 1 block that did not count.");
        let said = "p50. control: 5 ms to 6 ms, 8ms: 8 ms to 9 ms.";
        let sections = vec![Section::Chart(chart)];
        let page = html(&Report { title: String::new(), subtitle: String::new(), sections });
        assert!(page.contains(said), "{page}");
        found["search"] = serde_json::json!({});
        assert!(blocks(&found).is_none());
    }

    #[test]
    fn effects_have_the_unit_of_their_measure() {
        let of = |measure: &str, effect: f64| {
            serde_json::json!({
                "candidate": "4", "route": "all", "measure": measure, "verdict": "better", "effect": effect,
                "low": effect - 0.01, "high": effect + 0.01, "primary": false,
            })
        };
        let table = verdicts(&[&of("p95", -0.1), &of("queue_time", -0.0135)]).unwrap();
        let text = report::text(&table, report::Terminal::PIPE);
        assert!(text.contains("-10.0 %") && text.contains("-11.0 % to -9.0 %"), "{text}");
        assert!(text.contains("-13.500 ms") && text.contains("-23.500 ms to -3.500 ms"), "{text}");
    }
}
