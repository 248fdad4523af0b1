//! The requests of one HTTP/2 connection.

use crate::connection::Job;
use crate::exchange::Kept;
use http::h2::{self, ErrorCode};
use slab::Slab;
use units::Timestamp;

/// The requests of one HTTP/2 connection.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) machine: h2::Connection,
    slots: Slab<Stream>,
    /// Whether it is in the list of free connections of its server.
    pub(crate) listed: bool,
    /// Whether it is marked as having something to write.
    pub(crate) dirty: bool,
    /// Whether the server has sent its stream limit, or the wait for it has ended.
    pub(crate) settled: bool,
    /// Whether nothing can be written any more; data that the server has already sent is still to be read.
    pub(crate) closing: bool,
}

/// One request in flight.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) job: Job,
    pub(crate) status: u16,
    pub(crate) kept: Option<Box<Kept>>,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Answered,
    Malformed(h2::Malformed),
    /// Ended by the other side, which has not processed it if `unseen` is set.
    Reset {
        unseen: bool,
        code: ErrorCode,
    },
}

impl Streams {
    pub(crate) fn new(streams: u32, list_max: Option<u32>, out: &mut Vec<u8>) -> Self {
        let usual = h2::Settings::default();
        let header_list_max = list_max.unwrap_or(usual.header_list_max);
        let settings = h2::Settings { streams_max: streams, header_list_max, ..usual };
        Streams {
            machine: h2::Connection::new(settings, out),
            slots: Slab::new(),
            listed: false,
            dirty: false,
            settled: false,
            closing: false,
        }
    }

    /// Sends a request; a stream is available.
    pub(crate) fn request(
        &mut self,
        head: &h2::RequestHead,
        body: &[u8],
        job: Job,
        kept: Option<Box<Kept>>,
        out: &mut Vec<u8>,
    ) -> Result<(), h2::NoCapacity> {
        let key = self.slots.vacant_key() as u32;
        self.machine.request(head, body, key, out)?;
        self.slots.insert(Stream { job, status: 0, kept });
        Ok(())
    }

    /// Takes received bytes; `ended` lists the requests that ended.
    pub(crate) fn received(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        ended: &mut Vec<(u32, Ending)>,
    ) -> Result<(), h2::H2Error> {
        let mut listener = Listener { slots: &mut self.slots, ended };
        self.machine.received(input, out, &mut listener)
    }

    /// Removes a request that has ended.
    pub(crate) fn take(&mut self, key: u32) -> Option<Stream> {
        self.slots.try_remove(key as usize)
    }

    /// Gives up the requests that started at or before `started`.
    pub(crate) fn give_up(&mut self, started: Timestamp, out: &mut Vec<u8>) -> Vec<Stream> {
        let old: Vec<u32> = self
            .slots
            .iter()
            .filter(|(_, stream)| stream.job.started <= started)
            .map(|(key, _)| key as u32)
            .collect();
        old.into_iter()
            .filter_map(|key| {
                self.machine.cancel(key, out);
                self.take(key)
            })
            .collect()
    }

    /// When the oldest request started.
    pub(crate) fn oldest_start(&self) -> Option<Timestamp> {
        self.jobs().map(|job| job.started).min()
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        self.slots.iter().map(|(_, stream)| stream.job)
    }

    /// How many requests are in flight.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}

struct Listener<'a> {
    slots: &'a mut Slab<Stream>,
    ended: &'a mut Vec<(u32, Ending)>,
}

impl h2::Sink for Listener<'_> {
    fn wants_headers(&mut self, key: u32) -> bool {
        self.slots.get(key as usize).is_some_and(|stream| stream.kept.is_some())
    }

    fn head(&mut self, key: u32, status: u16, headers: h2::Headers<'_>) {
        let Some(stream) = self.slots.get_mut(key as usize) else { return };
        stream.status = status;
        if let Some(kept) = &mut stream.kept {
            for (name, value) in headers {
                for part in [name, b": ", value, b"\r\n"] {
                    kept.head(part);
                }
            }
        }
    }

    fn data(&mut self, key: u32, data: &[u8]) {
        if let Some(kept) = self.slots.get_mut(key as usize).and_then(|stream| stream.kept.as_mut()) {
            kept.data(data);
        }
    }

    fn end(&mut self, key: u32) {
        self.ended.push((key, Ending::Answered));
    }

    fn reset(&mut self, key: u32, code: ErrorCode, retry_safe: bool) {
        self.ended.push((key, Ending::Reset { unseen: retry_safe, code }));
    }

    fn malformed(&mut self, key: u32, why: h2::Malformed) {
        self.ended.push((key, Ending::Malformed(why)));
    }

    // The machine has no capacity from then on, which is all that matters.
    fn goaway(&mut self, _: ErrorCode, _: &[u8]) {}
}
