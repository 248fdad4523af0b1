//! Queries of a Prometheus, one at a time: each call returns with the response.

use crate::endpoint::{Client, Endpoint};
use crate::query::{self, PATH};
use std::time::Duration;

/// A Prometheus, or another server with its query API.
#[derive(Debug)]
pub struct Prometheus {
    client: Client,
    endpoint: Endpoint,
}

impl Prometheus {
    /// The server of a base URL, asked for at most this long.
    pub fn new(endpoint: &Endpoint, timeout: Duration) -> Self {
        Prometheus { client: Client::new(timeout), endpoint: endpoint.below(PATH) }
    }

    /// The number of a query that gives one series; none if it gives no series.
    ///
    /// # Errors
    /// The server does not respond or refuses, or it gives something else; in words.
    pub fn number(&self, text: &str) -> Result<Option<f64>, String> {
        match query::read(&self.ask(text)?) {
            Ok(value) => Ok(Some(value)),
            Err((measure::Gap::Absent, _)) => Ok(None),
            Err((_, why)) => Err(why),
        }
    }

    /// The series of a query by their label `le`, with the bounds of a histogram in rising order; the last one is infinite.
    ///
    /// # Errors
    /// As [`Prometheus::number`], or a series has no such label.
    pub fn by_bound(&self, text: &str) -> Result<Vec<(f64, f64)>, String> {
        query::read_by_bound(&self.ask(text)?)
    }

    fn ask(&self, text: &str) -> Result<crate::endpoint::Answer, String> {
        self.client.get(&self.endpoint, &[("query", text)])
    }
}
