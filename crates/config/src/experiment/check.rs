//! Checks bounds and contradictions of an experiment file, and that one variable is changed.

use super::changes::{Recorded, changes};
use super::file::{ArmTable, ExperimentTable, FleetTable, HypothesisTable, LoadTable};
use super::vary::{Varied, varied};
use super::{
    Arm, Design, Ends, Experiment, Find, Fleet, Hypothesis, Pace, Primary, Requests, SecondControl, Shared,
};
use crate::check::span_between;
use control::diagnosis::Cause;
use control::trial::Limits;
use fields::{At, Count, Frequency, Names, Place, Report, Share, Span, Switch, Text, check_name, word};
use load::scenario::split_url;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// The experiment; only valid if there are no problems.
pub(super) fn experiment(file: &ExperimentTable, report: &mut Report, folder: &Path) -> Option<Experiment> {
    if let Some(name) = &file.experiment.0 {
        check_name(&name.value.0, &name.place, report);
    }
    let hypothesis = file.hypothesis.as_ref().and_then(|at| hypothesis(at, report));
    let load = file.load.as_ref();
    let requests = load.and_then(|load| requests(load, report, folder));
    let pace = load.and_then(|load| pace(load, report));
    without_mirroring(file, report);
    let arms = match &file.vary {
        Some(vary) => varied(file, vary, report),
        None => declared(file, report),
    };
    let is_varied = file.vary.is_some();
    let second_control = match is_varied {
        true => SecondControl::Off,
        false => {
            second_control(file.second_control.as_ref(), arms.as_ref().map(|arms| &arms.control), report)
        }
    };
    let primary = primary(file.primary.as_ref(), arms.as_ref(), report);
    let time = span(file.time.as_ref(), TIME, (TIME_MIN, DAY), report);
    let block = span(file.block.as_ref(), BLOCK.min(time / BLOCKS), (BLOCK_MIN, time / BLOCKS_MIN), report);
    Some(Experiment {
        margin: share(file.margin.as_ref(), MARGIN, report),
        harm: share(file.harm.as_ref(), HARM, report),
        effect: share(file.effect.as_ref(), EFFECT, report),
        time,
        warm_up: span(
            file.warm_up.as_ref(),
            if is_varied { WARM_UP_EACH } else { WARM_UP },
            (Duration::ZERO, time / 2),
            report,
        ),
        block,
        max_lag: span(file.max_lag.as_ref(), Limits::default().lag, (Duration::from_millis(1), DAY), report),
        ready_within: span(file.ready_within.as_ref(), READY_WITHIN, (Duration::from_millis(1), DAY), report),
        timeout: load.map_or(TIMEOUT, |load| {
            span(load.value.timeout.as_ref(), TIMEOUT, (Duration::from_millis(1), DAY), report)
        }),
        design: file.design.as_ref().map(|at| design(at, arms.as_ref(), second_control, report)),
        ends: ends(file, report),
        shared: word(file.shared.as_ref(), &SHARED, report),
        hypothesis,
        compare_answers: file.compare_answers.as_ref().is_none_or(|at| at.value.0),
        second_control,
        primary,
        fleet: fleet(file, arms.as_ref(), report),
        name: file.experiment.0.as_ref()?.value.0.clone(),
        requests: requests?,
        pace: pace?,
        variable: arms.as_ref()?.variable.clone(),
        find: arms.as_ref()?.find,
        control: arms.as_ref()?.control.clone(),
        candidates: arms?.candidates,
    })
}

/// What a file with services and load needs, and what is only for `mirroring`.
fn without_mirroring(file: &ExperimentTable, report: &mut Report) {
    if file.load.is_none() && !report.knows_of("load") && !has_misspelled(report) {
        let root = Place { path: String::new(), span: 0..0 };
        let help = "add `load: …`; or `mirroring: ADDRESS`, for what the copies of a gateway cost".to_owned();
        report.wrong(&root, "`load` is missing".to_owned(), "in this file", help);
    }
    if let Some(at) = &file.token_file {
        let help = "add `mirroring`, the admin listener of a gateway, or remove it".to_owned();
        report.wrong(&at.place, "`token_file` without `mirroring`".to_owned(), "no effect", help);
    }
}

fn fleet(file: &ExperimentTable, arms: Option<&Varied>, report: &mut Report) -> Option<Fleet> {
    let FleetTable { servers, per_hour, value } = &file.fleet.as_ref()?.value;
    if servers.value.0 == 0 {
        let help = "write how many servers carry the traffic today".to_owned();
        report.wrong(&servers.place, "no server".to_owned(), "zero", help);
    }
    let place = value.as_ref().zip(arms).map(|(at, arms)| {
        let mut all = std::iter::once(&arms.control).chain(&arms.candidates);
        let found = all.position(|arm| arm.value == at.value.0);
        match (arms.find, found) {
            (Find::Best, Some(place)) => place,
            (Find::Best, None) => {
                let first = &arms.control.value;
                let help =
                    format!("write it as the result does, such as `{first}`, or leave it out for that one");
                report.wrong(
                    &at.place,
                    format!("`{}` is no value of `vary`", at.value.0),
                    "not compared",
                    help,
                );
                0
            }
            (Find::Differences | Find::Effects { .. }, _) => {
                let (message, help) = match arms.find {
                    Find::Differences => {
                        ("`value` without `vary`", "remove it: the servers run the control today")
                    }
                    _ => (
                        "`value` beside `find: effects`",
                        "remove it: effects are those of the second values in place of the first",
                    ),
                };
                report.wrong(&at.place, message.to_owned(), "no effect", help.to_owned());
                0
            }
        }
    });
    let per_hour = per_hour.as_ref().map(|at| at.value.0);
    Some(Fleet { servers: servers.value.0, per_hour, value: place.unwrap_or(0) })
}

/// An unknown key may be a missing one, misspelled.
fn has_misspelled(report: &Report) -> bool {
    report.problems.iter().any(|problem| problem.message.starts_with("unknown key"))
}

/// A control and its candidates, as declared.
fn declared(file: &ExperimentTable, report: &mut Report) -> Option<Varied> {
    let root = Place { path: String::new(), span: 0..0 };
    let missing = [
        ("variable", file.variable.is_none()),
        ("control", file.control.is_none()),
        ("candidates", file.candidates.is_none()),
    ];
    let is_misspelled = has_misspelled(report);
    for (name, _) in missing.into_iter().filter(|(_, is_missing)| *is_missing) {
        if is_misspelled || report.knows_of(name) {
            continue;
        }
        let help = format!("add `{name}: …`; or `vary` and `service`, for a variable with many values");
        report.wrong(&root, format!("`{name}` is missing"), "in this file", help);
    }
    let without = [
        ("service", file.service.as_ref().map(|at| &at.place)),
        ("find", file.find.as_ref().map(|at| &at.place)),
    ];
    for (name, place) in without {
        if let Some(place) = place {
            let help = "add `vary`, such as `vary: { processes: 4..20 }`, or remove it".to_owned();
            report.wrong(place, format!("`{name}` without `vary`"), "no effect", help);
        }
    }
    let control = file.control.as_ref().map(|at| (arm(at, report), at));
    let candidates = file.candidates.as_ref().map(|list| candidates(list, control.as_ref(), report));
    Some(Varied {
        variable: file.variable.as_ref()?.value.0.clone(),
        control: control?.0,
        candidates: candidates?,
        find: Find::Differences,
    })
}

fn hypothesis(at: &At<HypothesisTable>, report: &mut Report) -> Option<Hypothesis> {
    let HypothesisTable { finding, run } = &at.value;
    let codes: Vec<(&str, Cause)> = Cause::ALL.into_iter().map(|cause| (cause.code(), cause)).collect();
    let finding = finding.0.as_ref().map(|at| word(Some(at), &codes, report))?;
    if let Some(At { value: Text(run), place }) = run {
        check_name(run, place, report);
    }
    Some(Hypothesis { finding, run: run.as_ref().map(|at| at.value.0.clone()) })
}

fn requests(at: &At<LoadTable>, report: &mut Report, folder: &Path) -> Option<Requests> {
    let LoadTable { paths, requests, reads_only, scenario, .. } = &at.value;
    let given: Vec<(&str, &Place)> = [
        ("paths", paths.as_ref().map(|at| &at.place)),
        ("requests", requests.as_ref().map(|at| &at.place)),
        ("scenario", scenario.as_ref().map(|at| &at.place)),
    ]
    .into_iter()
    .filter_map(|(name, place)| Some((name, place?)))
    .collect();
    one_of(&given, "paths", "requests", "scenario", &at.place, report);
    if let (Some(at), None) = (reads_only, requests) {
        let message = "`reads_only` is for `requests`".to_owned();
        report.wrong(&at.place, message, "no effect", "remove it".to_owned());
    }
    if let Some(at) = paths {
        if at.value.is_empty() {
            report.wrong(&at.place, "no path".to_owned(), "empty", "write `paths: [/]`".to_owned());
        }
        for path in at.value.iter().filter(|path| !path.value.0.starts_with('/')) {
            let message = format!("`{}` is no path", path.value.0);
            report.wrong(&path.place, message, "this value", "paths begin with `/`".to_owned());
        }
        return Some(Requests::Paths(at.value.iter().map(|path| path.value.0.clone()).collect()));
    }
    let listed = |at: &At<Text>| Requests::Listed {
        file: folder.join(&at.value.0),
        reads_only: reads_only.as_ref().is_some_and(|at| at.value.0),
    };
    requests
        .as_ref()
        .map(listed)
        .or_else(|| scenario.as_ref().map(|at| Requests::Scenario(folder.join(&at.value.0))))
}

fn pace(at: &At<LoadTable>, report: &mut Report) -> Option<Pace> {
    let LoadTable { rate, users, times, requests, .. } = &at.value;
    if let Some(At { value: Frequency(rate), place }) = rate
        && rate.per_second() <= 0.0
    {
        report.wrong(place, "no load".to_owned(), "zero", "write a rate such as `100/s`".to_owned());
    }
    let given: Vec<(&str, &Place)> = [
        ("rate", rate.as_ref().map(|at| &at.place)),
        ("users", users.as_ref().map(|at| &at.place)),
        ("times", times.as_ref().map(|at| &at.place)),
    ]
    .into_iter()
    .filter_map(|(name, place)| Some((name, place?)))
    .collect();
    if let [_, (_, second), ..] = given.as_slice() {
        let message = "expected only one of `rate`, `users` and `times`".to_owned();
        report.wrong(second, message, "another one", "keep one of them".to_owned());
        return None;
    }
    if let (Some(at), None) = (times, requests) {
        let message = "`times` is for `requests`, whose times are used".to_owned();
        report.wrong(
            &at.place,
            message,
            "no effect",
            "write a `rate`, or name a recording in `requests`".to_owned(),
        );
    }
    match (rate, users, times) {
        (Some(rate), ..) => Some(Pace::Rate(rate.value.0)),
        (_, Some(At { value: Count(users), place }), _) => {
            if *users == 0 {
                report.wrong(place, "no load".to_owned(), "zero", "write a number such as `8`".to_owned());
            }
            NonZeroU32::new(*users).map(Pace::Users)
        }
        (.., Some(_)) => {
            Some(word(times.as_ref(), &[("recorded", Pace::Recorded), ("live", Pace::Live)], report))
        }
        (None, None, None) => {
            // A key that has a problem of its own seems absent.
            if !report.knows_of(&at.place.path) {
                let help = "add `rate: 100/s` (open model), `users: 8` (closed model), or for recorded requests `times: recorded`";
                report.wrong(
                    &at.place,
                    "`rate`, `users` or `times` is missing".to_owned(),
                    "in this table",
                    help.to_owned(),
                );
            }
            None
        }
    }
}

/// Reports where not exactly one of three keys is given.
fn one_of(given: &[(&str, &Place)], a: &str, b: &str, c: &str, table: &Place, report: &mut Report) {
    match given {
        [_] => (),
        [] if report.knows_of(&table.path) => (),
        [] => {
            let message = format!("`{a}`, `{b}` or `{c}` is missing");
            report.wrong(table, message, "in this table", "add `paths: [/]`".to_owned());
        }
        [_, (_, second), ..] => {
            let message = format!("expected only one of `{a}`, `{b}` and `{c}`");
            report.wrong(second, message, "another one", "keep one of them".to_owned());
        }
    }
}

fn arm(at: &At<ArmTable>, report: &mut Report) -> Arm {
    let ArmTable { value, command, env, url, pid, own_store } = &at.value;
    check_name(&value.value.0, &value.place, report);
    if let (Some(pid), Some(_)) = (pid, command) {
        let help = "remove it: the command has a process of its own".to_owned();
        report.wrong(&pid.place, "`pid` beside `command`".to_owned(), "here", help);
    }
    let name = value.value.0.clone();
    let (command, env) = (command.as_ref(), env.as_ref());
    let arm = arm_of(name, command, env, url.as_ref(), own_store.as_ref(), &at.place, report);
    Arm { pid: pid.as_ref().map(|at| at.value.0), ..arm }
}

/// A service with a command or an address.
pub(super) fn arm_of(
    value: String,
    command: Option<&At<Text>>,
    env: Option<&At<Names<At<Text>>>>,
    url: Option<&At<Text>>,
    own_store: Option<&At<Switch>>,
    table: &Place,
    report: &mut Report,
) -> Arm {
    let has_port = command.is_some_and(|command| command.value.0.contains(PORT));
    let wrong = |place: &Place, message: &str, help: &str, report: &mut Report| {
        report.wrong(place, message.to_owned(), "here", help.to_owned());
    };
    match (command, url) {
        (None, None) if !report.knows_of(&table.path) => wrong(
            table,
            "`command` or `url` is missing",
            "add the command that starts the service, or the `url` of one that runs already",
            report,
        ),
        (Some(command), None) if !has_port => wrong(
            &command.place,
            "the command has no `{port}`, and there is no `url`",
            "write `{port}` where the port of the service is, or add its `url`",
            report,
        ),
        (_, Some(url)) if url.value.0.contains(PORT) && !has_port => wrong(
            &url.place,
            "`{port}` is the port of a command, and there is none with it",
            "write the port, or `{port}` in `command` too",
            report,
        ),
        (_, Some(url))
            if split_url(&url.value.0.replace(PORT, "1")).is_none_or(|(_, path)| path.len() > 1) =>
        {
            wrong(
                &url.place,
                "this is no address that requests can be sent to",
                "write it as `http://host:port`; paths are in `load`",
                report,
            );
        }
        _ => (),
    }
    if let (Some(env), None) = (env, command) {
        wrong(&env.place, "`env` without `command`", "add the command, or remove it", report);
    }
    let variables = env.iter().flat_map(|at| at.value.iter());
    Arm {
        value,
        command: command.map(|at| at.value.0.clone()),
        env: variables
            .filter_map(|named| Some((named.name.clone(), named.value.as_ref()?.value.0.clone())))
            .collect(),
        url: url.map_or_else(default_url, |at| at.value.0.clone()),
        pid: None,
        own_store: own_store.is_some_and(|at| at.value.0),
    }
}

fn candidates(
    list: &At<Vec<At<ArmTable>>>,
    control: Option<&(Arm, &At<ArmTable>)>,
    report: &mut Report,
) -> Vec<Arm> {
    if list.value.is_empty() && !report.knows_of(&list.place.path) {
        let help = "add one; a copy of the control shows how much equal services differ".to_owned();
        report.wrong(&list.place, "no candidate".to_owned(), "empty", help);
    }
    let mut found: Vec<Arm> = Vec::new();
    for at in &list.value {
        let candidate = arm(at, report);
        if found.iter().any(|earlier| earlier.value == candidate.value) {
            let message = format!("another candidate has the value `{}` too", candidate.value);
            let help = "verdicts are named by the value; give it another one".to_owned();
            report.wrong(&at.value.value.place, message, "again", help);
        }
        if ARMS.contains(&candidate.value.as_str()) {
            let message = format!("`{}` is the name of another service of the experiment", candidate.value);
            let help = "verdicts are named by the value; give it another one".to_owned();
            report.wrong(&at.value.value.place, message, "taken", help);
        }
        if let Some((control, _)) = control {
            one_variable(control, &candidate, at, report);
        }
        found.push(candidate);
    }
    found
}

/// What results call the other services.
const ARMS: [&str; 2] = ["control", "second control"];

fn recorded<'a>(command: &'a str, arm: &'a Arm) -> Recorded<'a> {
    Recorded { command, env: Some(&arm.env), url: &arm.url, ..Recorded::default() }
}

/// Refuses a candidate that differs from the control in more than one place.
fn one_variable(control: &Arm, candidate: &Arm, at: &At<ArmTable>, report: &mut Report) {
    let (Some(ours), Some(theirs)) = (&control.command, &candidate.command) else { return };
    let found = changes(&recorded(ours, control), &recorded(theirs, candidate));
    if found.len() > 1 {
        let named: Vec<String> = found.iter().map(ToString::to_string).collect();
        let message = format!(
            "the candidate `{}` differs from the control in {} places: {}",
            candidate.value,
            found.len(),
            named.join("; ")
        );
        let help = "change one variable, so that the verdict is about it; try the others in experiments of their own";
        let place = at.value.command.as_ref().map_or(&at.place, |command| &command.place);
        report.wrong(place, message, "more than one change", help.to_owned());
    }
}

fn second_control(at: Option<&At<Text>>, control: Option<&Arm>, report: &mut Report) -> SecondControl {
    let again = control.and_then(|arm| arm.command.as_ref()).is_some_and(|command| command.contains(PORT));
    let Some(at) = at else { return if again { SecondControl::First } else { SecondControl::Off } };
    let words = [
        ("first", SecondControl::First),
        ("alongside", SecondControl::Alongside),
        ("off", SecondControl::Off),
    ];
    let found = word(Some(at), &words, report);
    if found != SecondControl::Off && control.is_some() && !again {
        let message = "a second control needs a `command` of the control with `{port}`".to_owned();
        report.wrong(&at.place, message, "this value", "add it, or write `off`".to_owned());
    }
    found
}

fn design(
    at: &At<Text>,
    arms: Option<&Varied>,
    second_control: SecondControl,
    report: &mut Report,
) -> Design {
    let found = word(Some(at), &DESIGNS, report);
    if found != Design::Restarts {
        return found;
    }
    let arms = arms.into_iter().flat_map(|arms| std::iter::once(&arms.control).chain(&arms.candidates));
    let running: Vec<String> =
        arms.filter(|arm| arm.command.is_none()).map(|arm| format!("`{}`", arm.value)).collect();
    if !running.is_empty() {
        let message = format!("only a `command` can be restarted: {} has none", running.join(", "));
        report.wrong(&at.place, message, "this design", "give each service a `command`".to_owned());
    } else if second_control == SecondControl::Off {
        let message = "`restarts` needs a second control, which shows how much restarts differ".to_owned();
        let help =
            "remove `second_control: off`, and write `{port}` in the `command` of the control".to_owned();
        report.wrong(&at.place, message, "this design", help);
    }
    found
}

fn primary(at: Option<&At<Text>>, arms: Option<&Varied>, report: &mut Report) -> Primary {
    let found = word(at, &PRIMARIES, report);
    let arms = arms.into_iter().flat_map(|arms| std::iter::once(&arms.control).chain(&arms.candidates));
    let unknown = arms.filter(|arm| arm.command.is_none() && arm.pid.is_none()).count();
    if let (Some(at), true) = (at, unknown > 0)
        && matches!(found, Primary::ProcessorTime | Primary::Memory)
    {
        let message = format!("`{}` is known of services with `command` or `pid` only", at.value.0);
        let help = "add `pid` to the other services, or choose a response time".to_owned();
        report.wrong(&at.place, message, "this measure", help);
    }
    found
}

/// A share above 0.
pub(super) fn share(at: Option<&At<Share>>, default: f64, report: &mut Report) -> f64 {
    let Some(At { value: Share(share), place }) = at else { return default };
    if share.get() <= 0.0 {
        let help = format!("{}% is usual", default * 100.0);
        report.wrong(place, "must be greater than 0%".to_owned(), "zero", help);
    }
    share.get()
}

/// When the experiment ends: by a word, or by a precision.
pub(super) fn ends(file: &ExperimentTable, report: &mut Report) -> Ends {
    let Some(at) = &file.precision else { return word(file.ends.as_ref(), &ENDS, report) };
    if let Some(ends) = &file.ends {
        let help =
            "keep one of them: with `precision`, it ends as soon as the interval is that narrow".to_owned();
        report.wrong(&ends.place, "`ends` beside `precision`".to_owned(), "another end", help);
    }
    if file.vary.is_some() {
        let help =
            "remove it: a search ends when no value is better than the best by more than `margin`".to_owned();
        report.wrong(&at.place, "`precision` beside `vary`".to_owned(), "no effect", help);
    }
    Ends::Precise(share(Some(at), PRECISION, report))
}

/// As elsewhere, but what a file does not say is within the bounds, which depend on other keys.
pub(super) fn span(
    at: Option<&At<Span>>,
    default: Duration,
    (least, most): (Duration, Duration),
    report: &mut Report,
) -> Duration {
    let usual = if at.is_none() { default.clamp(least, most.max(least)) } else { default };
    span_between(at, usual, (least, most), report)
}

/// Where a command with a port is asked.
pub(super) fn default_url() -> String {
    format!("http://127.0.0.1:{PORT}")
}

/// Whether arms share something, the usual word first, as in the tables below.
pub(super) const SHARED: [(&str, Shared); 3] =
    [("unknown", Shared::Unknown), ("nothing", Shared::Nothing), ("something", Shared::Something)];
/// The designs that a file may ask for.
pub(super) const DESIGNS: [(&str, Design); 4] = [
    ("duet", Design::Duet),
    ("alternating", Design::Alternating),
    ("slices", Design::Slices),
    ("restarts", Design::Restarts),
];
/// When an experiment may end.
pub(super) const ENDS: [(&str, Ends); 3] =
    [("planned", Ends::Planned), ("decided", Ends::Decided), ("time", Ends::Time)];
/// The measures that may decide.
pub(super) const PRIMARIES: [(&str, Primary); 6] = [
    ("p50", Primary::P50),
    ("p95", Primary::P95),
    ("p99", Primary::P99),
    ("errors", Primary::Errors),
    ("processor_time", Primary::ProcessorTime),
    ("memory", Primary::Memory),
];
/// What is replaced by the port of a command.
pub(super) const PORT: &str = "{port}";
pub(super) const MARGIN: f64 = 0.01;
pub(super) const HARM: f64 = 0.5;
pub(super) const EFFECT: f64 = 0.05;
/// What a message calls usual.
const PRECISION: f64 = 0.02;
pub(super) const TIME: Duration = Duration::from_secs(600);
pub(super) const TIME_MIN: Duration = Duration::from_secs(10);
pub(super) const WARM_UP: Duration = Duration::from_secs(10);
/// After each start of a service.
const WARM_UP_EACH: Duration = Duration::from_secs(2);
pub(super) const BLOCK: Duration = Duration::from_secs(3);
/// Blocks of the whole time, if the file does not give their length and it is short.
pub(super) const BLOCKS: u32 = 60;
pub(super) const BLOCK_MIN: Duration = Duration::from_millis(200);
/// A difference needs about ten blocks, and so does the noise floor.
pub(super) const BLOCKS_MIN: u32 = 20;
const READY_WITHIN: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const DAY: Duration = Duration::from_secs(86_400);
