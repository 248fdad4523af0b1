//! A bare timer loop: how late this machine wakes a thread that only waits for the next instant of an even schedule. It
//! is the reference for the pacing of a load generator; see `bench/load`.
//!
//! It waits like the generator's event loop, with a timer descriptor and an absolute end, and skips the wait if the
//! instant has already passed.
//!
//! ```text
//! timer_loop RATE SECONDS        prints JSON: lateness, and |actual gap - intended gap|, in µs
//! ```

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::env::args;
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<f64> = args().skip(1).map(|arg| arg.parse()).collect::<Result<_, _>>()?;
    let [rate, seconds] = wanted[..] else { return Err("usage: timer_loop RATE SECONDS".into()) };
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let start = now() + Duration::from_millis(10);
    let (mut late, mut woke) = (Vec::new(), Vec::new());
    for number in 0..(rate * seconds) as u64 {
        let due = start + Duration::from_secs_f64(number as f64 / rate);
        while now() < due {
            let at = Timespec { tv_sec: due.as_secs() as i64, tv_nsec: i64::from(due.subsec_nanos()) };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
            timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once)?;
            rustix::io::read(&timer, &mut [0_u8; 8])?;
        }
        let at = now();
        late.push((at - due).as_nanos());
        woke.push(at.as_nanos());
    }
    let intended = 1e9 / rate;
    let gaps = woke.windows(2).map(|pair| ((pair[1] - pair[0]) as f64 - intended).abs() as u128);
    let gaps: Vec<u128> = gaps.collect();
    println!("{{\"late_us\": {}, \"gap_error_us\": {}}}", summary(late), summary(gaps));
    Ok(())
}

fn now() -> Duration {
    let time = clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Quantiles of nanoseconds, in microseconds.
fn summary(mut nanos: Vec<u128>) -> String {
    nanos.sort_unstable();
    let at = |part: f64| {
        let place = (nanos.len() as f64 * part) as usize;
        nanos.get(place.min(nanos.len().saturating_sub(1))).map_or(0.0, |&found| found as f64 / 1e3)
    };
    let (p50, p90, p99, max) = (at(0.5), at(0.9), at(0.99), at(1.0));
    format!("{{\"count\": {}, \"p50\": {p50}, \"p90\": {p90}, \"p99\": {p99}, \"max\": {max}}}", nanos.len())
}
