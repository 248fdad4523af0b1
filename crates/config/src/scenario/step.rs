//! A step: its request, extractions and checks of its response, and the think time.

use super::build::{Builder, texts};
use super::file::{CheckTable, ExtractTable, FileThink, StepTable};
use super::request::check_placeholder;
use super::words::FileWait;
use fields::{At, Names, Report, Size, Span, Text};
use load::scenario::{Check, Demand, Extract, Part, Step, Test, Think};
use regex::bytes::Regex;
use std::time::Duration;
use units::show_duration;

type Methods<'a> = [(&'static str, Option<&'a At<Text>>); 7];

fn methods(step: &StepTable) -> Methods<'_> {
    [
        ("GET", step.get.as_ref()),
        ("POST", step.post.as_ref()),
        ("PUT", step.put.as_ref()),
        ("PATCH", step.patch.as_ref()),
        ("DELETE", step.delete.as_ref()),
        ("HEAD", step.head.as_ref()),
        ("OPTIONS", step.options.as_ref()),
    ]
}

/// Whether a step has a key of a request.
pub(super) fn is_request(step: &StepTable) -> bool {
    let StepTable { name, query, headers, body, json, form, extract, check, think, tags, weight, .. } = step;
    let texts = name.is_some() || body.is_some() || json.is_some() || form.is_some() || weight.is_some();
    let tables = query.is_some() || headers.is_some() || extract.is_some() || tags.is_some();
    let rest = check.is_some() || think.is_some();
    texts || tables || rest || methods(step).iter().any(|(_, url)| url.is_some())
}

impl Builder<'_> {
    pub(super) fn step(&mut self, at: &At<StepTable>) -> Step {
        let found = &at.value;
        let given: Vec<_> = methods(found).into_iter().filter_map(|(name, url)| Some((name, url?))).collect();
        if given.len() != 1 && !self.report.knows_of(&at.place.path) {
            let help =
                "write one of `get`, `post`, `put`, `patch`, `delete`, `head` and `options`".to_owned();
            self.report.wrong(&at.place, "expected one request".to_owned(), "in this step", help);
        }
        let bodies = [found.body.is_some(), found.json.is_some(), found.form.is_some()];
        if bodies.iter().filter(|&&given| given).count() > 1 {
            let help = "keep one of `body`, `json` and `form`".to_owned();
            self.report.wrong(&at.place, "more than one body".to_owned(), "in this step", help);
        }
        let (method, url) = given.first().map_or(("GET", None), |(method, url)| (*method, Some(*url)));
        let usual = || format!("{method} {}", url.map_or("", |url| &url.value.0));
        let mut tags = self.common.tags.clone();
        tags.extend(texts(found.tags.as_ref()));
        let step = Step {
            name: found.name.as_ref().map_or_else(usual, |at| at.value.0.clone()),
            tags,
            method: method.to_owned(),
            url: url.map(|url| self.url(url, found.query.as_ref())).unwrap_or_default(),
            headers: self.headers(found),
            body: self.body(found),
            // Read after the request, which may not use values of its own response.
            extract: self.extracts(found.extract.as_ref()),
            checks: found.check.iter().flatten().filter_map(|at| check(at, self.report)).collect(),
            think: found.think.as_ref().map_or(Think::None, |at| think(at, self.report)),
        };
        if let Some(name) = &found.name {
            fields::check_name(&name.value.0, &name.place, self.report);
        }
        step
    }

    fn extracts(&mut self, found: Option<&Names<At<ExtractTable>>>) -> Vec<Extract> {
        let mut extracts = Vec::new();
        for named in found.into_iter().flat_map(Names::iter) {
            check_placeholder(&named.name, &named.place, self.report);
            if self.scope.variables.contains_key(&named.name) {
                let message = format!("`{}` is a variable of the scenario", named.name);
                self.report.wrong(&named.place, message, "again", "give it another name".to_owned());
            }
            // The name is known even if the rest is wrong, so that its use is not reported too.
            let known = self.names.iter().position(|name| *name == named.name);
            let slot = known.unwrap_or(self.names.len());
            if known.is_none() {
                self.names.push(named.name.clone());
            }
            self.scope.extracted.insert(named.name.clone(), slot);
            let Some(at) = &named.value else { continue };
            let ExtractTable { json, header, regex } = &at.value;
            let part = part(json.as_ref(), header.as_ref(), at, self.report);
            if part == Some(Part::Body) && regex.is_none() {
                let help = "write `{ json: /items/0/id }`, `{ header: Location }` or `{ regex: 'id=(.+)' }`";
                let message = "it does not say what to extract".to_owned();
                self.report.wrong(&at.place, message, "nothing", help.to_owned());
            }
            let regex = regex.as_ref().map(|at| expression(at, self.report));
            if let (Some(part), None | Some(Some(_))) = (part, &regex) {
                extracts.push(Extract { slot, part, regex: regex.flatten() });
            }
        }
        extracts
    }
}

/// The part of the response that two keys select; the body if both are absent.
fn part<T>(
    json: Option<&At<Text>>,
    header: Option<&At<Text>>,
    at: &At<T>,
    report: &mut Report,
) -> Option<Part> {
    match (json, header) {
        (None, None) => Some(Part::Body),
        (Some(_), Some(_)) => {
            let message = "expected only one of `json` and `header`".to_owned();
            report.wrong(&at.place, message, "two places", "keep one of them".to_owned());
            None
        }
        (None, Some(header)) => Some(Part::Header(header.value.0.clone())),
        (Some(pointer), None) => {
            let Text(text) = &pointer.value;
            if !(text.is_empty() || text.starts_with('/')) {
                let message = format!("`{text}` is not a JSON pointer");
                let help = "begin with `/`, as in `/items/0/id`".to_owned();
                report.wrong(&pointer.place, message, "this value", help);
                return None;
            }
            Some(Part::Json(text.clone()))
        }
    }
}

fn expression(at: &At<Text>, report: &mut Report) -> Option<Regex> {
    match Regex::new(&at.value.0) {
        Ok(regex) => Some(regex),
        Err(error) => {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let message = format!("no regular expression: {why}");
            let help = "write it in single quotes; look-around and back-references are not known".to_owned();
            report.wrong(&at.place, message, "this value", help);
            None
        }
    }
}

fn check(at: &At<CheckTable>, report: &mut Report) -> Option<Check> {
    let CheckTable { name, status, size_max, within, json, header, equals, contains, matches } = &at.value;
    let about_part = [json, header, equals, contains, matches].iter().any(|key| key.is_some());
    let kinds = [status.is_some(), size_max.is_some(), within.is_some(), about_part];
    if kinds.iter().filter(|&&given| given).count() != 1 {
        // A key that seems absent may be one that could not be read.
        if report.knows_of(&at.place.path) {
            return None;
        }
        let help = "write one of `status`, `size_max`, `within` and a test of `json`, a `header` or the body";
        report.wrong(&at.place, "expected one check".to_owned(), "in this check", help.to_owned());
        return None;
    }
    let (usual, demand) = if let Some(At { value: statuses, .. }) = status {
        let words: Vec<&str> = statuses.0.iter().map(|status| status.text.as_str()).collect();
        let ranges = statuses.0.iter().map(|status| status.range).collect();
        (format!("status is {}", words.join(" or ")), Demand::Status(ranges))
    } else if let Some(At { value: Size(most), .. }) = size_max {
        (format!("size is at most {most}"), Demand::SizeMax(*most))
    } else if let Some(At { value: Span(most), .. }) = within {
        (format!("response time is at most {}", show_duration(*most)), Demand::Within(*most))
    } else {
        let part = part(json.as_ref(), header.as_ref(), at, report)?;
        let (words, test) = test(at, &part, report)?;
        let subject = match &part {
            Part::Body => "body".to_owned(),
            Part::Header(name) => format!("header {name}"),
            Part::Json(pointer) => format!("json {pointer}"),
        };
        (format!("{subject} {words}"), Demand::Part(part, test))
    };
    Some(Check { name: name.as_ref().map_or(usual, |at| at.value.0.clone()), demand })
}

/// The test of a part, and its text.
fn test(at: &At<CheckTable>, part: &Part, report: &mut Report) -> Option<(String, Test)> {
    let CheckTable { equals, contains, matches, .. } = &at.value;
    let given: Vec<_> = [equals, contains, matches].into_iter().flatten().collect();
    if let Some(second) = given.get(1) {
        let message = "expected only one of `equals`, `contains` and `matches`".to_owned();
        report.wrong(&second.place, message, "another test", "write a check for each".to_owned());
        return None;
    }
    let Some(only) = given.first() else {
        debug_assert!(*part != Part::Body, "a check of the body is known by its test");
        return Some(("exists".to_owned(), Test::Exists));
    };
    let text = only.value.0.clone();
    if matches.is_none() && text.contains("${") {
        let help = "check for a fixed text, or use `matches`".to_owned();
        report.wrong(&only.place, "checks compare with fixed values".to_owned(), "a placeholder", help);
        return None;
    }
    if equals.is_some() {
        Some((format!("equals {text}"), Test::Equals(text)))
    } else if contains.is_some() {
        Some((format!("contains {text}"), Test::Contains(text)))
    } else {
        Some((format!("matches {text}"), Test::Matches(expression(only, report)?)))
    }
}

fn think(at: &At<FileThink>, report: &mut Report) -> Think {
    let table = match &at.value {
        FileThink::Word(FileWait { from, to }) if from == to => return Think::Constant(*from),
        FileThink::Word(FileWait { from, to }) => return Think::Uniform { from: *from, to: *to },
        FileThink::Table(table) => table,
    };
    match (&table.exponential, &table.lognormal) {
        (Some(mean), None) => Think::Exponential { mean: mean.value.0 },
        (None, Some(found)) => {
            let (median, p95): (Duration, Duration) = (found.median.value.0, found.p95.value.0);
            if median.is_zero() || p95 < median {
                let message = "`p95` is below `median`, or `median` is 0".to_owned();
                let help = "write as in `{ median: 2s, p95: 8s }`".to_owned();
                report.wrong(&found.p95.place, message, "this value", help);
            }
            Think::Lognormal { median, p95 }
        }
        _ => {
            let message = "expected one of `exponential` and `lognormal`".to_owned();
            let help = "write `{ exponential: 2s }`, or a wait such as `1s..3s`".to_owned();
            report.wrong(&at.place, message, "in this table", help);
            Think::None
        }
    }
}
