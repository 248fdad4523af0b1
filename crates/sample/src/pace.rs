//! Spending time: CPU time that is really used, and waits that end on time.
//!
//! ## Why the thread's CPU clock
//! A busy loop that reads the wall clock does less work the busier the machine is, so a service made of it has no
//! limit. A request that costs 5 ms of CPU must cost 5 ms of CPU however long that takes.

use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Tells every thread of a service to end.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Makes the sleeps of this thread end within microseconds; by default Linux may add 50 µs to each.
pub(crate) fn sharpen_sleeps() {
    // Without it sleeps end a little later; the gate compensates for that.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Sleeps until the instant, or until the service stops.
pub(crate) fn sleep_until(end: Instant, stop: &Stop) {
    while !stop.is_asked() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(LONGEST_SLEEP));
    }
}

/// Uses CPU time of this thread, unless the service stops; returns how much was used.
pub(crate) fn burn(amount: Duration, stop: &Stop) -> Duration {
    let begin = cpu_time();
    loop {
        let burnt = cpu_time().saturating_sub(begin);
        if burnt >= amount || stop.is_asked() {
            return burnt;
        }
        let left = (amount - burnt).min(BURST).as_secs_f64();
        spin((left * rounds_per_second()) as u64 + 1);
    }
}

/// CPU time that this thread has used.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The clock counts up from zero, and nanoseconds are below a billion.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How many rounds of work take a second of CPU time here: measured once, so that the clock is read rarely.
fn rounds_per_second() -> f64 {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        // The best of several is the least disturbed one.
        let best = (0..5).map(|_| {
            let begin = cpu_time();
            spin(CALIBRATION);
            CALIBRATION as f64 / (cpu_time() - begin).as_secs_f64().max(1e-6)
        });
        best.fold(1.0, f64::max)
    })
}

fn spin(rounds: u64) {
    let mut value = rounds | 1;
    for _ in 0..rounds {
        value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31));
    }
}

/// The interval at which a sleeping thread checks whether the service stops.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// The clock is read after each burst: it costs about a microsecond, so this costs 2 %, which is part of the work.
const BURST: Duration = Duration::from_micros(50);
/// About a tenth of a millisecond of work.
const CALIBRATION: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burns_cpu_time_and_not_wall_time() {
        let stop = Stop::default();
        let others: Vec<_> = (0..3)
            .map(|_| {
                thread::spawn(|| {
                    let begin = cpu_time();
                    burn(Duration::from_millis(20), &Stop::default());
                    cpu_time() - begin
                })
            })
            .collect();
        let begin = cpu_time();
        burn(Duration::from_millis(20), &stop);
        let mut all = vec![cpu_time() - begin];
        all.extend(others.into_iter().map(|other| other.join().unwrap()));
        for burnt in all {
            let ms = burnt.as_secs_f64() * 1e3;
            assert!((20.0..30.0).contains(&ms), "burnt {ms} ms of CPU time instead of 20");
        }
    }

    #[test]
    fn stopping_ends_work_and_waits() {
        let stop = Stop::default();
        stop.now();
        let begin = Instant::now();
        burn(Duration::from_secs(60), &stop);
        sleep_until(begin + Duration::from_secs(60), &stop);
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}
