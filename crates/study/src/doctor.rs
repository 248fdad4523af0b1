//! An examination of a service on this machine: it is read several times a second while it works, and what limits it is told from
//! that.
//!
//! ```text
//! Attendance (a thread that reads) → Series → documents::doctor::Examined
//!                                     Parts (of several attendances) ─┘
//!
//! second    readings of a second → control::diagnosis::Seen
//! names     what the numbers belong to: processes, addresses, limits
//! proposal  an experiment that proves a finding
//! ```
//!
//! An attendance needs no load of its own: `doctor` attends whatever the service has to do, a run of load attends the service that
//! it sends to.

mod names;
pub mod proposal;
mod second;
#[cfg(test)]
mod tests;

use control::diagnosis::{Budget, Cause, Diagnosis, Seen, To};
use documents::doctor::{Examined, Known};
use host::{Examination, Mode, NoService, Service, thread_cpu};
use names::Names;
pub(crate) use names::knows_workers;
use second::Seconds;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that reads a service until it is told to stop.
#[derive(Debug)]
pub struct Attendance {
    /// The thread stops when this is dropped.
    stop: Sender<()>,
    reader: JoinHandle<Option<Watched>>,
}

/// What was seen of a service, before it is judged.
#[derive(Debug)]
pub(crate) struct Watched {
    /// What was seen, with the beginning and the end of the interval.
    seen: Vec<(Interval, Seen)>,
    modes: Vec<Cause>,
    known: Known,
    lasted: Duration,
}

/// From one instant to another.
pub type Interval = (Instant, Instant);

impl Attendance {
    /// Begins to read the service that is found, in a thread of its own: what looks for it must not delay the caller.
    pub fn begin(find: impl FnOnce() -> Option<Service> + Send + 'static) -> Self {
        Attendance::within(find, (Instant::now(), None))
    }

    /// As [`Attendance::begin`], from one instant to another, a part of a run, and not beyond: what was seen before the load and
    /// after it would count as its pauses.
    pub(crate) fn during(
        find: impl FnOnce() -> Option<Service> + Send + 'static,
        (from, until): Interval,
    ) -> Self {
        Attendance::within(find, (from, Some(until)))
    }

    fn within(
        find: impl FnOnce() -> Option<Service> + Send + 'static,
        times: (Instant, Option<Instant>),
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let wait = move |every| stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
        let reader =
            thread::spawn(move || attend(&Examination::of(find()?).ok()?, BESIDE, times, &wait).ok());
        Attendance { stop, reader }
    }

    /// Stops, and says what was found; `None` where no service was found, or it ended before a second was seen. `rate` is the
    /// requests a second, if the caller knows them.
    pub fn end(self, rate: Option<f64>) -> Option<Examined> {
        Some(self.watched()?.judged(rate))
    }

    /// As [`Attendance::end`], of what was seen within these intervals alone.
    pub fn end_of(self, intervals: &[Interval]) -> Option<Examined> {
        let mut watched = self.watched()?;
        watched.seen.retain(|(second, _)| intervals.iter().any(|interval| is_within(second, interval)));
        watched.lasted = watched.seen.iter().map(|((from, until), _)| *until - *from).sum();
        (!watched.seen.is_empty()).then(|| watched.judged(None))
    }

    /// Stops: what was seen.
    pub(crate) fn watched(self) -> Option<Watched> {
        drop(self.stop);
        // Whatever went wrong with it, the run beside it keeps its results.
        self.reader.join().ok()?
    }
}

impl Watched {
    /// Takes others on the cores of the service out of what was seen.
    pub(crate) fn forget_others(&mut self) {
        self.seen.iter_mut().for_each(|(_, seen)| seen.others = None);
    }

    /// The mean time in a queue of a request, by Little's law from those that waited, at so many requests a second. `None`
    /// without requests, and where it is not known.
    pub(crate) fn queue_time(&self, rate: f64) -> Option<f64> {
        let waiting: Option<f64> = self.seen.iter().map(|(_, seen)| seen.queueing()).sum();
        let mean = waiting? / self.seen.len() as f64;
        Some(mean / rate).filter(|time| time.is_finite())
    }

    /// What limits the service. `rate` is the requests a second, if they are known.
    fn judged(self, rate: Option<f64>) -> Examined {
        let seen: Vec<Seen> = self.seen.into_iter().map(|(_, seen)| seen).collect();
        judged(seen, &self.modes, self.known, self.lasted, rate)
    }
}

fn judged(seen: Vec<Seen>, modes: &[Cause], known: Known, lasted: Duration, rate: Option<f64>) -> Examined {
    Examined {
        seconds: lasted.as_secs_f64(),
        diagnosis: Diagnosis::of(&seen, modes),
        budget: Budget::of(&seen, rate),
        known,
        seen,
    }
}

/// What was seen of a service in several parts of an experiment, all under the same load. It may have been started anew for each.
///
/// ## Why their average is judged
/// A part lasts a second or two, in which a few moments are seen. Whether a request waits at such a moment is chance, and a
/// diagnosis of each part would be. The load is the same in all of them, so that their average shows more with each part.
#[derive(Debug, Default)]
pub struct Parts {
    seen: Vec<Seen>,
    modes: Vec<Cause>,
    /// Of the latest part, with the destinations of all.
    known: Option<Known>,
    lasted: Duration,
}

impl Parts {
    /// Adds a part.
    pub(crate) fn add(&mut self, part: Watched) {
        let Watched { seen, modes, mut known, .. } = part;
        if seen.is_empty() {
            return;
        }
        self.lasted += seen.iter().map(|((from, until), _)| *until - *from).sum::<Duration>();
        let mut all = self.known.take().map_or_else(Vec::new, |known| known.destinations);
        // The order of destinations is that of a part. One with another port in each part is not told apart for ever.
        let mut place_of = |name: &String| {
            let place = all.iter().position(|one| one == name);
            if place.is_none() && all.len() < names::MOST_DESTINATIONS {
                all.push(name.clone());
                return Some(all.len() - 1);
            }
            place
        };
        let places: Vec<Option<usize>> = known.destinations.iter().map(&mut place_of).collect();
        for (_, mut one) in seen {
            let mut to = vec![To::default(); all.len()];
            for (seen, place) in one.to.iter().zip(&places) {
                if let Some(place) = place {
                    to[*place] = *seen;
                }
            }
            one.to = to;
            self.seen.push(one);
        }
        let surplus = self.seen.len().saturating_sub(LONGEST);
        self.seen.drain(..surplus);
        known.destinations = all;
        (self.modes, self.known) = (modes, Some(known));
    }

    /// What limits the service under this load; `None` where nothing was seen.
    pub fn examined(&self) -> Option<Examined> {
        let mean = Seen::mean(&self.seen)?;
        Some(judged(vec![mean], &self.modes, self.known.clone()?, self.lasted, None))
    }
}

/// Whether most of a second is within an interval.
fn is_within((from, until): &Interval, interval: &Interval) -> bool {
    let common = (*until).min(interval.1).saturating_duration_since((*from).max(interval.0));
    common >= until.saturating_duration_since(*from).mul_f64(MOST_OF)
}

/// Reads a service for this long, or until `interrupted` says so, which is asked several times a second.
///
/// # Errors
/// Where the service ended before a second was seen.
pub fn examine(
    service: Service,
    lasts: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Examined, NoService> {
    let begun = Instant::now();
    let wait = |every| {
        thread::sleep(every);
        interrupted() || begun.elapsed() >= lasts
    };
    Ok(attend(&Examination::of(service)?, ALONE, (Instant::now(), None), &wait)?.judged(None))
}

/// `wait` waits for this long, or until the end; whether it has come.
fn attend(
    examination: &Examination,
    sparing: u32,
    (from, until): (Instant, Option<Instant>),
    wait: &dyn Fn(Duration) -> bool,
) -> Result<Watched, NoService> {
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    let idle = |until: Instant| !left(until).is_zero() && wait(left(until));
    let mut ended = idle(from.checked_sub(AHEAD).unwrap_or(from));
    let mut names = Names::of(examination)?;
    let begun = Instant::now();
    // How long until the next one: it may take longer than at first, for example when there are more sockets.
    let read = || {
        // While others have the processor, a reading takes no more of it.
        let before = thread_cpu();
        let reading = examination.read()?;
        let took = thread_cpu().saturating_sub(before);
        Ok((reading, (sparing * took).clamp(EVERY, SECOND)))
    };
    let (mut first, mut every) = read()?;
    if !left(from).is_zero() {
        names.see(&first);
        ended = ended || idle(from);
        (first, every) = read()?;
    }
    let mut seconds = Seconds::begin(first, until.map_or(SECOND, |until| span(left(until))));
    let mut seen: Vec<(Interval, Seen)> = Vec::new();
    while !ended {
        let left = until.map(left);
        ended = wait(left.map_or(every, |left| left.min(every))) || left.is_some_and(|left| left <= every);
        // A service that ends is judged by what was seen of it.
        let reading = match read() {
            Ok((reading, next)) => {
                every = next;
                reading
            }
            Err(error) if seen.is_empty() => return Err(error),
            Err(_) => break,
        };
        names.see(&reading);
        let interval = (seconds.last().at, reading.at);
        seen.extend(seconds.add(reading, &mut names).map(|one| (interval, one)));
        if seen.len() > LONGEST {
            seen.remove(0);
        }
    }
    let lasted = begun.elapsed();
    let causes = names.modes().iter().map(|mode| match mode {
        Mode::Debug(_) => Cause::Debug,
        Mode::Profiler(_) => Cause::Profiler,
    });
    let modes = causes.collect();
    Ok(Watched { seen, modes, lasted, known: names.known(seconds.last()) })
}

/// The spans into which a part of this length is divided: whole, and none much longer than a second. A reading is late by its own
/// wait, so the last span may be a little shorter.
fn span(length: Duration) -> Duration {
    let spans = (length.as_secs_f64()).floor().max(1.0);
    length.div_f64(spans).mul_f64(NEARLY)
}

/// The shortest time in which enough moments are seen to average what waits at them.
pub(crate) const ENOUGH: Duration = EVERY.saturating_mul(10);
/// How often a service is read, where that is cheap.
pub(crate) const EVERY: Duration = Duration::from_millis(200);
/// So many times as long as a reading takes is between two readings: alone they may take a tenth of a core, beside a load a
/// hundredth.
const ALONE: u32 = 10;
const BESIDE: u32 = 100;
/// Of a longer examination the last hour is kept, in seconds.
const LONGEST: usize = 3_600;
const SECOND: Duration = Duration::from_secs(1);
/// A second is of a part of a run if this share of it is.
const MOST_OF: f64 = 0.7;
/// Names of a part are looked up this long before it.
const AHEAD: Duration = Duration::from_millis(100);
/// The share of a span that is as good as all of it.
const NEARLY: f64 = 0.9;
