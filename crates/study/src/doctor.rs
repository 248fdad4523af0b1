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
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that reads a service until it is told to stop.
#[derive(Debug)]
pub struct Attendance {
    /// The thread stops when this is dropped.
    stop: Sender<()>,
    reader: JoinHandle<Option<Examined>>,
}

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
        drop(self.stop);
        // Whatever went wrong with it, the run beside it keeps its results.
        let mut examined = self.reader.join().ok()??;
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
    let wait = |every| {
        thread::sleep(every);
        interrupted() || begun.elapsed() >= lasts
    };
    attend(&Examination::of(service)?, ALONE, &wait)
}

/// `wait` waits for this long, or until the end; whether it has come.
fn attend(
    examination: &Examination,
    sparing: u32,
    wait: &dyn Fn(Duration) -> bool,
) -> Result<Examined, NoService> {
    let begun = Instant::now();
    let mut names = Names::of(examination)?;
    let mut seconds = Seconds::begin(examination.read()?);
    let mut seen: Vec<Seen> = Vec::new();
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
        seen.extend(seconds.add(reading, &mut names));
        if seen.len() > LONGEST {
            seen.remove(0);
        }
    }
    let causes = names.modes().iter().map(|mode| match mode {
        Mode::Debug(_) => Cause::Debug,
        Mode::Profiler(_) => Cause::Profiler,
    });
    Ok(Examined {
        seconds: begun.elapsed().as_secs_f64(),
        diagnosis: Diagnosis::of(&seen, &causes.collect::<Vec<_>>()),
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
