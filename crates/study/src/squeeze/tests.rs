use super::*;
use control::diagnosis::Seen as Second;
use std::collections::BTreeMap;
use std::path::Path;

/// A gateway with four instances in virtual time. The instances of a squeeze get their share of random arrivals and answer one
/// request after the other.
struct World {
    now: Duration,
    rng: stats::Rng,
    traffic: f64,
    /// The mean of an exponential service time.
    mean: f64,
    pool: Pool,
    lease: Option<(f64, Duration)>,
    /// When the squeezed instance is free, and what it has not answered yet: sent, done.
    free: f64,
    under_way: Vec<(f64, f64)>,
    buckets: BTreeMap<Duration, u32>,
    others: BTreeMap<Duration, u32>,
    /// What happens at a time.
    happens: Option<(Duration, What)>,
    attended: bool,
    /// What is seen of the instance in a second.
    second: Second,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Interrupt,
    InstanceDies,
    GatewayDies,
    GatewayRestarts,
    AllFail,
}

const TRAFFIC: f64 = 240.0;

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

impl World {
    fn new(seed: u64) -> Self {
        let instances = (1..=4).map(|port| (address(port), true, "available".to_owned())).collect();
        World {
            now: Duration::from_secs(100),
            rng: stats::Rng::new(seed, "world"),
            traffic: TRAFFIC,
            mean: 1.0 / 150.0,
            pool: Pool { instances, at: Duration::from_secs(100), ..Pool::default() },
            lease: None,
            free: 0.0,
            under_way: Vec::new(),
            buckets: BTreeMap::new(),
            others: BTreeMap::new(),
            happens: None,
            attended: false,
            // One that answers one request after the other has one worker.
            second: Second { cores: 1.0, used: 0.99, requests: Some(100.0), ..Second::default() },
        }
    }

    fn has(&self, what: What) -> bool {
        self.happens.is_some_and(|(at, which)| which == what && self.now >= at)
    }

    fn lease(&self) -> Option<f64> {
        self.lease.filter(|(_, until)| self.now < *until).map(|(share, _)| share)
    }

    /// The traffic until then.
    fn advance(&mut self, until: Duration) {
        let (mut at, end) = (self.now.as_secs_f64(), until.as_secs_f64());
        loop {
            at += self.rng.exponential() / self.traffic;
            if at >= end {
                break;
            }
            self.pool.arrived += 1;
            let here = self.lease().is_some_and(|share| self.rng.uniform() < share);
            if self.has(What::AllFail) || (here && self.has(What::InstanceDies)) {
                // The gateway repeats what a single instance fails.
                let lost = self.has(What::AllFail);
                (self.pool.failed, self.pool.answered) =
                    (self.pool.failed + u64::from(lost), self.pool.answered + u64::from(!lost));
                self.pool.squeezed.failed += u64::from(here);
                self.pool.squeezed.sent += u64::from(here);
            } else if here {
                self.pool.squeezed.sent += 1;
                self.free = self.free.max(at) + self.rng.exponential() * self.mean;
                self.under_way.push((at, self.free));
            } else {
                self.pool.answered += 1;
                *self.others.entry(Duration::from_millis(7)).or_default() += 1;
            }
        }
        self.now = until;
        let (buckets, squeezed) = (&mut self.buckets, &mut self.pool.squeezed);
        let answered = &mut self.pool.answered;
        self.under_way.retain(|(sent, done)| {
            if *done > end {
                return true;
            }
            let time = Duration::from_millis(((done - sent) * 1e3) as u64);
            *buckets.entry(time).or_default() += 1;
            squeezed.times.sum += time;
            squeezed.answered += 1;
            *answered += 1;
            false
        });
    }
}

impl Live for World {
    fn now(&self) -> Duration {
        self.now
    }

    fn sleep(&mut self, time: Duration) {
        self.advance(self.now + time);
    }

    fn is_interrupted(&self) -> bool {
        self.has(What::Interrupt)
    }

    fn read(&mut self) -> Result<Pool, Lost> {
        if self.has(What::GatewayDies) {
            return Err(Lost::Silent("cannot reach a gateway on 127.0.0.1:9901".to_owned()));
        }
        let mut pool = self.pool.clone();
        pool.at = self.now;
        if self.has(What::GatewayRestarts) {
            pool.at = Duration::from_secs(1);
            return Ok(pool);
        }
        pool.squeezed.times.buckets = self.buckets.iter().map(|(time, count)| (*time, *count)).collect();
        let mut all = self.others.clone();
        for (time, count) in &self.buckets {
            *all.entry(*time).or_default() += count;
        }
        pool.times.buckets = all.into_iter().collect();
        pool.holder = self.lease().map(|_| "squeeze".to_owned());
        Ok(pool)
    }

    fn hold(&mut self, instances: &[SocketAddr], share: Ratio) -> Result<(), Lost> {
        if self.has(What::GatewayDies) {
            return Err(Lost::Silent("cannot reach a gateway on 127.0.0.1:9901".to_owned()));
        }
        assert_eq!(instances, [address(1)]);
        self.lease = Some((share.get(), self.now + LEASE));
        Ok(())
    }

    fn release(&mut self) -> Result<(), Lost> {
        self.lease = None;
        Ok(())
    }

    fn processor(&mut self) -> Option<Ratio> {
        None
    }

    fn attend(&mut self, instance: SocketAddr) {
        assert_eq!(instance, address(1));
        self.attended = true;
    }

    fn seen(&mut self) -> Vec<Second> {
        assert!(std::mem::take(&mut self.attended));
        vec![self.second.clone(); 4]
    }
}

fn file(more: &str) -> config::squeeze::Squeeze {
    let text = format!("squeeze: search\ngateway: 127.0.0.1:9901\npool: search\ngoal: p(95)<100ms\n{more}");
    config::squeeze::parse("squeeze.yaml", &text, Path::new(""))
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn squeeze(world: &mut World, more: &str) -> Result<Squeeze, Failed> {
    let file = file(more);
    let peak = Some((Rate::per_second_of(730.0), "week.csv".to_owned()));
    let mut restored = None;
    let found = run(world, &Wanted { file: &file, peak, version: "0" }, &mut |event| {
        if let Event::Restored(done) = event {
            restored = Some(done);
        }
    });
    if let Ok(found) = &found {
        assert_eq!(restored, Some(found.restored));
    }
    found
}

fn at(seconds: u64, what: What) -> Option<(Duration, What)> {
    Some((Duration::from_secs(100 + seconds), what))
}

#[test]
fn finds_what_an_instance_carries_and_restores() {
    let mut world = World::new(3);
    let found = squeeze(&mut world, "").unwrap();
    let (low, high) = (found.per_instance.low.unwrap(), found.per_instance.high.unwrap());
    // 150/s on average; the 95th percentile of an M/M/1 queue is 100 ms at 120/s.
    assert!(low > 105.0 && low <= high && high < 132.0, "{low} to {high}");
    assert!(found.completed && found.restored && world.lease.is_none());
    assert_eq!(found.ran_out_first, "processor");
    assert_eq!(found.failed_requests, Some(0));
    let needed = found.sizing.as_ref().unwrap().instances_needed.unwrap();
    assert_eq!(f64::from(needed), (730.0 / low).ceil());
    assert!(found.trials.len() > 5 && found.trials.iter().any(|trial| trial.verdict == "bad"));
}

#[test]
fn the_workers_that_are_busy_are_named() {
    // Two threads that wait: the processor has nothing to do.
    let second = Second {
        moments: 5,
        cores: 2.0,
        used: 0.1,
        in_flight: Some(2.2),
        slots: Some(2.0),
        unserved: Some(0.9),
        ..Second::default()
    };
    let found = squeeze(&mut World { second, ..World::new(3) }, "").unwrap();
    assert_eq!(found.ran_out_first, "workers");
    let said = "workers: all of them, for 2 requests at a time, are busy while cores are free";
    assert_eq!(found.ran_out_sentence, said);
}

#[test]
fn too_little_traffic_for_one_instance_is_said() {
    let mut world = World { mean: 0.001, ..World::new(1) };
    let found = squeeze(&mut world, "step: 40%\n").unwrap();
    assert_eq!((found.ran_out_first, found.per_instance.high), ("nothing", None));
    assert!((found.per_instance.low.unwrap() / TRAFFIC - 0.98).abs() < 0.04);
    let mut world = World { traffic: 0.5, ..World::new(1) };
    assert!(matches!(squeeze(&mut world, ""), Err(Failed::NoTraffic { .. })));
}

#[test]
fn whatever_ends_it_early_is_said_and_restored() {
    for (what, says, restored) in [
        (What::Interrupt, "it was interrupted", true),
        (What::InstanceDies, "instance 127.0.0.1:1 is no longer answering", true),
        (What::GatewayDies, "cannot reach a gateway", false),
        (What::GatewayRestarts, "was restarted", true),
        (What::AllFail, "of the requests fail too: the service is down", true),
    ] {
        let mut world = World { happens: at(40, what), ..World::new(5) };
        let found = squeeze(&mut world, "").unwrap();
        assert!(found.ended.contains(says), "{what:?}: {}", found.ended);
        assert_eq!(found.restored, restored, "{what:?}");
        assert!(world.lease().is_none(), "{what:?}: at the latest the lease has ended");
        // What was known by then is kept.
        assert!(found.per_instance.low.is_some_and(|low| low >= 58.0), "{what:?}: {:?}", found.per_instance);
        let took = found.seconds;
        assert!(took < 60.0, "{what:?}: {took}");
    }
    // It dies right before a trial, which then has no good response at all.
    for tenths in 0..40 {
        let when = Duration::from_millis(138_000 + 100 * tenths);
        let mut world = World { happens: Some((when, What::InstanceDies)), ..World::new(5) };
        let found = squeeze(&mut world, "").unwrap();
        assert!(found.ended.contains("no longer answering"), "{tenths}: {}", found.ended);
    }
    let mut world = World { happens: at(5, What::Interrupt), ..World::new(5) };
    assert_eq!(squeeze(&mut world, ""), Err(Failed::Interrupted));
    let mut world = World { happens: at(5, What::AllFail), ..World::new(5) };
    assert!(matches!(squeeze(&mut world, ""), Err(Failed::Guard(Crossed::Errors { .. }))));
}

#[test]
fn its_time_ends_it() {
    let found = squeeze(&mut World::new(2), "time: 30s\n").unwrap();
    assert_eq!(found.ended, "the time of the file (30.0 s) was over");
    assert!(!found.completed && found.restored && found.seconds < 33.0, "{}", found.seconds);
}

#[test]
fn what_cannot_be_squeezed_is_refused() {
    let mut world = World::new(1);
    for (_, takes, _) in &mut world.pool.instances[1..] {
        *takes = false;
    }
    let error = squeeze(&mut world, "").unwrap_err();
    assert!(error.to_string().starts_with("1 of 4 instances of pool `search` take requests"), "{error}");
    let mut world = World::new(1);
    world.lease = Some((0.5, Duration::from_secs(1_000)));
    assert!(matches!(squeeze(&mut world, ""), Err(Failed::Held { .. })));
    let mut world = World { happens: at(0, What::GatewayDies), ..World::new(1) };
    assert!(matches!(squeeze(&mut world, ""), Err(Failed::Gateway(_))));
}
