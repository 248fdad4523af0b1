//! The procedure: watch the traffic, try out rates, restore.

use super::counts::{Pool, Recent};
use super::{Event, Failed, LEASE, Live, Lost, WATCH, Wanted};
use control::diagnosis::Seen;
use control::search::calm::CALM_AGAIN_MAX;
use control::search::{Judge, Report, Step, Trial, TrialOutcome, Verdict, instances_needed};
use control::squeeze::{Capacity, Crossed, Settings, Squeeze, TrialWatch, is_calm};
use documents::squeeze::{self as document, PerInstance, Sizing, Tried};
use std::net::SocketAddr;
use std::time::Duration;
use units::{InstanceCount, Rate, Ratio, show_duration};

/// Why a squeeze ended.
enum Ended {
    /// The interval is narrow enough, or no more can be found out.
    Done,
    /// The time of the file is over.
    Time(Duration),
    Interrupted,
    Crossed(Crossed),
    /// A squeezed instance takes no requests any more.
    Down {
        instance: SocketAddr,
        state: String,
    },
    /// No instance of the pool does.
    AllDown,
    NotCalm,
    NoTraffic,
    /// The gateway does not answer.
    Lost(String),
    /// The gateway was restarted, or has ended the squeeze.
    Forgotten,
}

/// What was seen before the squeeze.
struct Before {
    pool: Pool,
    traffic: Rate,
    median: Duration,
    squeezed: Vec<SocketAddr>,
    instances: usize,
}

struct Stage<'a> {
    live: &'a mut dyn Live,
    wanted: &'a Wanted<'a>,
    events: &'a mut dyn FnMut(Event<'_>),
    before: Before,
    squeeze: Squeeze,
    recent: Recent,
    /// The rate of a squeezed instance, now.
    target: Rate,
    share: Ratio,
    /// When the lease was renewed.
    held_at: Duration,
    begun: Duration,
    tried: Vec<Tried>,
    /// Seconds of an instance in trials, with the rates of these.
    seen: Vec<(Rate, Seen)>,
}

pub(super) fn run(
    live: &mut dyn Live,
    wanted: &Wanted<'_>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<document::Squeeze, Failed> {
    let begun = live.now();
    let mut recent = Recent::default();
    let before = watch(live, wanted, events, &mut recent)?;
    let settings = Settings {
        instances: count(before.instances),
        squeezed: wanted.file.instances.get(),
        traffic: before.traffic,
        step: wanted.file.step,
        precision: wanted.file.precision,
        time: wanted.file.time,
    };
    let fair = before.traffic * (1.0 / before.instances as f64);
    let mut stage = Stage {
        squeeze: Squeeze::new(wanted.file.goal.clone(), settings),
        target: fair,
        share: Ratio::ZERO,
        held_at: begun,
        tried: Vec::new(),
        seen: Vec::new(),
        live,
        wanted,
        events,
        before,
        recent,
        begun,
    };
    let ended = stage.trials();
    if let Ended::Crossed(crossed) = &ended {
        (stage.events)(Event::Crossed(crossed));
        stage.squeeze.crossed(*crossed, stage.target);
    }
    stage.squeeze.stop();
    let sentence = ended.sentence(&stage.wanted.file.pool);
    if !matches!(ended, Ended::Done | Ended::Crossed(_)) {
        (stage.events)(Event::Ends(&sentence));
    }
    let (restored, after) = stage.restore();
    let sentence = match after.as_ref().and_then(|(before, after)| still_fails(before, after)) {
        Some(share) if !matches!(ended, Ended::Done) => {
            format!("{sentence}; without the squeeze, {share} of the requests fail too: the service is down")
        }
        _ => sentence,
    };
    let after = after.map(|(_, after)| after);
    (stage.events)(Event::Restored(restored.is_some()));
    Ok(stage.document(&ended, sentence, restored, after))
}

/// Watches the traffic as it is.
fn watch(
    live: &mut dyn Live,
    wanted: &Wanted<'_>,
    events: &mut dyn FnMut(Event<'_>),
    recent: &mut Recent,
) -> Result<Before, Failed> {
    let first = live.read()?;
    let file = wanted.file;
    if let Some(holder) = &first.holder {
        return Err(Failed::Held { pool: file.pool.clone(), holder: holder.clone() });
    }
    let wanted_count = file.instances.get() as usize;
    let too_few = |pool: &Pool| Failed::TooFew {
        pool: file.pool.clone(),
        taking: pool.taking().count(),
        all: pool.instances.len(),
        wanted: wanted_count,
    };
    // A gateway that has just started does not know yet which of them take requests.
    if first.instances.len() <= wanted_count {
        return Err(too_few(&first));
    }
    events(Event::Watches(WATCH));
    let begun = live.now();
    live.processor();
    recent.add(first.clone(), None);
    let mut last = first.clone();
    while live.now().saturating_sub(begun) < WATCH {
        live.sleep(LOOK);
        if live.is_interrupted() {
            return Err(Failed::Interrupted);
        }
        last = live.read()?;
        let processor = live.processor();
        recent.add(last.clone(), processor);
        if let Some(crossed) = file.guards.crossed(&recent.watched(&file.guards)) {
            return Err(Failed::Guard(crossed));
        }
    }
    let requests = last.arrived.saturating_sub(first.arrived);
    let median = last.times.median_since(&first.times).filter(|_| requests >= REQUESTS_MIN);
    let Some(median) = median else {
        return Err(Failed::NoTraffic { pool: file.pool.clone(), requests });
    };
    let squeezed: Vec<SocketAddr> = last.taking().take(wanted_count).collect();
    let (traffic, instances) = (last.traffic_since(&first), last.taking().count());
    if instances <= wanted_count {
        return Err(too_few(&last));
    }
    events(Event::Watched { traffic, median, instances, squeezed: &squeezed });
    Ok(Before { pool: last, traffic, median, squeezed, instances })
}

impl Stage<'_> {
    fn trials(&mut self) -> Ended {
        loop {
            self.squeeze.traffic(self.recent.traffic());
            let done = match self.squeeze.next() {
                Step::Done(_) => return Ended::Done,
                Step::CoolDown => self.cool_down(),
                Step::Trial(trial) => self.trial(trial),
            };
            if let Err(ended) = done {
                return ended;
            }
        }
    }

    fn trial(&mut self, trial: Trial) -> Result<(), Ended> {
        self.target = trial.rate;
        self.hold()?;
        (self.events)(Event::Begins { trial: &trial, share: self.share });
        self.live.attend(self.before.squeezed[0]);
        let tried = self.measure(trial);
        let seen = self.live.seen();
        let rate = tried.as_ref().map_or(trial.rate, |(_, carried)| *carried);
        self.seen.extend(seen.into_iter().map(|second| (rate, second)));
        let (outcome, carried) = tried?;
        (self.events)(Event::Tried(&outcome));
        self.tried.push(Tried::of(&outcome, carried));
        self.squeeze.observe(outcome, carried);
        if outcome.is_bad() {
            self.relax()?;
        }
        Ok(())
    }

    /// Runs a trial until its judge decides; with the rate that each squeezed instance got.
    fn measure(&mut self, trial: Trial) -> Result<(TrialOutcome, Rate), Ended> {
        let goal = self.wanted.file.goal.clone();
        let (mut judge, mut watch) = (Judge::new(&goal, &trial), TrialWatch::new(trial.length));
        // The workers of the gateway take the share over, and what was sent before ends.
        let begins = self.live.now() + SETTLE;
        let first = self.look(begins)?;
        let begins = self.live.now();
        let (mut last, mut meant) = (first.clone(), 0.0);
        for number in 1.. {
            let share = self.share.get();
            let pool = self.look(begins + judge.look_every() * number)?;
            meant += share * pool.arrived.saturating_sub(last.arrived) as f64;
            let counts = pool.trial_since(&first);
            let verdict = judge.observe(&watch.progress(&goal, &counts));
            last = pool;
            if verdict == Verdict::Undecided {
                continue;
            }
            if counts.answered == 0 && counts.failed > 0 {
                let (instance, state) = (self.before.squeezed[0], "no longer answering".to_owned());
                return Err(Ended::Down { instance, state });
            }
            if counts.sent < REQUESTS_MIN {
                return Err(Ended::NoTraffic);
            }
            // The share that was meant has less chance in it than what was drawn. Where they differ by more, clients were
            // kept by cookies, or requests went to other instances because these were full.
            let sent = counts.sent as f64;
            let requests = if (sent / meant - 1.0).abs() <= DRAWN { meant } else { sent };
            let seconds = counts.elapsed.as_secs_f64() * f64::from(self.wanted.file.instances.get());
            let carried = Rate::per_second_of(requests / seconds.max(1e-9));
            return Ok((TrialOutcome::of(trial, &judge, verdict), carried));
        }
        unreachable!("looks do not run out")
    }

    /// Gives the squeezed instances their fair share.
    fn relax(&mut self) -> Result<(), Ended> {
        self.target = self.recent.traffic() * (1.0 / self.before.instances as f64);
        self.hold()
    }

    /// Waits until a squeezed instance is as fast as before.
    fn cool_down(&mut self) -> Result<(), Ended> {
        (self.events)(Event::Pauses);
        self.relax()?;
        let begun = self.live.now();
        let most = self.squeeze.waiting_left().min(CALM_AGAIN_MAX);
        let mut before = self.look(begun + LOOK)?;
        loop {
            let now = self.live.now();
            let pool = self.look(now + CALM_OVER)?;
            let median = pool.squeezed.times.median_since(&before.squeezed.times);
            let after = self.live.now().saturating_sub(begun);
            if is_calm(self.before.median, median) {
                self.squeeze.cooled_down(after);
                return Ok(());
            }
            if after >= most {
                return Err(Ended::NotCalm);
            }
            before = pool;
        }
    }

    fn hold(&mut self) -> Result<(), Ended> {
        self.share = self.squeeze.share(self.target, self.recent.traffic());
        let begun = self.live.now();
        loop {
            match self.live.hold(&self.before.squeezed, self.share) {
                Ok(()) => {
                    self.held_at = self.live.now();
                    return Ok(());
                }
                Err(Lost::Refused(why)) => return Err(Ended::Lost(why)),
                Err(Lost::Silent(why)) if self.live.now().saturating_sub(begun) >= SILENT_MAX => {
                    return Err(Ended::Lost(why));
                }
                Err(Lost::Silent(_)) => self.live.sleep(LOOK),
            }
        }
    }

    /// Waits until then, renews the lease meanwhile, and reads the counts; what ends a squeeze is checked at least four times
    /// a second.
    fn look(&mut self, until: Duration) -> Result<Pool, Ended> {
        loop {
            let left = until.saturating_sub(self.live.now());
            self.live.sleep(left.min(LOOK));
            let pool = self.read()?;
            self.check(&pool)?;
            if self.live.now().saturating_sub(self.held_at) >= RENEW {
                self.hold()?;
            }
            if left <= LOOK {
                return Ok(pool);
            }
        }
    }

    fn read(&mut self) -> Result<Pool, Ended> {
        let begun = self.live.now();
        loop {
            match self.live.read() {
                Ok(pool) => return Ok(pool),
                Err(Lost::Refused(why)) => return Err(Ended::Lost(why)),
                Err(Lost::Silent(why)) if self.live.now().saturating_sub(begun) >= SILENT_MAX => {
                    return Err(Ended::Lost(why));
                }
                Err(Lost::Silent(_)) => self.live.sleep(LOOK),
            }
        }
    }

    fn check(&mut self, pool: &Pool) -> Result<(), Ended> {
        if self.live.is_interrupted() {
            return Err(Ended::Interrupted);
        }
        let time = self.wanted.file.time;
        if self.live.now().saturating_sub(self.begun) >= time {
            return Err(Ended::Time(time));
        }
        if pool.at < self.before.pool.at || pool.holder.is_none() {
            return Err(Ended::Forgotten);
        }
        let processor = self.live.processor();
        self.recent.add(pool.clone(), processor);
        let silent = self.recent.no_answer();
        let state = |address: &SocketAddr| pool.instances.iter().find(|(one, ..)| one == address);
        for &instance in &self.before.squeezed {
            let down = match state(&instance) {
                None => Some("removed".to_owned()),
                Some((_, false, state)) => Some(state.clone()),
                Some(_) => silent.then(|| "no longer answering".to_owned()),
            };
            if let Some(state) = down {
                let all = pool.taking().next().is_none();
                return Err(if all { Ended::AllDown } else { Ended::Down { instance, state } });
            }
        }
        let guards = &self.wanted.file.guards;
        match guards.crossed(&self.recent.watched(guards)) {
            Some(crossed) => Err(Ended::Crossed(crossed)),
            None => Ok(()),
        }
    }

    /// Ends the squeeze at the gateway: after which time the pool was balanced as before, its counts then and a little later.
    fn restore(&mut self) -> (Option<Duration>, Option<(Pool, Pool)>) {
        let begun = self.live.now();
        // If the gateway does not hear it, the lease ends by itself.
        let _ = self.live.release();
        let latest = begun + LEASE + SILENT_MAX;
        loop {
            match self.live.read() {
                Ok(pool) if pool.holder.is_none() => {
                    let restored = self.live.now().saturating_sub(begun);
                    self.live.sleep(AFTER);
                    let after = self.live.read().unwrap_or_else(|_| pool.clone());
                    return (Some(restored), Some((pool, after)));
                }
                Ok(_) | Err(_) if self.live.now() >= latest => return (None, None),
                Ok(_) | Err(_) => self.live.sleep(LOOK),
            }
        }
    }

    fn document(
        self,
        ended: &Ended,
        sentence: String,
        restored: Option<Duration>,
        after: Option<Pool>,
    ) -> document::Squeeze {
        let report: Report = match self.squeeze.next() {
            Step::Done(report) => report,
            Step::Trial(_) | Step::CoolDown => unreachable!("a squeeze that was stopped is done"),
        };
        let capacity = self.squeeze.capacity(&report, &self.seen);
        let slots = self.seen.last().and_then(|(_, seen)| seen.slots);
        let before = &self.before;
        let last = after.as_ref().filter(|last| last.at >= before.pool.at);
        let since = |of: fn(&Pool) -> u64| last.map(|last| of(last).saturating_sub(of(&before.pool)));
        document::Squeeze {
            version: self.wanted.version,
            name: self.wanted.file.name.clone(),
            gateway: self.wanted.file.gateway.listen.to_string(),
            pool: self.wanted.file.pool.clone(),
            goal: self.wanted.file.goal.to_string(),
            instances: before.instances,
            squeezed: before.squeezed.iter().map(ToString::to_string).collect(),
            traffic_per_second: document::number(before.traffic),
            median_ms: document::millis(before.median),
            per_instance: PerInstance::of(&capacity),
            ran_out_first: document::ran_out(&capacity.ran_out),
            ran_out_sentence: document::ran_out_sentence(&capacity.ran_out, slots),
            sizing: self.sizing(&capacity),
            completed: matches!(ended, Ended::Done | Ended::Crossed(_)),
            ended: sentence,
            restored: restored.is_some(),
            restored_seconds: restored.map(|after| after.as_secs_f64()),
            requests: since(|pool| pool.arrived),
            failed_requests: since(Pool::failures),
            seconds: self.live.now().saturating_sub(self.begun).as_secs_f64(),
            trials: self.tried,
        }
    }

    fn sizing(&self, capacity: &Capacity) -> Option<Sizing> {
        let (peak, file) = self.wanted.peak.clone()?;
        let needed = capacity.low.and_then(|low| instances_needed(peak, low, InstanceCount::new(1)));
        Some(Sizing {
            traffic: file,
            peak_per_second: document::number(peak),
            instances_needed: needed.map(InstanceCount::get),
        })
    }
}

impl Ended {
    fn sentence(&self, pool: &str) -> String {
        match self {
            Ended::Done => "no more can be found out".to_owned(),
            Ended::Time(time) => format!("the time of the file ({}) was over", show_duration(*time)),
            Ended::Interrupted => "it was interrupted".to_owned(),
            Ended::Crossed(crossed) => format!("a guard did not hold: {crossed}"),
            Ended::Down { instance, state } => {
                format!(
                    "instance {instance} is {state}; its requests go to the other instances of pool `{pool}`"
                )
            }
            Ended::AllDown => format!("no instance of pool `{pool}` takes requests: the service is down"),
            Ended::NotCalm => "the instance did not become as fast as before after a trial".to_owned(),
            Ended::NoTraffic => format!("pool `{pool}` gets too few requests to go on"),
            Ended::Lost(why) => format!(
                "the gateway could not be used any more: {why}; it ends the squeeze by itself within {}",
                show_duration(LEASE)
            ),
            Ended::Forgotten => {
                "the gateway has ended the squeeze by itself, or was restarted; it balances as its file says"
                    .to_owned()
            }
        }
    }
}

/// The share of the requests that fail after the squeeze, if that is a good part of them.
fn still_fails(before: &Pool, after: &Pool) -> Option<Ratio> {
    let failed = after.failures().saturating_sub(before.failures());
    let share = Ratio::of(failed, after.arrived.saturating_sub(before.arrived))?;
    (share.get() >= DOWN_FROM).then_some(share)
}

fn count(instances: usize) -> u32 {
    u32::try_from(instances).unwrap_or(u32::MAX)
}

/// What ends a squeeze is checked this often.
const LOOK: Duration = Duration::from_millis(250);
/// The lease is renewed this often.
const RENEW: Duration = Duration::from_secs(1);
/// The gateway takes over a share within a tenth of a second.
const SETTLE: Duration = Duration::from_millis(400);
/// An instance is as fast as before if it is for this long.
const CALM_OVER: Duration = Duration::from_secs(1);
/// A gateway that does not answer for this long is not waited for: the lease ends soon.
const SILENT_MAX: Duration = Duration::from_secs(3);
/// Requests of the squeeze have ended this long after it.
const AFTER: Duration = Duration::from_secs(1);
/// A service of whose requests this share fails is down.
const DOWN_FROM: f64 = 0.5;
/// Fewer requests in a trial, or before, show nothing.
const REQUESTS_MIN: u64 = 20;
/// What was drawn differs from the share by at most this, by chance.
const DRAWN: f64 = 0.15;
