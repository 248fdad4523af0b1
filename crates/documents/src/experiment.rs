//! The result of an experiment: a verdict for each route and measure of each candidate, and whether it can be trusted.

use crate::words::{Rows, counted};
use report::Align::{Left, Right};
use report::{Table, Terminal, Tone};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use units::show_duration;

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/experiment.schema.json");

/// What `headroom experiment --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    /// The version of headroom.
    pub version: &'static str,
    /// The name of the experiment.
    pub name: String,
    /// The variable that is changed.
    pub variable: String,
    /// The value of the control.
    pub control: String,
    /// How the arms shared the time: `duet`, `alternating`, `slices` or `restarts`.
    pub design: &'static str,
    /// Why.
    pub design_reason: String,
    /// The measure that decides.
    pub primary: &'static str,
    /// Effects up to this are called the same.
    pub margin: f64,
    /// The plan; `None` if the experiment ended before.
    pub plan: Option<Plan>,
    /// The time from the beginning in which the plan promises to find its effect; `None` without a plan.
    pub promised_seconds: Option<f64>,
    /// How much equal services differ; `None` if it was not measured.
    pub noise_floor: Option<NoiseFloor>,
    /// How long the experiment took.
    pub seconds: f64,
    /// Blocks that count.
    pub blocks: usize,
    /// Blocks that do not.
    pub void_blocks: usize,
    /// Why they do not, with the number of each reason.
    pub voids: Vec<Voids>,
    /// Why the experiment ended.
    pub ended: String,
    /// The verdicts, those of the primary measure first.
    pub verdicts: Vec<Verdict>,
    /// The candidates, and why one was not compared to the end.
    pub candidates: Vec<Candidate>,
    /// What each service answered.
    pub answers: Vec<Answers>,
    /// What the reader has to know.
    pub notes: Vec<String>,
}

/// What the plan promises.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Plan {
    /// The effect that the file asks for.
    pub wanted_effect: f64,
    /// The effect that is found within the promised time.
    pub effect: f64,
    /// The probability of finding it.
    pub power: f64,
    /// The blocks that are needed.
    pub blocks: usize,
    /// The smallest effect that the whole time finds.
    pub detectable_effect: f64,
}

/// How much equal services differ from block to block, in the primary measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseFloor {
    /// The standard deviation of the differences.
    pub spread: f64,
    /// Blocks that it was estimated from.
    pub blocks: usize,
    /// The median effect between the control and the second control, which are equal; `None` without a second control.
    pub offset: Option<f64>,
    /// Where the differences come from: `second_control` or `candidate`.
    pub source: &'static str,
}

/// Void blocks of one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Voids {
    /// The reason in one word.
    pub reason: &'static str,
    /// How many blocks.
    pub count: usize,
    /// The reason of the last of them, with its figures.
    pub last: String,
}

/// The verdict on one measure of a route.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The route; `all` for all requests.
    pub route: String,
    /// The measure.
    pub measure: &'static str,
    /// The value of the candidate.
    pub candidate: String,
    /// `better`, `worse`, `same` or `cannot_tell`.
    pub verdict: &'static str,
    /// The median effect: relative, for errors a difference of shares; `None` without any.
    pub effect: Option<f64>,
    /// The lower end of the interval; `None` if it has none yet.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// Whether this is the measure that decides.
    pub primary: bool,
    /// The median of the control.
    pub control_value: Option<f64>,
    /// The median of the candidate.
    pub candidate_value: Option<f64>,
    /// The unit of these values: `s`, `share` or `bytes`.
    pub unit: &'static str,
    /// Blocks with values of both.
    pub blocks: usize,
    /// How much longer a verdict takes, if it cannot be told yet; `None` if that is not in sight.
    pub more_seconds: Option<f64>,
    /// Whether one effect explains all blocks; otherwise it changed, and there is no verdict.
    pub steady: bool,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its value.
    pub value: String,
    /// `compared`, `stopped`, `left_out` or `ended`.
    pub state: &'static str,
    /// Why it was not compared to the end.
    pub reason: Option<String>,
}

/// What a service answered, in the warm-up and in all blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answers {
    /// `control`, `second control`, or the value of the candidate.
    pub arm: String,
    /// Requests.
    pub requests: u64,
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a response.
    pub no_response: u64,
    /// Bytes received for a response; `None` without any.
    pub bytes_per_response: Option<f64>,
}

impl Experiment {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// For people: the verdict in a sentence, the facts, and the table of all verdicts.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        let mut primary = self.verdicts.iter().filter(|verdict| verdict.primary).peekable();
        if primary.peek().is_none() {
            rows.row("verdict", format!("none: {}", self.ended));
        }
        for (place, verdict) in primary.enumerate() {
            rows.row(if place == 0 { "verdict" } else { "" }, self.sentence(verdict));
            let tone = match verdict.verdict {
                "better" | "same" => Tone::Good,
                "worse" => Tone::Bad,
                _ => Tone::Busy,
            };
            rows.stress_until(':', tone);
        }
        rows.row("design", format!("{}, because {}", design_words(self.design), self.design_reason));
        self.plan_rows(&mut rows);
        let void = match self.void_blocks {
            0 => String::new(),
            count => format!(", {count} void"),
        };
        rows.row(
            "blocks",
            format!("{} in {}{void}", self.blocks, show_duration(whole_seconds(self.seconds))),
        );
        for voids in &self.voids {
            rows.row("", format!("- {} void: {}", voids.count, voids.last));
        }
        rows.row("ended", self.ended.clone());
        for candidate in &self.candidates {
            if let Some(reason) = &candidate.reason {
                let state = candidate.state.replace('_', " ");
                rows.row("candidate", format!("{} was {state}: {reason}", candidate.value));
            }
        }
        for (place, note) in self.notes.iter().enumerate() {
            rows.row(if place == 0 { "notes" } else { "" }, format!("- {note}"));
        }
        let text = rows.text(terminal);
        if self.verdicts.is_empty() {
            return text;
        }
        format!("{text}\n{}", report::text(&self.table(), terminal))
    }

    /// The plan and the noise floor alone.
    pub fn plan_text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        rows.row("design", format!("{}, because {}", design_words(self.design), self.design_reason));
        self.plan_rows(&mut rows);
        if self.plan.is_none() {
            rows.row("plan", format!("none: {}", self.ended));
        }
        rows.text(terminal)
    }

    fn plan_rows(&self, rows: &mut Rows) {
        if let (Some(plan), Some(seconds)) = (self.plan, self.promised_seconds) {
            rows.row(
                "promised",
                format!(
                    "an effect of {} on {} is found within {} ({}) with a probability of {}",
                    percent(plan.effect),
                    measure_words(self.primary),
                    show_duration(whole_seconds(seconds)),
                    counted(plan.blocks as u64, "block"),
                    percent(plan.power)
                ),
            );
            if plan.effect > plan.wanted_effect * 1.001 {
                rows.row("", format!("{} as wanted needs more time", percent(plan.wanted_effect)));
            } else {
                rows.row("", format!("the whole time finds {}", percent(plan.detectable_effect)));
            }
        }
        if let Some(noise) = self.noise_floor {
            let of = match noise.source {
                "second_control" => "control against a second control",
                _ => "control against the first candidate, without their mean difference",
            };
            rows.row(
                "noise",
                format!(
                    "{} a block in {} ({of})",
                    percent(noise.spread),
                    counted(noise.blocks as u64, "block")
                ),
            );
        }
    }

    fn sentence(&self, verdict: &Verdict) -> String {
        let what = format!("{} {}", self.variable, verdict.candidate);
        let measure = measure_words(verdict.measure);
        let interval = interval(verdict);
        let than = format!("with {} {}", self.variable, self.control);
        match verdict.verdict {
            "better" | "worse" => {
                let effect = verdict.effect.unwrap_or_default();
                let way = if effect < 0.0 { "lower" } else { "higher" };
                let word = verdict.verdict.to_uppercase();
                format!(
                    "{word}: with {what}, {measure} is {} {way} than {than} ({interval})",
                    percent(effect.abs())
                )
            }
            "same" => format!(
                "SAME: with {what}, {measure} is within {} of that {than} ({interval})",
                percent(self.margin)
            ),
            _ => {
                let more = match verdict.more_seconds {
                    Some(seconds) => {
                        format!("about {} more are needed", show_duration(whole_seconds(seconds)))
                    }
                    None if !verdict.steady => "the effect changed during the experiment".to_owned(),
                    None => {
                        "no end is in sight: the effect is about as large as the margin, or few blocks count"
                            .to_owned()
                    }
                };
                format!("CANNOT TELL: with {what}, {measure} compared {than} ({interval}); {more}")
            }
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            (self.variable.as_str(), Left),
            ("route", Left),
            ("measure", Left),
            ("control", Right),
            ("candidate", Right),
            ("effect", Right),
            ("interval", Right),
            ("verdict", Left),
        ]);
        for verdict in &self.verdicts {
            let value = |value: Option<f64>| value.map_or("-".to_owned(), |value| shown(value, verdict.unit));
            table.row([
                verdict.candidate.clone(),
                verdict.route.clone(),
                format!("{}{}", verdict.measure, if verdict.primary { " *" } else { "" }),
                value(verdict.control_value),
                value(verdict.candidate_value),
                verdict.effect.map_or("-".to_owned(), signed),
                interval(verdict),
                verdict.verdict.replace('_', " "),
            ]);
        }
        table
    }
}

fn design_words(design: &str) -> &str {
    match design {
        "duet" => "duet (all at once, with the same requests)",
        "alternating" => "alternating blocks",
        "slices" => "time slices",
        other => other,
    }
}

fn measure_words(measure: &str) -> String {
    match measure {
        "errors" => "the share of errors".to_owned(),
        "processor_time" => "processor time".to_owned(),
        "memory" => "memory".to_owned(),
        quantile => format!("response time {quantile}"),
    }
}

fn interval(verdict: &Verdict) -> String {
    match (verdict.low, verdict.high) {
        (None, None) => "no interval yet".to_owned(),
        (low, high) => {
            let end = |value: Option<f64>| value.map_or("?".to_owned(), signed);
            format!("{} to {}", end(low), end(high))
        }
    }
}

fn shown(value: f64, unit: &str) -> String {
    match unit {
        "s" if value < 1.0 => format!("{:.3} ms", 1e3 * value),
        "s" => format!("{value:.3} s"),
        "bytes" => format!("{:.1} MiB", value / 1_048_576.0),
        _ => format!("{:.2} %", 100.0 * value),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

fn whole_seconds(seconds: f64) -> Duration {
    Duration::from_secs(seconds.round().clamp(0.0, 1e9) as u64)
}
