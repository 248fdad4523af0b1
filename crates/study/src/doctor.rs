//! An examination of a service on this machine: it is read several times a second while it works, and what limits it is told from
//! that.
//!
//! ```text
//! Attendance (a thread that reads) → Series → documents::doctor::Examined
//!
//! second   readings of a second → control::diagnosis::Seen
//! names    what the numbers belong to: processes, addresses, limits
//! ```
//!
//! An attendance needs no load of its own: `doctor` attends whatever the service has to do, a run of load attends the service that
//! it sends to.

mod names;
mod second;
#[cfg(test)]
mod tests;

use control::diagnosis::{Budget, Cause, Diagnosis, Seen};
use documents::doctor::Examined;
use host::{Examination, Mode, NoService, Service};
use names::Names;
use second::Seconds;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that reads a service until it is told to stop.
#[derive(Debug)]
pub struct Attendance {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<Result<Examined, NoService>>,
}

impl Attendance {
    /// Begins to read.
    ///
    /// # Errors
    /// Where the service has ended.
    pub fn begin(service: Service) -> Result<Self, NoService> {
        let examination = Examination::of(service)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let reader = thread::spawn(move || attend(&examination, BESIDE, &|| stopped.load(Ordering::Relaxed)));
        Ok(Attendance { stop, reader })
    }

    /// Stops, and says what was found; `None` where the service ended before a second was seen. `rate` is the requests a second,
    /// if the caller knows them.
    pub fn end(self, rate: Option<f64>) -> Option<Examined> {
        self.stop.store(true, Ordering::Relaxed);
        // Whatever went wrong with it, the run beside it keeps its results.
        let mut examined = self.reader.join().ok()?.ok()?;
        if rate.is_some() {
            examined.budget = Budget::of(&examined.seen, rate);
        }
        Some(examined)
    }
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
    attend(&Examination::of(service)?, ALONE, &|| interrupted() || begun.elapsed() >= lasts)
}

fn attend(examination: &Examination, sparing: u32, stop: &dyn Fn() -> bool) -> Result<Examined, NoService> {
    let begun = Instant::now();
    let mut names = Names::of(examination)?;
    let mut seconds = Seconds::begin(examination.read()?);
    let mut seen: Vec<Seen> = Vec::new();
    let cost = begun.elapsed();
    let every = (sparing * cost).clamp(EVERY, SECOND);
    while !stop() {
        thread::sleep(every);
        // A service that ends is judged by what was seen of it.
        let reading = match examination.read() {
            Ok(reading) => reading,
            Err(error) if seen.is_empty() => return Err(error),
            Err(_) => break,
        };
        names.see(&reading);
        seen.extend(seconds.add(reading, &mut names));
        if seen.len() > LONGEST {
            seen.remove(0);
        }
    }
    let modes = names.modes();
    let causes: Vec<Cause> = modes
        .iter()
        .map(|mode| match mode {
            Mode::Debug(_) => Cause::Debug,
            Mode::Profiler(_) => Cause::Profiler,
        })
        .collect();
    Ok(Examined {
        seconds: begun.elapsed().as_secs_f64(),
        diagnosis: Diagnosis::of(&seen, &causes),
        budget: Budget::of(&seen, None),
        known: names.known(seconds.last()),
        seen,
    })
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
