//! An examination of a service on this machine: it is read several times a second while it works, and what limits it is told from
//! that.
//!
//! ```text
//! Attendance (a thread that reads) → Series → documents::doctor::Examined
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

use control::diagnosis::{Budget, Cause, Diagnosis, Seen};
use documents::doctor::{Examined, Known};
use host::{Examination, Mode, NoService, Service};
use names::Names;
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
struct Watched {
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
        let (stop, stopped) = mpsc::channel();
        let wait = move |every| stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
        let reader = thread::spawn(move || attend(&Examination::of(find()?).ok()?, BESIDE, &wait).ok());
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

    fn watched(self) -> Option<Watched> {
        drop(self.stop);
        // Whatever went wrong with it, the run beside it keeps its results.
        self.reader.join().ok()?
    }
}

impl Watched {
    /// What limits the service. `rate` is the requests a second, if they are known.
    fn judged(self, rate: Option<f64>) -> Examined {
        let seen: Vec<Seen> = self.seen.into_iter().map(|(_, seen)| seen).collect();
        Examined {
            seconds: self.lasted.as_secs_f64(),
            diagnosis: Diagnosis::of(&seen, &self.modes),
            budget: Budget::of(&seen, rate),
            known: self.known,
            seen,
        }
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
    Ok(attend(&Examination::of(service)?, ALONE, &wait)?.judged(None))
}

/// `wait` waits for this long, or until the end; whether it has come.
fn attend(
    examination: &Examination,
    sparing: u32,
    wait: &dyn Fn(Duration) -> bool,
) -> Result<Watched, NoService> {
    let begun = Instant::now();
    let mut names = Names::of(examination)?;
    let mut seconds = Seconds::begin(examination.read()?);
    let mut seen: Vec<(Interval, Seen)> = Vec::new();
    let cost = begun.elapsed();
    let every = (sparing * cost).clamp(EVERY, SECOND);
    let mut ended = false;
    while !ended {
        ended = wait(every);
        // A service that ends is judged by what was seen of it.
        let reading = match examination.read() {
            Ok(reading) => reading,
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
    let causes = names.modes().iter().map(|mode| match mode {
        Mode::Debug(_) => Cause::Debug,
        Mode::Profiler(_) => Cause::Profiler,
    });
    let modes = causes.collect();
    Ok(Watched { seen, modes, lasted: begun.elapsed(), known: names.known(seconds.last()) })
}

/// How often a service is read, where that is cheap.
const EVERY: Duration = Duration::from_millis(200);
/// So many times as long as a reading takes is between two readings: alone they may take a tenth of a core, beside a load a
/// hundredth.
const ALONE: u32 = 10;
const BESIDE: u32 = 100;
/// Of a longer examination the last hour is kept, in seconds.
const LONGEST: usize = 3_600;
const SECOND: Duration = Duration::from_secs(1);
/// A second is of a part of a run if this share of it is.
const MOST_OF: f64 = 0.7;
