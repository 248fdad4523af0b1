//! The result of an experiment: a verdict for each route and measure of each candidate, and whether it can be trusted.

mod answers;
mod bottlenecks;
mod data;
mod mirroring;
#[cfg(test)]
mod tests;

pub(crate) use bottlenecks::bottlenecks_of;
pub use data::{Block, BlockPart, Column, Data};
pub use mirroring::{Cost, Mirroring};

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
    /// How much processes of the same command differ for as long as they live; `None` if they were not compared.
    pub restarts: Option<Restarts>,
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
    /// The finding that it was made for, and what it says of it.
    pub hypothesis: Option<Hypothesis>,
    /// The verdicts, those of the primary measure first.
    pub verdicts: Vec<Verdict>,
    /// The candidates, and why one was not compared to the end.
    pub candidates: Vec<Candidate>,
    /// The servers that each candidate, the best value of a search or the second value of each variable needs, if the file says how
    /// many there are and processor time was compared.
    pub fleet: Vec<Fleet>,
    /// What the services answered, and how the answers of the candidates differ from those of the control.
    pub answers: Answers,
    /// What limits each service, those of a search apart; empty if they were not examined.
    pub examined: Vec<ArmExamined>,
    /// What a search among many values found; `None` if candidates are compared with a control.
    pub search: Option<Search>,
    /// What the copies of a gateway cost; `None` if services are compared.
    pub mirroring: Option<Mirroring>,
    /// What the reader has to know.
    pub notes: Vec<String>,
    /// The blocks of the comparison, with those that do not count.
    pub data: Data,
}

/// The servers that a candidate needs in place of those of today, if processors are what limits them: as many more or fewer as
/// it needs processor time for a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// The value of the candidate.
    pub candidate: String,
    /// The servers of today.
    pub today: u32,
    /// Servers, as the median effect says.
    pub servers: f64,
    /// The lower end; `None` without one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// US dollars that a server costs an hour; `None` if the file does not say.
    pub per_hour: Option<f64>,
}

impl Fleet {
    /// The servers of each candidate whose processor time was compared.
    pub fn of<'a>(
        verdicts: impl IntoIterator<Item = &'a Verdict>,
        today: u32,
        per_hour: Option<f64>,
    ) -> Vec<Fleet> {
        let servers = |effect: f64| f64::from(today) * (1.0 + effect);
        let of = |verdict: &Verdict| {
            Some(Fleet {
                candidate: verdict.candidate.clone(),
                today,
                servers: servers(verdict.effect?),
                low: verdict.low.map(servers),
                high: verdict.high.map(servers),
                per_hour,
            })
        };
        verdicts.into_iter().filter(|verdict| verdict.is_processor_time()).filter_map(of).collect()
    }

    /// The servers with `candidate`, where the verdict compares what they run with today with it.
    pub fn in_place_of(
        verdict: &Verdict,
        candidate: String,
        today: u32,
        per_hour: Option<f64>,
    ) -> Option<Fleet> {
        let servers = |effect: f64| f64::from(today) / (1.0 + effect);
        Some(Fleet {
            candidate,
            today,
            servers: servers(verdict.effect?),
            low: verdict.high.map(servers),
            high: verdict.low.map(servers),
            per_hour,
        })
    }

    fn sentence(&self, with: &str) -> String {
        let ends = |low: Option<f64>, high: Option<f64>, digits: usize| {
            let end = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.digits$}"));
            match (low, high) {
                (None, None) => "no interval yet".to_owned(),
                _ => format!("{} to {}", end(low), end(high)),
            }
        };
        let money = self.per_hour.map_or_else(String::new, |price| {
            let saved = |servers: f64| (f64::from(self.today) - servers) * price;
            let (is_less, side) = if saved(self.servers) < 0.0 { (false, -1.0) } else { (true, 1.0) };
            let end = |servers: Option<f64>| servers.map(|servers| side * saved(servers));
            let (low, high) = if is_less { (self.high, self.low) } else { (self.low, self.high) };
            format!(
                ", which {} ${:.2} an hour{} ({})",
                if is_less { "saves" } else { "costs" },
                side * saved(self.servers),
                if is_less { "" } else { " more" },
                ends(end(low), end(high), 2)
            )
        });
        format!(
            "with {with}, {:.1} ({}) carry what {} do, if processors are their limit{money}",
            self.servers,
            ends(self.low, self.high, 1),
            self.today
        )
    }
}

/// A search for the best of many values, or for the effects of several variables. The verdicts then compare each value with
/// the best one, or they are those of the effects: of a second value in place of the first, and `a x b` of both together
/// beyond their own effects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Search {
    /// The best value, the first of those that are as good; `None` for effects, or if no value could be measured.
    pub best: Option<String>,
    /// Whether no value is better than it by more than the margin, for certain.
    pub certain: bool,
    /// The values that cannot be told from the best.
    pub remaining: Vec<String>,
    /// How often all remaining values were measured.
    pub rounds: usize,
    /// All values in the order of the file.
    pub values: Vec<Tried>,
}

/// A value of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// The value.
    pub value: String,
    /// How many of its blocks count.
    pub rounds: usize,
    /// The medians of its measures, in seconds, shares and bytes.
    pub measures: BTreeMap<&'static str, f64>,
    /// What limits its service.
    pub examined: Examined,
}

/// What an examination of a service found in its blocks that count, as `headroom doctor` looks for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Examined {
    /// How long it was examined; 0 if it was not.
    pub seconds: f64,
    /// The first finding; `None` if nothing limits it under this load, or it was not examined.
    pub bottleneck: Option<Bottleneck>,
}

/// What limits a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bottleneck {
    /// The code of the finding.
    pub code: String,
    /// What limits it, as a sentence.
    pub sentence: String,
}

/// What limits the service of an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmExamined {
    /// `control`, or the value of the candidate.
    pub arm: String,
    /// How long it was examined.
    pub seconds: f64,
    /// The first finding; `None` if nothing limits it under this load.
    pub bottleneck: Option<Bottleneck>,
}

/// A finding of `headroom doctor`, and whether the change that it proposes helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hypothesis {
    /// The code of the finding.
    pub finding: &'static str,
    /// The run in which it was found, as the file names it.
    pub run: Option<String>,
    /// `confirmed`, `refuted` or `open`.
    pub outcome: &'static str,
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
    /// The smallest effect that the whole time finds; `None` if it finds none.
    pub detectable_effect: Option<f64>,
    /// US dollars for the services in the promised time; `None` without the price of a server.
    pub cost: Option<f64>,
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

/// How much restarts of the control differ, in the primary measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Restarts {
    /// The standard deviation between processes (relative, or a difference of shares); 0 where their blocks explain it.
    pub between: f64,
    /// That between the blocks of one process.
    pub within: f64,
    /// The probability (0 to 1) that equal processes differ this much (F test).
    pub p: f64,
    /// How many processes were compared.
    pub processes: usize,
    /// Whether they differ: the unit is then the restart.
    pub differ: bool,
    /// How long a restart takes, with its warm-up.
    pub seconds: f64,
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
    /// The median effect: relative, for errors a difference of shares, for the queue time one of seconds; `None` without any.
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

impl Verdict {
    /// Whether it compares the processor time of all requests.
    pub fn is_processor_time(&self) -> bool {
        self.measure == "processor_time" && self.route == "all"
    }
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its value.
    pub value: String,
    /// `compared`, `stopped`, `left_out` or `ended`; in a search `eliminated` too.
    pub state: &'static str,
    /// Why it was not compared to the end.
    pub reason: Option<String>,
}

/// The answers of the services. Some requests are sent to all of them between the blocks, and the answers are compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answers {
    /// What each service answered in the warm-up and in all blocks.
    pub arms: Vec<ArmAnswers>,
    /// Whether answers were to be compared.
    pub wanted: bool,
    /// Answers of candidates that were compared with the answer of the control to the same request.
    pub compared: u64,
    /// Answers of the control that were compared with another one of the control or the second control.
    pub control_pairs: u64,
    /// Parts that differ between control and control too.
    pub ignored: Vec<Part>,
    /// Parts in which a candidate differs from the control.
    pub differences: Vec<Difference>,
    /// Parts that differed so rarely that it may be chance.
    pub undecided: usize,
    /// Whether all parts that differ are listed.
    pub complete: bool,
}

/// A part of the answers of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The route.
    pub route: String,
    /// `status`, `media_type`, `size`, `field` or `body`.
    pub what: &'static str,
    /// The path of a field.
    pub path: Option<String>,
}

/// A part of the answers of a route in which a candidate differs from the control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The value of the candidate.
    pub candidate: String,
    /// The route.
    pub route: String,
    /// `status`, `media_type`, `size`, `field` or `body`.
    pub what: &'static str,
    /// The path of a field.
    pub path: Option<String>,
    /// In how many answers.
    pub count: u64,
    /// Of how many that were compared.
    pub of: u64,
    /// Some of them, at least one.
    pub examples: Vec<Example>,
}

/// What the two have in a place. Letters and digits of values are replaced by `a` and `9`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The control; `None` if it has nothing there.
    pub control: Option<String>,
    /// The candidate.
    pub candidate: Option<String>,
}

/// What a service answered, in the warm-up and in all blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmAnswers {
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
        if let Some(best) = self.search.as_ref().and_then(|search| Some((search, search.best.as_ref()?))) {
            self.best_row(best, &mut rows);
        } else {
            self.verdict_rows(&mut rows);
        }
        if let Some(mirroring) = self.mirroring.as_ref().filter(|_| !self.verdicts.is_empty()) {
            mirroring.rows(&mut rows);
        }
        self.bottleneck_rows(&mut rows);
        for (place, fleet) in self.fleet.iter().enumerate() {
            rows.row(
                if place == 0 { "servers" } else { "" },
                fleet.sentence(&self.value_in_words(&fleet.candidate)),
            );
        }
        if let Some(hypothesis) = &self.hypothesis {
            rows.row("finding", hypothesis.in_words());
            rows.stress_until(':', hypothesis.tone());
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
                let of = if self.search.is_some() { "value" } else { "candidate" };
                rows.row(of, format!("{} was {state}: {reason}", candidate.value));
            }
        }
        let first = self.answers.arms.first().filter(|_| self.search.is_some());
        answers::rows(&self.answers, first.map(|arm| arm.arm.as_str()), &mut rows);
        for (place, note) in self.notes.iter().enumerate() {
            rows.row(if place == 0 { "notes" } else { "" }, format!("- {note}"));
        }
        let text = rows.text(terminal);
        let tables = match &self.search {
            _ if self.verdicts.is_empty() => Vec::new(),
            Some(search) => vec![self.values(search), self.table()],
            None => vec![self.table()],
        };
        tables
            .iter()
            .filter(|table| !table.is_empty())
            .fold(text, |text, table| format!("{text}\n{}", report::text(table, terminal)))
    }

    fn verdict_rows(&self, rows: &mut Rows) {
        let mut primary = self.verdicts.iter().filter(|verdict| verdict.primary).peekable();
        if primary.peek().is_none() {
            rows.row("verdict", format!("none: {}", self.ended));
        }
        for (place, verdict) in primary.enumerate() {
            let sentence = if self.search.is_some() { self.effect(verdict) } else { self.sentence(verdict) };
            rows.row(if place == 0 { "verdict" } else { "" }, sentence);
            let tone = match verdict.verdict {
                "better" | "same" => Tone::Good,
                "worse" => Tone::Bad,
                _ => Tone::Busy,
            };
            rows.stress_until(':', tone);
        }
    }

    /// The result of a search.
    fn best_row(&self, (search, best): (&Search, &String), rows: &mut Rows) {
        let measure = measure_words(self.primary);
        let value = self.value_in_words(best);
        let of = self.candidates.len();
        if search.certain {
            let margin = percent(self.margin);
            let sentence =
                format!("BEST: {value}: of {of} values none has {measure} lower by more than {margin}");
            rows.row("verdict", sentence);
            rows.stress_until(':', Tone::Good);
        } else {
            rows.row("verdict", format!("CANNOT TELL: {value} has the lowest {measure} so far"));
            rows.stress_until(':', Tone::Busy);
        }
        let is_same = |value: &&str| self.is_as_good(value);
        let others = search.remaining.iter().filter(|one| *one != best).map(String::as_str);
        let (same, open): (Vec<&str>, Vec<&str>) = others.partition(is_same);
        for (than, values) in [("as good", same), ("not told from it", open)] {
            if !values.is_empty() {
                rows.row("", format!("{than}: {}", values.join(", ")));
            }
        }
        let left = self
            .verdicts
            .iter()
            .filter(|verdict| !verdict.primary && search.remaining.contains(&verdict.candidate));
        let open = left.clone().filter(|verdict| verdict.verdict == "cannot_tell").count();
        if open > 0 {
            let of = counted(left.count() as u64, "verdict");
            rows.row(
                "",
                format!("on other measures {open} of {of} cannot be told yet; `ends: time` goes on"),
            );
        }
    }

    /// Whether the primary measure of a value is within the margin of that of the best.
    fn is_as_good(&self, value: &str) -> bool {
        self.verdicts.iter().any(|one| one.primary && one.candidate == value && one.verdict == "same")
    }

    /// An effect of a factorial design.
    fn effect(&self, verdict: &Verdict) -> String {
        let measure = measure_words(verdict.measure);
        let interval = interval(verdict);
        let what = match verdict.candidate.split_once(" x ") {
            Some((one, other)) => format!("{one} and {other} together, beyond the effects of each alone"),
            None => self.value_in_words(&verdict.candidate),
        };
        let word = verdict.verdict.replace('_', " ").to_uppercase();
        let effect =
            verdict.effect.map_or("no estimate yet".to_owned(), |effect| signed(effect, verdict.measure));
        format!("{word}: {what}: {measure} {effect} ({interval})")
    }

    /// The value of a candidate or of a search with its variable, or for effects both values of a variable.
    fn value_in_words(&self, candidate: &str) -> String {
        let tried = match &self.search {
            Some(search) if search.best.is_none() => &search.values,
            // Values of several variables have their names.
            Some(_) if self.variable.contains(", ") => return candidate.to_owned(),
            Some(_) | None => return format!("{} {candidate}", self.variable),
        };
        // The first service has the first value of each variable, the last one the second.
        let level = |tried: Option<&Tried>| {
            let pair = |pair: &str| Some(pair.strip_prefix(candidate)?.strip_prefix('=')?.to_owned());
            tried?.value.split(' ').find_map(pair)
        };
        match level(tried.first()).zip(level(tried.last())) {
            Some((first, second)) => format!("{candidate} {second} in place of {first}"),
            None => format!("the second value of {candidate}"),
        }
    }

    /// The measures of all values of a search.
    fn values(&self, search: &Search) -> Table {
        let known = |name: &&str| search.values.iter().any(|value| value.measures.contains_key(*name));
        let names: Vec<&str> = MEASURES.into_iter().filter(known).collect();
        let title = |name: &str| {
            format!("{}{}", name.replace('_', " "), if name == self.primary { " *" } else { "" })
        };
        let titles: Vec<String> = names.iter().map(|name| title(name)).collect();
        let mut columns = vec![(self.variable.as_str(), Left)];
        columns.extend(titles.iter().map(|title| (title.as_str(), Right)));
        columns.push(("rounds", Right));
        let is_examined = search.values.iter().any(|tried| tried.examined.seconds > 0.0);
        if is_examined {
            columns.push(("bottleneck", Left));
        }
        columns.push(("", Left));
        let mut table = Table::new(&columns);
        for tried in &search.values {
            let mut row = vec![tried.value.clone()];
            let value = |name: &&str| match tried.measures.get(name) {
                Some(value) => shown_measure(name, *value),
                None => "-".to_owned(),
            };
            row.extend(names.iter().map(value));
            row.push(tried.rounds.to_string());
            if is_examined {
                row.push(tried.examined.code().to_owned());
            }
            let state = self.candidates.iter().find(|candidate| candidate.value == tried.value);
            row.push(match state.map(|candidate| candidate.state) {
                _ if search.best.as_ref() == Some(&tried.value) => "best".to_owned(),
                Some("compared") | None => String::new(),
                Some(other) => other.replace('_', " "),
            });
            table.row(row);
        }
        table
    }

    /// The plan and the noise floor alone.
    pub fn plan_text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        rows.row("design", format!("{}, because {}", design_words(self.design), self.design_reason));
        self.plan_rows(&mut rows);
        match &self.search {
            Some(_) => self.notes.iter().for_each(|note| rows.row("plan", note.clone())),
            None if self.plan.is_none() => rows.row("plan", format!("none: {}", self.ended)),
            None => (),
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
            } else if let Some(effect) = plan.detectable_effect {
                rows.row("", format!("the whole time finds {}", percent(effect)));
            }
            if let Some(cost) = plan.cost {
                rows.row("", format!("the services cost ${cost:.2} for that time"));
            }
        }
        if let Some(noise) = self.noise_floor {
            let of = match noise.source {
                "second_control" if self.mirroring.is_some() => "without copies in both parts",
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
        if let Some(restarts) = self.restarts {
            let starts = counted(restarts.processes as u64, "start");
            let found = match restarts.differ {
                true => format!("differ by {} from start to start", percent(restarts.between)),
                false => "do not differ".to_owned(),
            };
            let within = percent(restarts.within);
            let p =
                if restarts.p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {:.3}", restarts.p) };
            rows.row("restarts", format!("{found}, {within} a block ({starts}, {p})"));
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

    /// The verdicts. Of a search with a best value, what is known of its other measures: of values that are not told from it, which
    /// they may decide between, and of those that are better than it in one.
    fn table(&self) -> Table {
        let best = self.search.as_ref().filter(|search| search.best.is_some());
        let titles = match &self.search {
            None => ["control", "candidate"],
            Some(search) if search.best.is_some() => ["best", "value"],
            Some(_) => ["first", "second"],
        };
        let mut table = Table::new(&[
            (self.variable.as_str(), Left),
            ("route", Left),
            ("measure", Left),
            (titles[0], Right),
            (titles[1], Right),
            ("effect", Right),
            ("interval", Right),
            ("verdict", Left),
        ]);
        let is_shown = |verdict: &&Verdict| {
            best.is_none_or(|search| {
                let remains =
                    search.remaining.contains(&verdict.candidate) && verdict.verdict != "cannot_tell";
                !verdict.primary && (remains || verdict.verdict == "better")
            })
        };
        for verdict in self.verdicts.iter().filter(is_shown) {
            let value = |value: Option<f64>| value.map_or("-".to_owned(), |value| shown(value, verdict.unit));
            table.row([
                verdict.candidate.clone(),
                verdict.route.clone(),
                format!("{}{}", verdict.measure, if verdict.primary { " *" } else { "" }),
                value(verdict.control_value),
                value(verdict.candidate_value),
                verdict.effect.map_or("-".to_owned(), |effect| signed(effect, verdict.measure)),
                interval(verdict),
                verdict.verdict.replace('_', " "),
            ]);
        }
        table
    }
}

impl Hypothesis {
    fn in_words(&self) -> String {
        let Hypothesis { finding, run, outcome } = self;
        let of = run.as_ref().map_or(String::new(), |run| format!(" of {run}"));
        let why = match *outcome {
            "confirmed" => "the service is better with the change",
            "refuted" => "the service is not better with the change",
            _ => "the experiment cannot tell",
        };
        format!("{}: {finding}{of}, {why}", outcome.to_uppercase())
    }

    fn tone(&self) -> Tone {
        match self.outcome {
            "confirmed" => Tone::Good,
            "refuted" => Tone::Bad,
            _ => Tone::Busy,
        }
    }
}

fn design_words(design: &str) -> &str {
    match design {
        "duet" => "duet (all at once, with the same requests)",
        "alternating" => "alternating blocks",
        "slices" => "time slices",
        "restarts" => "restarts (one after the other, in random order)",
        other => other,
    }
}

fn measure_words(measure: &str) -> String {
    match measure {
        "errors" => "the share of errors".to_owned(),
        "processor_time" => "processor time".to_owned(),
        "live_processor_time" => "processor time of live requests".to_owned(),
        "memory" => "memory".to_owned(),
        "queue_time" => "queue time".to_owned(),
        quantile => format!("response time {quantile}"),
    }
}

fn interval(verdict: &Verdict) -> String {
    match (verdict.low, verdict.high) {
        (None, None) => "no interval yet".to_owned(),
        (low, high) => {
            let end =
                |value: Option<f64>| value.map_or("?".to_owned(), |value| signed(value, verdict.measure));
            format!("{} to {}", end(low), end(high))
        }
    }
}

/// The value of a measure, with its unit.
pub(crate) fn shown_measure(measure: &str, value: f64) -> String {
    let unit = match measure {
        "errors" => "share",
        "memory" => "bytes",
        _ => "s",
    };
    shown(value, unit)
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

/// An effect on a measure, with its unit.
pub(crate) fn signed(effect: f64, measure: &str) -> String {
    match measure {
        "queue_time" => format!("{:+.3} ms", 1e3 * effect),
        _ => format!("{:+.1} %", 100.0 * effect),
    }
}

fn whole_seconds(seconds: f64) -> Duration {
    Duration::from_secs(seconds.round().clamp(0.0, 1e9) as u64)
}

/// The measures of all requests, in the order of tables.
const MEASURES: [&str; 7] = ["p50", "p95", "p99", "errors", "processor_time", "memory", "queue_time"];
