//! Writes copies to a file in headroom's own capture format, which `headroom replay` reads.
//!
//! ## Why a thread that polls
//! Writing has a thread of its own, because a disk may be slow. Waking a thread takes a system call, which a worker
//! would make for nearly every request here. So the thread polls fifty times a second.
//!
//! ## What is written
//! A request is written when its response was sent, with status, time and size; its arrival is the arrival at the
//! gateway. The fields that the gateway adds for the service (`X-Forwarded-For` and the like) are omitted: a replay
//! through a gateway would add them again.

use super::mask::Mask;
use super::{Answered, Bell, Copy, Dropped, LinkCounts, Ticket};
use crate::key;
use crate::settings::Capture;
use capture::{At, Edge, Entry, write_line_after};
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::{Limits, request};
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

/// Takes copies and writes them.
pub(crate) struct Writer<W> {
    out: W,
    mask: Mask,
    copies: Receiver<Box<Copy>>,
    bell: Arc<Bell>,
    /// Copies whose live request is still in flight.
    waiting: Vec<Copy>,
    /// Whole lines, and the copies that they belong to.
    lines: Vec<u8>,
    tickets: Vec<Ticket>,
    /// The last write ended in the middle of a line.
    torn: bool,
    /// Lost copies of each route that are in a line.
    told: Vec<(Arc<LinkCounts>, u64)>,
    /// Lost copies that no written line tells, and those in the lines that are not written yet.
    untold: u64,
    telling: u64,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(out: W, capture: &Capture, copies: Receiver<Box<Copy>>, bell: Arc<Bell>) -> Self {
        let (waiting, lines, tickets) = (Vec::new(), Vec::new(), Vec::new());
        Writer {
            out,
            mask: Mask::new(capture),
            copies,
            bell,
            waiting,
            lines,
            tickets,
            torn: false,
            told: Vec::new(),
            untold: 0,
            telling: 0,
        }
    }

    /// Writes until no more copies will come and all are written.
    pub(crate) fn run(mut self) {
        while !self.look() {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Writes what can be written now; true at the end.
    pub(crate) fn look(&mut self) -> bool {
        let ends = self.bell.ends();
        let over = loop {
            match self.copies.try_recv() {
                Ok(copy) => self.waiting.push(*copy),
                Err(TryRecvError::Empty) => break ends,
                Err(TryRecvError::Disconnected) => break true,
            }
        };
        for copy in std::mem::take(&mut self.waiting) {
            match copy.live.get().copied() {
                Some(live) => self.take(copy, live),
                None => self.waiting.push(copy),
            }
        }
        self.write();
        over && self.waiting.is_empty()
    }

    fn take(&mut self, copy: Copy, live: Option<Answered>) {
        let Some(entry) = entry(&copy, live, &self.mask) else {
            return copy.ticket.dropped(Dropped::WriteFailed);
        };
        if let Some(counts) = copy.ticket.counts() {
            self.untold += lost_since(&mut self.told, counts);
        }
        let whole = self.lines.len();
        if write_line_after(&mut self.lines, &entry, self.untold).is_err() {
            self.lines.truncate(whole);
            return copy.ticket.dropped(Dropped::WriteFailed);
        }
        self.telling += std::mem::take(&mut self.untold);
        self.tickets.push(copy.ticket);
        if self.lines.len() >= WRITE_BYTES {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        // A truncated line must not merge with the next.
        let mended = !self.torn || self.out.write_all(b"\n").is_ok();
        let written = mended && self.out.write_all(&self.lines).and_then(|()| self.out.flush()).is_ok();
        self.torn = !written;
        let telling = std::mem::take(&mut self.telling);
        self.untold += if written { 0 } else { telling };
        for ticket in self.tickets.drain(..) {
            if written {
                ticket.written();
            } else {
                ticket.dropped(Dropped::WriteFailed);
            }
        }
        self.lines.clear();
    }
}

/// Copies of a route that were lost since its last line; none before its first one, which may be of another capture. Routes that a
/// reload has taken away are forgotten.
fn lost_since(told: &mut Vec<(Arc<LinkCounts>, u64)>, counts: &Arc<LinkCounts>) -> u64 {
    let now = counts.lost();
    if let Some((_, before)) = told.iter_mut().find(|(known, _)| Arc::ptr_eq(known, counts)) {
        return now.saturating_sub(std::mem::replace(before, now));
    }
    told.retain(|(known, _)| Arc::strong_count(known) > 1);
    told.push((Arc::clone(counts), now));
    0
}

fn entry(copy: &Copy, live: Option<Answered>, mask: &Mask) -> Option<Entry> {
    let mut slots = slots();
    let head = request::parse(&copy.head, &Limits::WIDEST, &mut slots).ok()??;
    let body = match &copy.body {
        Some(body) => plain(&body.bytes, Decoder::new(head.framing))?,
        None => Vec::new(),
    };
    let target = mask.target(head.path);
    let host = head.host.unwrap_or_default();
    let own = |name: &str| {
        let forwarded = name.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("x-forwarded-"));
        forwarded || OWN.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let headers = head.headers.all().iter().filter(|field| !own(field.name)).map(|field| {
        let value = String::from_utf8_lossy(field.value);
        (field.name.to_owned(), mask.field(field.name, &value).into_owned())
    });
    Some(Entry {
        at: Some(At { micros: i64::try_from(copy.arrived_us).ok()?, whole_second: false, edge: Edge::Start }),
        method: head.method.to_owned(),
        url: if host.is_empty() || target == "*" {
            target.into_owned()
        } else {
            format!("http://{host}{target}")
        },
        headers: headers.collect(),
        body,
        user: Some(user(copy.client, mask)),
        status: live.map(|live| live.status),
        response_time: live.map(|live| live.elapsed),
        bytes: live.map(|live| live.bytes),
    })
}

/// Addresses are personal data: a replay needs to know which requests belong to one client, not to which.
fn user(client: IpAddr, mask: &Mask) -> String {
    mask.value(key::client(client, &mut [0; 8]))
}

/// A body without its framing.
fn plain(bytes: &[u8], mut decoder: Decoder) -> Option<Vec<u8>> {
    let (mut body, mut used) = (Vec::new(), 0);
    while !decoder.is_done() && used < bytes.len() {
        let step = decoder.decode(&bytes[used..]).ok()?;
        body.extend_from_slice(&bytes[used..][step.data]);
        used += step.consumed;
    }
    Some(body)
}

/// Fields that the gateway writes itself, or that follow from the rest.
const OWN: [&str; 10] = [
    "host",
    "content-length",
    "transfer-encoding",
    "expect",
    "connection",
    "te",
    "forwarded",
    "x-real-ip",
    "x-request-start",
    "x-gateway-wait",
];

const LOOK_EVERY: Duration = Duration::from_millis(20);

const WRITE_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests;
