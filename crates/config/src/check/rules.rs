//! Files of a route: rules and pages.

use super::classes::Classes;
use crate::file::{FilePool, FileRule, FileShed, FileShedTable};
use fields::{At, Place, Problem, Report, Text, check_name, source, suggestion};
use gateway::settings::{Route, Rule, ShedAnswer};
use rule::{Names, Phase, PoolId, RateClassId, RuleError, ServiceLevelId};
use std::path::Path;

const HTML: &str = "text/html; charset=utf-8";

/// The rule's text, compiled once to check its syntax and the functions and names that it uses.
pub(super) fn rule(
    at: &At<FileRule>,
    phase: Phase,
    names: &Names,
    report: &mut Report,
    base: &Path,
) -> Option<Rule> {
    let rule = match &at.value {
        FileRule::File(name) => Rule { name: name.clone(), source: text_of(name, &at.place, report, base)? },
        FileRule::Here(here) => {
            check_name(&here.name.value.0, &here.name.place, report);
            Rule { name: here.name.value.0.clone(), source: here.text.0.clone() }
        }
    };
    let errors = match rule::Rule::compile_for(phase, &rule.name, &rule.source) {
        Ok(compiled) => compiled.unknown(names),
        Err(error) => vec![error],
    };
    for error in errors {
        report.problems.push(problem(&error, &rule, &at.place, report));
    }
    Some(rule)
}

/// Each worker holds the rules of all routes.
pub(super) fn fit(routes: &[Route], place: &Place, names: &Names, report: &mut Report) {
    let compiled = |phase, rule: &Rule| rule::Rule::compile_for(phase, &rule.name, &rule.source).ok();
    let requests = routes.iter().filter_map(|route| compiled(Phase::Request, route.rule.as_ref()?));
    let answers = routes.iter().filter_map(|route| compiled(Phase::Response, route.response_rule.as_ref()?));
    // In the order in which workers load them.
    let rules: Vec<rule::Rule> = requests.chain(answers).collect();
    if let Err(error) = rule::fit(&rules, names, rule::Limits::default()) {
        let help = error.way_out().unwrap_or_else(|| "use fewer rules".to_owned());
        report.wrong(place, error.problem(), "these routes", help);
    }
}

/// The problem is shown in the rule's own text.
fn problem(error: &RuleError, rule: &Rule, place: &Place, report: &Report) -> Problem {
    let line = match error {
        RuleError::Syntax { line, .. }
        | RuleError::UnknownClass { line, .. }
        | RuleError::UnknownFunction { line, .. }
        | RuleError::OtherPhase { line, .. } => *line,
        _ => return Problem::error(&report.source, place, error.to_string()),
    };
    let mut before = rule.source.split_inclusive('\n');
    let start: usize = before.by_ref().take((line as usize).saturating_sub(1)).map(str::len).sum();
    let end = start + before.next().map_or(0, |text| text.trim_end().len());
    let in_rule = Place { path: place.path.clone(), span: start..end };
    let help = match error {
        RuleError::UnknownFunction { name, known, .. } => of_same_library(name, known),
        _ => error.way_out().unwrap_or_else(|| "correct the rule".to_owned()),
    };
    Problem::error(&source(&rule.name, &rule.source), &in_rule, error.problem()).help(help)
}

/// The intended function, or the others of its library: the list of all functions would be too long.
fn of_same_library(name: &str, known: &[String]) -> String {
    let all = || known.iter().map(String::as_str);
    let closest = suggestion(name, all());
    if closest.starts_with("did you mean") {
        return closest;
    }
    let library = name.split_once('.').map_or("", |(library, _)| library);
    let same: Vec<&str> =
        all().filter(|other| other.split_once('.').map_or("", |(of, _)| of) == library).collect();
    match same.is_empty() {
        true => "rules reach no files, clocks or other programs; docs/gateway.md lists what they may call"
            .to_owned(),
        false => suggestion(name, same),
    }
}

/// The names that rules may use.
pub(super) fn names(classes: &Classes, pools: &fields::Names<FilePool>) -> Names {
    let names = (0..)
        .zip(pools.iter())
        .fold(Names::new(), |names, (id, pool)| names.pool(pool.name.clone(), PoolId(id)));
    let names = (0..)
        .zip(classes.service_levels.iter())
        .fold(names, |names, (id, class)| names.service_level(class.name.clone(), ServiceLevelId(id)));
    (0..)
        .zip(classes.rate_classes.iter())
        .fold(names, |names, (id, class)| names.rate(class.name.clone(), RateClassId(id)))
}

/// The response to a shed request.
pub(super) fn shed(at: &At<FileShed>, report: &mut Report, base: &Path) -> ShedAnswer {
    let table = match &at.value {
        FileShed::Problem => return ShedAnswer::Problem,
        FileShed::Table(table) => table,
    };
    let FileShedTable { page, text, content_type, redirect } = &**table;
    if [page.is_some(), text.is_some(), redirect.is_some()].into_iter().filter(|given| *given).count() != 1 {
        let message = "expected exactly one of `page`, `text` and `redirect`".to_owned();
        report.wrong(&at.place, message, "ambiguous", "keep one, or write `shed: problem`".to_owned());
        return ShedAnswer::Problem;
    }
    if let Some(redirect) = redirect {
        header_value(
            redirect,
            "an address: a path, or a URL with blanks and umlauts percent-encoded",
            report,
        );
        if let Some(content_type) = content_type {
            let message = "a redirect has no `content_type`".to_owned();
            report.wrong(&content_type.place, message, "no effect", "remove it".to_owned());
        }
        return ShedAnswer::Redirect { location: redirect.value.0.clone() };
    }
    let by_ending = page.as_ref().map_or(Some(HTML), |page| media_type(&page.value.0));
    let content_type = match (content_type, by_ending) {
        (Some(given), _) => {
            header_value(given, "a media type, such as `text/html; charset=utf-8`", report);
            given.value.0.clone()
        }
        (None, Some(known)) => known.to_owned(),
        (None, None) => {
            let message = "cannot derive the media type from the file name".to_owned();
            let help = "add `content_type`, such as `content_type: text/html; charset=utf-8`".to_owned();
            report.wrong(&at.place, message, "which type?", help);
            String::new()
        }
    };
    let body = match (page, text) {
        (Some(page), _) => text_of(&page.value.0, &page.place, report, base).unwrap_or_default(),
        (None, text) => text.as_ref().map(|at| at.value.0.clone()).unwrap_or_default(),
    };
    ShedAnswer::Page { content_type, body: body.into_bytes() }
}

fn media_type(file: &str) -> Option<&'static str> {
    match Path::new(file).extension()?.to_str()? {
        "html" | "htm" => Some(HTML),
        "txt" => Some("text/plain; charset=utf-8"),
        "json" => Some("application/json"),
        _ => None,
    }
}

/// A value must not be able to end its header field.
fn header_value(Field { value: Text(text), place }: &Field, expected: &str, report: &mut Report) {
    let location = expected.starts_with("an address");
    let allowed = |byte: u8| byte.is_ascii_graphic() || (byte == b' ' && !location);
    let blank_around = text.trim() != text;
    let media =
        location || text.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
    if text.is_empty() || !text.bytes().all(allowed) || blank_around || !media {
        report.wrong(
            place,
            format!("{text:?} is not a valid header field value"),
            "this value",
            format!("write {expected}"),
        );
    }
}

type Field = At<Text>;

/// The text of a file next to the gateway file.
fn text_of(name: &str, place: &Place, report: &mut Report, base: &Path) -> Option<String> {
    let path = base.join(name);
    let why = match std::fs::metadata(&path) {
        Ok(found) if found.len() > FILE_BYTES_MAX => {
            format!("it has {} bytes; the maximum is {FILE_BYTES_MAX}", found.len())
        }
        Ok(found) if !found.is_file() => "it is not a file".to_owned(),
        Ok(_) => match std::fs::read_to_string(&path) {
            Ok(text) => return Some(text),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    let message = format!("cannot read `{name}`: {why}");
    let help = "paths are relative to the gateway file; the file must be UTF-8 text".to_owned();
    report.wrong(place, message, "this file", help);
    None
}

/// Pages and rules are small and stay in memory.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
