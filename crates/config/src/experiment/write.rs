//! Writes an experiment as a file that reads back to the same experiment.

use super::check::{DESIGNS, ENDS, PRIMARIES, SHARED, default_url};
use super::{Arm, Ends, Experiment, Fleet, Hypothesis, Pace, Requests, SecondControl};
use crate::write::{quoted, span};

/// The text of an experiment file that compares candidates with a control; `notes` are comments at its beginning, a line each. Files of the load are named as they are.
pub fn write(experiment: &Experiment, notes: &[String]) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text += &line;
        text.push('\n');
    };
    notes.iter().for_each(|note| line(format!("# {note}")));
    line(format!("experiment: {}", quoted(&experiment.name)));
    line(format!("variable: {}", quoted(&experiment.variable)));
    if let Some(Hypothesis { finding, run }) = &experiment.hypothesis {
        let run = run.as_ref().map_or(String::new(), |run| format!(", run: {}", quoted(run)));
        line(format!("hypothesis: {{ finding: {}{run} }}", finding.code()));
    }
    line("load:".to_owned());
    line(format!("  {}", requests(&experiment.requests)));
    line(match experiment.pace {
        Pace::Rate(rate) => format!("  rate: {rate}"),
        Pace::Users(users) => format!("  users: {users}"),
        Pace::Recorded => "  times: recorded".to_owned(),
        Pace::Live => "  times: live".to_owned(),
    });
    line(format!("  timeout: {}", span(experiment.timeout)));
    line("control:".to_owned());
    arm(&experiment.control).into_iter().for_each(|key| line(format!("  {key}")));
    line("candidates:".to_owned());
    for candidate in &experiment.candidates {
        let keys = arm(candidate).into_iter().enumerate();
        keys.for_each(|(place, key)| line(format!("  {} {key}", if place == 0 { "-" } else { " " })));
    }
    line(format!(
        "second_control: {}",
        match experiment.second_control {
            SecondControl::First => "first",
            SecondControl::Alongside => "alongside",
            SecondControl::Off => "off",
        }
    ));
    line(format!("shared: {}", word(&SHARED, experiment.shared)));
    line(format!("primary: {}", word(&PRIMARIES, experiment.primary)));
    for (key, share) in
        [("margin", experiment.margin), ("harm", experiment.harm), ("effect", experiment.effect)]
    {
        line(format!("{key}: {}", percent(share)));
    }
    line(format!("time: {}", span(experiment.time)));
    line(format!("warm_up: {}", span(experiment.warm_up)));
    line(format!("block: {}", span(experiment.block)));
    line(format!("max_lag: {}", span(experiment.max_lag)));
    line(format!("ready_within: {}", span(experiment.ready_within)));
    if let Some(design) = experiment.design {
        line(format!("design: {}", word(&DESIGNS, design)));
    }
    line(match experiment.ends {
        Ends::Precise(precision) => format!("precision: {}", percent(precision)),
        ends => format!("ends: {}", word(&ENDS, ends)),
    });
    if let Some(Fleet { servers, per_hour, .. }) = experiment.fleet {
        let price = per_hour.map_or_else(String::new, |price| format!(", per_hour: {price}"));
        line(format!("fleet: {{ servers: {servers}{price} }}"));
    }
    if !experiment.compare_answers {
        line("compare_answers: false".to_owned());
    }
    text
}

fn requests(requests: &Requests) -> String {
    match requests {
        Requests::Paths(paths) => {
            let paths: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
            format!("paths: [{}]", paths.join(", "))
        }
        Requests::Listed { file, reads_only } => {
            let reads_only = if *reads_only { "\n  reads_only: true" } else { "" };
            format!("requests: {}{reads_only}", quoted(&file.display().to_string()))
        }
        Requests::Scenario(file) => format!("scenario: {}", quoted(&file.display().to_string())),
    }
}

fn arm(arm: &Arm) -> Vec<String> {
    let mut keys = vec![format!("value: {}", quoted(&arm.value))];
    keys.extend(arm.command.as_ref().map(|command| format!("command: {}", quoted(command))));
    if !arm.env.is_empty() {
        let of = |(name, value): (&String, &String)| format!("{}: {}", quoted(name), quoted(value));
        keys.push(format!("env: {{ {} }}", arm.env.iter().map(of).collect::<Vec<_>>().join(", ")));
    }
    if arm.url != default_url() {
        keys.push(format!("url: {}", quoted(&arm.url)));
    }
    keys.extend(arm.pid.map(|pid| format!("pid: {pid}")));
    keys.extend(arm.own_store.then(|| "own_store: true".to_owned()));
    keys
}

fn percent(share: f64) -> String {
    format!("{}%", (1e8 * share).round() / 1e6)
}

/// The word of a value in a table that has them all.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, one)| *one == value).map_or("", |(word, _)| word)
}
