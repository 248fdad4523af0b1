//! The metrics of thresholds.

/// The metric of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// From intended start to the last byte: responses except shed ones, and time-outs as censored values.
    ResponseTime,
    /// From actual start to the last byte: the same requests.
    ServiceTime,
    /// From intended start to actual start: the same requests.
    DispatchDelay,
    /// The share of the arrivals, those in flight excepted, that did not get a response with a status from 200 to 399.
    /// An arrival that could not be sent is one of them.
    Failed,
    /// The share of the requests with an end that were refused on purpose: 429 and 503.
    Shed,
    /// Requests that were sent.
    Requests,
    /// Arrivals that could not be sent.
    Unsent,
    /// The share of checks that passed.
    Checks,
    /// Complete iterations of the scenario.
    Iterations,
    /// How long those took, think times included.
    IterationTime,
    /// From the attempt to connect to the open connection.
    ConnectTime,
    /// The TLS handshake.
    TlsTime,
}

/// The kind of a metric's numbers (k6: trend, rate, counter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Times,
    Share,
    Counter,
}

/// The tags by which a metric can be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Division {
    /// By endpoint, its tags, and stage.
    Requests,
    /// By check.
    Checks,
    /// None.
    None,
}

/// Every name, headroom's first and then k6's if there is one.
const NAMES: [(Metric, &[&str]); 12] = [
    (Metric::ResponseTime, &["response_time", "http_req_duration"]),
    (Metric::ServiceTime, &["service_time"]),
    (Metric::DispatchDelay, &["dispatch_delay"]),
    (Metric::Failed, &["failed", "http_req_failed"]),
    (Metric::Shed, &["shed"]),
    (Metric::Requests, &["requests", "http_reqs"]),
    (Metric::Unsent, &["unsent", "dropped_iterations"]),
    (Metric::Checks, &["checks"]),
    (Metric::Iterations, &["iterations"]),
    (Metric::IterationTime, &["iteration_duration"]),
    (Metric::ConnectTime, &["connect_time", "http_req_connecting"]),
    (Metric::TlsTime, &["tls_time", "http_req_tls_handshaking"]),
];

impl Metric {
    /// Its name in headroom.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(metric, _)| *metric == self).map_or("", |(_, names)| names[0])
    }

    /// The metric with this name, headroom's or k6's.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, names)| names.contains(&name)).map(|&(metric, _)| metric)
    }

    /// All names of metrics.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, names)| names.iter().copied())
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Metric::ResponseTime | Metric::ServiceTime | Metric::DispatchDelay => Kind::Times,
            Metric::IterationTime | Metric::ConnectTime | Metric::TlsTime => Kind::Times,
            Metric::Failed | Metric::Shed | Metric::Checks => Kind::Share,
            Metric::Requests | Metric::Unsent | Metric::Iterations => Kind::Counter,
        }
    }

    pub(super) fn division(self) -> Division {
        match self {
            Metric::ResponseTime | Metric::ServiceTime | Metric::DispatchDelay => Division::Requests,
            Metric::Failed | Metric::Shed | Metric::Requests | Metric::Unsent => Division::Requests,
            Metric::Checks => Division::Checks,
            Metric::Iterations | Metric::IterationTime | Metric::ConnectTime | Metric::TlsTime => {
                Division::None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for (metric, _) in NAMES {
            assert_eq!(Metric::named(metric.name()), Some(metric));
        }
        let mut names: Vec<_> = Metric::names().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(Metric::named("http_req_duration"), Some(Metric::ResponseTime));
    }
}
