//! Processor credits of burstable types: earning, spending and charges.
//!
//! One credit is one core for one minute. Source: the EC2 user guide, "Burstable performance instances" (earning,
//! limits, surplus); accounted here whenever the cloud reads its hosts, which is at least every 10 seconds.
//!
//! ## Two metrics
//! A host without credits is limited to its baseline. The cloud's CPUUtilization then shows the baseline, a flat line,
//! while inside the host every core is busy or stolen. Both are recorded (see [`crate::outcome::Row`]): alarms use the
//! first, as in the real cloud.

use crate::settings::{Credits, Host};

/// A burstable type, as its vendor publishes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burstable {
    /// Name of the type.
    pub name: &'static str,
    /// Virtual processors.
    pub vcpus: u32,
    /// Credits earned in an hour.
    pub earned_per_hour: f64,
    /// The highest balance: the credits of 24 hours.
    pub most: f64,
    /// Share of each core that it may use without credits.
    pub baseline: f64,
}

const fn burstable(
    name: &'static str,
    vcpus: u32,
    earned_per_hour: f64,
    most: f64,
    baseline: f64,
) -> Burstable {
    Burstable { name, vcpus, earned_per_hour, most, baseline }
}

/// The t2 and t3 types of EC2 (as published, us-east-1, 2024).
pub const BURSTABLE: [Burstable; 14] = [
    burstable("t2.nano", 1, 3.0, 72.0, 0.05),
    burstable("t2.micro", 1, 6.0, 144.0, 0.10),
    burstable("t2.small", 1, 12.0, 288.0, 0.20),
    burstable("t2.medium", 2, 24.0, 576.0, 0.20),
    burstable("t2.large", 2, 36.0, 864.0, 0.30),
    burstable("t2.xlarge", 4, 54.0, 1296.0, 0.225),
    burstable("t2.2xlarge", 8, 81.6, 1958.4, 0.17),
    burstable("t3.nano", 2, 6.0, 144.0, 0.05),
    burstable("t3.micro", 2, 12.0, 288.0, 0.10),
    burstable("t3.small", 2, 24.0, 576.0, 0.20),
    burstable("t3.medium", 2, 24.0, 576.0, 0.20),
    burstable("t3.large", 2, 36.0, 864.0, 0.30),
    burstable("t3.xlarge", 4, 96.0, 2304.0, 0.40),
    burstable("t3.2xlarge", 8, 192.0, 4608.0, 0.40),
];

/// US dollars for an hour of a core of surplus (Linux, T3; as published).
pub const SURPLUS_PER_HOUR: f64 = 0.05;

/// The type of that name.
pub fn burstable_type(name: &str) -> Option<&'static Burstable> {
    BURSTABLE.iter().find(|kind| kind.name == name)
}

impl Burstable {
    /// Its credits in standard mode (30 launch credits a core where the type is a T2) or in unlimited mode.
    pub fn credits(&self, unlimited: bool) -> Credits {
        Credits {
            earned_per_hour: self.earned_per_hour,
            most: self.most,
            at_start: if self.name.starts_with("t2.") { 30.0 * f64::from(self.vcpus) } else { 0.0 },
            baseline: self.baseline,
            unlimited,
            surplus_per_hour: SURPLUS_PER_HOUR,
        }
    }
}

/// The credit balance of a host, and its charges.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    settings: Credits,
    cores: f64,
    /// Launch credits: spent first, never counted against the bound.
    launch: f64,
    earned: f64,
    surplus: f64,
    charged: f64,
}

/// Seconds over which a low balance is spread, so that use falls gradually: three of them are the 15 minutes that the
/// vendor specifies.
const SPREAD: f64 = 300.0;

impl Balance {
    /// The account of a new host; none where it is not burstable.
    pub fn new(host: &Host) -> Option<Self> {
        host.credits.map(|settings| Balance {
            settings,
            cores: f64::from(host.cores),
            launch: settings.at_start.max(0.0),
            earned: 0.0,
            surplus: 0.0,
            charged: 0.0,
        })
    }

    /// Accounts for a span with this use in core seconds.
    pub fn spend(&mut self, seconds: f64, core_seconds: f64) {
        let earned = self.settings.earned_per_hour * seconds / 3600.0;
        let mut used = core_seconds / 60.0;
        let from_launch = used.min(self.launch);
        self.launch -= from_launch;
        used -= from_launch;
        let balance = self.earned - self.surplus + earned - used;
        if balance >= 0.0 {
            self.earned = balance.min(self.settings.most);
            self.surplus = 0.0;
        } else if self.settings.unlimited {
            self.earned = 0.0;
            self.surplus = (-balance).min(self.settings.most);
            self.charged += (-balance - self.settings.most).max(0.0);
        } else {
            self.earned = 0.0;
        }
    }

    /// The credit balance, as the metric CPUCreditBalance shows it.
    pub fn held(&self) -> f64 {
        self.launch + self.earned
    }

    /// Credits spent above the balance, not yet charged (unlimited mode).
    pub fn surplus(&self) -> f64 {
        self.surplus
    }

    /// The cores that it may use from now on.
    pub fn cores(&self) -> f64 {
        if self.settings.unlimited {
            return self.cores;
        }
        let baseline = self.settings.baseline * self.cores;
        self.cores.min(baseline + self.held() * 60.0 / SPREAD)
    }

    /// Whether it is limited to fewer than its cores.
    pub fn is_held_back(&self) -> bool {
        self.cores() < 0.999 * self.cores
    }

    /// US dollars charged for surplus credits; the rest is charged when the host ends.
    pub fn owed(&self) -> f64 {
        (self.charged + self.surplus) / 60.0 * self.settings.surplus_per_hour
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(name: &str, unlimited: bool) -> Balance {
        let kind = burstable_type(name).expect("in the table");
        let host = Host {
            credits: Some(kind.credits(unlimited)),
            cores: kind.vcpus,
            ..crate::cloud::testing::host()
        };
        Balance::new(&host).expect("burstable")
    }

    #[test]
    fn the_table_agrees_with_itself() {
        for kind in BURSTABLE {
            let earned = kind.baseline * f64::from(kind.vcpus) * 60.0;
            assert!((kind.earned_per_hour / earned - 1.0).abs() < 0.01, "{}: {earned} an hour", kind.name);
            assert!((kind.most / (24.0 * kind.earned_per_hour) - 1.0).abs() < 1e-9, "{}", kind.name);
        }
    }

    #[test]
    fn at_the_baseline_nothing_changes() {
        let mut balance = balance("t3.large", false);
        balance.earned = 100.0;
        for _ in 0..360 {
            balance.spend(10.0, 10.0 * 2.0 * 0.30);
        }
        assert!((balance.held() - 100.0).abs() < 1e-6);
    }

    #[test]
    fn holds_at_most_a_day_of_earnings_but_keeps_launch_credits() {
        let mut balance = balance("t2.micro", false);
        for _ in 0..(3 * 24 * 360) {
            balance.spend(10.0, 0.0);
        }
        assert!((balance.held() - (144.0 + 30.0)).abs() < 1e-6, "{}", balance.held());
    }

    #[test]
    fn falls_gradually_to_the_baseline() {
        let mut balance = balance("t2.small", false);
        let mut minutes = 0;
        while balance.cores() > 0.21 {
            balance.spend(10.0, 10.0 * balance.cores());
            minutes += 1;
            assert!(minutes < 1000);
        }
        // 30 launch credits at one core, minus earned credits: half an hour in full, then a decrease over about a
        // quarter.
        let minutes = minutes / 6;
        assert!((40..70).contains(&minutes), "{minutes} minutes");
        assert!(balance.is_held_back());
    }

    #[test]
    fn unlimited_pays_for_what_exceeds_a_day_of_earnings() {
        let mut balance = balance("t3.nano", true);
        assert_eq!(balance.cores(), 2.0);
        // Both cores for 24 hours: 2880 credits used, 144 earned.
        for _ in 0..(24 * 360) {
            balance.spend(10.0, 20.0);
        }
        assert!((balance.surplus() - 144.0).abs() < 1e-6);
        assert!((balance.owed() - (2880.0 - 144.0) / 60.0 * 0.05).abs() < 1e-6, "{}", balance.owed());
        assert!(!balance.is_held_back());
    }
}
