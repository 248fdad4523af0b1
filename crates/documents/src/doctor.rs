//! What limits a service, in words.
//!
//! ```text
//! Examined (numbers and names) → text, JSON
//!
//! sentences   a sentence, the evidence and a change for each cause
//! ```

mod sentences;

use crate::words::{Rows, counted};
use control::diagnosis::{Budget, Cause, Diagnosis, Finding, Fit, Seen, more_workers};
use report::{Terminal, Tone, fold};
use serde::{Deserialize, Serialize};
use units::Bytes;

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/doctor.schema.json");

/// The result of an examination.
#[derive(Debug, Clone, PartialEq)]
pub struct Examined {
    /// How long the service was watched.
    pub seconds: f64,
    /// What limits it.
    pub diagnosis: Diagnosis,
    /// What was seen in each second.
    pub seen: Vec<Seen>,
    /// Where the time of an average request went; `None` without requests.
    pub budget: Option<Budget>,
    /// What the numbers belong to.
    pub known: Known,
}

/// What the numbers belong to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// The command of the first process.
    pub service: String,
    /// How many processes there are.
    pub processes: usize,
    /// Cores that it may use.
    pub cores: f64,
    /// The lowest quota, in cores.
    pub quota_cores: Option<f64>,
    /// The lowest memory limit.
    pub memory_limit: Option<Bytes>,
    /// What it uses, and what is available on the machine beside that.
    pub room: Option<Bytes>,
    /// Memory in use.
    pub memory: Bytes,
    /// The application server, in words.
    pub layout: Option<String>,
    /// How many requests it works on at a time.
    pub slots: Option<f64>,
    /// Processes that answer requests.
    pub workers: Option<u32>,
    /// Ports that it listens at.
    pub listening: Vec<u16>,
    /// Addresses that it talks to, in the order of [`Seen::to`].
    pub destinations: Vec<String>,
    /// The process that sends most requests.
    pub client: Option<String>,
    /// The busiest other processes, in words.
    pub others: Vec<String>,
    /// The thread that has run longest.
    pub busiest_thread: Option<String>,
    /// The process that is nearest to its limit of descriptors.
    pub descriptors: Option<Descriptors>,
    /// Local ports for connections to one address.
    pub ports: Option<u32>,
    /// The shortest accept queue.
    pub queue_limit: Option<u32>,
    /// Modes for development.
    pub debug: Vec<String>,
    /// Profilers and tracers that are attached.
    pub profilers: Vec<String>,
}

/// Descriptors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// Its id.
    pub process: u32,
    /// The most that were open.
    pub used: u64,
    /// How many may be.
    pub limit: u64,
}

/// What `headroom doctor --json` prints.
#[derive(Debug, Serialize)]
struct Document {
    version: &'static str,
    service: String,
    processes: usize,
    seconds: f64,
    requests_per_second: Option<f64>,
    findings: Vec<Found>,
    ruled_out: Vec<Said>,
    not_known: Vec<&'static str>,
    request_ms: Option<Times>,
    fit: Option<Processes>,
}

/// What was found, for people and scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The name of the cause.
    pub code: String,
    /// What limits the service.
    pub sentence: String,
    /// The numbers that show it.
    pub evidence: Vec<String>,
    /// From which second on it holds.
    pub since_seconds: usize,
    /// What to change to prove it, one thing.
    pub change: String,
    /// The number of workers that `change` asks for; `None` where it is about something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
}

/// A cause that was ruled out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Said {
    /// The name of the cause.
    pub code: &'static str,
    /// What shows that it is none.
    pub sentence: String,
}

/// Where the time of an average request went, in milliseconds.
#[derive(Debug, Serialize)]
struct Times {
    whole: f64,
    on_core: f64,
    waiting_for_core: f64,
    throttled: f64,
    disk: f64,
    upstream: f64,
    locked: f64,
    accept_queue: f64,
    elsewhere: f64,
}

#[derive(Debug, Serialize)]
struct Processes {
    by_processor: u32,
    by_memory: Option<u32>,
}

impl Examined {
    /// What was found, most important first.
    pub fn findings(&self) -> Vec<Found> {
        let of = |finding: &Finding| {
            let after = self.seen.get(finding.since..).unwrap_or_default();
            let sentences::Sentence { sentence, evidence, change } = sentences::found(*finding, after, self);
            let workers = (finding.cause == Cause::Workers).then(|| self.more_workers(finding)).flatten();
            let (code, since_seconds) = (finding.cause.code().to_owned(), finding.since);
            Found { code, sentence, evidence, since_seconds, change, workers }
        };
        self.diagnosis.findings.iter().map(of).collect()
    }

    /// How many workers there should be for a trial, if they are counted; of the finding that there are too few.
    fn more_workers(&self, finding: &Finding) -> Option<u32> {
        let fit =
            self.fit().map(|fit| fit.by_memory.map_or(fit.by_processor, |most| most.min(fit.by_processor)));
        let now = self.known.workers?;
        Some(more_workers(now, fit, Some(finding.value * f64::from(now))))
    }

    /// How many processes that work on one request at a time fit its cores and its memory.
    pub fn fit(&self) -> Option<Fit> {
        let known = &self.known;
        let each = known.memory.get() as f64 / known.processes.max(1) as f64;
        let memory = known.memory_limit.or(known.room).map(|most| (most.get() as f64, each));
        // Workers that serve one request at a time; how many threads fit is another question.
        let single =
            known.slots.zip(known.workers).is_some_and(|(slots, workers)| slots == f64::from(workers));
        self.budget.filter(|_| single)?.fit(known.cores, memory)
    }

    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        let ms = |seconds: f64| (seconds * 1e6).round() / 1e3;
        let document = Document {
            version: status::version(),
            service: self.known.service.clone(),
            processes: self.known.processes,
            seconds: (self.seconds * 10.0).round() / 10.0,
            requests_per_second: self.budget.map(|budget| (budget.rate * 10.0).round() / 10.0),
            findings: self.findings(),
            ruled_out: self.ruled_out(),
            not_known: self.diagnosis.unknown.iter().map(|cause| cause.code()).collect(),
            request_ms: self.budget.map(|budget| Times {
                whole: ms(budget.whole),
                on_core: ms(budget.on_core),
                waiting_for_core: ms(budget.waiting),
                throttled: ms(budget.throttled),
                disk: ms(budget.disk),
                upstream: ms(budget.upstream),
                locked: ms(budget.locked),
                accept_queue: ms(budget.queued),
                elsewhere: ms(budget.elsewhere),
            }),
            fit: self.fit().map(|fit| Processes { by_processor: fit.by_processor, by_memory: fit.by_memory }),
        };
        serde_json::to_value(document).expect("a document of numbers and texts")
    }

    fn ruled_out(&self) -> Vec<Said> {
        let of = |finding: &Finding| Said {
            code: finding.cause.code(),
            sentence: sentences::ruled_out(*finding, self),
        };
        self.diagnosis.ruled_out.iter().map(of).collect()
    }

    /// For people.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        let known = &self.known;
        let layout = known.layout.as_ref().map_or(String::new(), |layout| format!(", {layout}"));
        rows.row(
            "service",
            format!("{} ({}{layout})", known.service, plural(known.processes, "process", "processes")),
        );
        let load = self.budget.map_or("no requests were seen".to_owned(), |budget| {
            format!("about {} requests a second", rounded(budget.rate))
        });
        rows.row("watched", format!("{:.0} s, {load}", self.seconds));
        let mut text = rows.text(terminal);
        let findings = self.findings();
        if findings.is_empty() {
            text += "\nNothing was found that limits or harms the service under this load.\n";
        }
        for (place, found) in findings.iter().enumerate() {
            let sentence = format!("{}. {} [{}]", place + 1, found.sentence, found.code);
            let lines = fold(&sentence, terminal.prose());
            text += "\n";
            for line in lines {
                text += &format!("{}\n", if place == 0 { terminal.paint(Tone::Bad, &line) } else { line });
            }
            for evidence in
                found.evidence.iter().chain(std::iter::once(&format!("to prove it: {}", found.change)))
            {
                for (at, line) in fold(evidence, terminal.prose().saturating_sub(5)).iter().enumerate() {
                    text += &format!("   {} {line}\n", if at == 0 { "-" } else { " " });
                }
            }
        }
        let mut rows = Rows::default();
        if let Some(budget) = self.budget {
            rows.row("a request", self.times(budget));
        }
        if let Some(fit) = self.fit() {
            let memory = match (fit.by_memory, known.memory_limit, known.room) {
                (Some(count), Some(limit), _) => format!(", {count} by the memory limit of {limit}"),
                (Some(count), None, Some(room)) => {
                    format!(", {count} by the {room} that it uses or could use")
                }
                _ => String::new(),
            };
            let now = known.workers.map_or(String::new(), |workers| format!("; there are {workers}"));
            rows.row(
                "processes",
                format!("{} keep {} busy{memory}{now}", fit.by_processor, cores(known.cores)),
            );
        }
        for (place, said) in self.ruled_out().iter().enumerate() {
            rows.row(if place == 0 { "ruled out" } else { "" }, format!("{}: {}", said.code, said.sentence));
        }
        if !self.diagnosis.unknown.is_empty() {
            let unknown: Vec<&str> = self.diagnosis.unknown.iter().map(|cause| cause.code()).collect();
            rows.row("not known", unknown.join(", "));
        }
        text + "\n" + &rows.text(terminal)
    }

    fn times(&self, budget: Budget) -> String {
        let parts = [
            (budget.on_core, "on a core"),
            (budget.waiting, "waiting for a core"),
            (budget.throttled, "stopped by the quota"),
            (budget.disk, "on disks"),
            (budget.upstream, "at other services"),
            (budget.locked, "waiting for other threads"),
            (budget.queued, "in the accept queue"),
            (budget.elsewhere, "elsewhere"),
        ];
        let shown = parts.iter().filter(|(seconds, _)| *seconds >= 0.00005);
        let parts: Vec<String> =
            shown.map(|(seconds, what)| format!("{} {what}", millis(*seconds))).collect();
        format!("{} in the service: {}", millis(budget.whole), parts.join(", "))
    }

    /// The first finding as a sentence, for the summary of another command; `None` where nothing was found.
    pub fn bottleneck(&self) -> Option<String> {
        self.findings().into_iter().next().map(|found| found.sentence)
    }
}

fn plural(count: usize, one: &str, more: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{} {more}", report::grouped(count as u64)),
    }
}

fn cores(cores: f64) -> String {
    if cores.fract() == 0.0 { counted(cores as u64, "core") } else { format!("{} cores", rounded(cores)) }
}

fn millis(seconds: f64) -> String {
    format!("{} ms", rounded(seconds * 1e3))
}

/// Three digits, without zeros at the end.
fn rounded(number: f64) -> String {
    match number {
        number if number >= 99.95 => report::grouped(number.round() as u64),
        number if number >= 9.95 => format!("{number:.0}"),
        number if number >= 0.995 => format!("{number:.1}").trim_end_matches(".0").to_owned(),
        number => format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent if percent >= 0.095 || percent == 0.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.2} %"),
    }
}

#[cfg(test)]
mod tests;
