//! A service: its prepared settings, and the state that its instances share.

use super::admission::AdmissionControl;
use super::balancers::Balancers;
use super::draw::draw_of;
use super::list::List;
use super::nanos;
use super::placing::Placing;
use super::program::Program;
use super::slots::Slots;
use crate::plant::Window;
use crate::settings::{Accept, Algorithm, Connections, Host, Retries, Reuse, Service, Start, System};
use control::balance::RetryBudget;
use stats::Draw;
use std::time::Duration;
use units::{Rate, Ratio};

#[derive(Debug)]
pub(super) struct ServiceState {
    /// The first step of each endpoint.
    pub(super) endpoints: Vec<u32>,
    /// Cumulative shares of the endpoints.
    pub(super) shares: Vec<f64>,
    pub(super) hosts: Vec<Host>,
    pub(super) start: Start,

    pub(super) accept: Queueing,
    pub(super) processes: u32,
    /// Of each process.
    pub(super) threads: u32,
    pub(super) bound: u32,
    /// The time for which a thread keeps the lock, in nanoseconds; none without a lock.
    pub(super) quantum: Option<f64>,
    pub(super) front: Option<Front>,

    pub(super) algorithm: Algorithm,
    pub(super) nodes: u16,
    /// The nodes that get requests; at least one.
    pub(super) open: Vec<u16>,
    pub(super) link: Link,
    /// Whether the process that accepted a connection matters.
    pub(super) affinity: bool,
    pub(super) linger: u64,
    pub(super) inline: u32,
    /// From the balancer to the instance and back.
    pub(super) travel: u64,
    pub(super) timeout: Option<u64>,
    pub(super) retries: Option<Budget>,
    pub(super) slots: Option<Slots>,

    pub(super) admission: Option<AdmissionControl>,
    pub(super) balancers: Balancers,
    pub(super) placing: Option<Placing>,
    /// Requests with waiting clients, longest first.
    pub(super) patience: List,
    pub(super) patience_armed: bool,
    /// Connections on which a thread lingers, longest first.
    pub(super) lingering: List,
    pub(super) linger_armed: bool,
    /// Slots of instances that are gone.
    pub(super) free: Vec<u32>,

    pub(super) window: Window,
    pub(super) in_system: u64,
    window_began: u64,
    /// Times of departures minus times of arrivals, from the window's beginning.
    area: i128,
    /// The same for earlier windows, from their beginnings to their ends.
    areas: i128,
    /// The sum of the times that requests that have left were here.
    stays: i128,
}

/// Where requests wait for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queueing {
    Shared,
    PerProcess,
    Kept,
}

#[derive(Debug, Clone)]
pub(super) struct Front {
    pub(super) workers: u32,
    pub(super) cpu: Draw,
    pub(super) wait: Draw,
    pub(super) bound: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Link {
    Kept { reuse: Reuse, idle_timeout: u64 },
    PerCall { server_cpu: f64 },
}

#[derive(Debug, Clone)]
pub(super) struct Budget {
    pub(super) most: u16,
    pub(super) backoff: u64,
    pub(super) budget: RetryBudget,
}

impl ServiceState {
    pub(super) fn new(system: &System, number: usize, service: &Service, program: &mut Program) -> Self {
        let Service { server, balancing, .. } = service;
        let (accept, bound, linger, inline) = match server.accept {
            Accept::Shared { bound } => (Queueing::Shared, bound, Duration::ZERO, 0),
            Accept::PerProcess { bound } => (Queueing::PerProcess, bound, Duration::ZERO, 0),
            Accept::Kept { bound, linger, inline } => (Queueing::Kept, bound, linger, inline),
        };
        let (mut processes, mut threads) = (server.processes.max(1), server.threads.max(1));
        let lock = server.lock.filter(|_| threads > 1);
        if accept == Queueing::Shared && lock.is_none() {
            // The process of a thread makes no difference.
            (processes, threads) = (1, processes.saturating_mul(threads));
        }
        let (link, delay) = match balancing.connections {
            Connections::Kept { reuse, idle_timeout } => {
                (Link::Kept { reuse, idle_timeout: nanos(idle_timeout) }, 0)
            }
            Connections::PerCall { server_cpu, delay, .. } => {
                (Link::PerCall { server_cpu: nanos(server_cpu) as f64 }, nanos(delay))
            }
        };
        let kept = accept == Queueing::Kept && matches!(link, Link::Kept { .. });
        let mut sum = 0.0;
        let shares = service.endpoints.iter().map(|endpoint| {
            sum += endpoint.share.max(0.0);
            sum
        });
        let nodes = balancing.nodes.clamp(1, u32::from(u16::MAX)) as u16;
        ServiceState {
            shares: shares.collect(),
            endpoints: program.add(system, number, service),
            hosts: service.hosts.clone(),
            start: service.start.clone(),
            accept,
            processes,
            threads,
            bound,
            quantum: lock.map(|quantum| nanos(quantum).max(1) as f64),
            front: server.front.as_ref().map(|front| Front {
                workers: front.workers.max(1),
                cpu: draw_of(&front.cpu),
                wait: draw_of(&front.wait),
                bound: front.bound,
            }),
            algorithm: balancing.algorithm,
            nodes,
            open: (0..nodes).collect(),
            link,
            // Front workers keep the balancer's connections.
            affinity: kept && server.front.is_none(),
            linger: nanos(linger),
            inline,
            travel: nanos(balancing.network).saturating_add(delay),
            timeout: balancing.timeout.map(nanos),
            retries: balancing.retries.as_ref().and_then(budget),
            slots: Slots::new(balancing),
            admission: AdmissionControl::new(&service.admission, &service.endpoints),
            balancers: Balancers::new(balancing, &service.zones),
            placing: Placing::new(balancing),
            patience: List::default(),
            patience_armed: false,
            lingering: List::default(),
            linger_armed: false,
            free: Vec::new(),
            window: Window::default(),
            in_system: 0,
            window_began: 0,
            area: 0,
            areas: 0,
            stays: 0,
        }
    }

    /// An endpoint for a request that enters here.
    #[inline]
    pub(super) fn endpoint(&self, share: f64) -> u16 {
        let wanted = share * self.shares.last().copied().unwrap_or(0.0);
        let at = self.shares.iter().position(|&up_to| wanted < up_to);
        at.unwrap_or(self.shares.len().saturating_sub(1)) as u16
    }

    #[inline]
    pub(super) fn arrived(&mut self, now: u64) {
        self.window.arrived += 1;
        self.in_system += 1;
        self.area -= i128::from(now - self.window_began);
    }

    /// A request that arrived at `arrived` leaves.
    #[inline]
    pub(super) fn left(&mut self, now: u64, arrived: u64) {
        self.in_system -= 1;
        self.area += i128::from(now - self.window_began);
        self.stays += i128::from(now - arrived);
    }

    /// Requests here, integrated over the window, in request nanoseconds.
    fn window_area(&self, now: u64) -> i128 {
        self.area + i128::from(self.in_system) * i128::from(now - self.window_began)
    }

    /// Requests here, integrated over all time, and the stays of requests that have left; in request nanoseconds.
    pub(super) fn presence(&self, now: u64) -> (i128, i128) {
        (self.areas + self.window_area(now), self.stays)
    }

    pub(super) fn take_window(&mut self, now: u64, into: &mut Window) {
        let span = now - self.window_began;
        let area = self.window_area(now);
        let mean = if span == 0 { self.in_system as f64 } else { area as f64 / span as f64 };
        self.areas += area;
        self.area = 0;
        self.window_began = now;
        into.clear();
        std::mem::swap(into, &mut self.window);
        if let Some(placing) = &mut self.placing {
            into.ejections = std::mem::take(&mut placing.ejections);
        }
        if let Some(admission) = &mut self.admission {
            admission.take_would_shed(&mut into.would_shed);
        }
        into.in_system = mean;
        into.queued = into.queueing.sum();
    }
}

/// Only the share allows retries, so that the documented formula is exact.
fn budget(retries: &Retries) -> Option<Budget> {
    let share = Ratio::new(retries.budget.clamp(0.0, 1.0))?;
    Some(Budget {
        most: retries.most.min(u32::from(u16::MAX)) as u16,
        backoff: nanos(retries.backoff),
        budget: RetryBudget::new(share, Rate::ZERO, BUDGET_SPAN).ok()?,
    })
}

/// As in Finagle and linkerd.
const BUDGET_SPAN: Duration = Duration::from_secs(10);
