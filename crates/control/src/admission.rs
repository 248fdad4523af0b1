//! Admission: may this request pass, now, later or not at all?
//!
//! Joins the limits of a route: those that always apply and those that apply only while a [policy](crate::policy) is
//! engaged. Each refusal has one [`Reason`].
//!
//! ## The order
//! Concurrency first: it refuses by one look at a counter, and a request that it refuses uses up no turn. Then the
//! rate classes. A request that has to wait is not in flight, so it enters the concurrency limits when its turn
//! comes; where they are full by then it is shed, and its turn is lost.
//!
//! Where both rate classes apply, the later turn counts, and the class with the earlier one is told. Until it is,
//! another core may claim from it: its bound may then be passed by one waiter for each other core.
//!
//! ## Why limits that do not apply count all the same
//! A concurrency limit that begins to count when it begins to apply would know nothing of the requests that brought
//! the overload. So all in flight are counted always, and the bound is held only while it applies.

mod line;
mod reason;
mod shadow;
#[cfg(test)]
mod tests;
mod waiting;

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

/// Limits that apply together. Several routes, and rules, may share a limit.
#[derive(Debug)]
pub struct Limits<W> {
    /// How often requests may pass.
    pub rate: Option<Arc<RateClass<W>>>,
    /// How many may be in flight.
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

/// What becomes of a request that has arrived.
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

/// A request that passed and is in flight, until it is given to [`Admission::finished`].
#[derive(Debug, PartialEq)]
#[must_use = "an admitted request counts as in flight until it is given to `finished`"]
pub struct Admitted {
    waited: Duration,
    in_flight: InFlight,
}

/// How many requests were in flight when one passed, with itself; zero where there is no such limit.
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

    /// How many were in flight when it passed: what an [adaptive limit](crate::concurrency::AdaptiveLimit) learns
    /// from.
    pub fn in_flight(&self) -> InFlight {
        self.in_flight
    }
}

/// A place at one of the limits that a request has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// At the one that always applies, with so many in flight.
    Always(u32),
    /// At the one that applies while the policy is engaged, with so many in flight.
    Gated(u32),
}

/// What a request brings along that has [waited for a place](WaitingQueue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Brought {
    /// The place that it waited for.
    pub place: Option<Held>,
    /// Its turn at the rate classes has come before.
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

    /// Since when the request waits.
    pub fn since(&self) -> Timestamp {
        self.arrived
    }
}

impl<W: Word> Admission<W> {
    /// Limits that always apply, and limits that apply while a policy is engaged; it is not yet.
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

    /// Decides about a request whose client leaves at `client_leaves`, and that may have waited in a queue for a place
    /// and now have one. Where it does not pass, the place is free again.
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

    /// A waiting request does not want its turn any more; see [`RateClass::give_up`].
    pub fn give_up(&self, ticket: Ticket) {
        if let (Some(class), Some(turn)) = (&self.always.rate, ticket.always) {
            class.give_up(turn);
        }
        if let (Some(class), Some(turn)) = (&self.gated.rate, ticket.gated) {
            class.give_up(turn);
        }
    }

    /// An admitted request is answered, failed or left.
    #[inline]
    pub fn finished(&self, _admitted: Admitted) {
        self.leave();
    }

    /// Follows the gate of the policy: a rate class that begins to apply starts empty, because the burst that it
    /// allows has just been had.
    pub fn apply(&self, now: Timestamp, transition: &Transition) {
        let engaged = matches!(transition, Transition::Engaged { .. });
        if let (true, Some(class)) = (engaged, &self.gated.rate) {
            class.empty(now);
        }
        let _ = self.engaged.update(|_| Some(u64::from(engaged)));
    }

    /// Goes on as engaged: for limits that are put together anew while their policy is. Nothing is emptied, as nothing
    /// has been had on top of the rate.
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
