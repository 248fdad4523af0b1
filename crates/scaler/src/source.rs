//! Where the counts of requests come from: cumulative totals, read now and then.
//!
//! ## Why totals
//! A reader that misses a reading loses nothing: the next difference has it. Totals that run backwards show that what
//! counts them was restarted.

use crate::admin::{Admin, AdminError};
use crate::sample::{Counts, Quality};
use crate::settings::Gateway;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The totals of a service since some beginning: the JSON of the gateway's `GET /pools/POOL`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Totals {
    /// Requests that arrived.
    pub arrived: u64,
    /// Responses of instances.
    pub answered: u64,
    /// Those of them with a status of 500 or more.
    #[serde(default)]
    pub errors: u64,
    /// Requests that were shed.
    #[serde(default)]
    pub shed: u64,
    /// Requests without a complete response.
    #[serde(default)]
    pub failed: u64,
    /// At the instances now.
    pub in_flight: u64,
    /// Waiting in the gateway now.
    #[serde(default)]
    pub waiting: u64,
    /// Response times.
    #[serde(default)]
    pub response_times: Times,
    /// Sum of the times from sending to the first byte, in seconds.
    #[serde(default)]
    pub upstream_sum_s: f64,
    /// The instances of the pool.
    #[serde(default)]
    pub instances: Vec<PoolInstance>,
}

/// Response times in buckets.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Times {
    /// The middle of each bucket in seconds, with its count; counts wrap at 2^32.
    pub buckets: Vec<(f64, u32)>,
}

/// An instance of a pool, as the gateway has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PoolInstance {
    /// Its address.
    pub address: String,
    /// Its state, such as `available`.
    pub state: String,
    /// Whether it gets new requests.
    pub takes_requests: bool,
    /// Its requests.
    pub in_flight: u64,
}

/// Why there are no totals.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The gateway does not give them.
    #[error(transparent)]
    Gateway(#[from] AdminError),
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file has something else.
    #[error("{} has no totals of requests: {source}; expected the JSON of a gateway's GET /pools/POOL", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A Prometheus gives nothing.
    #[error("Prometheus {url}: {why}")]
    Prometheus {
        /// Its URL, without credentials.
        url: String,
        /// Why.
        why: String,
    },
    /// The file was not written again.
    #[error("{} was not written since the last reading", path.display())]
    Unchanged {
        /// The file.
        path: PathBuf,
    },
}

/// Something that counts requests.
pub trait Source: Send {
    /// The totals now. It may wait for some seconds.
    ///
    /// # Errors
    /// There are none now.
    fn read(&mut self) -> Result<Totals, SourceError>;
}

/// No requests at all, for policies that need none.
#[derive(Debug)]
pub struct NoRequests;

impl Source for NoRequests {
    fn read(&mut self) -> Result<Totals, SourceError> {
        Ok(Totals::default())
    }
}

/// A pool of a gateway.
#[derive(Debug)]
pub struct GatewaySource {
    admin: Admin,
    path: String,
}

impl GatewaySource {
    /// The source of a pool.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn new(gateway: &Gateway) -> Result<Self, AdminError> {
        Ok(GatewaySource { admin: Admin::new(gateway)?, path: pool_path(&gateway.pool) })
    }
}

impl Source for GatewaySource {
    fn read(&mut self) -> Result<Totals, SourceError> {
        let body = self.admin.get(&self.path)?;
        serde_json::from_slice(&body)
            .map_err(|error| self.admin.not_valid(format!("its JSON is no load of a pool ({error})")).into())
    }
}

/// A file that another program writes.
#[derive(Debug)]
pub struct FileSource {
    path: PathBuf,
    written: Option<SystemTime>,
}

impl FileSource {
    /// The source of a file.
    pub fn new(path: &Path) -> Self {
        FileSource { path: path.to_owned(), written: None }
    }
}

impl Source for FileSource {
    fn read(&mut self) -> Result<Totals, SourceError> {
        let failed = |source| SourceError::File { path: self.path.clone(), source };
        let written = std::fs::metadata(&self.path).and_then(|found| found.modified()).map_err(failed)?;
        if self.written == Some(written) {
            return Err(SourceError::Unchanged { path: self.path.clone() });
        }
        let text = std::fs::read(&self.path).map_err(failed)?;
        let totals = serde_json::from_slice(&text)
            .map_err(|source| SourceError::Content { path: self.path.clone(), source })?;
        self.written = Some(written);
        Ok(totals)
    }
}

/// The path of a pool: its name may have any characters.
pub fn pool_path(pool: &str) -> String {
    let mut path = "/pools/".to_owned();
    for byte in pool.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => path.push(byte as char),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// Totals to counts of a step.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    before: Option<Totals>,
}

impl Differences {
    /// The counts since the last call; missing for the first. `in_flight` is the average since then.
    pub(crate) fn since(&mut self, totals: &Totals, in_flight: f64) -> (Counts, Quality) {
        let Some(before) = self.before.replace(totals.clone()) else {
            return (Counts { in_flight, ..Counts::default() }, Quality::Missing);
        };
        let runs_backwards = totals.answered < before.answered
            || totals.shed < before.shed
            || totals.failed < before.failed
            || totals.upstream_sum_s < before.upstream_sum_s;
        if runs_backwards {
            return (Counts { in_flight, ..Counts::default() }, Quality::Contradicting);
        }
        let errors = totals.errors.saturating_sub(before.errors);
        let known: BTreeMap<u64, u32> =
            before.response_times.buckets.iter().map(|(at, count)| (at.to_bits(), *count)).collect();
        let times = totals
            .response_times
            .buckets
            .iter()
            .map(|&(at, count)| (at, count.wrapping_sub(known.get(&at.to_bits()).copied().unwrap_or(0))));
        let counts = Counts {
            // A request that a worker passes on is for a moment in no count.
            arrived: totals.arrived.saturating_sub(before.arrived),
            answered: (totals.answered - before.answered).saturating_sub(errors),
            errors,
            lost: totals.shed - before.shed + totals.failed - before.failed,
            in_flight,
            worked_s: totals.upstream_sum_s - before.upstream_sum_s,
            times: times.filter(|(_, count)| *count > 0).collect(),
        };
        (counts, Quality::Fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(answered: u64, buckets: Vec<(f64, u32)>) -> Totals {
        let text =
            format!(r#"{{"arrived":{},"answered":{answered},"in_flight":1,"later":{{}}}}"#, answered + 1);
        let totals: Totals = serde_json::from_str(&text).unwrap();
        Totals { response_times: Times { buckets }, upstream_sum_s: answered as f64 / 10.0, ..totals }
    }

    #[test]
    fn counts_are_differences_of_totals() {
        let mut differences = Differences::default();
        let (first, quality) = differences.since(&totals(1_000, vec![(0.1, 1_000)]), 2.0);
        assert_eq!((first.arrived, first.times.len()), (0, 0), "what came before the scaler is not its load");
        assert_eq!(quality, Quality::Missing, "nor does a service without requests need no instances");
        let (next, quality) = differences.since(&totals(1_030, vec![(0.1, 1_010), (0.2, 20)]), 2.5);
        assert_eq!((next.arrived, next.answered, next.in_flight), (30, 30, 2.5));
        assert_eq!(next.times, [(0.1, 10), (0.2, 20)]);
        assert!((next.worked_s - 3.0).abs() < 1e-9 && quality == Quality::Fresh);
        let (restarted, quality) = differences.since(&totals(5, vec![(0.1, 5)]), 0.0);
        assert_eq!((restarted.arrived, quality), (0, Quality::Contradicting));
        assert_eq!(differences.since(&totals(9, vec![(0.1, 9)]), 0.0).0.times, [(0.1, 4)]);
        // Buckets wrap.
        differences.since(&totals(10, vec![(0.1, u32::MAX)]), 0.0);
        assert_eq!(differences.since(&totals(15, vec![(0.1, 4)]), 0.0).0.times, [(0.1, 5)]);
    }

    #[test]
    fn a_file_that_nobody_writes_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("totals.json");
        let mut source = FileSource::new(&path);
        assert!(matches!(source.read(), Err(SourceError::File { .. })));
        std::fs::write(&path, "{}").unwrap();
        assert!(matches!(source.read(), Err(SourceError::Content { .. })));
        std::fs::write(&path, r#"{"arrived":3,"answered":2,"in_flight":1}"#).unwrap();
        assert_eq!(source.read().unwrap().arrived, 3);
        assert!(matches!(source.read(), Err(SourceError::Unchanged { .. })));
    }

    #[test]
    fn a_pool_may_have_any_name() {
        assert_eq!(pool_path("the pool/ä"), "/pools/the%20pool%2F%C3%A4");
    }
}
