//! Load and thresholds of a scenario file.

use super::file::{FileLoad, FileThreshold, ScenarioTable};
use super::words::FileStage;
use super::{Load, LoadModel, Spanned, Threshold};
use ::load::{StageText, Stages};
use fields::{At, Count, Frequency, Names, Report, Span, Text, word};
use std::time::Duration;

pub(super) fn load(found: Option<&FileLoad>, report: &mut Report) -> Load {
    let Some(FileLoad { rate, users, stages, duration }) = found else { return Load::default() };
    let mut models = Vec::new();
    if let Some(At { value: Frequency(rate), place }) = rate {
        if rate.per_second() <= 0.0 {
            report.wrong(place, "no load".to_owned(), "zero", "write a rate such as `100/s`".to_owned());
        }
        models.push(Spanned::new(LoadModel::Rate(*rate), place));
    }
    if let Some(At { value: Count(users), place }) = users {
        if *users == 0 {
            report.wrong(place, "no load".to_owned(), "zero", "write a number such as `50`".to_owned());
        }
        models.push(Spanned::new(LoadModel::Users(*users), place));
    }
    if let Some(at) = stages {
        models.extend(staged(at, report).map(|staged| Spanned::new(staged, &at.place)));
        if let Some(duration) = duration {
            let help = "remove it: the stages say how long they last".to_owned();
            report.wrong(&duration.place, "`duration` beside `stages`".to_owned(), "said twice", help);
        }
    }
    if let Some(second) = models.get(1) {
        let place = fields::Place { path: second.path.clone(), span: second.span.clone() };
        let message = "expected only one of `rate`, `users` and `stages`".to_owned();
        report.wrong(&place, message, "another model", "keep one of them".to_owned());
    }
    if let Some(duration) = duration.as_ref().filter(|at| at.value.0.is_zero()) {
        let help = "write a span such as `1m`".to_owned();
        report.wrong(&duration.place, "no load".to_owned(), "zero", help);
    }
    let duration = duration.as_ref().map(|At { value: Span(span), place }| Spanned::new(*span, place));
    Load { model: models.into_iter().next(), duration }
}

fn staged(at: &At<Vec<At<FileStage>>>, report: &mut Report) -> Option<LoadModel> {
    let stages: Vec<StageText> = at.value.iter().map(|stage| stage.value.0.clone()).collect();
    if stages.is_empty() {
        if !report.knows_of(&at.place.path) {
            let help = "add one, such as `30s:200/s`".to_owned();
            report.wrong(&at.place, "no stage".to_owned(), "empty", help);
        }
        return None;
    }
    match Stages::new(&stages) {
        Ok(stages) => Some(LoadModel::Stages(stages)),
        Err(error) => {
            let help = "stages here are those of `headroom load --stage`".to_owned();
            report.wrong(&at.place, error.to_string(), "these stages", help);
            None
        }
    }
}

pub(super) fn thresholds(file: &ScenarioTable, report: &mut Report) -> Vec<Threshold> {
    let mut thresholds = Vec::new();
    for named in file.thresholds.iter().flat_map(Names::iter) {
        let Some(conditions) = &named.value else { continue };
        if conditions.is_empty() && !report.knows_of(&named.place.path) {
            let help = "add one, such as `p(95)<500ms`, or remove the metric".to_owned();
            report.wrong(&named.place, "no condition".to_owned(), "empty", help);
        }
        for condition in conditions {
            let (Text(text), place, abort, after) = match &condition.value {
                FileThreshold::Word(text) => (text, &condition.place, None, None),
                FileThreshold::Table(table) => (
                    &table.threshold.value,
                    &table.threshold.place,
                    table.abort.as_ref(),
                    table.after.as_ref(),
                ),
            };
            let abort = word(abort, &[("false", false), ("true", true)], report);
            if let Some(after) = after.filter(|_| !abort) {
                let help = "add `abort: true`, or remove it".to_owned();
                report.wrong(&after.place, "`after` without `abort`".to_owned(), "no effect", help);
            }
            thresholds.push(Threshold {
                metric: Spanned::new(named.name.clone(), &named.place),
                condition: Spanned::new(text.clone(), place),
                abort,
                after: after.map_or(Duration::ZERO, |at| at.value.0),
            });
        }
    }
    thresholds
}
