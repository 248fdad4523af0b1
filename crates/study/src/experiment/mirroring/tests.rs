use super::*;
use config::experiment::File;
use std::collections::BTreeMap;
use std::path::Path;

/// A gateway with one mirror in virtual time. Requests arrive at random and need processor time; a tenth of them is copied.
struct World {
    now: Duration,
    rng: stats::Rng,
    traffic: f64,
    /// The share that is copied.
    fraction: f64,
    /// Processor time of a response, and what a copy takes of the worker and of the mirror's thread, in seconds.
    response: f64,
    copy: (f64, f64),
    reading: Reading,
    buckets: BTreeMap<Duration, u32>,
    lease: Option<(String, Duration)>,
    /// What happens at a time.
    happens: Option<(Duration, What)>,
    paused_for: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Interrupt,
    GatewayDies,
    GatewayRestarts,
    MirrorsChange,
    OthersPause,
    NoTraffic,
    LeaseIsLost,
}

const TRAFFIC: f64 = 400.0;
const BEGIN: Duration = Duration::from_secs(100);

impl World {
    fn new(seed: u64) -> Self {
        let copied =
            Copied { route: "all".to_owned(), mirror: Some("next".to_owned()), chosen: 0, dropped: 0 };
        World {
            now: BEGIN,
            rng: stats::Rng::new(seed, "world"),
            traffic: TRAFFIC,
            fraction: 0.1,
            response: 40e-6,
            copy: (10e-6, 40e-6),
            reading: Reading {
                process: 7,
                processor: Some(Processor::default()),
                copies: vec![copied],
                ..Reading::default()
            },
            buckets: BTreeMap::new(),
            lease: None,
            happens: None,
            paused_for: Duration::ZERO,
        }
    }

    fn has(&self, what: What) -> bool {
        self.happens.is_some_and(|(at, which)| which == what && self.now >= at)
    }

    fn paused_by(&self) -> Option<String> {
        if self.has(What::OthersPause) {
            return Some("somebody".to_owned());
        }
        let lost = self.has(What::LeaseIsLost);
        self.lease.as_ref().filter(|(_, until)| self.now < *until && !lost).map(|(holder, _)| holder.clone())
    }

    fn silent(&self) -> Result<(), Lost> {
        match self.has(What::GatewayDies) {
            true => Err(Lost::Silent("cannot reach a gateway on 127.0.0.1:9901".to_owned())),
            false => Ok(()),
        }
    }

    /// The traffic until then.
    fn advance(&mut self, until: Duration) {
        let paused = self.paused_by().is_some();
        if paused {
            self.paused_for += until - self.now;
        }
        let traffic = if self.has(What::NoTraffic) { 0.1 } else { self.traffic };
        let (mut at, end) = (self.now.as_secs_f64(), until.as_secs_f64());
        loop {
            at += self.rng.exponential() / traffic;
            if at >= end {
                break;
            }
            self.reading.arrived += 1;
            self.reading.answered += 1;
            let time = 0.001 + 0.004 * self.rng.exponential();
            *self.buckets.entry(middle(time)).or_default() += 1;
            let used = self.reading.processor.as_mut();
            // The first draws are the same whether it is copied or not.
            let needs = self.response * (1.0 + 0.3 * self.rng.normal()).max(0.1);
            let is_copied = self.rng.uniform() < self.fraction && !paused;
            self.reading.copies[0].chosen += u64::from(is_copied);
            if let Some(used) = used {
                let (worker, mirror) = if is_copied { self.copy } else { (0.0, 0.0) };
                used.workers += Duration::from_secs_f64(needs + worker);
                used.copies += Duration::from_secs_f64(mirror);
            }
        }
        self.now = until;
    }
}

/// The middle of the bucket of a time, as the gateway has them.
fn middle(seconds: f64) -> Duration {
    let width = seconds.log2().floor().exp2() / 64.0;
    Duration::from_secs_f64(((seconds / width).floor() + 0.5) * width)
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

    fn holder(&self) -> &str {
        "experiment"
    }

    fn read(&mut self) -> Result<Reading, Lost> {
        self.silent()?;
        let mut reading = self.reading.clone();
        reading.at = self.now;
        reading.holder = self.paused_by();
        reading.times.buckets = self.buckets.iter().map(|(time, count)| (*time, *count)).collect();
        if self.has(What::GatewayRestarts) {
            (reading.at, reading.process, reading.holder) = (Duration::from_secs(1), 8, None);
        }
        if self.has(What::MirrorsChange) {
            reading.copies.clear();
        }
        Ok(reading)
    }

    fn pause(&mut self) -> Result<(), Lost> {
        self.silent()?;
        self.lease = Some(("experiment".to_owned(), self.now + LEASE));
        Ok(())
    }

    fn resume(&mut self) -> Result<(), Lost> {
        self.silent()?;
        self.lease = None;
        Ok(())
    }

    fn disturbance(&mut self) -> (Disturbance, Throttling) {
        Default::default()
    }
}

fn experiment(world: &mut World, more: &str) -> Result<Experiment, Failed> {
    let text = format!("experiment: copies\nmirroring: 127.0.0.1:9901\n{more}");
    let file = match config::experiment::parse("experiment.yaml", &text, Path::new("")) {
        Ok(File::Mirroring(file)) => file,
        Ok(other) => panic!("{other:?}"),
        Err(problems) => panic!("{problems}"),
    };
    run(world, &Wanted { file: &file, only_plan: false, seed: 1, version: "0" }, &mut |_| {})
}

fn verdict<'a>(found: &'a Experiment, measure: &str) -> &'a documents::experiment::Verdict {
    found.verdicts.iter().find(|verdict| verdict.measure == measure).unwrap()
}

#[test]
fn what_copies_cost_is_found_and_they_go_on() {
    let mut world = World::new(3);
    let found = experiment(&mut world, "").unwrap();
    // A tenth of the requests takes 50 µs more, of which 10 µs are the worker's.
    let all = verdict(&found, "processor_time");
    assert!(all.primary && all.verdict == "worse", "{all:?}");
    assert!((all.effect.unwrap() - 0.125).abs() < 0.02, "{all:?}");
    assert!(all.low.unwrap() < 0.125 && all.high.unwrap() > 0.125, "{all:?}");
    let live = verdict(&found, "live_processor_time");
    assert!((live.effect.unwrap() - 0.025).abs() < 0.02, "{live:?}");
    for measure in ["p50", "p95", "errors"] {
        let verdict = verdict(&found, measure);
        assert!(matches!(verdict.verdict, "same" | "cannot_tell"), "{verdict:?}");
    }
    assert_eq!((found.design, found.void_blocks), ("slices", 0));
    assert!(found.promised_seconds.is_some() && found.noise_floor.is_some() && found.blocks > 10);
    let cost = found.mirroring.as_ref().unwrap();
    assert!(cost.resumed && world.lease.is_none());
    let cores = cost.cores.unwrap();
    assert!((cores.value / (TRAFFIC * 5e-6) - 1.0).abs() < 0.2, "{cores:?}");
    assert!(cores.low.unwrap() < cores.value && cores.value < cores.high.unwrap(), "{cores:?}");
    assert!((cost.copies_per_request.unwrap() - 0.1).abs() < 0.02, "{cost:?}");
    assert!((cost.responses_per_second.unwrap() / TRAFFIC - 1.0).abs() < 0.05, "{cost:?}");
    // Most of the noise floor, and half of the blocks.
    assert!(world.paused_for > Duration::from_secs(90), "{:?}", world.paused_for);
}

#[test]
fn what_the_serving_core_pays_may_decide() {
    let mut world = World { traffic: 1_000.0, ..World::new(7) };
    let found = experiment(&mut world, "primary: live_processor_time\nmargin: 5%\nends: time\n").unwrap();
    let live = verdict(&found, "live_processor_time");
    assert!(live.primary && !verdict(&found, "processor_time").primary, "{live:?}");
    assert_eq!(live.verdict, "same", "{live:?}");
    assert!(live.low.unwrap() < 0.025 && live.high.unwrap() > 0.025, "{live:?}");
    assert_eq!(found.verdicts.iter().filter(|verdict| verdict.measure == "live_processor_time").count(), 1);
    assert!(found.mirroring.unwrap().cores.is_some());
}

#[test]
fn copies_that_cost_nothing_are_the_same() {
    let mut world = World { copy: (0.0, 0.0), traffic: 1_000.0, ..World::new(5) };
    let found = experiment(&mut world, "margin: 5%\n").unwrap();
    assert_eq!(verdict(&found, "processor_time").verdict, "same", "{:?}", found.verdicts);
    assert_eq!(found.ended, "all planned blocks were run");
}

#[test]
fn whatever_ends_it_early_is_said_and_copies_go_on() {
    for (what, says, resumed) in [
        (What::Interrupt, "interrupted", true),
        (What::GatewayDies, "it ends the pause of its copies by itself", false),
        (What::GatewayRestarts, "was restarted", true),
        (What::MirrorsChange, "were changed by a reload", true),
        (What::OthersPause, "somebody pauses the copies", false),
        (What::LeaseIsLost, "could not renew it in time", true),
        (What::NoTraffic, "blocks were void, the last one because an arm had", true),
    ] {
        for second in [40, 200] {
            let mut world =
                World { happens: Some((BEGIN + Duration::from_secs(second), what)), ..World::new(5) };
            let found = experiment(&mut world, "ends: time\n").unwrap();
            assert!(found.ended.contains(says), "{what:?} after {second} s: {}", found.ended);
            assert_eq!(found.mirroring.as_ref().unwrap().resumed, resumed, "{what:?}");
            assert!(world.lease.is_none_or(|(_, until)| until <= world.now), "{what:?}: the lease has ended");
            // What was known by then is kept.
            assert_eq!(!found.verdicts.is_empty(), second == 200, "{what:?}");
        }
    }
}

#[test]
fn its_time_ends_it() {
    let found = experiment(&mut World::new(2), "time: 1m\nblock: 500ms\nends: time\n").unwrap();
    assert_eq!(found.ended, "the time is over");
    assert!((55.0..61.0).contains(&found.seconds), "{}", found.seconds);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let failed = |world: &mut World, more: &str| experiment(world, more).unwrap_err();
    let mut world = World::new(1);
    world.reading.copies.clear();
    let error = failed(&mut world, "");
    assert!(
        error.to_string().contains("the gateway on 127.0.0.1:9901 has no mirror and no capture"),
        "{error}"
    );
    let world = |what| World { happens: Some((BEGIN, what)), ..World::new(1) };
    assert!(matches!(failed(&mut world(What::OthersPause), ""), Failed::Held { .. }));
    assert!(matches!(failed(&mut world(What::GatewayDies), ""), Failed::Gateway(Lost::Silent(_))));
    assert!(matches!(failed(&mut world(What::Interrupt), ""), Failed::Interrupted));
    assert!(matches!(failed(&mut world(What::NoTraffic), ""), Failed::NoTraffic { least: 20, .. }));
    // A p99 needs five hundred responses, and three seconds have more.
    let mut slow = World { traffic: 100.0, ..World::new(1) };
    assert!(matches!(failed(&mut slow, "primary: p99\n"), Failed::NoTraffic { least: 500, .. }));
    let mut none = World { fraction: 0.0, ..World::new(1) };
    assert!(matches!(failed(&mut none, ""), Failed::NothingCopied { .. }));
    let mut unknown = World::new(1);
    unknown.reading.processor = None;
    assert_eq!(failed(&mut unknown, ""), Failed::NoProcessorTime);
    assert_eq!(failed(&mut unknown, "primary: live_processor_time\n"), Failed::NoProcessorTime);
    let found = experiment(&mut unknown, "primary: p50\n").unwrap();
    assert!(found.mirroring.unwrap().cores.is_none());
}
