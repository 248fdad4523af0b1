//! Whole responses of a run, for a procedure that compares them.
//!
//! ## Why beside the measurement
//! A measurement has counts and times; it is merged, stored and printed, and bodies have no place in it. A collector is
//! bounded in number and bytes, so that a plan that has one is meant for a few requests.

use crate::exchange::Kept;
use crate::scenario::Answer;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Keeps the first responses of a run, in the order in which they ended. Clones share what is kept.
#[derive(Debug, Clone)]
pub struct Collector {
    most: usize,
    body_max: usize,
    kept: Arc<Mutex<Vec<Collected>>>,
}

/// The end of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The place of its endpoint among those of the results.
    pub endpoint: usize,
    /// The status, 100 to 999; `None` without a response.
    pub status: Option<u16>,
    /// `Content-Type`, as it was sent.
    pub content_type: Option<String>,
    /// The beginning of the body, without its framing.
    pub body: Vec<u8>,
    /// The length of the whole body.
    pub body_bytes: u64,
}

impl Collector {
    /// Keeps at most this many responses, and at most `body_max` bytes (up to 4 MiB) of each body.
    pub fn new(most: usize, body_max: usize) -> Self {
        Collector { most, body_max, kept: Arc::default() }
    }

    /// Takes what has been kept so far.
    pub fn take(&self) -> Vec<Collected> {
        mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, endpoint: u32, response: Option<(u16, &Kept)>) {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= self.most {
            return;
        }
        let (status, kept) = response.unzip();
        all.push(Collected {
            endpoint: endpoint as usize,
            status,
            content_type: status.zip(kept).and_then(content_type),
            body: kept.map_or_else(Vec::new, |kept| kept.body[..kept.body.len().min(self.body_max)].to_vec()),
            body_bytes: kept.map_or(0, |kept| kept.body_bytes),
        });
    }
}

fn content_type((status, kept): (u16, &Kept)) -> Option<String> {
    let Kept { head, body, body_bytes, .. } = kept;
    let answer = Answer { status, head, body, body_bytes: *body_bytes, response_time: Duration::ZERO };
    answer.headers("content-type").next().map(|value| String::from_utf8_lossy(value).into_owned())
}
