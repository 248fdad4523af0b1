//! The gateway file: the limits that were found, each with where it comes from.
//!
//! ## Why a rate and a concurrency limit
//! The rate keeps a calm service calm. Once a queue has formed, a rate near the capacity never drains it, and a service
//! that does less the more it has in flight stays down; few in flight brings it back.
//!
//! ## Why the concurrency limit is adaptive
//! What was measured is one day's service; a fixed limit is wrong from its next deploy on. A limit that follows the
//! service needs to know what calm is, and must never fall so far that the measured rate does not fit through any more.
//! Both were measured: the calm response time and the rate that holds are its prior. And it never grows beyond the
//! requests for which the goal has room, where a limit that only looks for a queue would.
//!
//! ## Why the policy enters at the goal's own share
//! A goal of p95 lets one response of twenty be late. Below that share the goal is missed, and the limits apply.

use super::outcome::Outcome;
use ::load::Target;
use config::{PRIOR_SAMPLES, Quick};
use control::concurrency::Prior;
use control::policy::PolicySettings;
use control::search::closed_loop::Knee;
use gateway::settings::{Adaptive, PathMatch, Provenance, Route, Settings};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Quantile, Rate, Ratio};

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody else's.
    #[error(
        "{} is there already and was not written by `headroom find`; give another name with --write FILE, write nothing with --no-write, or overwrite it with --force",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What the file limits to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The rate class.
    pub rate: Rate,
    /// The concurrency limit; the first value where it follows the service.
    pub in_flight: u32,
    /// Between which bounds it follows the service; `None` where it is fixed.
    pub adaptive: Option<Adaptive>,
    /// The target of the service level class.
    pub target: Duration,
    /// The conforming share below which the limits apply.
    pub enter: Ratio,
}

/// The rate that keeps a service calm whose sustainable rate is at least `low`: 5 % below it.
pub fn protected(low: Rate) -> Rate {
    rounded_down(low * BELOW_LOW)
}

impl Limits {
    /// Users do not come evenly spaced: as many may come at once, and as many may wait, as the goal has room for.
    pub fn room(&self) -> u32 {
        ((self.rate * self.target * BURST_SHARE) as u32).max(1)
    }
}

/// The limits, where the search knows enough.
pub fn limits(outcome: &Outcome) -> Option<Limits> {
    let (target, quantile) = outcome.target_time()?;
    let (low, knee) = (outcome.low()?, outcome.knee.as_ref()?);
    let limits = limits_of(low, knee.knee, knee.best_at, target, quantile)?;
    let Some(prior) = prior(low, knee) else { return Some(limits) };
    let least = prior.floor();
    let in_flight = limits.in_flight.max(least);
    let most = most(low, knee.knee, target).max(in_flight);
    Some(Limits { in_flight, adaptive: Some(Adaptive { least, most, prior: Some(prior) }), ..limits })
}

/// The fixed limits of a service that carries `low`, with the concurrencies of its knee.
pub fn limits_of(low: Rate, knee: u32, best_at: u32, target: Duration, quantile: Quantile) -> Option<Limits> {
    if low <= Rate::ZERO {
        return None;
    }
    let enter = Ratio::new(quantile.get())?;
    // Between the first and the best concurrency of the knee, as far as the goal has room for a queue: right at the
    // first one, two requests that come a little too close would already be shed.
    let in_flight = best_at.clamp(knee, most(low, knee, target)).max(1);
    Some(Limits { rate: protected(low), in_flight, adaptive: None, target, enter })
}

/// The most in flight for which the goal has room.
fn most(low: Rate, knee: u32, target: Duration) -> u32 {
    ((low * target * QUEUE_SHARE) as u32).max(knee)
}

/// What was measured, for a limit that follows the service: the rate that holds, and the mean response time of a single
/// connection.
///
/// The mean follows from the throughput of the first step by Little's law. The median would not do: the limit compares
/// means, and where a few answers are slow the median is far below.
fn prior(low: Rate, knee: &Knee) -> Option<Prior> {
    let alone = knee.steps.first().filter(|step| step.throughput > Rate::ZERO)?;
    let mean = f64::from(alone.concurrency) / alone.throughput.per_second();
    let micros = Duration::try_from_secs_f64(mean).ok()?.as_micros().max(1);
    let response_time = Duration::from_micros(u64::try_from(micros).ok()?);
    Some(Prior { rate: rounded_down(low), response_time, weight: PRIOR_SAMPLES })
}

/// The gateway's settings.
pub fn settings(target: &Target, outcome: &Outcome, limits: &Limits) -> Settings {
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut settings = config::quick(Quick {
        to: target.socket_address().unwrap_or_else(|| local(80)),
        listen: local(LISTEN),
        limit: Some(limits.rate),
        target: Some(limits.target),
        concurrency: NonZeroU32::new(limits.in_flight),
        admin: Some(local(ADMIN)),
    });
    let run = outcome.run.clone().unwrap_or_else(|| "not recorded".to_owned());
    let provenance = Provenance { run, date: outcome.date.clone(), target: outcome.target.clone() };
    for class in &mut settings.service_levels {
        class.provenance = Some(provenance.clone());
    }
    for class in &mut settings.rate_classes {
        class.provenance = Some(provenance.clone());
        let room = limits.room();
        if let Some(limit) = &mut class.settings.rate.per_second {
            limit.burst = room;
        }
        class.settings.rate.backlog = room;
        class.settings.rate.longest_wait = limits.target;
    }
    for class in &mut settings.concurrency_limits {
        class.name = "knee".to_owned();
        class.provenance = Some(provenance.clone());
        class.settings.adaptive = limits.adaptive;
    }
    for policy in &mut settings.policies {
        // Fewer samples than these cannot show that a share is missed and not one response by chance.
        let min_samples = (1.0 / limits.enter.rest().get()).ceil().clamp(1.0, MOST_SAMPLES) as u64;
        policy.settings = PolicySettings { enter: limits.enter, leave: limits.enter, min_samples };
    }
    let others = settings.routes.clone();
    for route in &mut settings.routes {
        route.name = target.path.clone();
        route.path = PathMatch::Exact(target.path.clone());
    }
    settings.routes.extend(others.into_iter().map(|route| Route {
        policy: None,
        service_level: None,
        ..route
    }));
    settings
}

/// The file's text.
pub fn text(settings: &Settings) -> String {
    format!("{MARK}\n{}", config::write(settings))
}

/// Whether `path` may be written: it is not there, or an earlier search wrote it.
///
/// # Errors
/// Where it is somebody else's, or cannot be read.
pub fn check(path: &Path) -> Result<(), WriteError> {
    let mut begin = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut begin)) {
        Ok(_) if begin == MARK.as_bytes() => Ok(()),
        Ok(_) => Err(WriteError::NotOurs { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(WriteError::Io { path: path.to_owned(), source }),
    }
}

/// Writes the file.
///
/// # Errors
/// Where the system refuses.
pub fn write(path: &Path, text: &str) -> Result<(), WriteError> {
    let mut file =
        std::fs::File::create(path).map_err(|source| WriteError::Io { path: path.to_owned(), source })?;
    file.write_all(text.as_bytes()).map_err(|source| WriteError::Io { path: path.to_owned(), source })
}

/// Requests in flight may take this share of the goal's bound; the rest is for what varies.
const QUEUE_SHARE: f64 = 0.75;

/// Requests that come at once, and those that wait, may each take this share of the goal's bound.
const BURST_SHARE: f64 = 0.25;

/// Strict goals must not wait for ever.
const MOST_SAMPLES: f64 = 1_000.0;

/// Three digits are more than the interval knows.
fn rounded_down(rate: Rate) -> Rate {
    let digits = 10_f64.powf(2.0 - rate.per_second().log10().floor());
    Rate::try_per_second((rate.per_second() * digits).floor() / digits).unwrap_or(rate)
}

/// The first line of every file that a search wrote.
pub const MARK: &str = "# Written by headroom find.";
/// The rate class, as a share of the interval's low end.
const BELOW_LOW: f64 = 0.95;
/// Where the gateway of a written file listens.
pub const LISTEN: u16 = 8080;
const ADMIN: u16 = 9901;
