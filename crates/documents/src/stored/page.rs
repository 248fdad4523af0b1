//! The report of a stored run: the one that the run could have written itself.

use super::words::flat;
use super::{Stored, parsed};
use crate::run::{ALSO, BOTTLENECK, Reported, Threshold};
use crate::watched::{SAMPLES, of_json};
use serde_json::Value as Json;

impl Stored {
    /// What a report shows of the run.
    ///
    /// # Errors
    /// Where nothing was measured in the run itself: it failed, or its parts have the measurements.
    pub fn reported(&self) -> Result<Reported<'_>, NothingMeasured> {
        let run = &self.run;
        let Some(recorded) = &run.recorded else {
            return Err(NothingMeasured {
                run: run.id.clone(),
                state: run.state,
                command: run.command.clone(),
                part: self.parts.iter().find(|part| part.recorded.is_some()).map(|part| part.id.clone()),
            });
        };
        let result = run.result.as_deref().map(parsed);
        let members = result.as_ref().and_then(Json::as_object);
        let texts = |prefix: &'static str| {
            members.into_iter().flatten().filter_map(move |(name, value)| {
                Some((name.strip_prefix(prefix)?.to_owned(), value.as_str()?.to_owned()))
            })
        };
        let threshold = |(threshold, said): (String, String)| {
            let met = said.strip_prefix(&threshold).is_some_and(|rest| rest.starts_with(": met"));
            Threshold { threshold, met, said }
        };
        Ok(Reported {
            command: run.command.clone(),
            target: run.target.clone(),
            began: run.started.second.clone(),
            run: Some(run.id.clone()),
            version: run.version.clone(),
            asked: flat(&run.config).into_iter().filter(|(_, value)| value != "null").collect(),
            ended: run.error.clone().or_else(|| (!run.done).then(|| run.state.to_owned())),
            no_good_answer: None,
            thresholds: texts("threshold ").map(threshold).collect(),
            recorded: recorded.clone(),
            parts: self.divided.clone(),
            series: &self.series,
            watched: members.and_then(|all| all.get(SAMPLES)).map(of_json).unwrap_or_default(),
            watched_words: texts("watched ").collect(),
            pacing: texts("pacing").next().map(|(_, words)| words),
            findings: texts(BOTTLENECK).chain(texts(ALSO)).map(|(_, sentence)| sentence).collect(),
        })
    }
}

/// A run without a measurement has no report.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{command} run {run} ({state}) has no measurement of its own to report{}", where_to_look(command, part.as_deref()))]
pub struct NothingMeasured {
    run: String,
    state: &'static str,
    command: String,
    part: Option<String>,
}

fn where_to_look(command: &str, part: Option<&str>) -> String {
    match part {
        Some(part) if command == "find" => {
            format!(
                "; `headroom find` writes its report with --report FILE, and each trial, such as {part}, has one"
            )
        }
        Some(part) => format!("; its parts have, such as {part}"),
        None => String::new(),
    }
}
