//! The limit that `headroom find` found, in the words of the proxy that people already run: [`Limit::of`] reads the
//! result of a search, [`Limit::text`] is the proxy's file.
//!
//! ## Why from the JSON of the search
//! The ledger keeps that JSON, so that a run of last week and one that has just ended give the same file.
//!
//! ## Why a whole configuration and not a snippet
//! A file that the proxy's own check accepts can be tried as it is; the comments say which lines carry the limit and
//! what the proxy cannot do of what our gateway does.

mod envoy;
mod haproxy;
mod nginx;
#[cfg(test)]
mod tests;

use control::search::limits::{Facts, Limits, RateLimit, ServiceLimit, alone, carried};
use control::search::{Condition, LimitedBy};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::time::Duration;
use units::{Quantile, Rate, Ratio};

/// The proxy to write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxy {
    /// `limit_req` and `limit_conn`.
    Nginx,
    /// A stick table's rate, `maxconn`, `maxqueue` and `timeout queue`.
    Haproxy,
    /// `local_ratelimit`, circuit breakers, `adaptive_concurrency`.
    Envoy,
}

/// Why there is nothing to write.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// Another command's result, or none.
    #[error("{0} is no finished search; only `headroom find` finds a limit")]
    NoSearch(String),
    /// A search without a limit.
    #[error(
        "no limit was found, so there is none to write: the search ended as `{ended}` and found `{found}`; see what it says of its goal, or try another --slo"
    )]
    NoLimit {
        /// How the search ended.
        ended: String,
        /// What it found.
        found: String,
    },
}

/// The service behind the proxy: the parts of the URL that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Whether it speaks TLS.
    pub is_secure: bool,
    /// A name, or an address without brackets.
    pub host: String,
    /// Where it listens.
    pub port: u16,
    /// Host and port as the `Host` field has them.
    pub authority: String,
    /// The path that was measured, as it is sent and without a query.
    pub path: String,
}

/// The limits and where they come from.
#[derive(Debug)]
pub struct Limit {
    /// The URL that was measured.
    target: String,
    /// The rate of the measured path; `None` where nothing limited it.
    rate: Option<RateLimit>,
    /// The most in flight on the measured path; `None` where nothing limited it.
    in_flight: Option<u32>,
    /// The most in flight on the other paths, and its queue; `None` with `--only-path`.
    others: Option<ServiceLimit>,
    /// A share of this is to come in time.
    quantile: Quantile,
    /// What was measured, a line each.
    provenance: Vec<String>,
}

impl Limit {
    /// Reads the result of a search, which is the JSON of `headroom find`.
    ///
    /// # Errors
    /// Where this is no search, or the search found no limit.
    pub fn of(search: &Json) -> Result<Self, EmitError> {
        let text = |key: &str| search[key].as_str().map(str::to_owned);
        let number = |object: &str, key: &str| search[object][key].as_f64();
        let (Some(url), Some(ended), Some(found)) = (text("target"), text("ended"), text("found")) else {
            return Err(EmitError::NoSearch("this run".to_owned()));
        };
        let no_limit = || EmitError::NoLimit { ended: ended.clone(), found: found.clone() };
        // Searches of earlier versions stated rates that were not verified.
        let verified = search["sustainable_rate"]["verified"].as_bool() == Some(true);
        if ended != "done" || !verified {
            return Err(no_limit());
        }
        let facts = facts(search, &found).ok_or_else(no_limit)?;
        let limits = Limits::of(&facts);
        let others = (!facts.only_path).then_some(limits.service);
        let in_flight = limits.gated.map(|gated| gated.in_flight);
        if in_flight.is_none() && others.is_none() {
            return Err(no_limit());
        }
        let low = facts.low;
        let interval = match (number("sustainable_rate", "high"), number("sustainable_rate", "confidence")) {
            (Some(high), Some(confidence)) => {
                format!("{low} to {} ({:.0} % confidence)", rate(high), confidence * 100.0)
            }
            _ => format!("at least {low}"),
        };
        let goals: Vec<&str> =
            search["slo"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let run = text("run").map_or("not recorded".to_owned(), |run| format!("{run} in the ledger"));
        let limit = match (limits.rate(), in_flight) {
            (Some(limit), Some(in_flight)) => {
                let why = if facts.time.is_some() { "5 % below the low end" } else { "the low end" };
                format!("{}, {why}; {in_flight} in flight", limit.rate)
            }
            _ => "none: nothing limited the measured path up to the highest rate sent".to_owned(),
        };
        let other = others.map_or("no limit (--only-path)".to_owned(), |others| {
            format!(
                "not measured; {} in flight, the most that brought nearly the best throughput",
                others.fixed
            )
        });
        let provenance = vec![
            format!("target            {url}"),
            format!("run               {run}, {}", text("date").unwrap_or_default()),
            format!("sustainable rate  {interval}"),
            format!("goal              {}", goals.join(", ")),
            format!("limited by        {}", facts.limited_by),
            format!("knee              {} in flight, at best with {}", facts.knee, facts.best_at),
            format!("measured path     {limit}"),
            format!("other paths       {other}"),
        ];
        let quantile = facts.time.map_or(Quantile::P95, |(_, quantile)| quantile);
        Ok(Limit { target: url, rate: limits.rate(), in_flight, others, quantile, provenance })
    }

    /// The URL that was measured.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The whole configuration of a proxy in front of the service.
    pub fn text(&self, proxy: Proxy, service: &Service) -> String {
        match proxy {
            Proxy::Nginx => nginx::text(self, service),
            Proxy::Haproxy => haproxy::text(self, service),
            Proxy::Envoy => envoy::text(self, service),
        }
    }

    /// A regular expression for the measured path and all below it; for `/` itself where that was measured. Segments
    /// are between `separator`s and may have `;` parameters; `end` follows the last one.
    fn pattern(path: &str, separator: &str, end: &str) -> String {
        let names = path.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
        let segments: Vec<&str> = names.filter(|name| !matches!(*name, "" | ".")).collect();
        let each = segments.iter().map(|segment| format!("{separator}{}{PARAMETERS}", escaped(segment)));
        match segments.is_empty() {
            true => format!("{separator}{PARAMETERS}$"),
            false => each.collect::<String>() + end,
        }
    }

    /// The first lines of a file: who wrote it, and what it rests on.
    fn head(&self, proxy: &str) -> String {
        let mut text = format!("{MARK}\n# The limit that was measured, for {proxy}.\n#\n");
        for line in &self.provenance {
            // A URL has no control characters, but a ledger may come from anywhere.
            let line: String = line.chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(text, "#   {line}");
        }
        text += "#\n";
        text
    }
}

impl Service {
    /// Whether the measured path is `/`, which stands for itself only.
    fn is_root(&self) -> bool {
        self.path.trim_matches('/').is_empty()
    }

    /// Host and port to connect to.
    fn server(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// What the search knows of the service.
fn facts(search: &Json, found: &str) -> Option<Facts> {
    let goals = search["slo"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let binding = search["binding"].as_str();
    let conditions: Vec<Condition> =
        binding.into_iter().chain(goals).filter_map(|goal| goal.parse().ok()).collect();
    let time = conditions.iter().find_map(|condition| match condition {
        Condition::ResponseTime { quantile, below } => Some((*below, *quantile)),
        Condition::Failed { .. } => None,
    });
    let failed = conditions.iter().find_map(|condition| match condition {
        Condition::Failed { below } => Some(*below),
        Condition::ResponseTime { .. } => None,
    });
    let told = search["limited_by"].as_str().and_then(LimitedBy::named);
    // Searches of earlier versions told the binding condition only.
    let limited_by = told.or(match (found, conditions.first()) {
        ("at_least", _) => Some(LimitedBy::Nothing),
        (_, Some(Condition::Failed { .. })) => Some(LimitedBy::Failures),
        (_, Some(Condition::ResponseTime { .. })) => Some(LimitedBy::ResponseTime),
        (_, None) => None,
    })?;
    let count = |key| search["knee"][key].as_u64().and_then(|count| u32::try_from(count).ok());
    let knee = count("in_flight")?.max(1);
    let steps: Vec<(u32, Rate)> = search["closed_loop"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|step| {
            let in_flight = u32::try_from(step["in_flight"].as_u64()?).ok()?;
            Some((in_flight, Rate::try_per_second(step["good_per_second"].as_f64()?)?))
        })
        .collect();
    let low = search["sustainable_rate"]["low"].as_f64().and_then(Rate::try_per_second)?;
    let calm = search["calm_response_time_ms"].as_f64().unwrap_or_default();
    Some(Facts {
        low: Some(low).filter(|low| *low > Rate::ZERO)?,
        limited_by,
        time,
        failed: failed.unwrap_or(Ratio::ONE),
        calm: Duration::try_from_secs_f64(calm / 1e3).ok()?,
        knee,
        best_at: count("best_in_flight")?.max(knee),
        carried: carried(steps.iter().copied()),
        alone: steps.first().and_then(|&(in_flight, throughput)| alone(in_flight, throughput)),
        only_path: search["only_path"].as_bool() == Some(true),
    })
}

/// A text that a regular expression takes for itself.
fn escaped(text: &str) -> String {
    let special = |c: char| "\\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// `;` parameters of a segment, which some services cut off.
const PARAMETERS: &str = "(;[^/]*)?";

/// Slashes, also backward ones, and segments of one dot.
const SEPARATOR: &str = r"[/\\]+(\.[/\\]+)*";

/// What follows the measured path, if anything.
const END: &str = r"([/\\]|$)";

/// The first line of each file that a search writes, also of a gateway file.
pub const MARK: &str = "# Written by headroom find.";

/// The port of the loopback address on which the proxy of a written file listens, and the gateway of one.
pub const PORT: u16 = 8080;

fn listen() -> String {
    format!("127.0.0.1:{PORT}")
}

fn rate(per_second: f64) -> String {
    Rate::try_per_second(per_second).map_or_else(|| per_second.to_string(), |rate| rate.to_string())
}

/// In whole milliseconds, at least one.
fn millis(span: Duration) -> u128 {
    span.as_millis().max(1)
}

/// Comment lines.
fn comment(indent: &str, text: &str) -> String {
    text.lines().map(|line| format!("{indent}# {line}").trim_end().to_owned() + "\n").collect()
}

/// The path with its escapes resolved: what proxies compare, or one escaped byte would lead past the limit.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push((high * 16 + low) as u8);
            rest = &behind[2..];
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
