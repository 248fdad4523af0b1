//! Copies of live traffic: to shadow pools, and to a file.

use super::KeyBy;
use control::mirror::{BreakerSettings, Methods, MirrorSettings};
use std::path::PathBuf;
use std::time::Duration;
use units::{Bytes, Ratio};

/// Copies of the requests of some sessions to a pool whose responses are discarded.
#[derive(Debug, Clone, PartialEq)]
pub struct Mirror {
    /// Its name in routes, metrics, and the field that marks its copies.
    pub name: String,
    /// The shadow pool.
    pub pool: usize,
    /// Which requests are copied.
    pub choice: MirrorSettings,
    /// The key of a session; requests without the header or cookie are grouped by client address.
    pub key: KeyBy,
    /// Copies carry `Authorization` and `Cookie`.
    pub credentials: bool,
    /// From the moment at which the whole live request has been sent to the end of the shadow's response.
    pub deadline: Duration,
    /// Copies that may wait; further ones are dropped. At most [`Mirror::QUEUE_MAX`].
    pub queue: u32,
    /// Copies at the shadow pool at a time.
    pub in_flight: u32,
    /// The longest request body, as it is on the wire; the copy of a longer one is dropped. At most
    /// [`Mirror::BODY_MOST`].
    pub body_max: Bytes,
}

impl Mirror {
    /// The longest body that may be copied: all copies together hold no more than four of these.
    pub const BODY_MOST: Bytes = Bytes::new(16 * 1024 * 1024);

    /// The longest queue.
    pub const QUEUE_MAX: u32 = 65_536;

    /// A mirror of every session with the default bounds to the pool with this index: safe methods only, no
    /// credentials, sessions by client address.
    pub fn new(name: &str, pool: usize) -> Self {
        Mirror {
            name: name.to_owned(),
            pool,
            choice: MirrorSettings {
                fraction: Ratio::ONE,
                limit: None,
                methods: Methods::Safe,
                breaker: BreakerSettings::default(),
                salt: 0,
            },
            key: KeyBy::Client,
            credentials: false,
            deadline: Duration::from_secs(5),
            queue: 1_000,
            in_flight: 64,
            body_max: Bytes::new(64 * 1024),
        }
    }
}

/// Copies of requests to a file that `headroom replay` reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// The file; it is overwritten.
    pub file: PathBuf,
    /// The share of the sessions, by client address.
    pub fraction: Ratio,
    /// Header fields whose values are masked, in addition to those of credentials and cookies.
    pub mask_headers: Vec<String>,
    /// Query parameters whose values are masked.
    pub mask_query: Vec<String>,
    /// The longest request body, as it is on the wire; a request with a longer one is omitted. At most
    /// [`Mirror::BODY_MOST`].
    pub body_max: Bytes,
}

impl Capture {
    /// A capture of everything, with credentials and cookies masked.
    pub fn new(file: PathBuf) -> Self {
        let (mask_headers, mask_query) = (Vec::new(), Vec::new());
        Capture { file, fraction: Ratio::ONE, mask_headers, mask_query, body_max: Bytes::new(64 * 1024) }
    }
}
