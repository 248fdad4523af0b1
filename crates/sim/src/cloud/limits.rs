//! Limits on launches: quotas of the account, and the launch rate of the cloud.

use crate::settings::{Host, Quotas, Start};
use std::fmt;
use std::time::Duration;
use units::Timestamp;

/// The remaining quotas of the account, over all services.
#[derive(Debug)]
pub(crate) struct Room {
    quotas: Quotas,
    addresses: u32,
    vcpus: u32,
    instances: u32,
}

impl Room {
    pub(crate) fn new(quotas: Quotas) -> Self {
        Room { quotas, addresses: 0, vcpus: 0, instances: 0 }
    }

    /// Takes what an instance needs, or returns the exhausted quota.
    pub(crate) fn take(&mut self, host: &Host) -> Result<(), Shortage> {
        let lacks = |used: u32, needed: u32, most: Option<u32>| {
            most.filter(|most| used.saturating_add(needed) > *most)
        };
        if let Some(most) = lacks(self.addresses, 1, self.quotas.addresses) {
            return Err(Shortage { of: Quota::Addresses, used: self.addresses, most });
        }
        if let Some(most) = lacks(self.vcpus, host.cores, self.quotas.vcpus) {
            return Err(Shortage { of: Quota::Vcpus, used: self.vcpus, most });
        }
        if let Some(most) = lacks(self.instances, 1, self.quotas.instances) {
            return Err(Shortage { of: Quota::Instances, used: self.instances, most });
        }
        self.addresses += 1;
        self.vcpus += host.cores;
        self.instances += 1;
        Ok(())
    }

    /// Returns what an instance took.
    pub(crate) fn give_back(&mut self, host: &Host) {
        self.addresses -= 1;
        self.vcpus -= host.cores;
        self.instances -= 1;
    }
}

/// A quota of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Addresses in the subnets.
    Addresses,
    /// Virtual processors.
    Vcpus,
    /// Instances.
    Instances,
}

/// Why an instance could not be launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// The exhausted quota.
    pub of: Quota,
    /// How much is in use.
    pub used: u32,
    /// The quota.
    pub most: u32,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, most) = (self.used, self.most);
        match self.of {
            Quota::Addresses => write!(f, "no address left in the subnet ({used} of {most})"),
            Quota::Vcpus => write!(f, "the quota of virtual processors is used up ({used} of {most})"),
            Quota::Instances => write!(f, "the quota of instances is used up ({used} of {most})"),
        }
    }
}

/// The launch rate: a rate with a burst, stored as the time up to which launches are used (generic cell rate
/// algorithm).
#[derive(Debug)]
pub(crate) struct LaunchRate {
    /// The interval between launches; none: no bound.
    interval: Option<Duration>,
    burst: u32,
    paid_until: Timestamp,
}

impl LaunchRate {
    pub(crate) fn new(start: &Start) -> Self {
        LaunchRate {
            interval: start
                .launches_per_second
                .filter(|rate| *rate > 0.0)
                .and_then(|rate| Duration::try_from_secs_f64(1.0 / rate).ok()),
            burst: start.launch_burst.max(1),
            paid_until: Timestamp::ZERO,
        }
    }

    /// Launches one now, or returns when it may be launched.
    pub(crate) fn take(&mut self, now: Timestamp) -> Result<(), Timestamp> {
        let Some(interval) = self.interval else { return Ok(()) };
        let ahead = interval.saturating_mul(self.burst - 1);
        if self.paid_until > now + ahead {
            return Err(self.paid_until - ahead);
        }
        self.paid_until = self.paid_until.max(now) + interval;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn start(rate: f64, burst: u32) -> Start {
        Start { launches_per_second: Some(rate), launch_burst: burst, ..super::super::testing::start() }
    }

    #[test]
    fn a_burst_goes_at_once_and_then_the_rate_holds() {
        let mut rate = LaunchRate::new(&start(1.0, 10));
        let now = Timestamp::from_secs(100);
        assert_eq!((0..20).filter(|_| rate.take(now).is_ok()).count(), 10);
        assert_eq!(rate.take(now), Err(Timestamp::from_secs(101)));
        assert_eq!(rate.take(Timestamp::from_secs(101)), Ok(()));
        assert_eq!(rate.take(Timestamp::from_secs(101)), Err(Timestamp::from_secs(102)));
    }

    proptest! {
        #[test]
        fn never_more_than_rate_times_time_plus_burst(gaps in prop::collection::vec(0_u64..3000, 1..200), burst in 1_u32..20) {
            let mut rate = LaunchRate::new(&start(2.0, burst));
            let (mut now, mut launched) = (0_u64, 0_u64);
            for gap in gaps {
                now += gap;
                while rate.take(Timestamp::from_millis(now)).is_ok() {
                    launched += 1;
                }
                prop_assert!(launched <= u64::from(burst) + now * 2 / 1000);
            }
        }
    }
}
