use super::profile::tests::any_profile;
use super::*;
use proptest::prelude::*;

#[test]
fn even_arrivals_do_not_drift() {
    let rate = Rate::per_second_of(3.0);
    let schedule = Schedule::constant(rate, Arrivals::Even, Some(Duration::from_secs(1_000)), None);
    let all: Vec<_> = schedule.collect();
    assert_eq!(all.len(), 3_000);
    assert_eq!(all[0], Timestamp::ZERO);
    assert_eq!(all[2_999].as_nanos(), 999_666_666_666);
}

#[test]
fn poisson_arrivals_have_their_rate_and_their_spread() {
    let rate = Rate::per_second_of(1_000.0);
    let arrivals = Arrivals::Poisson { seed: 1 };
    let all: Vec<_> = Schedule::constant(rate, arrivals, Some(Duration::from_secs(100)), None).collect();
    let count = all.len() as f64;
    assert!((count - 100_000.0).abs() < 1_000.0, "{count}");
    let short = all.windows(2).filter(|pair| pair[1].since(pair[0]) < Duration::from_millis(1)).count();
    let share = short as f64 / count;
    assert!((share - 0.632).abs() < 0.01, "1 - 1/e of the gaps are shorter than their mean: {share}");
}

#[test]
fn a_profile_of_one_rate_is_the_constant_schedule() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson { seed: 5 }] {
        let (rate, length) = (Rate::per_second_of(700.0), Duration::from_secs(3));
        let constant = Schedule::constant(rate, arrivals, Some(length), None);
        let profile = Schedule::profile(Profile::constant(rate, length).unwrap(), arrivals);
        assert_eq!(profile.expected_count(), Some(2_100.0));
        assert_eq!(profile.collect::<Vec<_>>(), constant.collect::<Vec<_>>());
    }
}

#[test]
fn a_ramp_neither_drifts_nor_loses_an_arrival_at_a_boundary() {
    let hold = |rate, secs| Stage::hold(Rate::per_second_of(rate), Duration::from_secs(secs));
    let ramp = Stage::ramp(Rate::per_second_of(0.1), Rate::per_second_of(99.9), Duration::from_secs(100));
    // 0.1/s for 30 s is 3.0000000000000004 in floating point, but three arrivals.
    let profile = Profile::new(vec![hold(0.1, 30), ramp, hold(99.9, 10)]).unwrap();
    assert_eq!(profile.count(), 3.0 + 5_000.0 + 999.0);
    let all: Vec<_> = Schedule::profile(profile.clone(), Arrivals::Even).collect();
    assert_eq!(all.len(), 6_002);
    assert_eq!(all[3], Timestamp::from_secs(30));
    assert_eq!(all[5_003], Timestamp::from_secs(130));
    let worst = all.iter().zip(0_u32..).map(|(&at, k)| (profile.count_until(at) - f64::from(k)).abs());
    assert!(worst.fold(0.0, f64::max) < 1e-6);
}

#[test]
fn poisson_arrivals_follow_the_rate_of_the_profile() {
    let length = Duration::from_secs(100);
    let ramp = Profile::ramp(Rate::ZERO, Rate::per_second_of(2_000.0), length).unwrap();
    let all: Vec<_> = Schedule::profile(ramp, Arrivals::Poisson { seed: 1 }).collect();
    let first_half = all.iter().filter(|&&at| at < Timestamp::from_secs(50)).count();
    // A quarter of 100,000, with a standard deviation of 158.
    assert!(first_half.abs_diff(25_000) < 700, "{first_half}");
    assert!(all.len().abs_diff(100_000) < 1_300, "{}", all.len());
}

#[test]
fn ends_where_it_says() {
    let rate = Rate::per_second_of(10.0);
    let endless = Schedule::constant(rate, Arrivals::Even, None, None);
    assert_eq!((endless.end(), endless.length(), endless.expected_count()), (Timestamp::NEVER, None, None));
    let limited = endless.clone().limit(Some(7));
    assert_eq!((limited.length(), limited.expected_count(), limited.count()), (None, Some(7.0), 7));
    let never = Schedule::constant(Rate::ZERO, Arrivals::Even, None, None);
    assert_eq!((never.expected_count(), never.count()), (Some(0.0), 0));
    let times: Arc<[Timestamp]> = [1, 1, 5].map(Timestamp::from_secs).into();
    let recorded = Schedule::recorded(Arc::clone(&times)).unwrap();
    assert_eq!(recorded.expected_count(), Some(3.0));
    assert!(recorded.end() > Timestamp::from_secs(5));
    assert_eq!(recorded.collect::<Vec<_>>(), *times);
    let empty = Schedule::recorded([].into()).unwrap();
    assert_eq!((empty.end(), empty.count()), (Timestamp::ZERO, 0));
}

#[test]
fn recorded_times_must_ascend() {
    let error = Schedule::recorded([1, 3, 2].map(Timestamp::from_secs).into()).unwrap_err();
    assert_eq!(error.index, 2);
    assert!(error.to_string().contains("recorded time 2 (2.000 s) lies before"), "{error}");
}

#[test]
fn a_shard_that_does_not_exist_is_empty() {
    let whole = Schedule::constant(Rate::per_second_of(10.0), Arrivals::Even, None, None);
    assert_eq!(whole.clone().shard(3, 3).count(), 0);
    assert_eq!(whole.limit(Some(5)).shard(0, 0).count(), 5);
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let arrivals =
        prop_oneof![Just(Arrivals::Even), any::<u64>().prop_map(|seed| Arrivals::Poisson { seed })];
    let kind = (0..4, 1.0_f64..2_000.0, 0_u64..2_000, any_profile(), prop::collection::vec(0_u64..40, 1..20));
    let times = prop::collection::vec(0_u64..5_000, 0..200);
    (kind, arrivals, times, prop::option::of(0_u64..500)).prop_map(
        |((kind, rate, ms, profile, counts), arrivals, mut times, limit)| {
            let length = Duration::from_millis(ms);
            let schedule = match kind {
                0 => Schedule::constant(Rate::per_second_of(rate), arrivals, Some(length), None),
                1 => Schedule::profile(profile, arrivals),
                2 => Schedule::trace(Trace::new(counts, Duration::from_secs(1)).unwrap(), arrivals),
                _ => {
                    times.sort_unstable();
                    Schedule::recorded(times.into_iter().map(Timestamp::from_millis).collect()).unwrap()
                }
            };
            schedule.limit(limit)
        },
    )
}

proptest! {
    #[test]
    fn shards_unite_to_the_whole(whole in any_schedule(), shards in 1_u32..8, again in 1_u32..4) {
        let parts = (0..shards).flat_map(|i| (0..again).map(move |j| (i, j)));
        let part = |(i, j)| whole.clone().shard(i, shards).shard(j, again);
        let mut united: Vec<_> = parts.flat_map(part).collect();
        united.sort();
        prop_assert_eq!(united, whole.collect::<Vec<_>>());
    }

    #[test]
    fn arrivals_ascend_and_come_before_the_end(whole in any_schedule()) {
        let end = whole.end();
        let all: Vec<_> = whole.collect();
        prop_assert!(all.is_sorted());
        prop_assert!(all.iter().all(|&at| at < end));
    }

    #[test]
    fn the_expected_count_is_exact_unless_drawn(whole in any_schedule()) {
        let expected = whole.expected_count().unwrap();
        let drawn = matches!(&whole.kind, Kind::Spaced(Spacing::Poisson { .. }, _));
        if !drawn {
            prop_assert_eq!(whole.count() as f64, expected);
        }
    }

    #[test]
    fn a_clone_walks_the_same_arrivals(whole in any_schedule(), taken in 0_usize..50) {
        let mut ahead = whole.clone();
        let first: Vec<_> = ahead.by_ref().take(taken).collect();
        let again = whole.clone();
        prop_assert_eq!(again.take(taken).collect::<Vec<_>>(), first);
        prop_assert_eq!(ahead.collect::<Vec<_>>(), whole.skip(taken).collect::<Vec<_>>());
    }
}
