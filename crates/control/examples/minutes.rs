//! The cost of alarms and policies: the accounts case's scaling over simulated minutes, with synthetic metrics.
//!
//! Prints nanoseconds a minute and the time for a week, with percentiles read from a sketch of each minute and with
//! given percentiles. `cargo run --release -p control --example minutes -- 100000`

use control::alarm::{AlarmSettings, Comparison};
use control::metric::{Detail, MetricId, Point, Series, SeriesSettings, Statistic};
use control::scaling::{AlarmId, Facts, Platform, Policy, Scaler, ScalerSettings, StepScaling};
use stats::{Rng, Sketch};
use std::time::{Duration, Instant};
use units::{Quantile, Timestamp};

fn main() {
    let minutes: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    for (name, detail) in [
        ("sketches", Detail::Sketch),
        ("given quantiles", Detail::Quantiles(vec![Quantile::P95, Quantile::P99])),
    ] {
        let (took, scaled) = run(minutes, detail);
        let each = took.as_nanos() as f64 / minutes as f64;
        let week = each * 10_080.0 / 1e6;
        println!(
            "{name}: {each:.0} ns a minute, {week:.2} ms a week, {scaled} times scaled in {minutes} minutes"
        );
    }
}

/// The first stage of the account: two policies that scale out, one that scales in.
fn settings() -> ScalerSettings {
    let (cpu, latency, minute) = (MetricId(0), MetricId(1), Duration::from_secs(60));
    let p99 = Statistic::Percentile(Quantile::P99);
    let twice = |alarm| AlarmSettings { evaluation_periods: 2, datapoints_to_alarm: 2, ..alarm };
    let mut settings = ScalerSettings::new(Platform::Ecs, 15, 32);
    settings.alarms = vec![
        twice(AlarmSettings::new(cpu, Statistic::Maximum, 5 * minute, Comparison::GreaterThan, 60.0)),
        AlarmSettings::new(latency, p99, minute, Comparison::GreaterThan, 1.0),
        AlarmSettings::new(latency, p99, minute, Comparison::GreaterThan, 3.0),
        twice(AlarmSettings::new(cpu, Statistic::Average, 5 * minute, Comparison::LessThan, 15.0)),
    ];
    let policy = |alarms: &[u16], change| {
        Policy::Step(StepScaling::of(alarms.iter().copied().map(AlarmId).collect(), change))
    };
    settings.policies = vec![policy(&[0, 1], 1), policy(&[2], 3), policy(&[3], -1)];
    settings
}

/// The time of the scaler and its metrics, without the time to make the minute's sketch.
fn run(minutes: u64, detail: Detail) -> (Duration, u32) {
    let settings = settings();
    let series = |metric, detail| {
        let (resolution, history) = (Duration::from_secs(60), settings.history(MetricId(metric)));
        Series::new(SeriesSettings { resolution, history, delay: resolution, detail }).expect("a few minutes")
    };
    let mut series = [series(0, Detail::Summary), series(1, detail.clone())];
    let mut scaler = Scaler::new(settings).expect("good settings");
    let mut rng = Rng::new(7, "minutes");
    // Some minutes that are reused in turn: only reading them is measured.
    let drawn: Vec<Sketch> = (0..64)
        .map(|_| {
            let (mut sketch, late) = (Sketch::new(), rng.normal());
            (0..5_000).for_each(|_| sketch.record(0.08 * (0.4 * late + rng.normal()).exp()));
            sketch
        })
        .collect();
    let (mut count, mut scaled, mut took) = (20, 0, Duration::ZERO);
    for minute in 0..minutes {
        let (began, now) = (Timestamp::from_secs(60 * minute), Timestamp::from_secs(60 * minute + 60));
        let day = (minute as f64 / 1440.0 * std::f64::consts::TAU).sin();
        let busy = 16.0 + 6.0 * day;
        let sketch = &drawn[(minute % 64) as usize];
        let started = Instant::now();
        let n = f64::from(count);
        series[0].add(began, Point { count: n, sum: n * busy, least: 0.5 * busy, most: 3.0 * busy });
        if detail == Detail::Sketch {
            series[1].add_sketch(began, sketch);
        } else {
            let point = Point { count: 5_000.0, sum: 500.0, least: 0.001, most: 4.0 };
            series[1].set_quantiles(began, point, &[0.4, 0.9 + 0.2 * day]);
        }
        let facts = Facts { running: count, desired: count, ..Facts::default() };
        for decision in scaler.step(now, &series, &facts).iter().filter(|decision| decision.scaled()) {
            (count, scaled) = (decision.to, scaled + 1);
        }
        took += started.elapsed();
    }
    (took, scaled)
}
