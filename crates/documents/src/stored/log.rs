//! The sheet of all tests: for each what changed, what was measured, what limited it, and what it brought.
//!
//! ## What a run is compared with
//! The one before it with the same command and target that ended and measured something. The change is what somebody noted;
//! without a note it is what differs in the configuration and the facts that were recorded: all of it, because a difference
//! that was not meant explains a result as well as one that was.

use super::{ENVIRONMENT, Run, Said, Tested, table};
use report::{Align, Table};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

/// The sheet, the earliest test first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Log {
    /// A line for each test.
    pub tests: Vec<Line>,
}

/// A test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The run, such as `r17`.
    pub id: String,
    /// When it began, in UTC.
    pub began: String,
    /// Its command.
    pub command: String,
    /// What it measured, usually a URL.
    pub target: String,
    /// The load, or the settings that the name of a search does not say.
    pub load: String,
    /// What was said about it.
    #[serde(flatten)]
    pub said: Said,
    /// The run that it is compared with.
    pub before: Option<String>,
    /// What differs from that run in what was recorded, each as `NAME: BEFORE -> AFTER`.
    pub differences: Vec<String>,
    /// Good responses a second; of a search, the rate that it found, and of a squeeze that of an instance.
    pub rate_per_second: Option<f64>,
    /// Quantiles of the response time, in milliseconds.
    pub p50_ms: Option<f64>,
    /// The same.
    pub p95_ms: Option<f64>,
    /// Share of the requests that were shed, failed, timed out or not sent, 0 to 1.
    pub lost: Option<f64>,
    /// How far to believe it, or how far it has come.
    pub verdict: String,
    /// By how much the rate is higher than in the run before, as a share.
    pub rate_gain: Option<f64>,
    /// By how much the 95th percentile is higher, as a share.
    pub p95_gain: Option<f64>,
    /// What an experiment found of its primary measure, in words; `None` for other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

impl Log {
    /// The sheet of these runs, in the order in which they began.
    pub fn of(runs: &[Run]) -> Self {
        let mut latest: BTreeMap<(&str, &str), (usize, &Run)> = BTreeMap::new();
        let mut tests: Vec<Line> = Vec::new();
        for run in runs {
            let key = (run.command.as_str(), run.target.as_str());
            let mut line = Line::of(run);
            if let Some((place, before)) = latest.get(&key).copied() {
                line.compare(&tests[place], before, run);
            }
            if run.done && (line.rate_per_second.is_some() || line.p95_ms.is_some()) {
                latest.insert(key, (tests.len(), run));
            }
            tests.push(line);
        }
        Log { tests }
    }

    /// As a table for a terminal.
    pub fn table(&self) -> Table {
        let columns = HEADINGS.map(|name| match name {
            "rate" | "p95" | "lost" => (name, Align::Right),
            name => (name, Align::Left),
        });
        let mut table = Table::new(&columns);
        table.dispensable(&["verdict", "lost", "began (UTC)"]);
        for line in &self.tests {
            table.row(line.cells());
        }
        table
    }

    /// As a table of Markdown.
    pub fn markdown(&self) -> String {
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells
                .iter()
                .map(|cell| cell.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " "))
                .collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rules: Vec<String> = HEADINGS.iter().map(|_| "---".to_owned()).collect();
        let mut text = row(&HEADINGS.map(str::to_owned)) + &row(&rules);
        for line in &self.tests {
            text += &row(&line.cells());
        }
        text
    }

    /// As comma-separated values (RFC 4180), numbers without units.
    pub fn csv(&self) -> String {
        let mut text = COLUMNS.join(",") + "\r\n";
        for line in &self.tests {
            let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let said = |value: &Option<String>| value.clone().unwrap_or_default();
            let cells = [
                line.id.clone(),
                said(&line.said.name),
                line.began.clone(),
                line.command.clone(),
                line.target.clone(),
                line.load.clone(),
                said(&line.said.hypothesis),
                line.change(),
                number(line.rate_per_second),
                number(line.p50_ms),
                number(line.p95_ms),
                number(line.lost),
                line.verdict.clone(),
                line.bottleneck(),
                line.before.clone().unwrap_or_default(),
                number(line.rate_gain),
                number(line.p95_gain),
                line.decision(),
                line.said.comments.join("; "),
                line.brought(),
            ];
            let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            text += &(cells.join(",") + "\r\n");
        }
        text
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        serde_json::to_value(self).expect("names are strings")
    }
}

/// What an experiment compared and found: of each candidate the primary measure.
struct TrialLine {
    change: String,
    verdicts: String,
    effects: String,
    bottlenecks: Option<String>,
}

impl TrialLine {
    fn of(run: &Run) -> Option<Self> {
        let result = run.result.as_deref().filter(|_| run.command == "experiment")?;
        let found: Json = serde_json::from_str(result).ok()?;
        let text = |name: &str| found[name].as_str().unwrap_or_default();
        let primary = || {
            let all = found["verdicts"].as_array().into_iter().flatten();
            all.filter(|verdict| verdict["primary"] == true)
        };
        let of = |name: &'static str| primary().filter_map(move |verdict| verdict[name].as_str());
        let candidates: Vec<&str> = of("candidate").collect();
        let verdicts: Vec<String> = of("verdict").map(|verdict| verdict.replace('_', " ")).collect();
        let effects = primary().filter_map(|verdict| Some(100.0 * verdict["effect"].as_f64()?));
        let effects: Vec<String> = effects.map(|percent| format!("{percent:+.1} %")).collect();
        if let Some(search) = found["search"].as_object() {
            return TrialLine::of_search(&found, search);
        }
        (!candidates.is_empty()).then(|| TrialLine {
            change: format!("{}: {} -> {}", text("variable"), text("control"), candidates.join(", ")),
            verdicts: verdicts.join(", "),
            effects: format!("{} {}", text("primary"), effects.join(", ")),
            bottlenecks: crate::experiment::bottlenecks_of(&found),
        })
    }

    /// The best of many values, or the effects of several variables.
    fn of_search(found: &Json, search: &serde_json::Map<String, Json>) -> Option<Self> {
        let variable = found["variable"].as_str()?;
        let values = search["values"].as_array()?;
        let (change, verdicts) = match (search["best"].as_str(), search["certain"].as_bool()) {
            (Some(best), Some(certain)) => (
                format!("{variable}: {best} of {} values", values.len()),
                if certain { "best" } else { "cannot tell" }.to_owned(),
            ),
            _ => {
                let all = found["verdicts"].as_array()?.iter().filter(|verdict| verdict["primary"] == true);
                let of = |verdict: &Json| {
                    let word = verdict["verdict"].as_str()?.replace('_', " ");
                    Some(format!("{} {word}", verdict["candidate"].as_str()?))
                };
                (format!("{variable}: effects"), all.filter_map(of).collect::<Vec<_>>().join(", "))
            }
        };
        let best = values.iter().find(|value| value["value"] == search["best"]);
        let primary = found["primary"].as_str()?;
        let value = best.and_then(|best| best["measures"][primary].as_f64());
        let shown = value.map(|value| crate::experiment::shown_measure(primary, value));
        Some(TrialLine {
            change,
            verdicts,
            effects: format!("{primary} {}", shown.unwrap_or_default()),
            bottlenecks: crate::experiment::bottlenecks_of(found),
        })
    }
}

impl Line {
    fn of(run: &Run) -> Self {
        let mut said = run.said.clone();
        let (search, squeezed) = (run.search(), run.squeezed());
        let trial = TrialLine::of(run);
        if said.bottleneck.is_none() {
            let limited_by = || search.as_ref().and_then(|search| search.limited_by()).map(str::to_owned);
            let ran_out = || squeezed.as_ref().map(|squeezed| squeezed.ran_out.clone());
            let bottlenecks = || trial.as_ref().and_then(|trial| trial.bottlenecks.clone());
            said.bottleneck = run.bottleneck().or_else(limited_by).or_else(ran_out).or_else(bottlenecks);
        }
        if let Some(trial) = &trial
            && said.change.is_none()
        {
            said.change = Some(trial.change.clone());
        }
        let measured = run.recorded.as_ref().filter(|recorded| recorded.accounting.scheduled > 0);
        let quantile = |quantile: Quantile| {
            let value = measured?.response.dense().quantile(quantile)?;
            Some(1e3 * value.at.as_secs_f64())
        };
        let rate = |recorded: &measure::Recorded| {
            let seconds = recorded.elapsed.as_secs_f64();
            (seconds > 0.0).then(|| recorded.accounting.answered as f64 / seconds)
        };
        let lost = |recorded: &measure::Recorded| {
            let accounting = &recorded.accounting;
            1.0 - accounting.answered as f64 / accounting.scheduled as f64
        };
        Line {
            id: run.id.clone(),
            began: run.started.second.clone(),
            command: run.command.clone(),
            target: run.target.clone(),
            load: table::load(&run.config),
            said,
            before: None,
            differences: Vec::new(),
            rate_per_second: match (&search, &squeezed) {
                (Some(search), _) => search.rate(),
                (None, Some(squeezed)) => squeezed.low,
                (None, None) => measured.and_then(rate),
            },
            p50_ms: quantile(Quantile::P50),
            p95_ms: quantile(Quantile::P95),
            lost: measured.map(lost),
            verdict: trial.as_ref().map_or(run.verdict().to_owned(), |trial| trial.verdicts.clone()),
            rate_gain: None,
            p95_gain: None,
            effect: trial.map(|trial| trial.effects),
        }
    }

    fn compare(&mut self, before: &Line, of_before: &Run, run: &Run) {
        let gain = |now: Option<f64>, before: Option<f64>| {
            let (now, before) = (now?, before?);
            (before > 0.0).then(|| now / before - 1.0)
        };
        self.before = Some(before.id.clone());
        self.rate_gain = gain(self.rate_per_second, before.rate_per_second);
        self.p95_gain = gain(self.p95_ms, before.p95_ms);
        self.differences = differences(of_before, run);
    }

    /// What was noted, or what differs.
    pub(super) fn change(&self) -> String {
        self.said.change.clone().unwrap_or_else(|| self.differences.join("; "))
    }

    /// Command, target and load.
    pub(super) fn what(&self) -> String {
        [self.command.as_str(), &self.target, &self.load].join(" ").trim().to_owned()
    }

    /// When it began, in UTC.
    pub(super) fn began(&self) -> String {
        self.began.replace('T', " ").replace('Z', "")
    }

    /// What limited it, and what experiments said of that: of each finding the last.
    pub(super) fn bottleneck(&self) -> String {
        let all = &self.said.tested_by;
        let is_last =
            |place: usize| !all[place + 1..].iter().any(|later| later.finding == all[place].finding);
        let tested = (0..all.len()).filter(|&place| is_last(place)).map(|place| all[place].by_later());
        self.said.bottleneck.iter().cloned().chain(tested).collect::<Vec<_>>().join("; ")
    }

    /// What was decided; of an experiment without a decision, what it says of the finding that it was made for.
    pub(super) fn decision(&self) -> String {
        let tested = || self.said.tested.iter().map(Tested::of_earlier).collect::<Vec<_>>().join("; ");
        self.said.decision.clone().unwrap_or_else(tested)
    }

    pub(super) fn brought(&self) -> String {
        if let Some(effect) = &self.effect {
            return effect.clone();
        }
        let said = |name: &str, gain: Option<f64>| {
            let percent = 100.0 * gain?;
            (percent.abs() >= 0.05).then(|| format!("{name} {percent:+.1} %"))
        };
        let gains = [said("rate", self.rate_gain), said("p95", self.p95_gain)];
        let gains: Vec<String> = gains.into_iter().flatten().collect();
        match (&self.before, gains.is_empty()) {
            (Some(before), false) => format!("{} than {before}", gains.join(", ")),
            (Some(before), true) => format!("as {before}"),
            (None, _) => String::new(),
        }
    }

    /// Rate, p95 and lost requests; empty where nothing was measured or lost.
    pub(super) fn measured(&self) -> [String; 3] {
        [
            self.rate_per_second.and_then(Rate::try_per_second).map_or(String::new(), report::rate),
            self.p95_ms
                .map_or(String::new(), |p95| show_duration(Duration::from_secs_f64(p95 / 1e3)).to_string()),
            self.lost
                .filter(|lost| *lost > 0.0)
                .map_or(String::new(), |lost| format!("{:.2} %", 100.0 * lost)),
        ]
    }

    fn cells(&self) -> [String; HEADINGS.len()] {
        let shortened = |changes: &[String]| match changes {
            [] => String::new(),
            [one] => one.clone(),
            [one, two] => format!("{one}; {two}"),
            [one, two, more @ ..] => format!("{one}; {two}; {} more", more.len()),
        };
        let test = match (&self.said.name, &self.said.hypothesis) {
            (Some(name), _) => format!("{} {name}", self.id),
            (None, _) => self.id.clone(),
        };
        let [rate, p95, lost] = self.measured();
        [
            test,
            self.began(),
            self.what(),
            self.said.change.clone().unwrap_or_else(|| shortened(&self.differences)),
            rate,
            p95,
            lost,
            self.verdict.clone(),
            self.bottleneck(),
            self.brought(),
            self.decision(),
        ]
    }
}

/// What differs in what was recorded of two runs.
pub(super) fn differences(before: &Run, now: &Run) -> Vec<String> {
    let facts = |run: &Run| {
        let mut all = BTreeMap::new();
        let config: Json = serde_json::from_str(&run.config).unwrap_or_default();
        flatten("", &config, &mut all);
        // Results of the run's own surroundings pass, and say nothing about what was tested.
        let host = run.host.iter().filter(|(name, _)| !crate::compare::PASSING.contains(&name.as_str()));
        let surroundings = run.facts.iter().filter(|(name, _)| {
            name.strip_prefix(ENVIRONMENT).is_none_or(|variable| !SHELL.contains(&variable))
        });
        all.extend(host.chain(surroundings).cloned());
        all.insert("headroom".to_owned(), run.version.clone());
        all
    };
    let (before, now) = (facts(before), facts(now));
    // Facts that an older headroom did not record are no difference.
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let said = |name: &&String| {
        let (before, now) = (before.get(*name), now.get(*name));
        let show = |value: Option<&String>| value.map_or("none".to_owned(), |value| shown(value));
        (before != now).then(|| format!("{name}: {} -> {}", show(before), show(now)))
    };
    names.iter().filter_map(said).collect()
}

fn flatten(path: &str, value: &Json, into: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Json::Object(entries) => entries.iter().for_each(|(key, value)| flatten(&below(key), value, into)),
        Json::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(place, value)| flatten(&below(&place.to_string()), value, into));
        }
        Json::Null => {}
        Json::String(text) => {
            into.insert(path.to_owned(), text.clone());
        }
        other => {
            into.insert(path.to_owned(), other.to_string());
        }
    }
}

fn shown(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default();
    match line.chars().count() > LONGEST || line.len() < value.len() {
        true => format!("{}…", line.chars().take(LONGEST).collect::<String>()),
        false => line.to_owned(),
    }
}

/// A cell of comma-separated values. A text that a spreadsheet would take for a formula is marked as text
/// (<https://owasp.org/www-community/attacks/CSV_Injection>).
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '@', '\t', '\r'])
        || cell.starts_with('-') && cell.parse::<f64>().is_err();
    let cell = if is_formula { format!("'{cell}") } else { cell.to_owned() };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

const HEADINGS: [&str; 11] = [
    "test",
    "began (UTC)",
    "what",
    "change",
    "rate",
    "p95",
    "lost",
    "verdict",
    "bottleneck",
    "brought",
    "decision",
];

const COLUMNS: [&str; 20] = [
    "id",
    "name",
    "began",
    "command",
    "target",
    "load",
    "hypothesis",
    "change",
    "rate_per_second",
    "p50_ms",
    "p95_ms",
    "lost",
    "verdict",
    "bottleneck",
    "before",
    "rate_gain",
    "p95_gain",
    "decision",
    "comments",
    "brought",
];

/// Variables that differ from shell to shell.
const SHELL: [&str; 16] = [
    "_",
    "COLUMNS",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "TERM",
    "TMUX",
    "TMUX_PANE",
    "WINDOWID",
    "XDG_SESSION_ID",
    "INVOCATION_ID",
];
/// Longer values are cut.
const LONGEST: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn run(result: &str, said: Said) -> Run {
        Run { result: Some(result.to_owned()), said, ..Run::of_test("r5") }
    }

    fn tested(finding: &str, outcome: &str, run: &str) -> Tested {
        Tested { finding: finding.to_owned(), outcome: outcome.to_owned(), run: Some(run.to_owned()) }
    }

    #[test]
    fn a_bottleneck_has_what_the_last_experiment_said_of_it() {
        let found = r#"{"findings": [{"code": "workers", "sentence": "All are busy.", "evidence": [], "since_seconds": 0,
            "change": "more"}]}"#;
        let tested_by = vec![
            tested("workers", "open", "r6"),
            tested("lock", "refuted", "r7"),
            tested("workers", "confirmed", "r8"),
        ];
        let line = Line::of(&run(found, Said { tested_by, ..Said::default() }));
        assert_eq!(line.bottleneck(), "All are busy.; lock: refuted by r7; workers: confirmed by r8");
        // Earlier versions kept the sentence alone.
        let earlier = run(r#"{"bottleneck": "All are busy."}"#, Said::default());
        assert_eq!(
            (Line::of(&earlier).bottleneck(), earlier.findings()),
            ("All are busy.".to_owned(), vec![])
        );
    }

    #[test]
    fn an_experiment_shows_its_outcome_unless_something_was_decided() {
        let said = Said { tested: vec![tested("workers", "confirmed", "r5")], ..Said::default() };
        assert_eq!(Line::of(&run("{}", said.clone())).decision(), "workers of r5: confirmed");
        let decided = Said { decision: Some("keep".to_owned()), ..said };
        assert_eq!(Line::of(&run("{}", decided)).decision(), "keep");
    }
}
