//! One recorded or planned request.

use std::time::Duration;

/// A request, with its source's information about time, user and outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// When it was made, if the source has times.
    pub at: Option<At>,
    /// Such as `GET`.
    pub method: String,
    /// Absolute, or a path with its query where the source names no host.
    pub url: String,
    /// Names and values in the order of the source. `Host` and `Content-Length` follow from the URL and the body, so
    /// sources that only copy them omit them.
    pub headers: Vec<(String, String)>,
    /// Empty without a body, and where the source does not record it: no access log does.
    pub body: Vec<u8>,
    /// The user: the client's address, or the number that a capture assigns to a client.
    pub user: Option<String>,
    /// The status of the response.
    pub status: Option<u16>,
    /// From the request's arrival to the end of the response, as measured by the source.
    pub response_time: Option<Duration>,
    /// Bytes of the response, with or without its header, as the source counts.
    pub bytes: Option<u64>,
}

/// A time as written by a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Microseconds since 1970, UTC.
    pub micros: i64,
    /// The source writes whole seconds: the time is somewhere within the second after `micros`.
    pub whole_second: bool,
    /// Whether the time is that of the start or of the end.
    pub edge: Edge,
}

impl At {
    /// When the request began, in microseconds since 1970: the end minus the response time. If that is unknown, the end
    /// is used.
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

/// Whether a time is that of the start or of the end: load balancers and nginx write the end of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The arrival of the request.
    Start,
    /// The end of the response.
    End,
}
