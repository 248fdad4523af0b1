//! The cost of an arrival in nanoseconds, for every kind of schedule, whole and as one shard of eight; and the cost of
//! recording how punctual a start was.
//!
//! `cargo run --release -p load --example schedule_cost`

use load::{Arrivals, Profile, Schedule, Trace};
use measure::Pacing;
use std::time::{Duration, Instant};
use units::{Rate, Timestamp};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rate = Rate::per_second_of(100_000.0);
    let length = Duration::from_secs(50);
    let ramp = Profile::ramp(Rate::ZERO, rate * 2.0, length)?;
    let trace = Trace::new(vec![100_000; 50], Duration::from_secs(1))?;
    let times = (0..5_000_000).map(|k| Timestamp::from_nanos(k * 10_000)).collect();
    let poisson = Arrivals::Poisson { seed: 1 };
    let schedules = [
        ("constant, even", Schedule::constant(rate, Arrivals::Even, Some(length), None)),
        ("constant, Poisson", Schedule::constant(rate, poisson, Some(length), None)),
        ("ramp, even", Schedule::profile(ramp.clone(), Arrivals::Even)),
        ("ramp, Poisson", Schedule::profile(ramp, poisson)),
        ("trace, even", Schedule::trace(trace.clone(), Arrivals::Even)),
        ("trace, drawn", Schedule::trace(trace, poisson)),
        ("recorded", Schedule::recorded(times)?),
    ];
    println!("{:<20} {:>12} {:>16}", "ns an arrival", "whole", "one of eight");
    for (name, schedule) in schedules {
        println!(
            "{name:<20} {:>12.1} {:>16.1}",
            nanos_each(schedule.clone()),
            nanos_each(schedule.shard(3, 8))
        );
    }
    let mut pacing = Pacing::new();
    let begin = Instant::now();
    for k in 0..5_000_000_u64 {
        pacing.started(Timestamp::from_nanos(k * 10_000), Timestamp::from_nanos(k * 10_000 + k % 70_000));
    }
    println!("{:<20} {:>12.1}", "noting a start", begin.elapsed().as_nanos() as f64 / pacing.count() as f64);
    Ok(())
}

fn nanos_each(schedule: Schedule) -> f64 {
    let begin = Instant::now();
    let mut count = 0_u32;
    let mut sum = 0_u64;
    for at in schedule {
        count += 1;
        sum = sum.wrapping_add(at.as_nanos());
    }
    std::hint::black_box(sum);
    begin.elapsed().as_nanos() as f64 / f64::from(count)
}
