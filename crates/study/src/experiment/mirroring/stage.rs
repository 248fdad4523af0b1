//! The steps of the experiment, in their order: watching, noise floor, plan, blocks, and the end of the pause.

use super::super::data;
use super::super::measures::{ABOVE_MIN, Asked, Chosen, LIVE_PROCESSOR_TIME, figure, is_known};
use super::super::planning::{self, Basis, MORE, PILOT, PILOT_MORE};
use super::reading::New;
use super::{Event, Failed, LEASE, Live, Lost, Processor, Reading, Wanted, document};
use control::trial::{
    Arm, Assignment, Block, Design, Ended, Figure, Limits, NoiseFloor, Plan, Seen, Shared, Step, Trial,
};
use documents::experiment::{Data, Experiment};
use stats::Rng;
use std::time::Duration;
use units::{Quantile, Ratio, show_duration};

/// Why no more blocks are run.
#[derive(Debug)]
pub(super) enum End {
    /// The trial says so.
    Trial(Ended),
    /// The time is over.
    Time,
    /// Somebody asked for it.
    Interrupted,
    /// Only the plan was asked for, or there is none.
    Planned(String),
    /// The gateway does not answer.
    Lost(String),
    /// It is another process.
    Restarted,
    /// The pause ended by itself.
    Forgotten,
    /// Somebody else pauses the copies.
    Held(String),
    /// Its mirrors are others.
    Changed,
}

impl End {
    /// Why, in words.
    pub(super) fn words(&self) -> String {
        match self {
            End::Trial(ended) => ended.to_string(),
            End::Time => "the time is over".to_owned(),
            End::Interrupted => "interrupted".to_owned(),
            End::Planned(why) => why.clone(),
            End::Lost(why) => format!(
                "the gateway could not be used any more: {why}; it ends the pause of its copies by itself within {}",
                show_duration(LEASE)
            ),
            End::Restarted => "the gateway was restarted; it copies as its file says".to_owned(),
            End::Forgotten => {
                "the gateway has ended the pause of its copies by itself: headroom could not renew it in time"
                    .to_owned()
            }
            End::Held(holder) => format!("{holder} pauses the copies of the gateway"),
            End::Changed => "the mirrors of the gateway were changed by a reload".to_owned(),
        }
    }
}

/// Whether the gateway copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Copies,
    Paused,
}

/// The experiment while it runs.
pub(super) struct Session<'a> {
    live: &'a mut dyn Live,
    pub(super) wanted: &'a Wanted<'a>,
    begun: Duration,
    rng: Rng,
    /// What the gateway said before anything was changed.
    pub(super) first: Reading,
    /// What it said last.
    last: Reading,
    mode: Mode,
    /// When it was last asked for anything.
    asked_at: Duration,
    /// The fewest responses of a part that say anything of the primary measure.
    least: u64,
    pub(super) measures: Vec<Chosen>,
    /// The values of blocks that count, by measure: without copies, and with them.
    pub(super) values: [Vec<Vec<f64>>; 2],
    /// Parts of blocks that count: without copies, and with them.
    pub(super) parts: [Traffic; 2],
    pub(super) noise: Option<NoiseFloor>,
    /// The differences of equal arms on the primary measure.
    pub(super) equal: Vec<f64>,
    pub(super) plan: Option<Plan>,
    pub(super) promised: Option<Duration>,
    pub(super) notes: Vec<String>,
    /// The blocks of the comparison.
    pub(super) data: Data,
}

/// The traffic of some parts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traffic {
    pub(super) time: Duration,
    pub(super) responses: u64,
    pub(super) arrived: u64,
    pub(super) copies: u64,
}

impl Traffic {
    fn add(&mut self, new: &New) {
        self.time += new.time;
        self.responses += new.responses();
        self.arrived += new.arrived;
        self.copies += new.copies;
    }
}

pub(super) fn run(
    live: &mut dyn Live,
    wanted: &Wanted<'_>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Experiment, Failed> {
    let begun = live.now();
    let first = live.read()?;
    if first.copies.is_empty() {
        return Err(Failed::NoMirror { gateway: wanted.file.gateway.listen.to_string() });
    }
    if let Some(holder) = first.holder.clone() {
        return Err(Failed::Held { holder });
    }
    let mut session = Session {
        live,
        wanted,
        begun,
        rng: Rng::new(wanted.seed, "experiment"),
        last: first.clone(),
        first,
        mode: Mode::Copies,
        asked_at: begun,
        least: least(wanted),
        measures: Vec::new(),
        values: [Vec::new(), Vec::new()],
        parts: [Traffic::default(); 2],
        noise: None,
        equal: Vec::new(),
        plan: None,
        promised: None,
        notes: Vec::new(),
        data: Data::default(),
    };
    session.watch(events)?;
    let (trial, end) = match session.compare(events) {
        Ok(found) => found,
        Err(error) => {
            session.restore();
            return Err(error);
        }
    };
    let resumed = session.restore();
    let seconds = session.elapsed().as_secs_f64();
    Ok(document::document(&session, trial.as_ref(), &end, resumed, seconds))
}

impl Session<'_> {
    fn elapsed(&self) -> Duration {
        self.live.now().saturating_sub(self.begun)
    }

    /// Watches the traffic as it is, with copies.
    fn watch(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Result<(), Failed> {
        let time = self.wanted.file.warm_up;
        events(Event::WarmUp(time));
        let failed = |end| match end {
            End::Interrupted => Failed::Interrupted,
            End::Lost(why) => Failed::Gateway(Lost::Silent(why)),
            other => Failed::Gateway(Lost::Refused(other.words())),
        };
        self.wait(time).map_err(failed)?;
        self.look().map_err(failed)?;
        let new = self.last.since(&self.first);
        let in_block =
            new.responses() as f64 * self.wanted.file.block.as_secs_f64() / new.time.as_secs_f64().max(1e-9);
        if in_block < self.least as f64 {
            return Err(Failed::NoTraffic { responses: new.responses(), time, least: self.least });
        }
        if new.copies == 0 {
            return Err(Failed::NothingCopied { requests: new.arrived, time });
        }
        let primary = figure(self.wanted.file.primary);
        if new.processor.is_none() && PROCESSOR_TIMES.contains(&primary) {
            return Err(Failed::NoProcessorTime);
        }
        self.measures = choose(self.wanted, primary, in_block, new.processor.is_some());
        self.values = [vec![Vec::new(); self.measures.len()], vec![Vec::new(); self.measures.len()]];
        Ok(())
    }

    /// The noise floor, the plan and the blocks, and why they ended.
    fn compare(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Result<(Option<Trial>, End), Failed> {
        if let Some(end) = self.measure_noise(events)? {
            return Ok((None, end));
        }
        if let Err(why) = self.make_plan() {
            events(Event::Planned(Err(&why)));
            return Ok((None, End::Planned(why)));
        }
        let plan = self.plan.expect("it was made above");
        events(Event::Planned(Ok(&plan)));
        if self.wanted.only_plan {
            return Ok((None, End::Planned("only the plan was asked for".to_owned())));
        }
        let file = self.wanted.file;
        let measures = self.measures.iter().map(|chosen| chosen.measure).collect();
        let settings = planning::comparison(&plan, measures, file.effect, file.ends, self.limits());
        let mut trial = Trial::new(settings)?;
        self.data = data::begin(vec![document::OFF.to_owned(), document::ON.to_owned()], &self.measures, &[]);
        let end = loop {
            let assignment = match trial.next(&mut self.rng) {
                Step::Block(assignment) => assignment,
                // The planned blocks find the effect with the planned probability; the rest of the time raises it.
                Step::Done(Ended::AsPlanned) if !planning::is_over(&trial, file.ends) => {
                    trial.extend(MORE);
                    continue;
                }
                Step::Done(ended) => break End::Trial(ended),
            };
            if self.elapsed() + length(&assignment) > file.time {
                break End::Time;
            }
            let (block, parts) = match self.block(&assignment) {
                Ok(found) => found,
                Err(end) => break end,
            };
            let looked = trial.observe(&block);
            let place = |arm| usize::from(matches!(arm, Arm::Candidate(_)));
            let void = looked.void.as_ref().map(ToString::to_string);
            self.data.add(data::block(self.elapsed(), void, &assignment, &block, place));
            if looked.void.is_none() {
                self.keep(&assignment, &block, &parts);
            }
            let verdicts = trial.verdicts();
            let (counted, planned) = (trial.counted(), trial.settings().blocks);
            events(Event::Block { counted, planned, void: looked.void, primary: verdicts.first() });
            for (_, why) in looked.stopped {
                events(Event::Stopped { name: document::ON, why });
            }
        };
        Ok((Some(trial), end))
    }

    /// Blocks without copies against blocks without copies. Why the experiment ends, if it does.
    fn measure_noise(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Result<Option<End>, Failed> {
        events(Event::NoiseFloor { blocks: PILOT });
        let measures = self.measures.iter().map(|chosen| chosen.measure).collect();
        let times = (self.settle(), self.wanted.file.block);
        let mut trial = Trial::new(planning::pilot(measures, Design::Slices, times, self.limits()))?;
        loop {
            match trial.next(&mut self.rng) {
                Step::Block(assignment) => {
                    let block = match self.block(&assignment) {
                        Ok((block, _)) => block,
                        Err(end) => return Ok(Some(end)),
                    };
                    let looked = trial.observe(&block);
                    if looked.void.is_none() {
                        self.equal.extend(difference(&assignment, &block, &self.measures));
                    }
                    let (counted, planned) = (trial.counted(), trial.settings().blocks);
                    events(Event::Block { counted, planned, void: looked.void, primary: None });
                }
                Step::Done(Ended::AsPlanned) => {
                    match planning::noise(&trial, self.elapsed(), self.wanted.file.time) {
                        None => trial.extend(PILOT_MORE),
                        Some(noise) => {
                            self.noise = noise.floor;
                            self.notes.extend(noise.note);
                            return Ok(None);
                        }
                    }
                }
                Step::Done(ended) => {
                    return Ok(Some(End::Planned(format!("the noise floor could not be measured: {ended}"))));
                }
            }
        }
    }

    fn make_plan(&mut self) -> Result<(), String> {
        let file = self.wanted.file;
        let promise = planning::promise(&Basis {
            effect: file.effect,
            time: file.time,
            elapsed: self.elapsed(),
            candidates: 1,
            measures: self.measures.len(),
            noise: self.noise,
            restarts: None,
            always_restart: false,
            copies: false,
            shared: Shared::Nothing,
            settle: self.settle(),
            block: file.block,
            between: 0.0,
            price_per_hour: 0.0,
        })?;
        self.notes.extend(promise.note);
        self.promised = Some(promise.promised);
        self.plan = Some(promise.plan);
        Ok(())
    }

    /// Runs a block: its arms one after the other.
    fn block(&mut self, assignment: &Assignment) -> Result<(Block, Vec<New>), End> {
        let (mut arms, mut parts) = (Vec::new(), Vec::new());
        for arm in &assignment.arms {
            let mode = if matches!(arm, Arm::Candidate(_)) { Mode::Copies } else { Mode::Paused };
            self.change(mode)?;
            self.wait(assignment.settle)?;
            let before = self.look()?.clone();
            self.live.disturbance();
            self.wait(assignment.measured)?;
            let new = self.look()?.since(&before);
            let (disturbance, throttling) = self.live.disturbance();
            arms.push(Seen {
                offered: new.responses(),
                answered: new.responses(),
                steal: disturbance.stolen.map_or(0.0, Ratio::get),
                ticks: disturbance.ticks.unwrap_or_default(),
                throttled: throttling.share(),
                periods: throttling.of,
                values: self.measures.iter().map(|chosen| value(chosen.measure.figure, &new)).collect(),
                ..Seen::default()
            });
            parts.push(new);
        }
        Ok((Block { arms, ..Block::default() }, parts))
    }

    /// Keeps the values of a block that counts.
    fn keep(&mut self, assignment: &Assignment, block: &Block, parts: &[New]) {
        for ((arm, seen), new) in assignment.arms.iter().zip(&block.arms).zip(parts) {
            let place = usize::from(matches!(arm, Arm::Candidate(_)));
            for (kept, value) in self.values[place].iter_mut().zip(&seen.values) {
                kept.extend(value);
            }
            self.parts[place].add(new);
        }
    }

    /// Pauses the copies, or ends the pause.
    fn change(&mut self, mode: Mode) -> Result<(), End> {
        let was = std::mem::replace(&mut self.mode, mode);
        match mode {
            Mode::Paused => self.ask(|live| live.pause())?,
            Mode::Copies if was == Mode::Paused => self.ask(|live| live.resume())?,
            Mode::Copies => {}
        }
        Ok(())
    }

    /// Waits, and meanwhile asks the gateway as often in both modes: the pause has to be renewed.
    fn wait(&mut self, time: Duration) -> Result<(), End> {
        let until = self.live.now() + time;
        loop {
            if self.live.is_interrupted() {
                return Err(End::Interrupted);
            }
            let now = self.live.now();
            if now >= until {
                return Ok(());
            }
            if now.saturating_sub(self.asked_at) >= RENEW {
                match self.mode {
                    Mode::Paused => self.ask(|live| live.pause())?,
                    Mode::Copies => _ = self.look()?,
                }
            }
            let left = until.saturating_sub(self.live.now());
            self.live.sleep(left.min(LOOK));
        }
    }

    /// Reads the counts; ends the experiment where they are those of another process, or the mode is not what was asked for.
    fn look(&mut self) -> Result<&Reading, End> {
        let now = self.ask(|live| live.read())?;
        let end = match (&now.holder, self.mode) {
            _ if !now.continues(&self.last) => Some(End::Restarted),
            _ if !now.copies_as(&self.first) => Some(End::Changed),
            (None, Mode::Paused) => Some(End::Forgotten),
            (Some(holder), Mode::Paused) if holder == self.live.holder() => None,
            (Some(holder), _) => Some(End::Held(holder.clone())),
            (None, Mode::Copies) => None,
        };
        self.last = now;
        end.map_or(Ok(&self.last), Err)
    }

    /// Asks the gateway, again for a while if it does not answer.
    fn ask<T>(&mut self, request: impl Fn(&mut dyn Live) -> Result<T, Lost>) -> Result<T, End> {
        let begun = self.live.now();
        loop {
            match request(self.live) {
                Ok(answer) => {
                    self.asked_at = self.live.now();
                    return Ok(answer);
                }
                Err(Lost::Refused(why)) => return Err(End::Lost(why)),
                Err(Lost::Silent(why)) if self.live.now().saturating_sub(begun) >= SILENT_MAX => {
                    return Err(End::Lost(why));
                }
                Err(Lost::Silent(_)) if self.live.is_interrupted() => return Err(End::Interrupted),
                Err(Lost::Silent(_)) => self.live.sleep(LOOK),
            }
        }
    }

    /// Ends the pause, and asks whether the gateway copies again.
    fn restore(&mut self) -> bool {
        // If the gateway does not hear it, the pause ends by itself.
        let _ = self.live.resume();
        let latest = self.live.now() + LEASE + LOOK;
        loop {
            match self.live.read() {
                Ok(reading) if reading.holder.is_none() => return true,
                Ok(_) | Err(_) if self.live.now() >= latest => return false,
                Ok(_) | Err(_) => self.live.sleep(LOOK),
            }
        }
    }

    /// Copies that are under way when a part begins.
    fn settle(&self) -> Duration {
        (self.wanted.file.block / SETTLE).clamp(SETTLES.0, SETTLES.1)
    }

    fn limits(&self) -> Limits {
        // Live traffic changes from one part to the next; blocks in random order even that out.
        Limits { unequal: UNEQUAL, requests: self.least, ..Limits::default() }
    }
}

/// The measures, the primary one first.
fn choose(wanted: &Wanted<'_>, primary: Figure, in_block: f64, knows_processor: bool) -> Vec<Chosen> {
    let file = wanted.file;
    let asked = Asked { primary: file.primary, margin: file.margin, harm: file.harm };
    let mut figures = vec![primary];
    figures.extend([Quantile::P50, Quantile::P95, Quantile::P99].map(Figure::ResponseTime).into_iter().filter(
        |figure| matches!(figure, Figure::ResponseTime(quantile) if *figure != primary && is_known(*quantile, in_block)),
    ));
    figures.extend(Some(Figure::Errors).filter(|figure| *figure != primary));
    if knows_processor {
        figures.extend(PROCESSOR_TIMES.into_iter().filter(|figure| *figure != primary));
    }
    figures.into_iter().map(|figure| asked.of(figure, None)).collect()
}

/// The fewest responses of a part that say anything of the primary measure.
fn least(wanted: &Wanted<'_>) -> u64 {
    match figure(wanted.file.primary) {
        Figure::ResponseTime(quantile) => (ABOVE_MIN / (1.0 - quantile.get())).round().max(LEAST) as u64,
        _ => LEAST as u64,
    }
}

fn value(figure: Figure, new: &New) -> Option<f64> {
    match figure {
        Figure::ResponseTime(quantile) => new.response_time(quantile),
        Figure::Errors => new.errors(),
        Figure::ProcessorTime => new.processor_time(|used: Processor| used.workers + used.copies),
        LIVE_PROCESSOR_TIME => new.processor_time(|used: Processor| used.workers),
        Figure::QueueTime | Figure::Memory | Figure::Other(_) => None,
    }
}

/// The effect between two equal arms of a block, on the primary measure.
fn difference(assignment: &Assignment, block: &Block, measures: &[Chosen]) -> Option<f64> {
    let value = |arm: Arm| {
        let place = assignment.arms.iter().position(|each| *each == arm)?;
        block.arms.get(place)?.values.first().copied().flatten()
    };
    let (one, other) = (value(Arm::Control)?, value(Arm::SecondControl)?);
    let effect = match measures.first()?.measure.effect {
        control::trial::Effect::Ratio => other / one - 1.0,
        control::trial::Effect::Difference => other - one,
    };
    effect.is_finite().then_some(effect)
}

/// How long a block takes.
fn length(assignment: &Assignment) -> Duration {
    (assignment.settle + assignment.measured) * u32::try_from(assignment.arms.len()).unwrap_or(1)
}

/// What is known only of a gateway that says how much processor time its threads used.
const PROCESSOR_TIMES: [Figure; 2] = [Figure::ProcessorTime, LIVE_PROCESSOR_TIME];
/// What ends an experiment is checked this often.
const LOOK: Duration = Duration::from_millis(250);
/// The pause is renewed this often.
const RENEW: Duration = Duration::from_secs(1);
/// A gateway that does not answer for this long is not waited for: the pause ends soon.
const SILENT_MAX: Duration = Duration::from_secs(3);
/// The part of a block after a change that is not measured, in which copies end that are under way, and its bounds.
const SETTLE: u32 = 3;
const SETTLES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// Fewer responses of a part show nothing.
const LEAST: f64 = 20.0;
/// The traffic of both parts may differ by this share of their sum.
const UNEQUAL: f64 = 0.2;
