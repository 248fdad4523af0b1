//! The worker's part in copies of live requests: choosing, copying, and reporting the live response.
//!
//! A request is considered once, when it has been sent to an instance: a shadow should not see requests that are shed
//! or that find no instance. On a route without a mirror, this costs one branch. A request that is not chosen costs a
//! read of the session's key and its hash; only chosen requests are copied.

use super::Worker;
use crate::key;
use crate::mirror::head;
use crate::mirror::{
    Answered, Body, Copy, Dropped, End, Ends, Held, Link, Live, Mirrors, Place, Sink, Target, Ticket,
};
use control::mirror::{NotMirrored, Safety};
use http::codec::method::is_safe;
use http::reactor::Net;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use twox_hash::XxHash64;
use units::Timestamp;

/// The copies of one exchange.
#[derive(Debug, Default)]
pub(super) enum Copies {
    /// Not considered yet.
    #[default]
    Unasked,
    /// It has no copies.
    None,
    /// It has copies, which need the outcome of the live response.
    Some(Box<Taken>),
}

/// The copies of one exchange.
#[derive(Debug)]
pub(super) struct Taken {
    live: Live,
    hash: XxHash64,
    /// Copies that wait for the rest of the request's body.
    incomplete: Option<Incomplete>,
}

#[derive(Debug)]
struct Incomplete {
    copies: Vec<Copy>,
    body: Vec<u8>,
    held: Held,
}

impl Copies {
    /// Bytes of the live response's body.
    #[inline]
    pub(super) fn answered(&mut self, data: &[u8]) {
        if let Copies::Some(taken) = self {
            taken.hash.write(data);
        }
    }

    /// There is no response of an instance to compare the copies with.
    #[inline]
    pub(super) fn forget(&mut self) {
        *self = Copies::None;
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        drop_all(&mut self.copies, Dropped::BodyIncomplete);
    }
}

fn drop_all(copies: &mut Vec<Copy>, why: Dropped) {
    copies.drain(..).for_each(|copy| copy.ticket.dropped(why));
}

/// What the worker keeps for all its copies.
#[derive(Debug, Default)]
pub(super) struct Mirroring {
    mirrors: Arc<Mirrors>,
    /// By link: requests that were not chosen since the last tick.
    not_chosen: Vec<u64>,
    /// Copies were queued since the thread was last woken.
    offered: bool,
}

impl Mirroring {
    fn is_not_chosen(&mut self, mirrors: &Arc<Mirrors>, link: &Link) {
        match self.not_chosen.get_mut(link.number).filter(|_| Arc::ptr_eq(&self.mirrors, mirrors)) {
            Some(count) => *count += 1,
            // A request of a configuration that was replaced.
            None => _ = link.counts.not_chosen.fetch_add(1, Relaxed),
        }
    }

    /// Publishes the counts, and switches to the configuration in force.
    fn publish(&mut self, mirrors: &Arc<Mirrors>) {
        for link in self.mirrors.routes.iter().flatten() {
            let count = std::mem::take(&mut self.not_chosen[link.number]);
            if count > 0 {
                link.counts.not_chosen.fetch_add(count, Relaxed);
            }
        }
        if !Arc::ptr_eq(&self.mirrors, mirrors) {
            self.not_chosen = vec![0; mirrors.links];
            self.mirrors = Arc::clone(mirrors);
        }
    }
}

impl<N: Net> Worker<N> {
    /// Decides on the copies of a request that has just been sent.
    #[inline]
    pub(super) fn offer_copies(&mut self, index: usize) {
        let exchange = &mut self.downstreams[index].exchange;
        let (Copies::Unasked, Some(local)) = (&exchange.copies, exchange.local()) else { return };
        if !local.shared.mirrors.routes[exchange.route()].is_empty() {
            self.choose_copies(index);
        }
    }

    fn choose_copies(&mut self, index: usize) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        exchange.copies = Copies::None;
        let Some(local) = exchange.local() else { return };
        let (request, outgoing) = (&exchange.request, exchange.outgoing.bytes());
        let client = request.client();
        let mirrors = &local.shared.mirrors;
        if self.room.pause.is_in_force(now) {
            for link in &mirrors.routes[exchange.route()] {
                self.mirroring.is_not_chosen(mirrors, link);
            }
            return;
        }
        let safety = if is_safe(request.method()) { Safety::Safe } else { Safety::Unsafe };
        let (mut room, live) = ([0; 8], Live::default);
        let address = key::client(client, &mut room);
        let (mut taken, mut copies, mut end): (Option<Live>, Vec<Copy>, usize) = (None, Vec::new(), 0);
        for link in &mirrors.routes[exchange.route()] {
            let target = &link.target;
            let session = key::value_written(&target.key, outgoing).unwrap_or(address);
            match target.choice.decide(now, session, safety) {
                Ok(()) => {}
                Err(NotMirrored::NotChosen) => {
                    self.mirroring.is_not_chosen(mirrors, link);
                    continue;
                }
                Err(reason) => {
                    Ticket::new(&link.counts).dropped(reason.into());
                    continue;
                }
            }
            // The end of the head matters only for chosen requests.
            if end == 0 {
                end = head::end(outgoing).unwrap_or_default();
            }
            let ticket = Ticket::new(&link.counts);
            // Checked first: a shadow that accepts nothing costs no copy.
            let Some(place) = Place::take(target) else {
                ticket.dropped(Dropped::QueueFull);
                continue;
            };
            copies.reserve_exact(1);
            copies.push(Copy {
                target: Arc::clone(target),
                ticket,
                place: Some(place),
                head: copied_head(&outgoing[..end], target),
                body: None,
                live: taken.get_or_insert_with(live).slot(),
                sent: now,
                arrived_us: request.arrived_us(),
                client,
                head_only: request.is_head_only(),
                repeatable: request.is_idempotent(),
                held: mirrors.budget.nothing(),
            });
        }
        let Some(live) = taken else { return };
        let held = mirrors.budget.nothing();
        let mut incomplete = Incomplete { copies, body: Vec::new(), held };
        let more = incomplete.add(&outgoing[end..]);
        let mut taken = Box::new(Taken { live, hash: XxHash64::default(), incomplete: None });
        if request.is_whole() {
            self.mirroring.offered |= incomplete.hand_over(&self.room.mirror, self.now);
        } else if more {
            taken.incomplete = Some(incomplete);
        }
        exchange.copies = Copies::Some(taken);
    }

    /// Bytes of a request's body that have just been forwarded.
    #[inline]
    pub(super) fn copy_body(&mut self, index: usize, bytes: &[u8]) {
        let Some(downstream) = self.downstreams.get_mut(index) else { return };
        let exchange = &mut downstream.exchange;
        let Copies::Some(taken) = &mut exchange.copies else { return };
        let Some(incomplete) = &mut taken.incomplete else { return };
        if !incomplete.add(bytes) {
            taken.incomplete = None;
        } else if exchange.request.is_whole()
            && let Some(whole) = taken.incomplete.take()
        {
            self.mirroring.offered |= whole.hand_over(&self.room.mirror, self.now);
        }
    }

    /// The live response was sent completely.
    #[inline]
    pub(super) fn finish_copies(&mut self, index: usize) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        let Copies::Some(taken) = std::mem::take(&mut exchange.copies) else { return };
        let Taken { live, hash, .. } = *taken;
        let sent = exchange.placement.sent();
        live.answered(Answered {
            // The status of the instance, whether or not a rule changed it.
            status: exchange.answer.status_of_instance(),
            first_byte: exchange.answer.first_byte().unwrap_or(now).since(sent),
            total: now.since(sent),
            elapsed: now.since(exchange.request.arrived()),
            bytes: exchange.answer.body_bytes(),
            hash: hash.finish(),
        });
    }

    /// Wakes the mirror's thread if there is something new; once per iteration of the loop.
    #[inline]
    pub(super) fn wake_mirror(&mut self) {
        if self.mirroring.offered {
            self.mirroring.offered = false;
            if let Some(end) = self.room.mirror.shadows.get() {
                end.wake();
            }
        }
    }

    /// Ten times a second: publishes counts, and reports the lag of this loop to the breakers.
    pub(super) fn tick_mirrors(&mut self, now: Timestamp, lag: Duration) {
        let mirrors = &self.local.shared.mirrors;
        self.mirroring.publish(mirrors);
        for target in mirrors.targets.iter().filter(|target| matches!(target.sink, Sink::Shadow(_))) {
            target.choice.lagged(now, lag);
        }
    }
}

impl Incomplete {
    /// Adds to the body; false if the copies are dropped because of it.
    fn add(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let whole = self.body.len() + bytes.len();
        let mut kept = Vec::with_capacity(self.copies.len());
        for copy in self.copies.drain(..) {
            if whole > copy.target.body_max {
                copy.ticket.dropped(Dropped::BodyTooLarge);
            } else {
                kept.push(copy);
            }
        }
        self.copies = kept;
        if !self.copies.is_empty() && !self.held.grow(bytes.len()) {
            drop_all(&mut self.copies, Dropped::BytesFull);
        }
        if self.copies.is_empty() {
            return false;
        }
        self.body.extend_from_slice(bytes);
        true
    }

    /// The request is complete: passes its copies to the threads that process them. Returns whether one sleeps and must
    /// be woken.
    fn hand_over(mut self, ends: &Ends, now: Timestamp) -> bool {
        let bytes = std::mem::take(&mut self.body);
        let nothing = self.held.another();
        let held = std::mem::replace(&mut self.held, nothing);
        let body = (!bytes.is_empty()).then(|| Arc::new(Body { bytes, _held: held }));
        let mut for_shadows = false;
        for mut copy in self.copies.drain(..) {
            let (end, is_shadow): (Option<&End>, bool) = match copy.target.sink {
                Sink::Shadow(_) => (ends.shadows.get(), true),
                Sink::Capture(_) => (ends.capture.get(), false),
            };
            let Some(end) = end else {
                copy.ticket.dropped(Dropped::Ending);
                continue;
            };
            if !copy.held.grow(copy.head.len()) {
                copy.ticket.dropped(Dropped::BytesFull);
            } else {
                copy.body.clone_from(&body);
                copy.sent = now;
                end.offer(Box::new(copy));
                for_shadows |= is_shadow;
            }
        }
        for_shadows
    }
}

fn copied_head(request_head: &[u8], target: &Target) -> Vec<u8> {
    match &target.sink {
        Sink::Shadow(shadow) => head::copy(request_head, &target.name, shadow.credentials()),
        // Masked before it is written.
        Sink::Capture(_) => request_head.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::{BYTES_MAX, LinkCounts, queue};
    use crate::settings::{Mirror, PathMatch, Pool, Route, Settings};
    use std::net::{IpAddr, SocketAddr};
    use units::Bytes;

    fn mirrors() -> Mirrors {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let mirror = |name, body_max| Mirror { body_max: Bytes::new(body_max), ..Mirror::new(name, 0) };
        let settings = Settings {
            pools: vec![Pool::new("pool", vec![address])],
            mirrors: vec![mirror("small", 1_000), mirror("large", 16 << 20)],
            routes: vec![Route {
                mirrors: vec![0, 1],
                ..Route::new("all", PathMatch::Prefix("/".into()), 0)
            }],
            ..Settings::new(address)
        };
        Mirrors::new(&settings, None).unwrap()
    }

    /// A request whose copies wait for its body.
    fn incomplete(mirrors: &Mirrors) -> Incomplete {
        let copies = mirrors.routes[0].iter().map(|link| Copy {
            target: Arc::clone(&link.target),
            ticket: Ticket::new(&link.counts),
            place: Place::take(&link.target),
            head: b"POST / HTTP/1.1\r\n\r\n".to_vec(),
            body: None,
            live: Live::default().slot(),
            sent: Timestamp::ZERO,
            arrived_us: 0,
            client: IpAddr::from([127, 0, 0, 1]),
            head_only: false,
            repeatable: false,
            held: mirrors.budget.nothing(),
        });
        Incomplete { copies: copies.collect(), body: Vec::new(), held: mirrors.budget.nothing() }
    }

    fn dropped(counts: &LinkCounts, why: Dropped) -> u64 {
        counts.dropped[why as usize].load(Relaxed)
    }

    #[test]
    fn copies_hold_a_bounded_number_of_bytes_whoever_waits() {
        let mirrors = mirrors();
        let (small, large) = (&mirrors.routes[0][0], &mirrors.routes[0][1]);
        let (end, taken, _) = queue(None);
        let ends = Ends::default();
        ends.shadows.set(end).unwrap();
        let part = vec![b'x'; 5 << 20];
        for _ in 0..10 {
            let mut incomplete = incomplete(&mirrors);
            if (0..2).all(|_| incomplete.add(&part)) {
                incomplete.hand_over(&ends, Timestamp::ZERO);
            }
            assert!(mirrors.budget.held() <= BYTES_MAX);
        }
        assert_eq!(dropped(&small.counts, Dropped::BodyTooLarge), 10);
        assert_eq!(dropped(&large.counts, Dropped::BytesFull), 4);
        assert!(mirrors.budget.held() > 6 * (10 << 20));
        assert_eq!(taken.try_iter().count(), 6);
        assert_eq!(mirrors.budget.held(), 0);
        assert_eq!((small.target.queued.load(Relaxed), large.target.queued.load(Relaxed)), (0, 0));
        assert!(small.counts.balance() && large.counts.balance());
    }

    #[test]
    fn a_request_that_ends_before_its_body_takes_its_copies_with_it() {
        let mirrors = mirrors();
        let mut incomplete = incomplete(&mirrors);
        assert!(incomplete.add(b"half"));
        drop(incomplete);
        for link in &mirrors.routes[0] {
            assert_eq!(dropped(&link.counts, Dropped::BodyIncomplete), 1);
            assert!(link.counts.balance());
        }
        assert_eq!(mirrors.budget.held(), 0);
    }
}
