//! Whether other work disturbed the machine during a run: two samples, one before and one after, and their difference.

use crate::cgroup::{Cgroup, Throttling};
use crate::pressure::Pressure;
use crate::processor::{Ticks, own_cpu, time_of, usable_cores};
use crate::sockets::TcpCounts;
use std::time::{Duration, Instant};
use units::Ratio;

/// The machine's counters at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Processor time of the machine.
    pub ticks: Option<Ticks>,
    /// Processor time of this process.
    pub own_cpu: Option<Duration>,
    /// How often the quota made this process's group wait.
    pub throttling: Option<Throttling>,
    /// How long tasks waited for a processor, memory or a disk.
    pub pressure: Pressure,
    /// TCP's counters.
    pub tcp: Option<TcpCounts>,
}

impl Sample {
    /// Reads a few small files; takes less than a millisecond.
    pub fn now() -> Self {
        Sample {
            at: Instant::now(),
            ticks: Ticks::now(),
            own_cpu: own_cpu(),
            throttling: Cgroup::of_this_process().and_then(|group| group.throttling()),
            pressure: Pressure::now(),
            tcp: TcpCounts::now(),
        }
    }
}

/// The disturbance of this machine between two samples; `None` for unknown values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Disturbance {
    /// The time between the samples.
    pub span: Duration,
    /// The share of all processor time that the hypervisor gave to other guests.
    pub stolen: Option<Ratio>,
    /// How many ticks that is a share of: a hundred a second for each processor.
    pub ticks: Option<u64>,
    /// The share of this process's usable processor time for which its quota made it wait.
    pub throttled: Option<Ratio>,
    /// How many periods of the quota were throttled.
    pub throttled_periods: Option<u64>,
    /// The share of all processor time that other processes of this machine used.
    pub others: Option<Ratio>,
    /// The share of all processor time that this process used.
    pub own: Option<Ratio>,
    /// The share of the time in which some task of this machine waited for a processor.
    pub cpu_wait: Option<Ratio>,
    /// The share of the time in which some task of this machine waited for memory.
    pub memory_wait: Option<Ratio>,
    /// Segments that TCP retransmitted, to any address.
    pub retransmitted: Option<u64>,
    /// Those as a share of the segments sent.
    pub retransmitted_share: Option<Ratio>,
}

impl Disturbance {
    /// The disturbance from `before` to `after`.
    pub fn between(before: &Sample, after: &Sample) -> Self {
        let cores = usable_cores().unwrap_or(1.0);
        Disturbance::on_cores(before, after, cores)
    }

    /// The known values, as names and values for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let share = |name, ratio: Option<Ratio>| Some((name, ratio?.to_string()));
        let again = self.retransmitted.map(|count| match self.retransmitted_share {
            Some(share) => format!("{count} ({share} of the segments sent)"),
            None => count.to_string(),
        });
        let rows = [
            share("own processor time", self.own),
            share("processor time of others", self.others),
            share("stolen processor time", self.stolen),
            share("throttled by the quota", self.throttled),
            share("some task waited for a processor", self.cpu_wait),
            share("some task waited for memory", self.memory_wait),
            again.map(|again| ("segments sent again", again)),
        ];
        rows.into_iter().flatten().collect()
    }

    fn on_cores(before: &Sample, after: &Sample, cores: f64) -> Self {
        let span = after.at.saturating_duration_since(before.at);
        let ticks = both(before.ticks, after.ticks).map(|(before, after)| after.since(before));
        let own = both(before.own_cpu, after.own_cpu).map(|(before, after)| after.saturating_sub(before));
        let throttling = both(before.throttling, after.throttling).map(|(before, after)| after.since(before));
        let of_machine = |time: Duration| share(time, time_of(ticks?.total()));
        let waiting = |stalls: fn(&Pressure) -> Option<Duration>| {
            let (before, after) = both(stalls(&before.pressure), stalls(&after.pressure))?;
            share(after.saturating_sub(before), span)
        };
        let sent = both(before.tcp, after.tcp).map(|(before, after)| {
            (after.sent.saturating_sub(before.sent), after.sent_again.saturating_sub(before.sent_again))
        });
        Disturbance {
            span,
            stolen: ticks.and_then(|ticks| of_machine(time_of(ticks.stolen))),
            ticks: ticks.map(|ticks| ticks.total()),
            throttled: throttling.and_then(|since| share(since.waited, span.mul_f64(cores))),
            throttled_periods: throttling.map(|since| since.periods),
            others: both(ticks, own)
                .and_then(|(ticks, own)| of_machine(time_of(ticks.busy).saturating_sub(own))),
            own: own.and_then(of_machine),
            cpu_wait: waiting(|pressure| pressure.cpu.map(|stalls| stalls.some)),
            memory_wait: waiting(|pressure| pressure.memory.map(|stalls| stalls.some)),
            retransmitted: sent.map(|(_, again)| again),
            retransmitted_share: sent.and_then(|(sent, again)| Ratio::of(again, sent.saturating_add(again))),
        }
    }
}

fn both<A, B>(one: Option<A>, other: Option<B>) -> Option<(A, B)> {
    Some((one?, other?))
}

/// The counters are read one after the other, so that a part may be a little larger than its whole.
fn share(part: Duration, whole: Duration) -> Option<Ratio> {
    (!whole.is_zero())
        .then(|| part.as_secs_f64() / whole.as_secs_f64())
        .and_then(|share| Ratio::new(share.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pressure::Stalls;

    fn sample(at: Instant) -> Sample {
        Sample {
            at,
            ticks: Some(Ticks { busy: 1_000, idle: 5_000, stolen: 10 }),
            own_cpu: Some(Duration::from_secs(1)),
            throttling: Some(Throttling { of: 1, periods: 1, waited: Duration::from_secs(1) }),
            pressure: Pressure::default(),
            tcp: Some(TcpCounts { sent: 100, sent_again: 1 }),
        }
    }

    #[test]
    fn says_who_had_the_processor() {
        let begun = Instant::now();
        let before = sample(begun);
        // Ten seconds of two cores: 2,000 ticks.
        let after = Sample {
            at: begun + Duration::from_secs(10),
            ticks: Some(Ticks { busy: 2_200, idle: 5_600, stolen: 210 }),
            own_cpu: Some(Duration::from_secs(9)),
            throttling: Some(Throttling { of: 100, periods: 6, waited: Duration::from_secs(3) }),
            pressure: Pressure::default(),
            tcp: Some(TcpCounts { sent: 1_080, sent_again: 21 }),
        };
        let found = Disturbance::on_cores(&before, &after, 2.0);
        let percent = |ratio: Option<Ratio>| (ratio.unwrap().get() * 100.0).round();
        assert_eq!(percent(found.stolen), 10.0);
        assert_eq!(percent(found.own), 40.0);
        assert_eq!(percent(found.others), 20.0);
        assert_eq!(percent(found.throttled), 10.0);
        assert_eq!(found.throttled_periods, Some(5));
        assert_eq!(found.retransmitted, Some(20));
        assert_eq!(percent(found.retransmitted_share), 2.0);
        assert_eq!(found.cpu_wait, None);
        let rows = found.rows();
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[2], ("stolen processor time", found.stolen.unwrap().to_string()));
        assert!(rows[4].1.starts_with("20 ("), "{rows:?}");
    }

    #[test]
    fn what_is_not_known_stays_unknown() {
        let begun = Instant::now();
        let before = Sample { ticks: None, tcp: None, throttling: None, ..sample(begun) };
        let mut after = sample(begun + Duration::from_secs(1));
        after.pressure.cpu = Some(Stalls::default());
        let found = Disturbance::on_cores(&before, &after, 1.0);
        assert_eq!(found, Disturbance { span: Duration::from_secs(1), ..Disturbance::default() });
    }

    #[test]
    fn no_time_between_the_samples_is_no_share() {
        let one = sample(Instant::now());
        let found = Disturbance::on_cores(&one, &one, 1.0);
        assert_eq!((found.stolen, found.throttled), (None, None));
        assert_eq!(found.retransmitted, Some(0));
    }
}
