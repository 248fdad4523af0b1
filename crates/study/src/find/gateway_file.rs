//! The gateway file: the limits that were found, each with where it comes from, and what only follows from them.

use ::load::Target;
use control::policy::PolicySettings;
use control::rate::{Limit, RateSettings};
use control::search::limits::{Limits, RateLimit};
use control::service_level::ServiceLevelSettings;
use documents::emit::{MARK, PORT};
use documents::find::Outcome;
use gateway::settings::{Class, ConcurrencySettings, PathMatch, Policy, Pool, Provenance, Route, Settings};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The file must not be written.
#[derive(Debug, thiserror::Error)]
pub enum TakenError {
    /// Somebody else's.
    #[error(
        "{} is there already and was not written by `headroom find`; give another name with --write FILE, write nothing with --no-write, or overwrite it with --force",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The system does not say whose it is.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The gateway's settings.
pub fn settings(target: &Target, outcome: &Outcome, limits: &Limits) -> Settings {
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let to = target.socket_address().unwrap_or_else(|| local(80));
    let run = outcome.run.clone().unwrap_or_else(|| "not recorded".to_owned());
    let provenance = Provenance { run, date: outcome.date.clone(), target: outcome.target.clone() };
    let mut settings = Settings {
        admin: Some(local(ADMIN).into()),
        pools: vec![Pool::new("service", vec![to])],
        ..Settings::new(local(PORT))
    };
    let mut measured = Route { any_spelling: true, ..Route::new("", measured_path(&target.path), 0) };
    measured.name = match &measured.path {
        PathMatch::Exact(path) | PathMatch::Prefix(path) => path.clone(),
    };
    let mut rest = Route::new("/*", PathMatch::Prefix("/".to_owned()), 0);

    let level = ServiceLevelSettings {
        target: limits.target,
        window: ServiceLevelSettings::DEFAULT_WINDOW,
        not_conforming: outcome.not_conforming(),
    };
    if level.target.is_some() || !level.not_conforming.is_empty() {
        settings
            .service_levels
            .push(Class { provenance: Some(provenance.clone()), ..Class::new("timer", level) });
        measured.service_level = Some(0);
    }
    let mut rate_class = |name: &str, limit: RateLimit| {
        let rate = RateSettings {
            per_second: Some(Limit { rate: limit.rate, burst: limit.room }),
            per_minute: None,
            backlog: limit.room,
            longest_wait: limit.longest_wait,
        };
        settings.rate_classes.push(Class { provenance: Some(provenance.clone()), ..Class::new(name, rate) });
        settings.rate_classes.len() - 1
    };
    let mut concurrency_limit = |name: &str, limit: ConcurrencySettings| {
        let class = Class { name: name.to_owned(), settings: limit, provenance: Some(provenance.clone()) };
        settings.concurrency_limits.push(class);
        settings.concurrency_limits.len() - 1
    };
    measured.rate_class = limits.always.map(|limit| rate_class("always", limit));
    if let Some(gated) = limits.gated {
        // Fewer samples than these cannot show that a share is missed and not one response by chance.
        let min_samples = (1.0 / gated.enter.rest().get()).ceil().clamp(1.0, MOST_SAMPLES) as u64;
        let knee = ConcurrencySettings { adaptive: gated.adaptive, ..gated.in_flight.into() };
        settings.policies.push(Policy {
            settings: PolicySettings { enter: gated.enter, leave: gated.enter, min_samples },
            rate_class: gated.rate.map(|limit| rate_class("limit", limit)),
            concurrency: Some(concurrency_limit("knee", knee)),
            ..Policy::new("protect", 0)
        });
        measured.policy = Some(0);
    }
    if !outcome.only_path {
        let limit = limits.service;
        let service = ConcurrencySettings {
            adaptive: Some(limit.adaptive),
            queue: Some(limit.queue),
            ..limit.in_flight.into()
        };
        let service = Some(concurrency_limit("service", service));
        (measured.concurrency, rest.concurrency) = (service, service);
    }
    settings.routes = vec![measured, rest];
    settings
}

/// The measured path and all below it. Everything is below `/`, so that one stands for itself.
fn measured_path(path: &str) -> PathMatch {
    match path.trim_end_matches('/') {
        "" => PathMatch::Exact("/".to_owned()),
        path => PathMatch::Prefix(path.to_owned()),
    }
}

/// What a file says before its settings: what was measured, and what only follows from it.
pub fn notes(target: &Target, outcome: &Outcome, limits: &Limits) -> String {
    let low = outcome.low().map_or_else(String::new, |low| format!(" at {low}"));
    // What YAML takes for the end of a line would end the comment.
    let url = outcome.target.replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), " ");
    let mut text = format!("# Measured: {url} holds {}{low}.\n", outcome.goal);
    let mut line = |line: &str| {
        let _ = writeln!(text, "{}", format!("# {line}").trim_end());
    };
    line(&format!("Limited by {}.", limits.limited_by));
    let path = match measured_path(&target.path) {
        PathMatch::Exact(_) => "the path /".to_owned(),
        PathMatch::Prefix(path) => format!("the path {path} and all below it"),
    };
    line("");
    line(&format!("On {path}, in upper and lower case and however else it is spelt:"));
    match (limits.always, limits.gated) {
        (Some(always), _) if limits.limited_by.failures() => line(&format!(
            "- `always` keeps to {}, the rate that held: failures are seen too late to limit only then.",
            always.rate
        )),
        (_, None) => {
            line("- no rate class: nothing limited the service up to the highest rate that was sent.")
        }
        _ => {}
    }
    if let Some(gated) = limits.gated {
        let limit = if gated.rate.is_some() { "`limit` and `knee` apply" } else { "`knee` applies" };
        line(&format!("- {limit} while fewer than {} of the responses conform.", gated.enter));
    }
    line("");
    line("No other path was measured.");
    if outcome.only_path {
        line("They have no limit here (--only-path): a flood on another path can overload the service.");
        return text;
    }
    line(
        "`service` bounds the requests in flight of all paths together. It begins with the concurrency of the best",
    );
    line(
        "throughput of the measured path, as far as the goal has room for it, and grows while response times stay",
    );
    line(
        "near those of calm. Requests wait for a place; `timer` counts from sending, so its target is shorter by that.",
    );
    line(
        "Paths that hold requests open (event streams, long polls) take its places for as long: give each of them a",
    );
    line("route of its own, without it, before the last one.");
    text
}

/// The file's text: [`notes`] before the settings as text.
pub fn text(notes: &str, settings: &Settings) -> String {
    format!("{MARK}\n{notes}\n{}", config::write(settings))
}

/// Whether `path` may be written: it is not there, or an earlier search wrote it.
///
/// # Errors
/// Where it is somebody else's, or cannot be read.
pub fn check(path: &Path) -> Result<(), TakenError> {
    let mut begin = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut begin)) {
        Ok(_) if begin == MARK.as_bytes() => Ok(()),
        Ok(_) => Err(TakenError::NotOurs { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(TakenError::Io { path: path.to_owned(), source }),
    }
}

/// Strict goals must not wait for ever.
const MOST_SAMPLES: f64 = 1_000.0;

const ADMIN: u16 = 9901;
