//! Admission before the balancer, decided by [`control::admission`] as in the gateway.
//!
//! A request that waits for its turn at a rate class, or for a slot of a concurrency limit, is at [`At::Turn`] or
//! [`At::Line`]. The rate classes of its keys come first, and limits in shadow see the admitted requests. Every tenth of a second adaptive limits take a step and the policy evaluates its service level class.
//! A slot that a request releases is given to the next one in line at once; a slot that a limit or a policy has freed
//! is found by a check every 2 ms, as in the gateway.

use super::Requests;
use super::instance::State;
use super::keys::Keys;
use super::list::NONE;
use super::send::Ended;
use super::timers::Due;
use super::visit::At;
use crate::settings::{
    self, Bound, ConcurrencyLimit, Endpoint, KeyId, Keyed, RateLimit, RequestDeadline, RequestPriority,
};
use control::ClassId;
use control::admission::{
    self, Admission, Admitted, Brought, Held, KeyClass, KeyStep, KeyTurn, Limits, Line, Lines, Queued,
    Reason, Room, Served, Set, Shadow, Step, Ticket, Watched,
};
use control::balance::Outcome;
use control::concurrency::{AdaptiveLimit, Concurrency, Priority, Samples};
use control::policy::Policy;
use control::rate::{KeyedRateClasses, RateClass};
use control::service_level::{ServiceLevel, Tally};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// The limits of a service, and their state for its requests.
#[derive(Debug)]
pub(super) struct AdmissionControl {
    admission: Admission<Cell<u64>>,
    /// The concurrency limits that decide: the one that always applies, and the policy's.
    limits: [Option<Limit>; 2],
    /// Those in shadow.
    watching: [Option<Limit>; 2],
    shadows: [Option<Shadow<Cell<u64>>>; 2],
    keyed: [Option<KeyedLimit>; 2],
    priority: RequestPriority,
    /// By endpoint; none: that of the service.
    by_endpoint: Vec<RequestPriority>,
    deadline: Option<RequestDeadline>,
    /// What limits in shadow would have refused since the last window.
    would_shed: BTreeMap<&'static str, u64>,
    policy: Option<Watch>,
    /// Since when a request waits in line.
    waits_since: Timestamp,
    /// By the index of the visit.
    requests: Vec<RequestState>,
}

/// A rate class for each key.
#[derive(Debug)]
struct KeyedLimit {
    by: Keyed,
    shadow: bool,
    classes: KeyedRateClasses<(KeyId, u32), Cell<u64>>,
}

impl KeyedLimit {
    /// The class of a request of this identity; `None` for one without a value of the key.
    fn class(&mut self, now: Timestamp, keys: &Keys, identity: u64) -> Option<Arc<RateClass<Cell<u64>>>> {
        let of = |key: KeyId| Some((key, keys.value(key, identity)?));
        let key = of(self.by.by).or_else(|| of(self.by.otherwise?))?;
        Some(Arc::clone(self.classes.class(now, &key)))
    }
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
    priority: Option<Priority>,
    /// When its client leaves.
    deadline: Option<Timestamp>,
    /// The rate classes of its keys, until they are checked.
    classes: [Option<Arc<RateClass<Cell<u64>>>>; 2],
    watched: [Option<Watched>; 2],
}

impl RequestState {
    /// What the limits know of the request.
    fn claims(&self) -> (Priority, Timestamp) {
        (self.priority.unwrap_or(Priority::HIGHEST), self.deadline.unwrap_or(Timestamp::NEVER))
    }
}

#[derive(Debug, Default)]
enum Progress {
    #[default]
    Outside,
    Key(KeyTurn<Cell<u64>>),
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
    pub(super) fn new(settings: &settings::Admission, endpoints: &[Endpoint]) -> Option<Self> {
        if settings.is_open() {
            return None;
        }
        let gated = settings.policy.map(|gated| gated.limits).unwrap_or_default();
        let both = [settings.always, gated];
        let limit = |place: u16, shadow: bool| {
            let limit = both[usize::from(place)].concurrency.filter(|limit| limit.shadow == shadow)?;
            Limit::new(ClassId(CONCURRENCY + place), limit)
        };
        let rate = |place: u16, shadow: bool| {
            let common = |rate: &RateLimit| rate.shadow == shadow && rate.keyed.is_none();
            let limit = both[usize::from(place)].rate.filter(common)?;
            RateClass::new(ClassId(place), limit.rate).ok().map(Arc::new)
        };
        let keyed = |place: u16| {
            let RateLimit { rate, keyed, shadow } = both[usize::from(place)].rate?;
            let by = keyed?;
            let classes = KeyedRateClasses::new(ClassId(place), rate, by.keys as usize).ok()?;
            Some(KeyedLimit { by, shadow, classes })
        };
        let limits = [0, 1].map(|place| limit(place, false));
        let watching = [0, 1].map(|place| limit(place, true));
        let of = |place: u16, shadow: bool| {
            let limits = if shadow { &watching } else { &limits };
            let concurrency = limits[usize::from(place)].as_ref().map(|limit| Arc::clone(&limit.count));
            Limits { rate: rate(place, shadow), concurrency }
        };
        let policy = settings.policy.and_then(|gated| {
            Some(Watch {
                policy: Policy::new(gated.policy).ok()?,
                level: ServiceLevel::new(gated.service_level).ok()?,
                tally: Tally::default(),
                late: VecDeque::new(),
            })
        });
        let shadows = [0, 1].map(|place| {
            let limits = of(place, true);
            (limits.rate.is_some() || limits.concurrency.is_some()).then(|| Shadow::new(limits))
        });
        Some(AdmissionControl {
            admission: Admission::new(of(0, false), of(1, false)),
            limits,
            watching,
            shadows,
            keyed: [0, 1].map(keyed),
            priority: settings.priority.clone(),
            by_endpoint: endpoints.iter().map(|endpoint| endpoint.priority.clone()).collect(),
            deadline: settings.deadline.clone(),
            would_shed: BTreeMap::new(),
            policy,
            waits_since: Timestamp::ZERO,
            requests: Vec::new(),
        })
    }

    /// Whether it needs a periodic tick.
    pub(super) fn ticks(&self) -> bool {
        let limits = || self.limits.iter().chain(&self.watching).flatten();
        self.policy.is_some() || limits().any(|limit| limit.adaptive.is_some())
    }

    /// Returns and resets what limits in shadow would have refused.
    pub(super) fn take_would_shed(&mut self, into: &mut BTreeMap<&'static str, u64>) {
        into.append(&mut self.would_shed);
    }

    fn request(&mut self, v: u32) -> &mut RequestState {
        let place = v as usize;
        if self.requests.len() <= place {
            self.requests.resize_with(place + 1, RequestState::default);
        }
        &mut self.requests[place]
    }

    /// A request of this identity arrives for an endpoint.
    fn arrive(&mut self, v: u32, now: Timestamp, keys: &Keys, (endpoint, identity): (u16, u64)) -> Fate {
        let own = self.by_endpoint.get(usize::from(endpoint));
        let own = own.filter(|own| **own != RequestPriority::None);
        let priority = match own.unwrap_or(&self.priority) {
            RequestPriority::None => None,
            RequestPriority::Class(class) => Some(*class),
            RequestPriority::ByKey { key, classes, otherwise } => {
                let class = keys.value(*key, identity).and_then(|value| classes.get(value as usize));
                Some(*class.unwrap_or(otherwise))
            }
        };
        let classes = self.keyed.each_mut().map(|limit| limit.as_mut()?.class(now, keys, identity));
        let deadline = self.deadline.as_ref().and_then(|deadline| {
            let value = keys.value(deadline.key, identity)?;
            let patience = deadline.values.get(value as usize).copied().flatten()?;
            Some(now + patience)
        });
        *self.request(v) = RequestState { priority, deadline, classes, ..RequestState::default() };
        self.ask_keyed(v, now, 0)
    }

    /// The rate classes of its keys, from this set on, and then the other limits.
    fn ask_keyed(&mut self, v: u32, now: Timestamp, first: usize) -> Fate {
        let AdmissionControl { admission, keyed, would_shed, requests, .. } = self;
        let request = &mut requests[v as usize];
        let (_, leaves) = request.claims();
        let class = |set: Set| {
            let shadow = keyed[set as usize].as_ref().is_some_and(|limit| limit.shadow);
            request.classes[set as usize].take().map(|class| KeyClass { class, shadow })
        };
        let count = |reason: Reason| *would_shed.entry(reason.name()).or_default() += 1;
        match admission.ask_keyed(now, leaves, first, class, count) {
            KeyStep::Passed => self.ask(v, now, Brought::default()),
            KeyStep::Turn(turn) => {
                let at = turn.at();
                self.request(v).progress = Progress::Key(turn);
                Fate::Waits(At::Turn, at)
            }
            KeyStep::Shed(reason) => Fate::Refused(reason),
        }
    }

    /// It continues with what it has brought.
    fn ask(&mut self, v: u32, now: Timestamp, brought: Brought) -> Fate {
        let claims = self.request(v).claims();
        let step = self.admission.ask(now, claims, brought, &Before(&self.limits));
        self.follow(v, now, step, brought.had_turn)
    }

    /// Its turn has come.
    fn turn(&mut self, v: u32, now: Timestamp) -> Fate {
        match std::mem::take(&mut self.request(v).progress) {
            Progress::Key(turn) => {
                let next = turn.came();
                self.ask_keyed(v, now, next)
            }
            Progress::Turn(ticket) => {
                let step = self.admission.turn(now, ticket, &Before(&self.limits));
                self.follow(v, now, step, true)
            }
            _ => Fate::Passes,
        }
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
        let watched = self.observe(v, now);
        let request = self.request(v);
        let at = now.as_nanos();
        let (priority, deadline) = (request.priority, request.deadline);
        *request = RequestState {
            progress: Progress::Inside(admitted),
            admitted_at: at,
            sent_at: at,
            priority,
            deadline,
            watched,
            ..RequestState::default()
        };
        if let Some(watch) = &mut self.policy {
            watch.late.extend(watch.late_at(now).map(|late| (late.as_nanos(), v)));
        }
        Fate::Passes
    }

    /// Passes an admitted request to the limits in shadow.
    fn observe(&mut self, v: u32, now: Timestamp) -> [Option<Watched>; 2] {
        if let [None, None] = self.shadows {
            return [None, None];
        }
        let (priority, _) = self.request(v).claims();
        Set::BOTH.map(|set| {
            let shadow = self.shadows[set as usize].as_ref()?;
            let observed = shadow.observe(now, priority, self.admission.applies(set));
            if let Some(reason) = observed.would_shed() {
                *self.would_shed.entry(reason.name()).or_default() += 1;
            }
            Some(observed.watched())
        })
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
        let claims = self.request(v).claims();
        let Some(Limit { count, line: Some((room, line)), .. }) = &mut self.limits[set as usize] else {
            return Fate::Passes;
        };
        let pace = line.pace(count.limit(), 1);
        match line.wait(room, now, claims, pace, v) {
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
        let request = std::mem::take(self.request(v));
        *self.request(again) = request;
        self.is_sent(again, Timestamp::from_nanos(sent_at));
    }

    /// What the limits know of a request.
    pub(super) fn claims(&mut self, v: u32) -> (Priority, Timestamp) {
        self.request(v).claims()
    }

    /// An admitted request waits for a slot at an instance. The service level class does not measure this wait.
    pub(super) fn waits_to_be_sent(&mut self, v: u32) {
        self.request(v).sent_at = NOT_SENT;
    }

    /// An admitted request is sent at this time, after a wait.
    pub(super) fn is_sent(&mut self, v: u32, sent: Timestamp) {
        let request = self.request(v);
        request.sent_at = sent.as_nanos();
        let may_be_late = matches!(request.progress, Progress::Inside(_)) && !request.late;
        if let (true, Some(watch)) = (may_be_late, &mut self.policy)
            && let Some(at) = watch.late_at(sent)
        {
            // After a wait it is later than requests that arrived in between.
            let place = watch.late.partition_point(|&(late, _)| late < at.as_nanos());
            watch.late.insert(place, (at.as_nanos(), v));
        }
    }

    /// A request has ended for its client; `sent` is whether it reached an instance.
    fn leaves(&mut self, v: u32, now: Timestamp, ended: Ended, sent: bool) {
        let request = std::mem::take(self.request(v));
        let RequestState {
            progress: Progress::Inside(admitted), admitted_at, sent_at, late, watched, ..
        } = request
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
        for ((shadow, limit), watched) in self.shadows.iter().zip(&mut self.watching).zip(watched) {
            let (Some(shadow), Some(watched)) = (shadow, watched) else { continue };
            if let (Some(Limit { adaptive: Some(adaptive), .. }), in_flight @ 1..) =
                (limit, watched.in_flight())
            {
                admission::learn(&mut adaptive.1, outcome, in_flight, held, held);
            }
            shadow.left(watched);
        }
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
                    && request.sent_at != NOT_SENT
                    && late_at.as_nanos() == at
                {
                    request.late = true;
                    watch.tally.record_late();
                }
            }
            watch.level.absorb(now, std::mem::take(&mut watch.tally));
        }
        for limit in self.limits.iter_mut().chain(&mut self.watching).flatten() {
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
            if let [_, Some(shadow)] = &self.shadows {
                shadow.apply(now, &transition);
            }
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
    fn new(id: ClassId, limit: ConcurrencyLimit) -> Option<Self> {
        let ConcurrencyLimit { bound, queue, priorities, classes, .. } = limit;
        let (count, adaptive) = match bound {
            Bound::Fixed(limit) => (Concurrency::new(id, limit).ok()?, None),
            Bound::Adaptive(settings) => {
                let adaptive = AdaptiveLimit::new(settings).ok()?;
                let count = Concurrency::new(id, adaptive.limit()).ok()?;
                (count, Some(Box::new((adaptive, Samples::default()))))
            }
        };
        Some(Limit {
            count: Arc::new(count.with_priorities(priorities)),
            adaptive,
            line: queue.and_then(|queue| {
                let room = Room::new(id, queue, priorities).ok()?;
                let line = Line::new(&room, usize::from(classes.max(1)));
                Some((room, line))
            }),
        })
    }
}

impl Requests {
    /// A request reaches the limits of its service.
    pub(super) fn ask(&mut self, v: u32) {
        let now = Timestamp::from_nanos(self.now);
        let visit = &self.visits.slots[v as usize];
        let admission = self.services[usize::from(visit.service)].admission.as_mut();
        let who = (visit.endpoint, visit.identity);
        let fate = admission.map(|admission| admission.arrive(v, now, &self.keys, who));
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
        match self.visits.slots[v as usize].at {
            At::Line => {}
            At::SlotQueue => return self.slot_wait_ends(v),
            _ => return,
        }
        let now = Timestamp::from_nanos(self.now);
        if let Some(reason) = self.with_admission(v, |admission| admission.waited_too_long(v, now)).flatten()
        {
            self.turn_away(v, reason);
        }
    }

    /// The periodic tick of a service's limits, of its ejection and of its checks.
    pub(super) fn admission_ticks(&mut self, number: u16) {
        let now = Timestamp::from_nanos(self.now);
        let service = &mut self.services[usize::from(number)];
        if let Some(placing) = &mut service.placing {
            let instances = &self.instances;
            let responds = |slot: u32| instances[slot as usize].state != State::Failed;
            placing.tick(now, &mut service.balancers, responds);
        }
        self.serve_slots(number);
        let service = &mut self.services[usize::from(number)];
        let next_look = service.admission.as_mut().and_then(|admission| {
            admission.tick(now);
            admission.next_look(now)
        });
        self.timers.push(self.now + TICK, Due::Admission(number));
        if let Some(at) = next_look {
            self.timers.push(at.as_nanos(), Due::Look(number));
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

/// The first id of concurrency limits; rate classes have lower ids.
const CONCURRENCY: u16 = 2;
/// The ids of the policy's limits.
const GATED: [ClassId; 2] = [ClassId(1), ClassId(CONCURRENCY + 1)];
/// The time at which a request was sent that was not sent yet.
const NOT_SENT: u64 = u64::MAX;
/// How often the gateway checks for slots that a limit or a policy has freed while requests wait.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How often the gateway evaluates its policies and steps adaptive limits.
const TICK: u64 = 100_000_000;

#[cfg(test)]
impl AdmissionControl {
    /// No request is inside, and none waits.
    pub(super) fn assert_empty(&self) {
        for limit in self.limits.iter().chain(&self.watching).flatten() {
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
