//! Copies of live traffic: to shadow pools, whose responses are compared and discarded, and to a file.
//!
//! ## The path of a copy
//! The worker that has just sent a live request asks [`control::mirror`] about it. It copies chosen requests, and puts
//! the copy into a bounded queue; it never waits, and copies that do not fit are dropped. The rest is the work of one
//! thread with an event loop and connections of its own, the [`engine`]; or of the thread that writes the [`capture`].
//!
//! ## Why a slot and not a second message
//! The outcome of the live request is known later. A message about it could be lost to a full queue, and its copy would
//! wait for ever. So both sides share a slot that the worker fills once; a [`Live`] that is dropped fills it too, so
//! the copy gets the outcome however the exchange ends.
//!
//! ## Why tickets
//! Every chosen copy is counted once as compared, dropped or failed. A [`Ticket`] ensures this: using it up records the
//! outcome of the copy, and dropping it counts as dropped.
//!
//! ## Bounds
//! A queue for each mirror, and one for all ([`CHANNEL_COPIES`]); bytes held for all mirrors together ([`BYTES_MAX`]),
//! from the first byte that is copied to the last that is sent.
//!
//! ## A pause
//! An experiment can pause all copies for a while ([`Pause`]), to measure what they cost. Requests are then not chosen.

pub(crate) mod capture;
mod counts;
pub(crate) mod engine;
pub(crate) mod head;
mod mask;
mod pause;
mod target;
pub(crate) mod threads;

pub(crate) use counts::{Difference, Dropped, Failed, LinkCounts, RATIO_BOUNDS, Ticket};
pub(crate) use pause::Pause;
pub(crate) use target::{Link, Mirrors, Sink, Target};

use crate::settings::Mirror;
use http::reactor::Waker;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use units::Timestamp;

/// The outcome of a request, live or in the shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// From sending to the first byte of the response.
    pub(crate) first_byte: Duration,
    /// From sending to the last byte.
    pub(crate) total: Duration,
    /// From the request's arrival to the last byte; the same as `total` in the shadow.
    pub(crate) elapsed: Duration,
    /// Bytes of the body, without its framing.
    pub(crate) bytes: u64,
    /// XXH64 of them.
    pub(crate) hash: u64,
}

/// Holds the outcome of a live request: nothing yet, none, or the response.
pub(crate) type Slot = Arc<OnceLock<Option<Answered>>>;

/// The live side of a copy.
#[derive(Debug, Default)]
pub(crate) struct Live(Slot);

impl Live {
    pub(crate) fn slot(&self) -> Slot {
        Arc::clone(&self.0)
    }

    /// The live response was sent completely.
    pub(crate) fn answered(self, answered: Answered) {
        // It is filled here or on drop, never before.
        let _ = self.0.set(Some(answered));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // If there was a response, it stays.
        let _ = self.0.set(None);
    }
}

/// A request's body, as it is on the wire; shared by the copies of one request.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) _held: Held,
}

/// A request to be sent to a shadow, or written to the file.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) target: Arc<Target>,
    pub(crate) ticket: Ticket,
    pub(crate) place: Option<Place>,
    /// With its empty line.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Option<Arc<Body>>,
    pub(crate) live: Slot,
    /// When the last part of the live request was sent.
    pub(crate) sent: Timestamp,
    /// When the live request arrived, in µs since 1970.
    pub(crate) arrived_us: u64,
    pub(crate) client: IpAddr,
    /// It was HEAD: the response has no body.
    pub(crate) head_only: bool,
    /// Sending it twice does no harm.
    pub(crate) repeatable: bool,
    pub(crate) held: Held,
}

/// A place in the queue of a target; released on drop.
#[derive(Debug)]
pub(crate) struct Place(Arc<Target>);

impl Place {
    /// A place, unless all are taken.
    pub(crate) fn take(target: &Arc<Target>) -> Option<Self> {
        let more = |queued: u64| (queued < u64::from(target.queue)).then_some(queued + 1);
        target.queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Place(Arc::clone(target)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes that all copies together may hold.
#[derive(Debug, Default)]
pub(crate) struct Budget(AtomicU64);

impl Budget {
    pub(crate) fn held(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// An empty hold, to grow.
    pub(crate) fn nothing(self: &Arc<Self>) -> Held {
        Held { budget: Arc::clone(self), bytes: 0 }
    }
}

/// Bytes of the budget; released on drop.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Held {
    /// An empty hold of the same budget.
    pub(crate) fn another(&self) -> Held {
        self.budget.nothing()
    }

    /// Takes more; false where that would exceed the budget.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let more = |held: u64| held.checked_add(bytes as u64).filter(|&held| held <= BYTES_MAX);
        let fits = self.budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        self.bytes += if fits { bytes as u64 } else { 0 };
        fits
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The workers' end of the queue to a thread that takes copies.
#[derive(Debug)]
pub(crate) struct End {
    sender: Option<SyncSender<Box<Copy>>>,
    bell: Arc<Bell>,
}

/// Wakes a thread that takes copies.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    asleep: AtomicBool,
    /// `None` if it wakes by itself.
    waker: Option<Arc<Waker>>,
    ends: AtomicBool,
}

impl Bell {
    /// The thread is about to wait; it checks its queue once more before it does.
    pub(crate) fn sleeps(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    pub(crate) fn is_awake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// No more copies will come: copies in progress are not waited for.
    pub(crate) fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    fn ring(&self) {
        if let Some(waker) = &self.waker {
            // A thread that cannot be woken checks by itself, later.
            let _ = waker.wake();
        }
    }

    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.ring();
    }
}

/// A queue of copies: the workers' end and the other one.
pub(crate) fn queue(waker: Option<Arc<Waker>>) -> (End, Receiver<Box<Copy>>, Arc<Bell>) {
    let (sender, receiver) = sync_channel(CHANNEL_COPIES);
    let bell = Arc::new(Bell { waker, ..Bell::default() });
    (End { sender: Some(sender), bell: Arc::clone(&bell) }, receiver, bell)
}

impl End {
    /// Queues a copy, or drops it; never waits.
    pub(crate) fn offer(&self, copy: Box<Copy>) {
        let Some(sender) = &self.sender else { return };
        match sender.try_send(copy) {
            Ok(()) => {}
            Err(TrySendError::Full(copy)) => copy.ticket.dropped(Dropped::QueueFull),
            Err(TrySendError::Disconnected(copy)) => copy.ticket.dropped(Dropped::Ending),
        }
    }

    /// Wakes the thread if it sleeps; once for all copies of an iteration.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.bell.asleep.swap(false, Ordering::SeqCst) {
            self.bell.ring();
        }
    }

    /// Tells the thread that no more copies will come.
    pub(crate) fn end(&self) {
        self.bell.end();
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.sender = None;
        self.bell.ring();
    }
}

/// The queues of a gateway; each exists from the first configuration that needs it.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) shadows: OnceLock<End>,
    pub(crate) capture: OnceLock<End>,
}

/// Copies between the workers and a thread. Each mirror has a lower bound of its own.
pub(crate) const CHANNEL_COPIES: usize = 65_536;

/// The most bytes that all copies together may hold.
pub(crate) const BYTES_MAX: u64 = 4 * Mirror::BODY_MOST.get();
