//! One request that was made, or is to be made.

use std::time::Duration;

/// A request, with what its source says about when, by whom, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// When, where the source has times.
    pub at: Option<At>,
    /// Such as `GET`.
    pub method: String,
    /// Absolute, or a path with its query where the source names no host.
    pub url: String,
    /// Names and values in the order of the source. `Host` and `Content-Length` follow from the URL and the body, so
    /// sources that only copy them leave them out.
    pub headers: Vec<(String, String)>,
    /// Empty where there is none, and where the source does not keep it: no access log does.
    pub body: Vec<u8>,
    /// Who made it: the client's address, or the number that a capture gives to a client.
    pub user: Option<String>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// From the request's arrival to the end of the answer, as the source measured it.
    pub response_time: Option<Duration>,
    /// Bytes of the answer, with or without its header as the source counts.
    pub bytes: Option<u64>,
}

/// A time as a source writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Microseconds since 1970, UTC.
    pub micros: i64,
    /// The source writes whole seconds: the instant lies somewhere within the second after `micros`.
    pub whole_second: bool,
    /// Which end of the request the time belongs to.
    pub edge: Edge,
}

impl At {
    /// When the request began, in microseconds since 1970: the end less the response time. Where that is not known,
    /// the end stands for the start.
    pub fn start(self, response_time: Option<Duration>) -> i64 {
        match self.edge {
            Edge::Start => self.micros,
            Edge::End => {
                let span =
                    response_time.map_or(0, |span| i64::try_from(span.as_micros()).unwrap_or(i64::MAX));
                self.micros.saturating_sub(span)
            }
        }
    }
}

/// Which end of a request a time belongs to: load balancers and nginx write when the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The request came.
    Start,
    /// The answer ended.
    End,
}
