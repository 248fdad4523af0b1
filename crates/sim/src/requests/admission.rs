//! Admission before the balancer, decided by [`control::admission`] as in the gateway.
//!
//! A request that waits for its turn at a rate class, or for a slot of a concurrency limit, is at [`At::Turn`] or
//! [`At::Line`]. Every tenth of a second adaptive limits take a step and the policy evaluates its service level class.
//! A slot that a request releases is given to the next one in line at once; a slot that a limit or a policy has freed
//! is found by a check every 2 ms, as in the gateway.

use super::Requests;
use super::list::NONE;
use super::send::Ended;
use super::timers::Due;
use super::visit::At;
use crate::settings::{self, Bound, ConcurrencyLimit};
use control::ClassId;
use control::admission::{
    self, Admission, Admitted, Brought, Held, Limits, Line, Lines, Queued, Reason, Room, Served, Set, Step,
    Ticket,
};
use control::balance::Outcome;
use control::concurrency::{AdaptiveLimit, Concurrency, Priorities, Priority, Samples};
use control::policy::Policy;
use control::rate::RateClass;
use control::service_level::{ServiceLevel, Tally};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// The limits of a service, and their state for its requests.
#[derive(Debug)]
pub(super) struct AdmissionControl {
    admission: Admission<Cell<u64>>,
    /// The limits that always apply, and those of the policy.
    limits: [Option<Limit>; 2],
    policy: Option<Watch>,
    /// Since when a request waits in line.
    waits_since: Timestamp,
    /// By the index of the visit.
    requests: Vec<RequestState>,
}

/// A concurrency limit with its adaptive limit and its queue.
#[derive(Debug)]
struct Limit {
    count: Arc<Concurrency<Cell<u64>>>,
    adaptive: Option<Box<(AdaptiveLimit, Samples)>>,
    line: Option<(Room<Cell<u64>>, Line<u32>)>,
}

/// The policy that engages the gated limits.
#[derive(Debug)]
struct Watch {
    policy: Policy,
    level: ServiceLevel,
    /// Since the policy's last evaluation.
    tally: Tally,
    /// When requests become late, in order, with the request.
    late: VecDeque<(u64, u32)>,
}

impl Watch {
    /// When a request that is sent now becomes late; `None` where only statuses count.
    fn late_at(&self, sent: Timestamp) -> Option<Timestamp> {
        self.level.settings().target.map(|target| sent + target)
    }
}

/// The state of a request at the limits.
#[derive(Debug, Default)]
struct RequestState {
    progress: Progress,
    admitted_at: u64,
    /// When its present attempt was sent: the service level class measures from this time.
    sent_at: u64,
    /// Whether it is already counted as late.
    late: bool,
}

#[derive(Debug, Default)]
enum Progress {
    #[default]
    Outside,
    Turn(Ticket),
    Line {
        set: Set,
        place: Queued,
        had_turn: bool,
    },
    Inside(Admitted),
}

/// The decision about a request.
enum Fate {
    Passes,
    /// It waits, at most until this time.
    Waits(At, Timestamp),
    Refused(Reason),
}

impl AdmissionControl {
    /// None where nothing is limited. Contradictory settings are among [`settings::System::problems`].
    pub(super) fn new(settings: &settings::Admission) -> Option<Self> {
        if settings.is_open() {
            return None;
        }
        let gated = settings.policy.map(|gated| gated.limits).unwrap_or_default();
        let both = [settings.always, gated];
        let limits = [0, 1].map(|place| Limit::new(ClassId(CONCURRENCY + place), both[usize::from(place)]));
        let rate = |place: u16| {
            let settings = both[usize::from(place)].rate?;
            RateClass::new(ClassId(place), settings).ok().map(Arc::new)
        };
        let of = |place: u16| Limits {
            rate: rate(place),
            concurrency: limits[usize::from(place)].as_ref().map(|limit| Arc::clone(&limit.count)),
        };
        let policy = settings.policy.and_then(|gated| {
            Some(Watch {
                policy: Policy::new(gated.policy).ok()?,
                level: ServiceLevel::new(gated.service_level).ok()?,
                tally: Tally::default(),
                late: VecDeque::new(),
            })
        });
        let admission = Admission::new(of(0), of(1));
        Some(AdmissionControl {
            admission,
            limits,
            policy,
            waits_since: Timestamp::ZERO,
            requests: Vec::new(),
        })
    }

    /// Whether it needs a periodic tick.
    pub(super) fn ticks(&self) -> bool {
        self.policy.is_some() || self.limits.iter().flatten().any(|limit| limit.adaptive.is_some())
    }

    fn request(&mut self, v: u32) -> &mut RequestState {
        let place = v as usize;
        if self.requests.len() <= place {
            self.requests.resize_with(place + 1, RequestState::default);
        }
        &mut self.requests[place]
    }

    /// A request arrives, or continues with what it has brought.
    fn ask(&mut self, v: u32, now: Timestamp, brought: Brought) -> Fate {
        let step = self.admission.ask(now, ANYONE, brought, &Before(&self.limits));
        self.follow(v, now, step, brought.had_turn)
    }

    /// Its turn has come.
    fn turn(&mut self, v: u32, now: Timestamp) -> Fate {
        let Progress::Turn(ticket) = std::mem::take(&mut self.request(v).progress) else {
            return Fate::Passes;
        };
        let step = self.admission.turn(now, ticket, &Before(&self.limits));
        self.follow(v, now, step, true)
    }

    fn follow(&mut self, v: u32, now: Timestamp, step: Step, had_turn: bool) -> Fate {
        match step {
            Step::Admitted(admitted) => self.admit(v, now, admitted),
            Step::Turn(ticket) => {
                let at = ticket.at();
                self.request(v).progress = Progress::Turn(ticket);
                Fate::Waits(At::Turn, at)
            }
            Step::Line(set) => self.wait_in_line(v, now, set, had_turn),
            Step::Shed(reason) => Fate::Refused(reason),
        }
    }

    fn admit(&mut self, v: u32, now: Timestamp, admitted: Admitted) -> Fate {
        let request = self.request(v);
        let at = now.as_nanos();
        *request =
            RequestState { progress: Progress::Inside(admitted), admitted_at: at, sent_at: at, late: false };
        if let Some(watch) = &mut self.policy {
            watch.late.extend(watch.late_at(now).map(|late| (late.as_nanos(), v)));
        }
        Fate::Passes
    }

    /// Whether a request waits in line.
    fn has_waiting(&self) -> bool {
        self.limits
            .iter()
            .flatten()
            .any(|limit| limit.line.as_ref().is_some_and(|(_, line)| !line.is_empty()))
    }

    /// When the gateway next checks for slots that no request has released.
    fn next_look(&self, now: Timestamp) -> Option<Timestamp> {
        let looks = now.since(self.waits_since).as_nanos() / LOOK_EVERY.as_nanos() + 1;
        self.has_waiting().then(|| self.waits_since + LOOK_EVERY * looks as u32)
    }

    fn wait_in_line(&mut self, v: u32, now: Timestamp, set: Set, had_turn: bool) -> Fate {
        if !self.has_waiting() {
            self.waits_since = now;
        }
        let Some(Limit { count, line: Some((room, line)), .. }) = &mut self.limits[set as usize] else {
            return Fate::Passes;
        };
        let pace = line.pace(count.limit(), 1);
        match line.wait(room, now, ANYONE, pace, v) {
            Ok(place) => {
                self.request(v).progress = Progress::Line { set, place, had_turn };
                Fate::Waits(At::Line, place.latest_start())
            }
            Err(reason) => Fate::Refused(reason),
        }
    }

    /// It has waited in line for as long as it may; no effect if it does not wait there any more.
    fn waited_too_long(&mut self, v: u32, now: Timestamp) -> Option<Reason> {
        let Progress::Line { set, place, .. } = self.request(v).progress else { return None };
        if place.latest_start() != now {
            return None;
        }
        self.request(v).progress = Progress::Outside;
        let Some(Limit { count, line: Some((room, line)), .. }) = &mut self.limits[set as usize] else {
            return None;
        };
        let pace = line.pace(count.limit(), 1);
        Some(line.waited_too_long(room, now, pace, place))
    }

    /// Another attempt of a request has another index.
    pub(super) fn becomes(&mut self, v: u32, again: u32, sent_at: u64) {
        let mut request = std::mem::take(self.request(v));
        request.sent_at = sent_at;
        if let (Progress::Inside(_), false, Some(watch)) = (&request.progress, request.late, &mut self.policy)
            && let Some(at) = watch.late_at(Timestamp::from_nanos(sent_at))
        {
            // After a wait it is later than requests that arrived in between.
            let place = watch.late.partition_point(|&(late, _)| late < at.as_nanos());
            watch.late.insert(place, (at.as_nanos(), again));
        }
        *self.request(again) = request;
    }

    /// A request has ended for its client; `sent` is whether it reached an instance.
    fn leaves(&mut self, v: u32, now: Timestamp, ended: Ended, sent: bool) {
        let request = std::mem::take(self.request(v));
        let RequestState { progress: Progress::Inside(admitted), admitted_at, sent_at, late } = request
        else {
            return;
        };
        let held = now.since(Timestamp::from_nanos(admitted_at));
        let in_flight = [admitted.in_flight().always, admitted.in_flight().gated];
        self.admission.finished(admitted);
        // A request that never reached the service, or found its instance full, is not a sample of it.
        let outcome = match ended {
            Ended::Full => Outcome::Cancelled,
            _ if !sent => Outcome::Cancelled,
            ended => ended.outcome(held),
        };
        for (limit, in_flight) in self.limits.iter_mut().zip(in_flight) {
            let Some(limit) = limit else { continue };
            if let Some(adaptive) = &mut limit.adaptive {
                admission::learn(&mut adaptive.1, outcome, in_flight, held, held);
            }
            if let Some((_, line)) = &mut limit.line {
                line.learn(outcome, held);
            }
        }
        if let (Some(watch), false) = (&mut self.policy, late) {
            let elapsed = now.since(Timestamp::from_nanos(sent_at));
            match (ended, ended.status()) {
                // The instance's bound belongs to the gateway: it is not a sample of the service.
                (Ended::Full, _) => {}
                (_, Some(status)) => watch.tally.record(watch.level.settings().conforms(status, elapsed)),
                (_, None) => watch.tally.record_late(),
            }
        }
    }

    /// Merges the counts, steps adaptive limits, and evaluates the policy.
    fn tick(&mut self, now: Timestamp) {
        if let Some(watch) = &mut self.policy {
            while let Some(&(at, v)) = watch.late.front()
                && at < now.as_nanos()
            {
                watch.late.pop_front();
                let request = &mut self.requests[v as usize];
                let target = watch.level.settings().target.unwrap_or(Duration::MAX);
                let late_at = Timestamp::from_nanos(request.sent_at) + target;
                // The index may belong to another request now.
                if matches!(request.progress, Progress::Inside(_))
                    && !request.late
                    && late_at.as_nanos() == at
                {
                    request.late = true;
                    watch.tally.record_late();
                }
            }
            watch.level.absorb(now, std::mem::take(&mut watch.tally));
        }
        for limit in self.limits.iter_mut().flatten() {
            if let Some(adaptive) = &mut limit.adaptive {
                let (adaptive, samples) = &mut **adaptive;
                if let Some(change) = adaptive.step(now, &std::mem::take(samples)) {
                    limit.count.set_limit(change.to);
                }
            }
        }
        if let Some(watch) = &mut self.policy
            && let Some(transition) = watch.policy.tick(now, &watch.level)
        {
            self.admission.apply(now, &transition);
        }
    }

    /// The next request in line for a free slot: it gets the slot, or is refused.
    fn next_in_line(&mut self, now: Timestamp) -> Option<(u32, Result<Brought, Reason>)> {
        for set in Set::BOTH {
            let applies = self.admission.applies(set);
            let Some(Limit { count, line: Some((room, line)), .. }) = &mut self.limits[set as usize] else {
                continue;
            };
            let pace = line.pace(count.limit(), 1);
            match line.serve(room, now, pace, (count, applies)) {
                None => {}
                Some(Served::Shed { request, reason }) => {
                    self.request(request).progress = Progress::Outside;
                    return Some((request, Err(reason)));
                }
                Some(Served::Start { request, in_flight }) => {
                    let progress = std::mem::take(&mut self.request(request).progress);
                    let had_turn = matches!(progress, Progress::Line { had_turn: true, .. });
                    let place = match set {
                        Set::Always => Held::Always(in_flight),
                        Set::Gated => Held::Gated(in_flight),
                    };
                    return Some((request, Ok(Brought { place: Some(place), had_turn })));
                }
            }
        }
        None
    }
}

/// The lines before the limits of a service.
struct Before<'limits>(&'limits [Option<Limit>; 2]);

impl Lines for Before<'_> {
    fn has(&self, set: Set) -> bool {
        self.0[set as usize].as_ref().is_some_and(|limit| limit.line.is_some())
    }

    fn is_before(&self, set: Set, priority: Priority) -> bool {
        let line = self.0[set as usize].as_ref().and_then(|limit| limit.line.as_ref());
        line.is_some_and(|(_, line)| line.is_before(priority))
    }
}

impl Limit {
    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "the gateway's limits are shared by threads, these are not"
    )]
    fn new(id: ClassId, limits: settings::Limits) -> Option<Self> {
        let ConcurrencyLimit { bound, queue } = limits.concurrency?;
        let (count, adaptive) = match bound {
            Bound::Fixed(limit) => (Concurrency::new(id, limit).ok()?, None),
            Bound::Adaptive(settings) => {
                let adaptive = AdaptiveLimit::new(settings).ok()?;
                let count = Concurrency::new(id, adaptive.limit()).ok()?;
                (count, Some(Box::new((adaptive, Samples::default()))))
            }
        };
        Some(Limit {
            count: Arc::new(count),
            adaptive,
            line: queue.and_then(|queue| {
                let room = Room::new(id, queue, Priorities::NONE).ok()?;
                let line = Line::new(&room, 1);
                Some((room, line))
            }),
        })
    }
}

impl Requests {
    /// A request reaches the limits of its service.
    pub(super) fn ask(&mut self, v: u32) {
        let now = Timestamp::from_nanos(self.now);
        let fate = self.with_admission(v, |admission| admission.ask(v, now, Brought::default()));
        self.follow(v, fate);
    }

    /// Its turn at a rate class has come.
    pub(super) fn turn_comes(&mut self, v: u32) {
        let now = Timestamp::from_nanos(self.now);
        let fate = self.with_admission(v, |admission| admission.turn(v, now));
        self.follow(v, fate);
    }

    /// A request may have waited in line for as long as it may.
    pub(super) fn line_ends(&mut self, v: u32) {
        if self.visits.slots[v as usize].at != At::Line {
            return;
        }
        let now = Timestamp::from_nanos(self.now);
        if let Some(reason) = self.with_admission(v, |admission| admission.waited_too_long(v, now)).flatten()
        {
            self.turn_away(v, reason);
        }
    }

    /// The periodic tick of a service's limits.
    pub(super) fn admission_ticks(&mut self, number: u16) {
        let now = Timestamp::from_nanos(self.now);
        if let Some(admission) = &mut self.services[usize::from(number)].admission {
            admission.tick(now);
            let next_look = admission.next_look(now);
            self.timers.push(self.now + TICK, Due::Admission(number));
            if let Some(at) = next_look {
                self.timers.push(at.as_nanos(), Due::Look(number));
            }
        }
    }

    /// A request leaves the limits of its service, and others may follow.
    pub(super) fn leave_door(&mut self, v: u32, number: u16, ended: Ended) {
        let now = Timestamp::from_nanos(self.now);
        let sent = self.visits.slots[v as usize].instance != NONE;
        if let Some(admission) = &mut self.services[usize::from(number)].admission {
            admission.leaves(v, now, ended, sent);
            self.serve_line(number);
        }
    }

    /// Gives free slots to the requests in line.
    pub(super) fn serve_line(&mut self, number: u16) {
        let now = Timestamp::from_nanos(self.now);
        while let Some(admission) = &mut self.services[usize::from(number)].admission
            && let Some((v, next)) = admission.next_in_line(now)
        {
            match next {
                Ok(brought) => {
                    let fate = admission.ask(v, now, brought);
                    self.follow_later(v, fate);
                }
                Err(reason) => self.turn_away(v, reason),
            }
        }
    }

    fn with_admission<R>(&mut self, v: u32, with: impl FnOnce(&mut AdmissionControl) -> R) -> Option<R> {
        let number = self.visits.slots[v as usize].service;
        self.services[usize::from(number)].admission.as_mut().map(with)
    }

    fn follow(&mut self, v: u32, fate: Option<Fate>) {
        match fate {
            None | Some(Fate::Passes) => self.send(v),
            Some(Fate::Waits(at, until)) => self.wait_at_door(v, at, until),
            Some(Fate::Refused(reason)) => self.turn_away(v, reason),
        }
    }

    /// As [`follow`](Self::follow), but the loop sends it later: the request that has just left may be in the middle of
    /// an operation.
    fn follow_later(&mut self, v: u32, fate: Fate) {
        match fate {
            Fate::Passes => self.wait_at_door(v, At::Backoff, Timestamp::from_nanos(self.now)),
            fate => self.follow(v, Some(fate)),
        }
    }

    fn wait_at_door(&mut self, v: u32, at: At, until: Timestamp) {
        self.visits.slots[v as usize].at = at;
        let due = if at == At::Line { Due::Line(v) } else { Due::Visit(v) };
        self.timers.push(until.as_nanos(), due);
    }

    /// A request that is refused.
    fn turn_away(&mut self, v: u32, reason: Reason) {
        let number = self.visits.slots[v as usize].service;
        let service = &mut self.services[usize::from(number)];
        service.window.shed(reason.name());
        // Refusals of the limits that always apply do not count as a sign of overload.
        if let Some(AdmissionControl { policy: Some(watch), .. }) = &mut service.admission
            && GATED.contains(&reason.class())
        {
            watch.tally.record_shed();
        }
        self.conclude(v, Ended::Refused);
        self.visits.end(v);
    }
}

/// There are no priority classes here, and no client leaves while the limits decide.
const ANYONE: (Priority, Timestamp) = (Priority::HIGHEST, Timestamp::NEVER);
/// The first id of concurrency limits; rate classes have lower ids.
const CONCURRENCY: u16 = 2;
/// The ids of the policy's limits.
const GATED: [ClassId; 2] = [ClassId(1), ClassId(CONCURRENCY + 1)];
/// How often the gateway checks for slots that a limit or a policy has freed while requests wait.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How often the gateway evaluates its policies and steps adaptive limits.
const TICK: u64 = 100_000_000;

#[cfg(test)]
impl AdmissionControl {
    /// No request is inside, and none waits.
    pub(super) fn assert_empty(&self) {
        for limit in self.limits.iter().flatten() {
            assert_eq!(
                (limit.count.in_flight(), limit.line.as_ref().map_or(0, |(_, line)| line.len())),
                (0, 0)
            );
        }
        for limits in [self.admission.always(), self.admission.gated()] {
            assert_eq!(limits.rate.as_ref().map_or(0, |class| class.backlog()), 0);
        }
    }
}
