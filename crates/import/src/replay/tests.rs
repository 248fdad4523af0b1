use super::*;
use crate::{At, Edge, Entry};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

fn entry(micros: i64, user: u32, path: u32) -> Entry {
    Entry {
        at: Some(At { micros, whole_second: false, edge: Edge::Start }),
        method: "GET".to_owned(),
        url: format!("/{path}"),
        user: Some(user.to_string()),
        ..Entry::default()
    }
}

fn at_second(second: i64, url: &str) -> Entry {
    let at = At { micros: second * 1_000_000, whole_second: true, edge: Edge::Start };
    Entry { at: Some(at), url: url.to_owned(), ..Entry::default() }
}

fn recordings() -> impl Strategy<Value = Arc<Recording>> {
    let entries = prop::collection::vec((0_i64..100_000_000, 0_u32..8, 0_u32..5), 1..60);
    entries.prop_map(|entries| {
        let entries = entries.into_iter().map(|(micros, user, path)| entry(micros, user, path));
        Arc::new(Recording::new(entries, 1).unwrap())
    })
}

fn replay(recording: &Arc<Recording>, speed: f64, users: f64, seed: u64) -> Replay {
    Replay::new(Arc::clone(recording), speed, users, seed).unwrap()
}

/// Each user's requests, in order.
fn by_user(dues: impl Iterator<Item = Due>) -> BTreeMap<u32, Vec<Due>> {
    let mut out = BTreeMap::<u32, Vec<Due>>::new();
    dues.for_each(|due| out.entry(due.user).or_default().push(due));
    out
}

#[test]
fn whole_seconds_are_spread_in_the_order_of_the_log() {
    let entries = (0..1_000).map(|index| at_second(1_700_000_000 + index / 500, &format!("/{index}")));
    let recording = Recording::new(entries.clone(), 3).unwrap();
    let dues: Vec<_> = replay(&Arc::new(recording.clone()), 1.0, 1.0, 0).dues().collect();
    assert!(dues.iter().map(|due| due.request).eq(0..1_000), "the order is the log's");
    assert!(dues.iter().map(|due| due.at).collect::<HashSet<_>>().len() == 1_000);
    let early = dues.iter().filter(|due| due.at < Duration::from_millis(500)).count();
    assert!((200..300).contains(&early), "{early} of 500 in the first half second");
    assert_eq!(Recording::new(entries.clone(), 3).unwrap(), recording);
    assert_ne!(Recording::new(entries, 4).unwrap(), recording);
}

#[test]
fn the_start_is_replayed_where_the_log_has_the_end() {
    let ended = |micros, response_ms| {
        let mut entry = entry(micros, 0, u32::try_from(response_ms).unwrap());
        entry.at = Some(At { micros, whole_second: false, edge: Edge::End });
        entry.response_time = Some(Duration::from_millis(response_ms));
        entry
    };
    let recording = Recording::new([ended(5_100_000, 100), ended(5_200_000, 1_200)], 1).unwrap();
    assert_eq!(recording.start(), 4_000_000);
    let dues: Vec<_> =
        replay(&Arc::new(recording), 1.0, 1.0, 0).dues().map(|due| (due.at, due.request)).collect();
    assert_eq!(dues, [(Duration::ZERO, 1), (Duration::from_secs(1), 0)]);
}

#[test]
fn requests_that_are_alike_are_kept_once() {
    let recording = Recording::new([entry(9, 1, 7), entry(3, 2, 7), entry(5, 1, 8)], 1).unwrap();
    assert_eq!(recording.requests().len(), 2);
    assert_eq!((recording.users(), recording.len(), recording.start()), (2, 3, 3));
}

#[test]
fn entries_without_a_user_are_users_of_their_own() {
    let anonymous = |micros| Entry { user: None, ..entry(micros, 0, 1) };
    let recording = Recording::new([anonymous(1), entry(2, 5, 1), anonymous(3), entry(4, 5, 1)], 1).unwrap();
    assert_eq!(recording.users(), 3);
}

#[test]
fn entries_without_a_time_are_counted() {
    let timeless = Entry { at: None, ..entry(0, 0, 0) };
    let recording = Recording::new([timeless.clone(), entry(1, 1, 1)], 1).unwrap();
    assert_eq!((recording.len(), recording.without_time()), (1, 1));
    assert_eq!(Recording::new([timeless], 1), Err(RecordingError::NoTimes { entries: 1 }));
    assert_eq!(Recording::new([], 1), Err(RecordingError::Empty));
    let far = [entry(0, 0, 0), entry(i64::MAX, 0, 0), entry(i64::MIN, 0, 0)];
    assert!(matches!(Recording::new(far, 1), Err(RecordingError::TooLong { .. })));
}

#[test]
fn factors_out_of_range_are_refused_with_their_bounds() {
    let recording = Arc::new(Recording::new((0..10).map(|n| entry(i64::from(n), n, 0)), 1).unwrap());
    let told = |speed, users| Replay::new(Arc::clone(&recording), speed, users, 1).unwrap_err().to_string();
    insta::assert_snapshot!(
        [told(0.0, 1.0), told(f64::NAN, 1.0), told(1.0, f64::INFINITY), told(1.0, -1.0), told(1.0, 0.01),]
            .join("\n")
    );
}

#[test]
fn minutes_keep_their_rate_when_users_are_copied() {
    // 20 minutes; the odd ones have three times the requests of the even ones.
    let entries = (0..20_u32).flat_map(|minute| {
        let count = if minute % 2 == 0 { 200 } else { 600 };
        (0..count).map(move |n| {
            entry(i64::from(minute) * 60_000_000 + n * 60_000_000 / count, minute * 600 + n as u32, 0)
        })
    });
    let recording = Arc::new(Recording::new(entries, 1).unwrap());
    let count = |replay: &Replay| {
        let mut minutes = [0_i64; 21];
        replay.dues().for_each(|due| minutes[(due.at.as_secs() / 60) as usize] += 1);
        minutes
    };
    let (once, four) = (count(&replay(&recording, 1.0, 1.0, 1)), count(&replay(&recording, 1.0, 4.0, 1)));
    for minute in 1..20 {
        let off = (four[minute] - 4 * once[minute]).abs();
        // A twenty-fourth of the step between minutes, on average, and the rounding of edges.
        assert!(off <= 4 * 400 / 15, "minute {minute}: {} of {}", four[minute], 4 * once[minute]);
    }
}

proptest! {
    #[test]
    fn as_recorded_is_the_recording(recording in recordings(), seed: u64) {
        let replay = replay(&recording, 1.0, 1.0, seed);
        prop_assert_eq!(replay.dues().count(), recording.len());
        prop_assert_eq!(replay.requests(), recording.len() as u64);
        let mut last = Duration::ZERO;
        for (due, event) in replay.dues().zip(&recording.events) {
            prop_assert_eq!((due.at, due.request), (Duration::from_nanos(event.at), event.request));
            prop_assert!(last <= due.at);
            last = due.at;
        }
    }

    #[test]
    fn speed_scales_all_gaps(recording in recordings(), speed in 0.01_f64..100.0, users in 0.5_f64..4.0, seed: u64) {
        let plain = replay(&recording, 1.0, users, seed).dues();
        for (due, plain) in replay(&recording, speed, users, seed).dues().zip(plain) {
            let want = plain.at.as_secs_f64() / speed;
            prop_assert!((due.at.as_secs_f64() - want).abs() < 2e-9 + want * 1e-12);
            prop_assert_eq!((due.request, due.user), (plain.request, plain.user));
        }
    }

    #[test]
    fn times_n_is_n_times_the_users_and_requests(recording in recordings(), n in 1_u32..6, seed: u64) {
        let replay = replay(&recording, 1.0, f64::from(n), seed);
        let users = by_user(replay.dues());
        prop_assert_eq!(users.len(), (n * recording.users()) as usize);
        prop_assert!(users.keys().copied().eq(0..replay.users()));
        prop_assert_eq!(replay.dues().count(), n as usize * recording.len());
        prop_assert!(replay.dues().is_sorted_by_key(|due| due.at));
    }

    #[test]
    fn each_copy_keeps_its_users_order_and_gaps(recording in recordings(), n in 1_u32..6, seed: u64) {
        let there = recording.users();
        let originals = by_user(replay(&recording, 1.0, 1.0, seed).dues());
        let mut shifts = HashSet::new();
        for (user, dues) in by_user(replay(&recording, 1.0, f64::from(n), seed).dues()) {
            let original = &originals[&(user % there)];
            let shift = dues[0].at - original[0].at;
            prop_assert!(shift < Duration::from_secs(5));
            prop_assert!(shifts.insert((user % there, shift)), "two copies at the same instants");
            let shifted = original.iter().map(|due| (due.at + shift, due.request));
            prop_assert!(dues.iter().map(|due| (due.at, due.request)).eq(shifted));
        }
    }

    #[test]
    fn fractions_take_whole_users(recording in recordings(), factor in 0.1_f64..3.0, seed: u64) {
        let wanted = (f64::from(recording.users()) * factor).round() as u32;
        prop_assume!(wanted > 0);
        let taken = replay(&recording, 1.0, factor, seed);
        let users = by_user(taken.dues());
        prop_assert_eq!(users.len(), wanted as usize);
        prop_assert_eq!(users.values().map(|dues| dues.len() as u64).sum::<u64>(), taken.requests());
        // Every one has the requests of a user of the recording, all of them.
        let mut there = HashSet::new();
        for dues in by_user(replay(&recording, 1.0, 1.0, 0).dues()).values() {
            there.insert(dues.iter().map(|due| due.request).collect::<Vec<_>>());
        }
        for dues in users.values() {
            prop_assert!(there.contains(&dues.iter().map(|due| due.request).collect::<Vec<_>>()));
        }
    }

    #[test]
    fn the_union_of_the_shards_is_the_whole(recording in recordings(), shards in 1_u32..6, users in 0.5_f64..4.0, seed: u64) {
        let replay = replay(&recording, 2.0, users, seed);
        let mut parts = Vec::new();
        let mut owners = BTreeMap::new();
        for shard in 0..shards {
            for due in replay.clone().shard(shard, shards).dues() {
                prop_assert_eq!(*owners.entry(due.user).or_insert(shard), shard, "a user in two shards");
                parts.push(due);
            }
        }
        let mut whole: Vec<_> = replay.dues().collect();
        for dues in [&mut parts, &mut whole] {
            dues.sort_by_key(|due| (due.at, due.user, due.request));
        }
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn the_same_seed_gives_the_same_replay(recording in recordings(), users in 0.5_f64..4.0, seed: u64) {
        let once: Vec<_> = replay(&recording, 1.0, users, seed).dues().collect();
        prop_assert!(replay(&recording, 1.0, users, seed).dues().eq(once));
    }
}
