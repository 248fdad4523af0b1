//! Admission control: does a request pass now, pass later, or is it shed?
//!
//! Joins the limits of a route: those that always apply and those that apply only while a [policy](crate::policy) is
//! engaged. Each refusal has one [`Reason`].
//!
//! ## The order
//! The concurrency limits are checked first: the check reads one counter, and a request that they refuse consumes no
//! turn of a rate class. The rate classes follow. A request that waits for a rate class is not in flight, so it enters
//! the concurrency limits when its turn comes. If they are full by then, the request is shed and its turn is lost.
//!
//! Where both rate classes apply, the later turn counts, and the class with the earlier turn is informed. Until it is
//! informed, another core may claim from it, so its bound may be exceeded by one waiting request for each other core.
//!
//! The rate classes of a request's keys come before all of these ([`Admission::ask_keyed`]), and limits in shadow after
//! them: a [`Shadow`] sees the requests that were admitted.
//!
//! ## Why limits that do not apply keep counting
//! A concurrency limit that started to count when it starts to apply would miss the requests that caused the overload.
//! So all requests in flight are always counted, and the bound is enforced only while the limit applies.

mod deadline;
mod keyed;
mod line;
mod reason;
mod shadow;
#[cfg(test)]
mod tests;
mod waiting;

pub use deadline::patience;
pub use keyed::{KeyClass, KeyStep, KeyTurn};
pub use line::{Line, Lines, Queued, Room, Served, Set, Step, learn};
pub use reason::Reason;
pub use shadow::{Observed, Shadow, ShadowTally, Watched};
pub use waiting::{HeldTime, Next, Pace, Place, WaitingQueue, WaitingSettings};

use crate::Word;
use crate::concurrency::{Concurrency, Priority};
use crate::policy::Transition;
use crate::rate::{RateClass, Turn};
use alloc::sync::Arc;
use core::time::Duration;
use units::Timestamp;

/// A rate class and a concurrency limit that apply together. Several routes and rules may share a limit.
#[derive(Debug)]
pub struct Limits<W> {
    /// The rate class.
    pub rate: Option<Arc<RateClass<W>>>,
    /// The concurrency limit.
    pub concurrency: Option<Arc<Concurrency<W>>>,
}

impl<W> Default for Limits<W> {
    fn default() -> Self {
        Limits { rate: None, concurrency: None }
    }
}

/// The limits of a route, shared by all cores.
///
/// ```
/// use control::admission::{Admission, Limits, Verdict};
/// use control::concurrency::Concurrency;
/// use control::ClassId;
/// use std::sync::{Arc, atomic::AtomicU64};
/// use units::Timestamp;
///
/// let twelve = Concurrency::new(ClassId(0), 12)?;
/// let always = Limits { rate: None, concurrency: Some(Arc::new(twelve)) };
/// let admission = Admission::<AtomicU64>::new(always, Limits::default());
/// match admission.arrive(Timestamp::ZERO) {
///     Verdict::Admitted(admitted) => admission.finished(admitted),
///     Verdict::Wait(ticket) => println!("its turn comes at {}", ticket.at()),
///     Verdict::Shed(reason) => println!("{}: {reason}", reason.name()),
/// }
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug)]
pub struct Admission<W> {
    always: Limits<W>,
    gated: Limits<W>,
    /// 1 while the gated limits apply.
    engaged: W,
}

/// The decision about a request that has arrived.
#[derive(Debug, PartialEq)]
#[must_use = "a request passes, waits or is refused by this"]
pub enum Verdict {
    /// It passes.
    Admitted(Admitted),
    /// It waits until [`Ticket::at`], then comes back with [`Admission::turn_came`].
    Wait(Ticket),
    /// It is refused.
    Shed(Reason),
}

/// A request that passed and is in flight, until it is passed to [`Admission::finished`].
#[derive(Debug, PartialEq)]
#[must_use = "an admitted request counts as in flight until it is given to `finished`"]
pub struct Admitted {
    waited: Duration,
    in_flight: InFlight,
}

/// How many requests were in flight when one was admitted, including itself; zero where there is no such limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InFlight {
    /// Under the limit that always applies.
    pub always: u32,
    /// Under the limit that applies while the policy is engaged.
    pub gated: u32,
}

impl Admitted {
    /// How long the request waited for its turn; zero where it passed at once.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// How many requests were in flight when it was admitted: the input of an [adaptive
    /// limit](crate::concurrency::AdaptiveLimit).
    pub fn in_flight(&self) -> InFlight {
        self.in_flight
    }
}

/// A concurrency slot that a request already holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Of the limit that always applies, with the number of requests in flight.
    Always(u32),
    /// Of the limit that applies while the policy is engaged, with the number of requests in flight.
    Gated(u32),
}

/// What a request already has after it [waited for a slot](WaitingQueue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Brought {
    /// The slot that it waited for.
    pub place: Option<Held>,
    /// Whether its turn at the rate classes has already come.
    pub had_turn: bool,
}

/// A request that waits for its turn.
#[derive(Debug, PartialEq)]
#[must_use = "a ticket that is dropped keeps its place in the backlog for ever: call `turn_came` or `give_up`"]
pub struct Ticket {
    arrived: Timestamp,
    at: Timestamp,
    priority: Priority,
    always: Option<Turn>,
    gated: Option<Turn>,
}

impl Ticket {
    /// When the request's turn comes.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// When the request began to wait.
    pub fn since(&self) -> Timestamp {
        self.arrived
    }
}

impl<W: Word> Admission<W> {
    /// Limits that always apply, and limits that apply while a policy is engaged. The policy starts lifted.
    pub fn new(always: Limits<W>, gated: Limits<W>) -> Self {
        Admission { always, gated, engaged: W::new(0) }
    }

    /// Decides about a request that arrives now.
    #[inline]
    pub fn arrive(&self, now: Timestamp) -> Verdict {
        self.arrive_as(now, Priority::HIGHEST)
    }

    /// Decides about a request of a priority class that arrives now.
    #[inline]
    pub fn arrive_as(&self, now: Timestamp, priority: Priority) -> Verdict {
        self.go_on(now, priority, Timestamp::NEVER, Brought::default())
    }

    /// Decides about a request whose client gives up at `client_leaves`, and which may already hold a slot after
    /// waiting in a queue. If it does not pass, the slot is released.
    #[inline]
    pub fn go_on(
        &self,
        now: Timestamp,
        priority: Priority,
        client_leaves: Timestamp,
        brought: Brought,
    ) -> Verdict {
        let engaged = self.is_engaged();
        let in_flight = match self.enter(engaged, priority, brought.place) {
            Ok(in_flight) => in_flight,
            Err(reason) => return Verdict::Shed(reason),
        };
        if brought.had_turn {
            return Verdict::Admitted(Admitted { waited: Duration::ZERO, in_flight });
        }
        let verdict = match self.reserve(now, priority, client_leaves, engaged) {
            Ok(ticket) if ticket.at > now => Verdict::Wait(ticket),
            Ok(ticket) => {
                self.free_places(ticket);
                return Verdict::Admitted(Admitted { waited: Duration::ZERO, in_flight });
            }
            Err(reason) => Verdict::Shed(reason),
        };
        self.leave();
        verdict
    }

    /// Decides about a request whose turn has come.
    ///
    /// # Errors
    /// Too many requests are in flight by now: the request is shed.
    pub fn turn_came(&self, now: Timestamp, ticket: Ticket) -> Result<Admitted, Reason> {
        debug_assert!(now >= ticket.at, "a request came back before its turn");
        let (waited, priority) = (now.since(ticket.arrived), ticket.priority);
        self.free_places(ticket);
        let in_flight = self.enter(self.is_engaged(), priority, None)?;
        Ok(Admitted { waited, in_flight })
    }

    /// Releases the turn of a request that no longer waits for it; see [`RateClass::give_up`].
    pub fn give_up(&self, ticket: Ticket) {
        if let (Some(class), Some(turn)) = (&self.always.rate, ticket.always) {
            class.give_up(turn);
        }
        if let (Some(class), Some(turn)) = (&self.gated.rate, ticket.gated) {
            class.give_up(turn);
        }
    }

    /// An admitted request has ended: with a response, a failure or a client that left.
    #[inline]
    pub fn finished(&self, _admitted: Admitted) {
        self.leave();
    }

    /// Applies a transition of the policy. A rate class that begins to apply starts empty, because the burst that it
    /// allows has already happened.
    pub fn apply(&self, now: Timestamp, transition: &Transition) {
        let engaged = matches!(transition, Transition::Engaged { .. });
        if let (true, Some(class)) = (engaged, &self.gated.rate) {
            class.empty(now);
        }
        let _ = self.engaged.update(|_| Some(u64::from(engaged)));
    }

    /// Continues as engaged: for limits that are rebuilt while their policy is engaged. No rate class is emptied,
    /// because no extra burst has passed.
    pub fn stay_engaged(&self) {
        let _ = self.engaged.update(|_| Some(1));
    }

    /// Whether the gated limits apply now.
    pub fn is_engaged(&self) -> bool {
        self.engaged.load() == 1
    }

    /// The limits that always apply.
    pub fn always(&self) -> &Limits<W> {
        &self.always
    }

    /// The limits that apply while the policy is engaged.
    pub fn gated(&self) -> &Limits<W> {
        &self.gated
    }

    #[inline]
    fn enter(&self, engaged: bool, priority: Priority, held: Option<Held>) -> Result<InFlight, Reason> {
        let mut in_flight = InFlight::default();
        let refused = |limit: &Concurrency<W>, full| Reason::concurrency(limit.id(), priority, full);
        if let Some(limit) = &self.always.concurrency {
            let entered = match held {
                Some(Held::Always(with_it)) => Ok(with_it),
                _ => limit.enter_as(priority),
            };
            in_flight.always = entered.map_err(|full| {
                if let (Some(Held::Gated(_)), Some(gated)) = (held, &self.gated.concurrency) {
                    gated.leave();
                }
                refused(limit, full)
            })?;
        }
        if let Some(limit) = &self.gated.concurrency {
            let entered = match held {
                Some(Held::Gated(with_it)) => Ok(with_it),
                _ if engaged => limit.enter_as(priority),
                _ => Ok(limit.enter_unbounded()),
            };
            in_flight.gated = entered.map_err(|full| {
                self.always.concurrency.iter().for_each(|limit| limit.leave());
                refused(limit, full)
            })?;
        }
        Ok(in_flight)
    }

    fn leave(&self) {
        for limit in self.always.concurrency.iter().chain(&self.gated.concurrency) {
            limit.leave();
        }
    }

    fn reserve(
        &self,
        now: Timestamp,
        priority: Priority,
        client_leaves: Timestamp,
        engaged: bool,
    ) -> Result<Ticket, Reason> {
        let mut ticket = Ticket { arrived: now, at: now, priority, always: None, gated: None };
        if let Some(class) = &self.always.rate {
            let turn = class.reserve(now, now, client_leaves)?;
            ticket.at = turn.at();
            ticket.always = Some(turn);
        }
        if let (true, Some(class)) = (engaged, &self.gated.rate) {
            match class.reserve(now, ticket.at, client_leaves) {
                Ok(turn) => {
                    if let (Some(always), Some(first)) = (&self.always.rate, &mut ticket.always)
                        && turn.at() > ticket.at
                    {
                        always.delayed_until(turn.at(), first);
                    }
                    ticket.at = turn.at();
                    ticket.gated = Some(turn);
                }
                Err(reason) => {
                    self.give_up(ticket);
                    return Err(reason);
                }
            }
        }
        Ok(ticket)
    }

    fn free_places(&self, ticket: Ticket) {
        if let (Some(class), Some(turn)) = (&self.always.rate, ticket.always) {
            class.turn_came(turn);
        }
        if let (Some(class), Some(turn)) = (&self.gated.rate, ticket.gated) {
            class.turn_came(turn);
        }
    }
}
