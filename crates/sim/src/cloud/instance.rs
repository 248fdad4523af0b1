//! One instance: its phase, its use of resources, its cost.

use super::queue::Launch;
use crate::credits::Balance;
use crate::plant::InstanceId;
use crate::settings::{Host, Price};
use units::Timestamp;

/// The phase of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Being provisioned: billed, without metrics.
    Provisioning,
    /// Its processes start.
    Booting,
    /// Gets requests.
    Serving,
    /// Gets no new requests; it is stopped at this time.
    Draining(Timestamp),
    /// Failed and not detected yet.
    Failed,
}

/// An instance.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) launch: Launch,
    pub(crate) phase: Phase,
    /// Index of its kind in the service's hosts.
    pub(crate) host: usize,
    /// Index of its zone; 0 without zones.
    pub(crate) zone: u16,
    /// The number of deployments that began before it was launched.
    pub(crate) version: u32,
    /// None until its processes start.
    pub(crate) plant: Option<InstanceId>,
    pub(crate) credits: Option<Balance>,
    /// Since when it is ready, where it is.
    pub(crate) ready_since: Option<Timestamp>,
    /// When its processes started.
    pub(crate) started: Timestamp,
    /// Allotted cores: its quota, otherwise all of its host.
    pub(crate) allotted: f64,
    /// Cores that it gets now, without those taken by neighbours.
    pub(crate) cores: f64,
    /// Share of each core that neighbours leave.
    left: f64,
    /// Processor use since the controller's last reading, if it reads more often than each minute.
    pub(crate) fine: Meter,
    /// Processor use in this row of the result.
    pub(crate) row: Meter,
    /// Processor use in this minute.
    pub(crate) meter: Meter,
    /// Processor use since the controller's last reading, if it reads less often than each minute.
    pub(crate) coarse: Meter,
    /// When the meter was last read.
    pub(crate) read_at: Timestamp,
    launched: Timestamp,
    billed_until: Timestamp,
    owed: f64,
}

/// Processor use, in core seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Meter {
    /// Used.
    pub(crate) used: f64,
    /// Allotted; the cloud's metric is use divided by this.
    pub(crate) allotted: f64,
    /// What it could have used; the utilisation inside the instance is use divided by this.
    pub(crate) possible: f64,
}

impl Meter {
    pub(crate) fn add(&mut self, other: Meter) {
        self.used += other.used;
        self.allotted += other.allotted;
        self.possible += other.possible;
    }

    /// The published utilisation, 0 to 1 (slightly more if the boundaries of a window cut a burst).
    pub(crate) fn published(self) -> Option<f64> {
        (self.allotted > 0.0).then(|| self.used / self.allotted)
    }

    /// The true utilisation.
    pub(crate) fn busy(self) -> Option<f64> {
        (self.possible > 0.0).then(|| (self.used / self.possible).min(1.0))
    }
}

impl Instance {
    pub(crate) fn new(launch: Launch, host: usize, kind: &Host, version: u32, now: Timestamp) -> Self {
        let credits = Balance::new(kind);
        let cores = f64::from(kind.cores);
        let left = 1.0 - kind.steal.map_or(0.0, |steal| steal.share.clamp(0.0, 1.0));
        Instance {
            launch,
            phase: Phase::Provisioning,
            host,
            zone: 0,
            version,
            plant: None,
            cores: left * credits.as_ref().map_or(cores, Balance::cores),
            left,
            credits,
            ready_since: None,
            started: now,
            allotted: kind.allotted(),
            fine: Meter::default(),
            row: Meter::default(),
            meter: Meter::default(),
            coarse: Meter::default(),
            read_at: now,
            launched: now,
            billed_until: now,
            owed: 0.0,
        }
    }

    /// Records the use of a span; returns true if its number of cores changes.
    pub(crate) fn spend(&mut self, seconds: f64, used: f64) -> bool {
        let Some(credits) = &mut self.credits else { return false };
        credits.spend(seconds, used);
        let cores = self.left * credits.cores();
        let changes = cores != self.cores;
        self.cores = cores;
        changes
    }

    /// Whether it counts towards the desired number.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Draining(_))
    }

    /// Whether its processes run and it counts: a running task in ECS.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Booting | Phase::Serving | Phase::Failed)
    }

    /// Its cost since the last call, in US dollars.
    pub(crate) fn bill(&mut self, price: Price, now: Timestamp) -> f64 {
        let seconds = now.since(self.billed_until).as_secs_f64();
        self.billed_until = now;
        let owed = self.credits.as_ref().map_or(0.0, Balance::owed);
        // Surplus credits that are earned back before they are charged are deducted again.
        let surplus = owed - self.owed;
        self.owed = owed;
        price.per_hour * seconds / 3600.0 + surplus
    }

    /// The last bill, which includes the rest of the minimum billed time.
    pub(crate) fn last_bill(&mut self, price: Price, now: Timestamp) -> f64 {
        let missing = price.minimum.saturating_sub(now.since(self.launched)).as_secs_f64();
        self.bill(price, now) + price.per_hour * missing / 3600.0
    }
}
