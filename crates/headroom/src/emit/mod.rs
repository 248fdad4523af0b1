//! The limit that `headroom find` found, in the words of the proxy that people already run.
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

use crate::commands::find::{GATEWAY_PORT, Limits, MARK, limits_of};
use control::search::Condition;
use http::dial::{Origin, OriginError, Scheme};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::time::Duration;
use units::{Quantile, Rate};

/// The proxy to write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Proxy {
    /// limit_req and limit_conn
    Nginx,
    /// A stick table's rate, maxconn, maxqueue and timeout queue
    Haproxy,
    /// local_ratelimit, circuit breakers, adaptive_concurrency
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
    /// A URL that cannot be read any more.
    #[error(transparent)]
    Url(#[from] OriginError),
}

/// The configuration of a proxy with the limit that a search found; `search` is the search's JSON.
///
/// # Errors
/// Where the search found no limit.
pub fn emit(proxy: Proxy, search: &Json) -> Result<String, EmitError> {
    let limit = Limit::of(search)?;
    Ok(match proxy {
        Proxy::Nginx => nginx::text(&limit),
        Proxy::Haproxy => haproxy::text(&limit),
        Proxy::Envoy => envoy::text(&limit),
    })
}

/// A limit and where it comes from.
#[derive(Debug)]
struct Limit {
    /// With whom the service speaks.
    origin: Origin,
    /// The path that was measured, as it is sent.
    path: String,
    limits: Limits,
    /// So many requests may come at once, and so many may wait.
    room: u32,
    /// A share of this is to come within the target.
    quantile: Quantile,
    /// What was measured, a line each.
    provenance: Vec<String>,
}

impl Limit {
    fn of(search: &Json) -> Result<Self, EmitError> {
        let text = |key: &str| search[key].as_str().map(str::to_owned);
        let number = |object: &str, key: &str| search[object][key].as_f64();
        let (Some(url), Some(ended), Some(found)) = (text("target"), text("ended"), text("found")) else {
            return Err(EmitError::NoSearch("this run".to_owned()));
        };
        let no_limit = || EmitError::NoLimit { ended: ended.clone(), found: found.clone() };
        if ended != "done" {
            return Err(no_limit());
        }
        let goals = search["slo"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let binding = text("binding");
        let conditions = binding.as_deref().into_iter().chain(goals).filter_map(|goal| goal.parse().ok());
        let (target, quantile) = conditions
            .filter_map(|condition| match condition {
                Condition::ResponseTime { quantile, below } => Some((below, quantile)),
                Condition::Failed { .. } => None,
            })
            .next()
            .ok_or_else(no_limit)?;
        let low = number("sustainable_rate", "low").and_then(Rate::try_per_second).ok_or_else(no_limit)?;
        let count = |key| search["knee"][key].as_u64().and_then(|count| u32::try_from(count).ok());
        let (Some(knee), Some(best_at)) = (count("in_flight"), count("best_in_flight")) else {
            return Err(no_limit());
        };
        let limits = limits_of(low, knee, best_at, target, quantile).ok_or_else(no_limit)?;
        let (origin, rest) = Origin::of_url(&url)?;
        let path = rest.split('?').next().filter(|path| !path.is_empty()).unwrap_or("/").to_owned();
        let interval = match (number("sustainable_rate", "high"), number("sustainable_rate", "confidence")) {
            (Some(high), Some(confidence)) => {
                format!("{low} to {} ({:.0} % confidence)", rate(high), confidence * 100.0)
            }
            _ => format!("at least {low}"),
        };
        let goals: Vec<&str> =
            search["slo"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let run = text("run").map_or("not recorded".to_owned(), |run| format!("{run} in the ledger"));
        let provenance = vec![
            format!("target            {url}"),
            format!("run               {run}, {}", text("date").unwrap_or_default()),
            format!("sustainable rate  {interval}"),
            format!("goal              {}", goals.join(", ")),
            format!("knee              {knee} in flight, at best with {best_at}"),
            format!(
                "limit             {}, 5 % below the low end; {} in flight",
                limits.rate, limits.in_flight
            ),
        ];
        Ok(Limit { origin, path, room: limits.room(), limits, quantile, provenance })
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

    fn is_secure(&self) -> bool {
        self.origin.scheme == Scheme::Https
    }

    /// Host and port to connect to.
    fn server(&self) -> String {
        match self.origin.host.contains(':') {
            true => format!("[{}]:{}", self.origin.host, self.origin.port),
            false => format!("{}:{}", self.origin.host, self.origin.port),
        }
    }
}

/// Where the proxy listens: what the gateway file has, too.
fn listen() -> String {
    format!("127.0.0.1:{GATEWAY_PORT}")
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
