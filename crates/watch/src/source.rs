//! Sources and what to query, as given by flags.
//!
//! `--prometheus URL` with `--watch 'healthy hosts=sum(up{job="x"})'`, any number of them, queries a Prometheus;
//! `--watch-metrics http://target:8080/metrics#name1,name2{label="x"}` reads the target's own metrics.

use crate::endpoint::{Endpoint, WrongEndpoint};
use crate::exposition::{Selector, WrongSelector};
use crate::query::PATH;
use std::str::FromStr;

/// A source that is queried at every sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A Prometheus, or another server with its query API.
    Prometheus {
        /// The server of the queries.
        endpoint: Endpoint,
        /// The queries.
        queries: Vec<Query>,
    },
    /// A service that exposes its metrics as text.
    Metrics {
        /// The URL of the metrics.
        endpoint: Endpoint,
        /// The selected metrics.
        selectors: Vec<Selector>,
    },
}

/// A query and the name of its series in results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The name in results.
    pub name: String,
    /// The query, in PromQL.
    pub text: String,
}

/// An invalid source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongSource {
    /// No query.
    #[error("`{found}` has no query; write NAME=QUERY, such as 'healthy hosts=sum(up{{job=\"shop\"}})'")]
    Query {
        /// The text.
        found: String,
    },
    /// Metrics after the address of parts, which need names.
    #[error(
        "`{url}#{names}` names metrics after the URL; name each with --part NAME={names}, and give the URL alone"
    )]
    Named {
        /// The URL.
        url: String,
        /// The text after `#`.
        names: String,
    },
    /// An invalid address.
    #[error(transparent)]
    Endpoint(#[from] WrongEndpoint),
    /// An invalid metric.
    #[error(transparent)]
    Selector(#[from] WrongSelector),
}

impl FromStr for Query {
    type Err = WrongSource;

    /// Reads `NAME=QUERY`. The text before the first `=` is a name only if it cannot be part of a query; a query
    /// without a name is its own name.
    fn from_str(text: &str) -> Result<Self, WrongSource> {
        let (name, query) = match text.split_once('=') {
            Some((name, query))
                if !name.contains(['{', '(', '[', '"', '\'', '!', '<', '>']) && !query.starts_with('=') =>
            {
                (name.trim(), query.trim())
            }
            _ => (text.trim(), text.trim()),
        };
        if name.is_empty() || query.is_empty() {
            return Err(WrongSource::Query { found: text.to_owned() });
        }
        Ok(Query { name: name.to_owned(), text: query.to_owned() })
    }
}

impl Source {
    /// A Prometheus by its base URL, such as `http://127.0.0.1:9090` or `https://host/prometheus`.
    pub fn prometheus(endpoint: &Endpoint, queries: Vec<Query>) -> Self {
        Source::Prometheus { endpoint: endpoint.below(PATH), queries }
    }

    /// A service's metrics by their URL, with their names after `#`. Without names, the process metrics of all client
    /// libraries: processor, memory, open descriptors.
    ///
    /// # Errors
    /// The URL is invalid, or a name is not a valid selector.
    pub fn metrics(url: &str) -> Result<Self, WrongSource> {
        let (url, names) = url.split_once('#').unwrap_or((url, ""));
        let names = if names.is_empty() { PROCESS.to_vec() } else { split_outside_quotes(names) };
        let selectors = names.into_iter().map(Selector::parse).collect::<Result<_, _>>()?;
        Ok(Source::Metrics { endpoint: Endpoint::new(url)?, selectors })
    }
}

/// The parts between commas, except commas inside braces.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut quoted, mut escaped, mut braces) = (Vec::new(), 0, false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '}' if !quoted => braces = c == '{',
            ',' if !quoted && !braces => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// The names of Prometheus' client libraries, in all languages.
const PROCESS: [&str; 3] = ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_may_have_a_name() {
        for (text, name, query) in [
            (r#"healthy hosts=sum(up{job="x"})"#, "healthy hosts", r#"sum(up{job="x"})"#),
            // No name, although the query has an equals sign.
            (r#"sum(up{job="x"})"#, r#"sum(up{job="x"})"#, r#"sum(up{job="x"})"#),
            ("up == 1", "up == 1", "up == 1"),
            ("cpu = rate(cpu[1m])", "cpu", "rate(cpu[1m])"),
            ("up", "up", "up"),
        ] {
            let expected = Query { name: name.to_owned(), text: query.to_owned() };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["", "name=", "=up"] {
            assert!(text.parse::<Query>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn metrics_are_named_after_the_address() {
        let names = |url: &str| match Source::metrics(url).unwrap() {
            Source::Metrics { selectors, .. } => {
                selectors.iter().map(ToString::to_string).collect::<Vec<_>>()
            }
            Source::Prometheus { .. } => vec![],
        };
        assert_eq!(names("http://h:1/metrics#a,b"), ["a", "b"]);
        assert_eq!(names(r#"http://h:1/metrics#a{x="1,\"}",y="2"},b"#), [r#"a{x="1,\"}",y="2"}"#, "b"]);
        assert_eq!(names("http://h:1/metrics").len(), 3);
        assert!(Source::metrics("http://h:1/metrics#a,,b").is_err());
        assert!(Source::metrics("h:1/metrics#a").is_err());
    }
}
