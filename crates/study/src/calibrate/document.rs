//! What a calibration found, as a document.

use super::backtest::{Compared, What};
use super::figure::Figure;
use super::fit::{Bound, Fitted};
use super::measure::{Measured, Trial};
use super::{Known, Level, Load, Lock, PartSource, PartTime, Single, StartUp};
use documents::calibrate::{self as said, Calibration, Verdict};
use host::ApplicationServer;

/// What the measurement was asked to look at.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The URL.
    pub target: &'a str,
    /// The date, as `2026-01-31`.
    pub date: String,
    /// The version of headroom.
    pub version: &'static str,
    /// What is known of the service.
    pub known: &'a Known,
    /// The application server, if it was recognised.
    pub server: Option<ApplicationServer>,
    /// Where processor time would come from.
    pub origin: Origin,
    /// Which of the numbers of cores, processes and threads a flag gave.
    pub given: Given,
    /// What starts of the service showed; none: it was running.
    pub start: Option<StartUp>,
    /// Where the requests come from, if there are several.
    pub mix: Option<MixSource>,
    /// What was not measured although it matters, in sentences.
    pub missing: Vec<String>,
}

/// Where a mix of requests comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum MixSource {
    /// A scenario file.
    Scenario,
    /// A log, with the endpoints that are too rare for the mix, and their shares of its requests.
    Log(Vec<(String, f64)>),
}

/// Where the measurement comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Load, and the processes of the service.
    Processes,
    /// Load at a service of which no process was named.
    Elsewhere,
    /// Runs of the ledger.
    Runs,
}

impl Origin {
    /// Why there is no processor time.
    fn no_cpu(self) -> &'static str {
        match self {
            Origin::Processes => {
                "the processes of the service show no processor time for these levels; measure for longer"
            }
            Origin::Elsewhere => "no process to look at; --pid or --cgroup names one",
            Origin::Runs => {
                "runs of the ledger have no processor time of the service; calibrate a URL with --pid"
            }
        }
    }

    /// Why the number of cores is not known.
    fn no_cores(self) -> &'static str {
        match self {
            Origin::Processes => "neither affinity nor quota of the process can be read; --cores gives it",
            Origin::Elsewhere => "no process to look at; --pid, --cgroup or --cores gives it",
            Origin::Runs => "--cores gives it",
        }
    }
}

/// Which numbers a flag gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// `--cores`.
    pub cores: bool,
    /// `--processes`.
    pub processes: bool,
    /// `--threads`.
    pub threads: bool,
}

/// The document of a calibration.
pub fn document(
    asked: &Asked<'_>,
    measured: &Measured,
    fitted: &Fitted,
    backtest: &[Compared],
) -> Calibration {
    let figures = figures(asked, measured, fitted);
    let reasons = reasons(asked, measured, fitted, backtest, &figures);
    Calibration {
        version: asked.version,
        target: asked.target.to_owned(),
        date: asked.date.clone(),
        verdict: if reasons.is_empty() { Verdict::Valid } else { Verdict::Suspect },
        reasons,
        limited_by: limited_by(asked.known, fitted),
        findings: measured.findings.clone(),
        knee_users: fitted.knee,
        assumptions: assumptions(asked, fitted),
        levels: measured.levels.iter().map(level).collect(),
        endpoints: endpoints(measured, fitted, no_cpu(asked)),
        parts: fitted.parts.iter().map(part).collect(),
        backtest: backtest.iter().map(compared).collect(),
        worst: worst(measured, backtest).map(compared),
        unknown: unknown(&figures),
        figures,
    }
}

/// The unknown figures by the names that a case file has for them.
fn unknown(figures: &[said::Figure]) -> Vec<&'static str> {
    let missing = |name: &str| figures.iter().any(|figure| figure.name == name && figure.value.is_none());
    let names = NAMES.into_iter().filter(|(names, _)| names.iter().any(|name| missing(name)));
    names.map(|(_, unknown)| unknown).collect()
}

/// The judged prediction that is furthest off, relative to its bound.
fn worst<'a>(measured: &Measured, backtest: &'a [Compared]) -> Option<&'a Compared> {
    let share = |compared: &Compared| {
        compared.known()?;
        Some(compared.off().abs() / bound(measured, compared)?)
    };
    let shares = backtest.iter().filter_map(|compared| Some((share(compared)?, compared)));
    shares.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, compared)| compared)
}

/// How far this prediction may be off; none: it is not judged.
fn bound(measured: &Measured, compared: &Compared) -> Option<f64> {
    let below = measured.trials.iter().filter(|trial| !trial.at_limit);
    let highest = below.map(|trial| trial.rate).fold(0.0, f64::max);
    match compared.what {
        What::P95 if compared.rate == highest => Some(P95_OFF),
        What::Throughput => Some(THROUGHPUT_OFF),
        _ => None,
    }
}

fn no_cpu(asked: &Asked<'_>) -> &'static str {
    asked.origin.no_cpu()
}

fn millis(figure: Figure) -> Figure {
    Figure { value: 1e3 * figure.value, low: 1e3 * figure.low, high: 1e3 * figure.high }
}

/// The endpoints as they were measured, the rare ones without figures.
fn endpoints(measured: &Measured, fitted: &Fitted, no_cpu: &str) -> Vec<said::Endpoint> {
    let one = |single: &Single| {
        let cost = fitted.costs.iter().find(|cost| cost.name == single.name);
        let figure = |name, value: Option<Figure>, source, missing: &str| {
            of(name, value.map(millis), "ms", source, if cost.is_some() { missing } else { RARE })
        };
        said::Endpoint {
            name: single.name.clone(),
            share: single.share,
            alone: figure(
                "response time alone",
                cost.map(|cost| cost.alone),
                "one user for this endpoint",
                RARE,
            ),
            cpu: figure("processor time", cost.and_then(|cost| cost.cpu), PROCESSES, no_cpu),
            wait: figure("wait", cost.map(|cost| cost.wait), wait_source(fitted), RARE),
        }
    };
    measured.singles.iter().map(one).collect()
}

fn part(part: &PartTime) -> said::Part {
    let source = match &part.source {
        PartSource::ServerTiming { reported, sampled } => {
            format!("Server-Timing of {reported} of {sampled} responses")
        }
        PartSource::Metric(metric) => format!("metric {metric}"),
    };
    let figure = |value| of("part", Some(millis(value)), "ms", &source, TOO_WIDE);
    said::Part { name: part.name.clone(), alone: figure(part.alone), full: part.full.map(figure) }
}

fn figures(asked: &Asked<'_>, measured: &Measured, fitted: &Fitted) -> Vec<said::Figure> {
    let (known, no_cpu) = (asked.known, no_cpu(asked));
    let alone = match asked.origin {
        Origin::Runs => "the run with the least load",
        Origin::Processes | Origin::Elsewhere => "one user",
    };
    let is_alone = known.alone_at_most.is_none();
    let mut figures = vec![
        of(
            "processor time",
            fitted.cpu.map(millis),
            "ms",
            "accounting of the service's processes at the best throughput",
            no_cpu,
        ),
        of("wait", is_alone.then(|| millis(fitted.wait)), "ms", wait_source(fitted), NOT_ALONE),
        of("response time alone", is_alone.then(|| millis(fitted.alone)), "ms", alone, NOT_ALONE),
        of(
            "best throughput",
            Some(fitted.best).filter(|_| !known.below_limit),
            "/s",
            if asked.origin == Origin::Runs { "the runs" } else { "the closed model" },
            "no load came near the limit",
        ),
        of("processor use at best", fitted.busy, "cores", "processor time × throughput", no_cpu),
    ];
    let count = |name, value: Option<f64>, source: &str, missing: &str| {
        of(name, value.map(|value| Figure::new(value, 0.0)), "", source, missing)
    };
    let from = |flag: bool, name: &str, other: String| if flag { format!("--{name}") } else { other };
    figures.push(of(
        "cores",
        known.cores.map(|cores| Figure::new(cores, 0.0)),
        "cores",
        &from(asked.given.cores, "cores", "affinity and quota of the process".to_owned()),
        asked.origin.no_cores(),
    ));
    let tree =
        asked.server.map_or("the process tree".to_owned(), |server| format!("the process tree: {server}"));
    for (name, flag, given, value) in [
        ("processes", "processes", asked.given.processes, known.processes),
        ("threads a process", "threads", asked.given.threads, known.threads),
    ] {
        let missing = match asked.origin {
            Origin::Processes => format!("not shown by the process tree; --{flag} gives it"),
            Origin::Elsewhere | Origin::Runs => format!("no process to look at; --{flag} gives it"),
        };
        figures.push(count(name, value.map(f64::from), &from(given, flag, tree.clone()), &missing));
    }
    if let Some(StartUp { ready, cpu }) = asked.start {
        let source = "starts of --command until the first good response";
        figures.push(of(START, Some(millis(ready)), "ms", source, TOO_WIDE));
        figures.push(of("processor time of start-up", Some(millis(cpu)), "ms", source, TOO_WIDE));
    }
    match fitted.bound {
        Bound::Pool(places) => figures.push(of(
            "places of the pool",
            Some(places),
            "",
            "the throughput with processors and threads idle",
            TOO_WIDE,
        )),
        Bound::Places(places) => figures.push(of(
            "requests at once",
            Some(places),
            "",
            "the throughput with processors idle",
            TOO_WIDE,
        )),
        _ => (),
    }
    if let Some([before, full]) = measured.memory {
        for (name, bytes, when) in
            [("memory before load", before, "before load"), ("memory in use", full, "at the last level")]
        {
            let figure = Figure::new(bytes as f64 / f64::from(1 << 20), 0.0);
            figures.push(of(name, Some(figure), "MiB", when, no_cpu));
        }
    }
    figures
}

fn wait_source(fitted: &Fitted) -> &'static str {
    match fitted.cpu {
        Some(_) => "response time of one user less processor time; with network and generator",
        None => "response time of one user; with processor time, which is unknown",
    }
}

fn of(
    name: &'static str,
    figure: Option<Figure>,
    unit: &'static str,
    source: &str,
    missing: &str,
) -> said::Figure {
    // A count has no interval; a figure of nothing has no share.
    let known = |figure: &Figure| figure.is_known() || figure.low == figure.high;
    let source = match figure {
        Some(figure) if known(&figure) => source.to_owned(),
        Some(figure) => format!(
            "{source}; unknown: {} to {} is too wide, measure for longer",
            short(figure.low),
            short(figure.high)
        ),
        None => missing.to_owned(),
    };
    let figure = figure.filter(known);
    said::Figure {
        name,
        value: figure.map(|f| f.value),
        low: figure.map(|f| f.low),
        high: figure.map(|f| f.high),
        unit,
        source,
    }
}

fn short(value: f64) -> String {
    format!("{value:.2}")
}

fn limited_by(known: &Known, fitted: &Fitted) -> String {
    let busy = fitted.busy.map_or(0.0, |busy| busy.value);
    match fitted.bound {
        Bound::Cores => format!("processors: {busy:.2} of {} cores are busy", known.cores.unwrap_or(busy)),
        Bound::Processes => format!(
            "one core for each of {} processes (a global lock or an event loop), {busy:.2} cores busy",
            known.processes.unwrap_or(1)
        ),
        Bound::Threads => "threads: all are occupied, processors are idle".to_owned(),
        Bound::Pool(places) => match &fitted.pooled {
            None => format!("a shared pool of {:.0} places: threads and processors are idle", places.value),
            Some(part) => format!(
                "a shared pool of {:.0} places for `{part}` ({}): threads and processors are idle",
                places.value,
                source(part, fitted)
            ),
        },
        Bound::Places(places) => format!(
            "{:.0} requests at once, by threads or by a pool: --processes and --threads would tell which",
            places.value
        ),
        Bound::NotReached if known.alone_at_most.is_some() => format!("unknown: {NOT_ALONE}"),
        Bound::NotReached => "nothing that was measured: throughput still grew with the users".to_owned(),
    }
}

/// What shows the part with this name.
fn source<'a>(name: &str, fitted: &'a Fitted) -> &'a str {
    fitted.parts.iter().find(|part| part.name == name).map_or("", |part| part.source.name())
}

fn reasons(
    asked: &Asked<'_>,
    measured: &Measured,
    fitted: &Fitted,
    backtest: &[Compared],
    figures: &[said::Figure],
) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(ended) = &measured.ended {
        reasons.push(format!("not measured to the end: {ended}"));
    }
    reasons.extend(measured.flaws.iter().cloned());
    reasons.extend(asked.missing.iter().cloned());
    for compared in backtest {
        let Some(bound) = bound(measured, compared) else { continue };
        let load = match compared.load {
            Load::Users(users) => format!("with {users} users"),
            Load::Rate(_) | Load::Even(_) => format!("at {:.1} requests a second", compared.rate),
        };
        if compared.known().is_none() {
            let Figure { low, high, .. } = compared.predicted;
            reasons.push(format!(
                "{} {load} is unknown: its prediction of {} to {} is too wide, measure for longer (--length)",
                name(compared.what),
                short(low),
                short(high)
            ));
        } else if compared.off().is_nan() || compared.off().abs() > bound {
            reasons.push(format!(
                "{} {load} is {:+.0} % off, more than {:.0} %",
                name(compared.what),
                100.0 * compared.off(),
                100.0 * bound
            ));
        }
    }
    for trial in measured.trials.iter().filter(|trial| !trial.at_limit) {
        let (arrived, served) = (trial.arrived(), trial.throughput().map_or(0.0, |figure| figure.value));
        if served < KEPT_UP * arrived {
            reasons.push(format!(
                "{served:.1} of {arrived:.1} requests a second got a response in their trial, although {} users got {:.1}: with \
                 more connections than threads, a connection may wait for a thread that waits on another one; \
                 --no-keep-alive measures without kept connections",
                fitted.knee, fitted.best.value
            ));
        }
    }
    let predicted =
        |trial: &Trial| backtest.iter().any(|one| one.rate == trial.rate && one.what == What::P95);
    for trial in measured.trials.iter().filter(|trial| !trial.at_limit && !predicted(trial)) {
        reasons.push(format!(
            "no prediction of p95 at {:.1} requests a second: the backtest was ended, or the model has no response",
            trial.rate
        ));
    }
    if backtest.is_empty() {
        reasons.push("no trial to compare the model with".to_owned());
    }
    if fitted.bound == Bound::NotReached && !asked.known.below_limit && asked.known.alone_at_most.is_none() {
        reasons.push("the limit was not reached; raise --users-max".to_owned());
    }
    if fitted.is_between(asked.known) {
        reasons.push(
            "processors are busy, but not all the time, and threads do not explain it: either they limit the service, or a \
             pool that is hardly smaller; measure for longer (--length), on a quiet machine"
                .to_owned(),
        );
    }
    // A part of the response time that is small in any case is as good as none.
    let matters = |figure: Figure| figure.high > NEGLIGIBLE * fitted.alone.value;
    let needed = [
        ("processor time", fitted.cpu.is_some_and(matters)),
        ("wait", matters(fitted.wait)),
        ("best throughput", true),
    ];
    for (name, needed) in needed {
        if needed && figures.iter().any(|figure| figure.name == name && figure.value.is_none()) {
            reasons.push(format!("{name} is unknown"));
        }
    }
    let machine_limits = measured.machine_busy.is_some_and(|busy| busy > MACHINE_FULL);
    if machine_limits && !matches!(fitted.bound, Bound::Cores) {
        reasons.push(
            "this machine had no processor time left, so the generator and other processes may have limited the \
             service; give the service cores of its own (taskset), or run the generator elsewhere"
                .to_owned(),
        );
    }
    reasons
}

fn assumptions(asked: &Asked<'_>, fitted: &Fitted) -> Vec<String> {
    let mut all = vec![
        "half of the processor time is before the wait, half after it".to_owned(),
        "the wait does not depend on the load".to_owned(),
    ];
    match asked.known.lock {
        Some(Lock::Free) => (),
        Some(Lock::After(time)) => all.push(format!(
            "one thread of a process runs at a time (global lock, given up after {} ms)", time.as_secs_f64() * 1e3
        )),
        Some(Lock::Held) => all.push("one request of a process runs at a time (event loop)".to_owned()),
        None if asked.known.cores.is_some_and(|cores| cores <= 1.0) => {
            all.push(ONE_CORE.to_owned());
        }
        None if fitted.bound == Bound::Processes => all.push(
            "a process keeps at most one core busy; whether a thread gives the lock up is not shown: --lock gives it".to_owned(),
        ),
        None => all.push("no global lock; --lock gives one".to_owned()),
    }
    if asked.known.stays_on_connection {
        all.push(
            "a thread stays on a kept connection for 200 ms after a response, and serves no other".to_owned(),
        );
    }
    if matches!(fitted.bound, Bound::Pool(_)) {
        all.push(match &fitted.pooled {
            None => "a request holds its place of the pool during the whole wait".to_owned(),
            Some(part) => {
                format!("a request holds its place of the pool during `{part}`, after the rest of the wait")
            }
        });
    }
    if fitted.costs.len() > 1 {
        all.push("the costs of the endpoints keep their proportions under load".to_owned());
    }
    all.extend(mix_assumptions(asked.mix.as_ref()));
    if fitted.cpu.is_none() {
        all.push(
            "processor time is part of the wait, so policies on processor use cannot be simulated".to_owned(),
        );
    }
    all
}

/// What the source of a mix leaves out.
fn mix_assumptions(mix: Option<&MixSource>) -> Option<String> {
    match mix? {
        MixSource::Scenario => Some(
            "requests arrive independently of each other; those of a user of the scenario follow each other, without think \
             times"
                .to_owned(),
        ),
        MixSource::Log(rare) => {
            let ([(name, share), more @ ..], sum) = (rare.as_slice(), rare.iter().map(|one| one.1).sum::<f64>()) else {
                return None;
            };
            let named = format!("{name} ({:.2} %)", 100.0 * share);
            let whole = 100.0 * sum;
            Some(match more.len() {
                0 => format!("an endpoint that is too rare to be measured is left out: {named}"),
                more => format!(
                    "endpoints that are too rare to be measured are left out: {named} and {more} more, together {whole:.1} % \
                     of the requests"
                ),
            })
        }
    }
}

fn level(level: &Level) -> said::Level {
    let sum =
        |sum: (f64, f64), slice: &super::Slice| Some((sum.0 + slice.cpu_seconds?, sum.1 + slice.seconds));
    let cores = level.slices.iter().try_fold((0.0, 0.0), sum).filter(|sum| sum.1 > 0.0);
    said::Level::new(level.users, level.rate(), cores.map(|sum| sum.0 / sum.1), &level.times)
}

fn compared(compared: &Compared) -> said::Compared {
    let known = compared.known();
    said::Compared {
        what: name(compared.what),
        rate_per_second: compared.rate,
        users: match compared.load {
            Load::Users(users) => Some(users),
            Load::Rate(_) | Load::Even(_) => None,
        },
        predicted: compared.predicted.value,
        measured: compared.measured,
        low: known.map(|figure| figure.low),
        high: known.map(|figure| figure.high),
    }
}

fn name(what: What) -> &'static str {
    match what {
        What::Throughput => "throughput",
        What::P50 => "p50_ms",
        What::P95 => "p95_ms",
        What::P99 => "p99_ms",
        What::Cpu => "cpu",
    }
}

const START: &str = "start-up time";
const TOO_WIDE: &str = "not measured";
/// Figures of the document, and what a case file calls them.
const NAMES: [(&[&str], &str); 6] = [
    (&["processor time"], "cpu"),
    (&["wait"], "wait"),
    (&["best throughput"], "throughput"),
    (&["cores"], "cores"),
    (&["processes", "threads a process"], "server"),
    (&[START, "processor time of start-up"], "start"),
];
/// Why an endpoint has no figures.
const RARE: &str = "too rare to be measured";
/// Where processor time comes from.
const PROCESSES: &str = "accounting of the service's processes, one user for this endpoint";
/// Why nothing is known of a request alone.
const NOT_ALONE: &str = "no run of one user, so nothing shows it";
/// Why a lock is not known with one core.
const ONE_CORE: &str = "no global lock: with one core, a lock cannot be told from the core; --lock sets it, which matters for \
                        a model with more cores";
/// A prediction of p95 at the highest trial further off makes the model suspect.
const P95_OFF: f64 = 0.25;
/// Likewise for throughput, at any trial.
const THROUGHPUT_OFF: f64 = 0.10;
/// A trial with a smaller share of its arrivals served was overloaded.
const KEPT_UP: f64 = 0.95;
/// A wait, or a processor time, below this share of the response time does not matter.
const NEGLIGIBLE: f64 = 0.1;
/// A machine that is busier has no time left.
const MACHINE_FULL: f64 = 0.95;
