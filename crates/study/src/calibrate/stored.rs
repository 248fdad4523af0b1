//! A calibration from runs of the ledger, in place of new load.
//!
//! ```text
//! closed model → Level; one user, or a rate so low that requests hardly meet → the request alone
//! open model   → overloaded: a Level of the limit; else a trial that is kept out of the fit
//! ```
//!
//! ## What runs do not show
//! The processor time of the service: the ledger has that of the generator only. So it is a part of the wait.

use super::figure::Figure;
use super::heads::changed;
use super::measure::{Measured, Trial};
use super::unfit::{Unfit, unfit};
use super::{KnownOfLevel, Level, Load, Slice};
use ::measure::{Heads, Recorded, Second, SparseHistogram, Verdict, steady};
use documents::stored::{Load as StoredLoad, Run, Stored};

/// What runs of the ledger give.
#[derive(Debug)]
pub struct FromRuns {
    /// What was measured, as [`super::measure`] has it.
    pub measured: Measured,
    /// Whether no run came near the limit.
    pub below_limit: bool,
    /// Without a run of little load: see [`super::Known::alone_at_most`].
    pub alone_at_most: Option<f64>,
    /// Runs that would show what these do not.
    pub wishes: Vec<Wish>,
}

/// A run that is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// One near the limit: the best throughput is unknown.
    Limit,
    /// One in which requests do not meet: their time alone, and the wait, are unknown.
    Light,
    /// One at this rate, in requests a second, for the backtest.
    Trial(f64),
}

impl Wish {
    /// What is missing, and the command that measures it.
    pub fn words(self, target: &str) -> String {
        match self {
            Wish::Limit => format!(
                "no run came near the limit, so the best throughput is unknown; make one: headroom load {target} -c 64 -d 30s"
            ),
            Wish::Light => format!(
                "no run has so little load that requests do not meet, so the response time alone, the wait and what limits the \
                 service are unknown; make one: headroom load {target} -c 1 -d 30s, and name it too"
            ),
            Wish::Trial(rate) => format!(
                "no run at 50 to 85 % of the best throughput to compare the model with; make one: headroom load {target} \
                 -r {rate:.1}/s --arrivals poisson -d 60s"
            ),
        }
    }
}

/// Why runs cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotUsable {
    /// It has no result.
    #[error("run {id} is {state} and has no result; name runs of load or find (headroom runs lists them)")]
    NotMeasured {
        /// The run.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// Too few seconds or requests.
    #[error("run {id} is too short; runs of at least 10 s and 20 requests show how they vary")]
    TooShort {
        /// The run.
        id: String,
    },
    /// The generator was the limit.
    #[error(
        "run {id} is invalid: {reasons}; it measures the load generator; make it again on a quiet machine"
    )]
    Invalid {
        /// The run.
        id: String,
        /// Why.
        reasons: String,
    },
    /// Not one load.
    #[error(
        "run {id} has no constant load without think time; name runs of one rate (load -r) or one number of users (load -c), \
         or a search (find)"
    )]
    Varied {
        /// The run.
        id: String,
    },
    /// Two services, or two requests.
    #[error("run {a} is of {first}, and run {b} is of {second}; name runs of one target")]
    Targets {
        /// The first run.
        a: String,
        /// Its target.
        first: String,
        /// The other run.
        b: String,
        /// Its target.
        second: String,
    },
    /// Two versions of headroom.
    #[error("run {a} is of headroom {first}, and run {b} of {second}; make them again with one version")]
    Versions {
        /// The first run.
        a: String,
        /// Its version.
        first: String,
        /// The other run.
        b: String,
        /// Its version.
        second: String,
    },
    /// Refused requests are not served ones.
    #[error(
        "run {id}: {shed} of {sent} requests were shed (429 or 503), so the run does not show what the service can do: raise \
         its limits, or name runs of lower load"
    )]
    Shed {
        /// The run.
        id: String,
        /// Shed requests.
        shed: u64,
        /// All requests.
        sent: u64,
    },
    /// Failed requests are not served ones.
    #[error(
        "run {id}: {failed} of {sent} requests had no good response; their times are not those of the work: headroom show \
         {id} tells why"
    )]
    NotGood {
        /// The run.
        id: String,
        /// Requests without a good response.
        failed: u64,
        /// All requests.
        sent: u64,
    },
    /// Responses from a cache are not the work.
    #[error(
        "run {id}: {count} responses have status 304 (not modified); a cache responds, not the work: remove If-None-Match and \
         If-Modified-Since from the request"
    )]
    Cached {
        /// The run.
        id: String,
        /// Responses with that status.
        count: u64,
    },
    /// Fields show a cache.
    #[error(
        "run {id}: {cached} of {sampled} responses that were looked at come from a cache ({field}); a cache responds, not the \
         work: measure the service behind it, or a request that it does not store"
    )]
    FromCache {
        /// The run.
        id: String,
        /// Responses of which the head was read.
        sampled: u64,
        /// Those from a cache.
        cached: u64,
        /// The first field that showed it.
        field: String,
    },
    /// The service changed between two runs.
    #[error(
        "the service changed between runs {a} and {b}: its Server field was {first}, then {second}; name runs of one version \
         of the service"
    )]
    Changed {
        /// The first run.
        a: String,
        /// Its Server fields.
        first: String,
        /// The other run.
        b: String,
        /// Its Server fields.
        second: String,
    },
    /// Nothing shows a request alone.
    #[error(
        "no run has so little load that requests do not meet; make one: headroom load {target} -c 1 -d 30s, and name it too"
    )]
    NoLight {
        /// The target.
        target: String,
    },
}

/// Sorts runs into levels and trials. A run comes with the search that it is a part of; parts that were ended early or
/// had other than good responses are left out, runs that were named are refused.
///
/// # Errors
/// See [`NotUsable`].
pub fn from_runs(runs: &[(Stored, Option<&Run>)]) -> Result<FromRuns, NotUsable> {
    let mut sorted = Sorted::default();
    for (stored, search) in runs {
        same(&runs[0].0.run, &stored.run)?;
        if let Err(error) = sorted.add(stored, *search)
            && search.is_none()
        {
            return Err(error);
        }
    }
    sorted.finish(runs.first().map_or("", |(stored, _)| stored.run.target.as_str()))
}

/// Runs of one service, measured in one way.
pub(crate) fn same(first: &Run, other: &Run) -> Result<(), NotUsable> {
    let (a, b) = (first.id.clone(), other.id.clone());
    if first.target != other.target {
        let (first, second) = (first.target.clone(), other.target.clone());
        return Err(NotUsable::Targets { a, first, b, second });
    }
    if first.version != other.version {
        let (first, second) = (first.version.clone(), other.version.clone());
        return Err(NotUsable::Versions { a, first, b, second });
    }
    let heads = |run: &Run| run.recorded.as_ref().map(|recorded| recorded.heads.clone()).unwrap_or_default();
    if let Some((first, second)) = changed(&heads(first), &heads(other)) {
        return Err(NotUsable::Changed { a, first, b, second });
    }
    Ok(())
}

#[derive(Default)]
struct Sorted {
    levels: Vec<Level>,
    /// Whether one of the levels is of an overloaded service.
    overloaded: bool,
    /// Runs of the open model below the limit.
    open: Vec<Open>,
    /// What the heads of responses showed, by the users of the levels.
    heads: Vec<(u32, Heads)>,
    remarks: Vec<String>,
}

/// A run of the open model below the limit.
struct Open {
    trial: Trial,
    /// The mean time of a request.
    mean: Figure,
    /// Why it is suspect, if it is.
    remark: Option<String>,
}

impl Open {
    /// Whether requests hardly meet.
    fn is_light(&self) -> bool {
        let most = if matches!(self.trial.load, Load::Even(_)) { LIGHT_EVEN } else { LIGHT };
        self.trial.rate * self.mean.value <= most
    }
}

impl Sorted {
    fn add(&mut self, stored: &Stored, search: Option<&Run>) -> Result<(), NotUsable> {
        let run = &stored.run;
        let id = || run.id.clone();
        let recorded = run.recorded.as_ref().ok_or(NotUsable::NotMeasured { id: id(), state: run.state })?;
        usable(run, recorded)?;
        let stages = stored.divided.stages.iter().filter(|stage| !stage.warm_up).count();
        let think = run.command_line.split_whitespace().any(|word| word.starts_with("--think"));
        let load = run.load(search).filter(|_| stages <= 1 && !think);
        let load = load.ok_or(NotUsable::Varied { id: id() })?;
        let seconds = steady(&stored.divided.stages, recorded.elapsed);
        let seconds: Vec<&Second> =
            stored.series.seconds.iter().take(seconds.end).skip(seconds.start).collect();
        let suspect = recorded.verdict == Verdict::Suspect;
        let remark = suspect.then(|| format!("run {} is suspect: {}", run.id, recorded.reasons.join("; ")));
        let too_short = NotUsable::TooShort { id: id() };
        match load {
            StoredLoad::Users(users) => {
                self.levels.push(closed(users, recorded, &seconds).ok_or(too_short)?);
                self.heads.push((users, recorded.heads.clone()));
                self.remarks.extend(remark);
            }
            StoredLoad::Rate { .. } if search.is_some() && seconds.len() < FEW => return Err(too_short),
            StoredLoad::Rate { rate, even } => {
                if grows(recorded, &seconds) {
                    if seconds.len() < FEW {
                        return Err(too_short);
                    }
                    self.overloaded = true;
                    let level = overloaded(recorded, &seconds);
                    self.heads.push((level.users, recorded.heads.clone()));
                    self.levels.push(level);
                    self.remarks.extend(remark);
                } else {
                    let mean = few(&recorded.service).ok_or(too_short)?;
                    self.open.push(Open { trial: trial(rate, even, recorded, &seconds), mean, remark });
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, target: &str) -> Result<FromRuns, NotUsable> {
        let mut alone_at_most = None;
        if !self.levels.iter().any(|level| level.users == 1) {
            match self.alone() {
                Some(alone) => self.levels.push(alone),
                None => {
                    let no_light = NotUsable::NoLight { target: target.to_owned() };
                    alone_at_most = Some(self.shortest().ok_or(no_light)?);
                }
            }
        }
        self.levels.sort_by_key(|level| level.users);
        let waits = |level: &Level| match alone_at_most {
            None => {
                level.users > 1 && level.rate() < WAITS * f64::from(level.users) / mean_s(&self.levels[0])
            }
            // As many times the users of the lowest level should have as many times its throughput.
            Some(_) => {
                let first = &self.levels[0];
                level.rate() < WAITS * first.rate() * f64::from(level.users) / f64::from(first.users)
            }
        };
        let below_limit = !self.overloaded && !self.levels.iter().any(waits);
        if alone_at_most.is_some() && below_limit {
            return Err(NotUsable::NoLight { target: target.to_owned() });
        }
        let best = self.levels.iter().map(Level::rate).fold(0.0, f64::max);
        let middle = |rate: f64| below_limit || (SHARES.0 * best..=SHARES.1 * best).contains(&rate);
        let mut trials: Vec<Trial> = Vec::new();
        for Open { trial, remark, .. } in self.open.drain(..).filter(|open| middle(open.trial.rate)) {
            trials.push(trial);
            self.remarks.extend(remark);
        }
        if alone_at_most.is_some() {
            // Without the wait there is nothing to predict them with.
            trials.clear();
        } else if trials.is_empty() {
            trials.extend(self.hold_back(best));
        }
        trials.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let mut wishes = Vec::new();
        if alone_at_most.is_some() {
            wishes.push(Wish::Light);
        } else if below_limit {
            wishes.push(Wish::Limit);
        } else if trials.iter().all(|trial| trial.rate < MIDDLE * best) {
            wishes.push(Wish::Trial(USUAL * best));
        }
        let (levels, heads, flaws) = (self.levels, self.heads, self.remarks);
        let measured = Measured { levels, heads, trials, flaws, ..Measured::default() };
        Ok(FromRuns { measured, below_limit, alone_at_most, wishes })
    }

    /// The shortest mean time of a request, in seconds.
    fn shortest(&self) -> Option<f64> {
        let open = self.open.iter().map(|open| open.mean.value);
        self.levels.iter().map(mean_s).chain(open).min_by(f64::total_cmp)
    }

    /// The lowest rate, if requests hardly meet at it.
    fn alone(&mut self) -> Option<Level> {
        let lowest =
            |&one: &usize, &other: &usize| self.open[one].trial.rate.total_cmp(&self.open[other].trial.rate);
        let place = (0..self.open.len()).min_by(lowest).filter(|&place| self.open[place].is_light())?;
        let Open { trial, mean, remark } = self.open.remove(place);
        self.remarks.extend(remark);
        let throughput = Figure::new(trial.rate, 0.0);
        let known = Some(KnownOfLevel { throughput, mean });
        Some(Level { users: 1, slices: trial.slices, times: trial.times, known })
    }

    /// Of at least four levels, the highest one clearly below the limit.
    fn hold_back(&mut self, best: f64) -> Option<Trial> {
        let middle = |level: &Level| level.users > 1 && level.rate() <= SHARES.1 * best;
        let place = self.levels.iter().rposition(middle).filter(|_| self.levels.len() >= LEVELS)?;
        let level = self.levels.remove(place);
        let rate = level.rate();
        Some(Trial {
            rate,
            at_limit: false,
            load: Load::Users(level.users),
            slices: level.slices,
            times: level.times,
        })
    }
}

/// The mean response time of a level, in seconds.
fn mean_s(level: &Level) -> f64 {
    level.times.mean().unwrap_or_default().as_secs_f64()
}

/// Whether a run shows the work of a service.
pub(crate) fn usable(run: &Run, recorded: &Recorded) -> Result<(), NotUsable> {
    let id = run.id.clone();
    if recorded.verdict == Verdict::Invalid {
        return Err(NotUsable::Invalid { id, reasons: recorded.reasons.join("; ") });
    }
    let sent = recorded.accounting.scheduled;
    match unfit(&recorded.accounting, &recorded.statuses, &recorded.heads) {
        Some(Unfit::Shed(shed)) => Err(NotUsable::Shed { id, shed, sent }),
        Some(Unfit::Cached(count)) => Err(NotUsable::Cached { id, count }),
        Some(Unfit::FromCache { cached, sampled, field }) => {
            Err(NotUsable::FromCache { id, sampled, cached, field })
        }
        Some(Unfit::NotGood(failed)) => Err(NotUsable::NotGood { id, failed, sent }),
        None => Ok(()),
    }
}

fn closed(users: u32, recorded: &Recorded, seconds: &[&Second]) -> Option<Level> {
    let mean = few(&recorded.service)?;
    let known = (seconds.len() < FEW).then(|| {
        let rate = recorded.completed.unwrap_or(recorded.accounting.answered) as f64
            / recorded.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let throughput = Figure::new(rate, rate * mean.half_width() / mean.value);
        KnownOfLevel { throughput, mean }
    });
    Some(Level { users, slices: arrivals(seconds), times: recorded.service.dense(), known })
}

fn arrivals(seconds: &[&Second]) -> Vec<Slice> {
    let slice = |second: &&Second| Slice { seconds: 1.0, responses: second.good, cpu_seconds: None };
    seconds.iter().map(slice).collect()
}

fn trial(rate: f64, even: bool, recorded: &Recorded, seconds: &[&Second]) -> Trial {
    let arrived =
        recorded.accounting.scheduled as f64 / recorded.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let load = if even { Load::Even(rate) } else { Load::Rate(arrived) };
    Trial { rate, at_limit: false, load, slices: arrivals(seconds), times: recorded.response.dense() }
}

/// Whether requests that wait become more and more: an overload.
fn grows(recorded: &Recorded, seconds: &[&Second]) -> bool {
    let sent = recorded.accounting.scheduled;
    let waiting = sent.saturating_sub(recorded.completed.unwrap_or(sent));
    let third = seconds.len() / 3;
    let mean = |of: &[&Second]| {
        let (count, sum) = of.iter().flat_map(|second| second.response.counts()).fold(
            (0.0, 0.0),
            |(count, sum), (micros, times)| {
                (count + f64::from(times), sum + micros as f64 * f64::from(times))
            },
        );
        if count > 0.0 { sum / count } else { 0.0 }
    };
    waiting >= WAITING
        && third > 0
        && mean(&seconds[seconds.len() - third..]) > GROWS * mean(&seconds[..third])
}

/// The limit, from the responses of an overloaded service by the second in which they came.
fn overloaded(recorded: &Recorded, seconds: &[&Second]) -> Level {
    let mut came = vec![0_u64; seconds.len()];
    for (second, arrivals) in seconds.iter().enumerate() {
        for (micros, count) in arrivals.good_response.counts() {
            // Arrivals of a second are spread over it.
            let at = second as f64 + 0.5 + micros as f64 / 1e6;
            if let Some(responses) = came.get_mut(at as usize) {
                *responses += u64::from(count);
            }
        }
    }
    // In the first second, the queue fills.
    let slice = |&responses: &u64| Slice { seconds: 1.0, responses, cpu_seconds: None };
    let waiting = recorded.accounting.scheduled.saturating_sub(recorded.completed.unwrap_or(0));
    let users = u32::try_from(waiting).unwrap_or(u32::MAX).clamp(2, USERS);
    Level {
        users,
        slices: came.iter().skip(1).map(slice).collect(),
        times: recorded.service.dense(),
        known: None,
    }
}

/// The mean of so few seconds that they do not show how they vary: that of independent times, twice as wide.
fn few(times: &SparseHistogram) -> Option<Figure> {
    let dense = times.dense();
    let (count, mean) = (dense.count() as f64, dense.mean()?.as_secs_f64());
    if count < ENOUGH {
        return None;
    }
    let squares: f64 =
        times.counts().map(|(micros, times)| f64::from(times) * (micros as f64 / 1e6 - mean).powi(2)).sum();
    Some(Figure::new(mean, WIDER * NORMAL_90 * (squares / count / count).sqrt() + FLOOR * mean))
}

/// Fewer whole seconds do not show how they vary.
const FEW: usize = 8;
/// Fewer requests do not show their mean.
const ENOUGH: f64 = 20.0;
/// Requests that wait at the end of an overload.
const WAITING: u64 = 10;
/// The least growth of the mean response time in an overload, from the first to the last third.
const GROWS: f64 = 1.5;
/// A level whose throughput is below this share of that of independent users waits for something.
const WAITS: f64 = 0.8;
/// Requests in the service, on average, at which they hardly meet.
const LIGHT: f64 = 0.4;
/// The same for arrivals at equal distances.
const LIGHT_EVEN: f64 = 0.8;
/// Shares of the best throughput between which a run is a trial. Above, chance decides its response times.
const SHARES: (f64, f64) = (0.2, 0.85);
/// The model has to predict a trial above this share of the best throughput.
const MIDDLE: f64 = 0.5;
/// The share of the trial that is proposed.
const USUAL: f64 = 0.7;
/// The fewest levels of which one is kept out of the fit.
const LEVELS: usize = 4;
/// The most users that are simulated for an overload.
const USERS: u32 = 512;
/// The half-width of a normal distribution's interval of 90 %, in standard deviations.
const NORMAL_90: f64 = 1.645;
/// What the correlation of consecutive requests adds to an interval, as a factor.
const WIDER: f64 = 2.0;
/// What no interval of a few seconds is below, as a share.
const FLOOR: f64 = 0.01;
