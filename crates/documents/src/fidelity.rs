//! How like copies of a workload are: a fidelity score for each, and for each aspect of it.

use crate::words::{self, counted};
use import::{Aspect, Likeness, Part, Workload};
use report::{Align, Table, Terminal, grouped};
use serde::Serialize;
use std::time::Duration;
use units::{Rate, show_duration};

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/fidelity.schema.json");

/// What `headroom fidelity --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fidelity {
    /// The version of headroom.
    pub version: &'static str,
    /// What the others are compared with.
    pub original: Recorded,
    /// Whether only the course of the rate was compared, whatever its level.
    pub any_rate: bool,
    /// The others, in the order in which they were named.
    pub copies: Vec<Copy>,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// The file.
    pub file: String,
    /// Its requests.
    pub requests: usize,
    /// From the first to the last.
    pub seconds: f64,
}

/// A copy beside the original.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Copy {
    /// The recording.
    #[serde(flatten)]
    pub recorded: Recorded,
    /// How much of both was compared, from their first requests.
    pub compared_seconds: f64,
    /// Requests in that time: of the original, and of the copy.
    pub compared_requests: [usize; 2],
    /// The fidelity of the aspect that is least alike, 0 to 1; `None` if none could be compared.
    pub score: Option<f64>,
    /// The low end of its 95 % confidence interval.
    pub low: Option<f64>,
    /// The high end.
    pub high: Option<f64>,
    /// The aspect that is least alike.
    pub worst: Option<&'static str>,
    /// The length of the parts of time by which the rate is compared.
    pub rate_interval_seconds: f64,
    /// The aspects.
    pub parts: Vec<AspectRow>,
    /// The endpoints that differ most, at most ten.
    pub endpoints: Vec<EndpointRow>,
}

/// An aspect of a copy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AspectRow {
    /// `rate`, `gaps`, `mix`, `session_length` or `answer_sizes`.
    pub aspect: &'static str,
    /// 1: no further apart than two recordings of the same workload; 0: nothing in common. `None` if not compared.
    pub fidelity: Option<f64>,
    /// The low end of its 95 % confidence interval.
    pub low: Option<f64>,
    /// The high end.
    pub high: Option<f64>,
    /// The distance that was found, 0 to 1.
    pub distance: Option<f64>,
    /// The distance that two recordings of the same workload have on average.
    pub by_chance: Option<f64>,
    /// A figure of the original and the copy: requests a second, endpoints, otherwise medians (gaps in seconds, requests of
    /// a session, bytes).
    pub figures: Option<[f64; 2]>,
    /// 99th percentiles of the same, where there are some.
    pub p99: Option<[f64; 2]>,
    /// Why it was not compared.
    pub not_compared: Option<String>,
    #[serde(skip)]
    of: Aspect,
}

/// The share of an endpoint in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndpointRow {
    /// Method and path.
    pub endpoint: String,
    /// In the original and in the copy, 0 to 1.
    pub shares: [f64; 2],
}

impl Recorded {
    /// A recording and its file.
    pub fn of(file: String, workload: &Workload) -> Self {
        Recorded { file, requests: workload.requests(), seconds: rounded(workload.length().as_secs_f64()) }
    }
}

impl Copy {
    /// A copy and what was found.
    pub fn of(recorded: Recorded, found: &Likeness) -> Self {
        let worst = found.worst();
        let interval = worst.map(|(_, part)| part.interval());
        let parts = found.parts.iter().map(|(aspect, part)| AspectRow::of(*aspect, part));
        let differ = found.mix.iter().filter(|(_, [one, other])| one != other).take(MOST_ENDPOINTS);
        Copy {
            recorded,
            compared_seconds: rounded(found.span.as_secs_f64()),
            compared_requests: found.requests,
            score: worst.map(|(_, part)| rounded(part.fidelity())),
            low: interval.map(|(low, _)| rounded(low)),
            high: interval.map(|(_, high)| rounded(high)),
            worst: worst.map(|(aspect, _)| aspect.name()),
            rate_interval_seconds: found.bin.as_secs_f64(),
            parts: parts.collect(),
            endpoints: differ
                .map(|(name, shares)| EndpointRow { endpoint: name.clone(), shares: shares.map(rounded) })
                .collect(),
        }
    }
}

impl AspectRow {
    fn of(of: Aspect, part: &Result<Part, import::Incomparable>) -> Self {
        let compared = part.as_ref().ok();
        let interval = compared.map(Part::interval);
        AspectRow {
            aspect: of.name(),
            fidelity: compared.map(|part| rounded(part.fidelity())),
            low: interval.map(|(low, _)| rounded(low)),
            high: interval.map(|(_, high)| rounded(high)),
            distance: compared.map(|part| rounded(part.distance.found)),
            by_chance: compared.map(|part| rounded(part.distance.by_chance)),
            figures: compared.map(|part| part.middle.map(rounded)),
            p99: compared.and_then(|part| part.p99).map(|both| both.map(rounded)),
            not_compared: part.as_ref().err().map(ToString::to_string),
            of,
        }
    }

    fn name(&self) -> &'static str {
        match self.of {
            Aspect::Rate => "rate",
            Aspect::Gaps => "gaps",
            Aspect::Mix => "mix",
            Aspect::SessionLength => "session length",
            Aspect::AnswerSizes => "answer sizes",
        }
    }

    /// The figure of the original or the copy.
    fn figure(&self, which: usize) -> String {
        let Some(figures) = self.figures else { return String::new() };
        let shown = |value: f64| match self.of {
            Aspect::Rate => Rate::per_second_of(value.max(0.0)).to_string(),
            Aspect::Gaps => show_duration(Duration::from_secs_f64(value.max(0.0))).to_string(),
            Aspect::Mix => counted(value as u64, "endpoint"),
            Aspect::SessionLength => counted(value as u64, "request"),
            Aspect::AnswerSizes => format!("{} B", grouped(value as u64)),
        };
        match self.p99 {
            Some(p99) => format!("{}, p99 {}", shown(figures[which]), shown(p99[which])),
            None => shown(figures[which]),
        }
    }
}

impl Fidelity {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// The lowest score; `None` if a copy has none.
    pub fn least(&self) -> Option<f64> {
        let scores = self.copies.iter().map(|copy| copy.score);
        scores.collect::<Option<Vec<f64>>>().and_then(|scores| scores.into_iter().reduce(f64::min))
    }

    /// For people.
    pub fn text(&self, terminal: Terminal) -> String {
        self.copies.iter().map(|copy| self.of_copy(copy, terminal)).collect::<Vec<_>>().join("\n")
    }

    fn of_copy(&self, copy: &Copy, terminal: Terminal) -> String {
        let file = &copy.recorded.file;
        let score = match (copy.score, copy.low, copy.high, copy.worst) {
            (Some(score), Some(low), Some(high), Some(worst)) => {
                let worst = worst.replace('_', " ");
                format!("fidelity {} ({} to {}), limited by {worst}", shown(score), shown(low), shown(high))
            }
            _ => "no fidelity: nothing could be compared".to_owned(),
        };
        let [one, other] = copy.compared_requests;
        let over = show_duration(Duration::from_secs_f64(copy.compared_seconds));
        let head = format!(
            "{file}: {score}; {} compared with {} of {} in the first {over} of both",
            counted(other as u64, "request"),
            grouped(one as u64),
            self.original.file
        );
        let mut table = Table::new(&[
            ("aspect", Align::Left),
            ("fidelity", Align::Right),
            ("95 % interval", Align::Left),
            ("original", Align::Left),
            ("copy", Align::Left),
        ]);
        for row in &copy.parts {
            let Some(((fidelity, low), high)) = row.fidelity.zip(row.low).zip(row.high) else { continue };
            let interval = format!("{} to {}", shown(low), shown(high));
            table.row([row.name().to_owned(), shown(fidelity), interval, row.figure(0), row.figure(1)]);
            if row.of == Aspect::Mix {
                let percent = |share: f64| format!("{:.1} %", 100.0 * share);
                for EndpointRow { endpoint, shares: [one, other] } in
                    copy.endpoints.iter().take(SHOWN_ENDPOINTS)
                {
                    if (one - other).abs() >= SHOWN_FROM {
                        table.row([
                            format!("  {endpoint}"),
                            String::new(),
                            String::new(),
                            percent(*one),
                            percent(*other),
                        ]);
                    }
                }
            }
        }
        let mut said = words::paragraph(&head, terminal);
        if copy.score.is_some() {
            said += &format!("\n{}", report::text(&table, terminal));
        }
        for row in &copy.parts {
            if let Some(why) = &row.not_compared {
                said += &words::paragraph(&format!("{} not compared: {why}", row.name()), terminal);
            }
        }
        said
    }
}

fn shown(share: f64) -> String {
    format!("{share:.3}")
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Endpoints in the JSON.
const MOST_ENDPOINTS: usize = 10;
/// Endpoints in the text, and the least difference of their shares.
const SHOWN_ENDPOINTS: usize = 3;
const SHOWN_FROM: f64 = 0.005;

#[cfg(test)]
mod tests;
