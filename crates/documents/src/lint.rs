//! Policies of a case that will flap or mislead.

use serde::Serialize;
use serde_json::Value as Json;
use sim::lint::Finding;

/// The result of `headroom lint`.
#[derive(Debug)]
pub struct Linted {
    /// The name of the case.
    pub case: String,
    /// Whether the case has more than one stage.
    pub several_stages: bool,
    /// What was found, each once.
    pub findings: Vec<Found>,
}

/// A finding and the stages that have it.
#[derive(Debug)]
pub struct Found {
    /// What was found.
    pub finding: Finding,
    /// The names of the stages.
    pub stages: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    version: &'static str,
    case: &'a str,
    findings: Vec<Row<'a>>,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    rule: &'static str,
    place: &'a str,
    what: &'a str,
    why: &'a str,
    remedy: &'a str,
    stages: &'a [String],
}

impl Linted {
    /// The findings for people.
    pub fn text(&self) -> String {
        if self.findings.is_empty() {
            return format!("{}: nothing that will flap or mislead was found\n", self.case);
        }
        let mut said = String::new();
        for Found { finding: Finding { rule, place, what, why, remedy }, stages } in &self.findings {
            said += &format!("{place}: {what} [{rule}]\n");
            if self.several_stages {
                said += &format!("  in:  {}\n", stages.join(", "));
            }
            said += &format!("  why: {why}\n  do:  {remedy}\n\n");
        }
        let count = match self.findings.len() {
            1 => "1 finding".to_owned(),
            more => format!("{more} findings"),
        };
        said + &format!("{}: {count}\n", self.case)
    }

    /// The findings as JSON.
    pub fn json(&self) -> Json {
        let findings = self.findings.iter().map(|Found { finding, stages }| Row {
            rule: finding.rule.name(),
            place: &finding.place,
            what: &finding.what,
            why: &finding.why,
            remedy: &finding.remedy,
            stages,
        });
        let document =
            Document { version: status::version(), case: &self.case, findings: findings.collect() };
        serde_json::to_value(document).expect("names are strings")
    }
}
