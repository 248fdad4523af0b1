//! The request as it is sent to the instance: its head rewritten, with the part of the body that arrived with it.

use crate::forward;
use crate::hops::Hops;
use crate::rewrite;
use crate::settings::{Pool, TrailerName};
use crate::trailers;
use http::codec::request::RequestHead;
use rule::Changes;
use std::time::Duration;

/// The request as it is sent to the instance.
#[derive(Debug, Default)]
pub(in crate::worker) struct Outgoing {
    bytes: Vec<u8>,
    /// The offset in them at which a field may be added.
    place: usize,
}

impl Outgoing {
    /// Clears it for another request.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.place = 0;
    }

    /// Writes the head, as [`forward::request`] does.
    #[inline]
    pub(in crate::worker) fn write_head(
        &mut self,
        head: &RequestHead<'_, '_>,
        target: &str,
        hops: &Hops,
        arrived_us: u64,
        pool: &Pool,
        trailers: &[TrailerName],
    ) {
        self.place = forward::request(&mut self.bytes, head, target, hops, arrived_us, pool, trailers);
    }

    /// Adds the part of the body that arrived with the head.
    #[inline]
    pub(in crate::worker) fn add_body(&mut self, body: &[u8]) {
        self.bytes.extend_from_slice(body);
    }

    /// Ends the body with those of its trailers that may be forwarded.
    pub(in crate::worker) fn end_body(&mut self, section: &[u8], names: &[TrailerName]) {
        trailers::end(&mut self.bytes, section, names);
    }

    /// Applies the changes of a rule to the head.
    pub(in crate::worker) fn change(&mut self, changes: &Changes) {
        if let Some(place) = rewrite::request(&mut self.bytes, changes) {
            self.place = place;
        }
    }

    /// Adds the field that tells the instance how long the request has waited.
    pub(in crate::worker) fn say_waited(&mut self, waited: Duration) {
        forward::waited(&mut self.bytes, self.place, waited);
    }

    #[inline]
    pub(in crate::worker) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
