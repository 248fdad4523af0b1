use super::*;
use crate::{At, Edge};
use stats::Rng;

/// A workload of users who come as a Poisson process, each with a geometric number of requests.
#[derive(Clone, Copy)]
struct Drawn {
    seed: u64,
    sessions: usize,
    even: bool,
    /// The mean length of a session.
    length: f64,
    /// The share of `/cart`, in percent.
    cart: usize,
    bytes: f64,
}

const USUAL: Drawn = Drawn { seed: 1, sessions: 1_500, even: false, length: 4.0, cart: 30, bytes: 2_000.0 };

impl Drawn {
    fn entries(self) -> Vec<Entry> {
        let mut rng = Rng::new(self.seed, "a workload");
        let mut all = Vec::new();
        for user in 0..self.sessions {
            // A session's requests are a second apart on average.
            let mut at = 300e6 * rng.uniform();
            loop {
                let url = if rng.below(100) < self.cart { "/cart" } else { "/products/17" };
                all.push(Entry {
                    at: Some(At { micros: at as i64, whole_second: false, edge: Edge::Start }),
                    method: "GET".to_owned(),
                    url: url.to_owned(),
                    user: Some(user.to_string()),
                    bytes: Some((self.bytes * rng.exponential_fast()) as u64),
                    ..Entry::default()
                });
                at += 1e6 * rng.exponential_fast();
                if rng.uniform() < 1.0 / self.length {
                    break;
                }
            }
        }
        if self.even {
            all.sort_by_key(|entry| entry.at.unwrap().micros);
            let gap = 300_000_000 / all.len() as i64;
            for (place, entry) in (0..).zip(&mut all) {
                entry.at.as_mut().unwrap().micros = place * gap;
            }
        }
        all
    }

    fn workload(self) -> Workload {
        Workload::new(self.entries(), "x-user", 1).unwrap()
    }
}

fn of(likeness: &Likeness, aspect: Aspect) -> Part {
    likeness.parts.iter().find(|(of, _)| *of == aspect).unwrap().1.unwrap()
}

#[test]
fn a_recording_is_like_itself() {
    let workload = USUAL.workload();
    let found = workload.compare(&workload, None, false);
    assert!(found.parts.iter().all(|(_, part)| part.unwrap().fidelity() == 1.0), "{found:?}");
    assert_eq!(found.requests, [workload.requests(); 2]);
    assert_eq!(found.bin, Duration::from_secs(2));
    assert!(found.mix.iter().all(|(_, shares)| shares[0] == shares[1]));
}

#[test]
fn two_recordings_of_one_workload_are_alike() {
    let original = USUAL.workload();
    let mut least = f64::MAX;
    for seed in 2..22 {
        let found = original.compare(&Drawn { seed, ..USUAL }.workload(), None, false);
        least = least.min(found.worst().unwrap().1.fidelity());
        for (aspect, part) in &found.parts {
            let (low, high) = part.unwrap().interval();
            assert!(high == 1.0 && low > 0.78, "{aspect:?} {low} to {high}, seed {seed}");
        }
    }
    assert!(least > 0.95, "{least}");
}

#[test]
fn what_differs_is_named() {
    let original = USUAL.workload();
    for (copy, aspect, most) in [
        (Drawn { even: true, ..USUAL }, Aspect::Gaps, 0.45),
        (Drawn { cart: 55, ..USUAL }, Aspect::Mix, 0.80),
        (Drawn { length: 8.0, sessions: 750, ..USUAL }, Aspect::SessionLength, 0.80),
        (Drawn { bytes: 4_000.0, ..USUAL }, Aspect::AnswerSizes, 0.80),
    ] {
        let found = original.compare(&Drawn { seed: 2, ..copy }.workload(), None, false);
        let (worst, part) = found.worst().unwrap();
        assert!(worst == aspect && part.fidelity() < most, "{worst:?} {} for {aspect:?}", part.fidelity());
    }
    // Twice the users also come at half the distances.
    let found = original.compare(&Drawn { seed: 2, sessions: 3_000, ..USUAL }.workload(), None, false);
    let both = [Aspect::Rate, Aspect::Gaps].map(|aspect| of(&found, aspect).fidelity());
    assert!(both.iter().all(|fidelity| *fidelity < 0.85), "{both:?}");
    assert!(of(&found, Aspect::Mix).fidelity() > 0.95 && of(&found, Aspect::SessionLength).fidelity() > 0.95);
}

#[test]
fn the_interval_has_the_true_distance() {
    let original = USUAL.workload();
    let found = original.compare(&Drawn { seed: 2, cart: 40, ..USUAL }.workload(), None, false);
    let (low, high) = of(&found, Aspect::Mix).interval();
    assert!(low < 0.9 && 0.9 < high, "{low} to {high}");
    assert_eq!(found.mix.len(), 2);
    // Exponential with means 1 and 2: a quarter.
    let found = original.compare(&Drawn { seed: 2, bytes: 4_000.0, ..USUAL }.workload(), None, false);
    let part = of(&found, Aspect::AnswerSizes);
    let (low, high) = part.interval();
    assert!(low < 0.75 && 0.75 < high, "{low} to {high}");
    assert!((part.middle[1] / part.middle[0] - 2.0).abs() < 0.2, "{part:?}");
}

#[test]
fn a_part_of_the_users_has_the_course_of_all() {
    let original = USUAL.workload();
    let tenth = |entry: &Entry| entry.user.as_deref().unwrap().ends_with('0');
    let part = Workload::new(USUAL.entries().into_iter().filter(tenth), "x-user", 1).unwrap();
    let (worst, found) = original.compare(&part, None, false).worst().unwrap();
    assert!(worst == Aspect::Rate && found.fidelity() < 0.5, "{worst:?} {}", found.fidelity());
    let found = original.compare(&part, None, true).worst().unwrap().1.fidelity();
    assert!(found > 0.85, "{found}");
}

#[test]
fn only_the_common_span_is_compared() {
    let original = USUAL.workload();
    let minute = USUAL.entries().into_iter().filter(|entry| entry.at.unwrap().micros < 60_000_000);
    let minute = Workload::new(minute, "x-user", 1).unwrap();
    let found = original.compare(&minute, None, false);
    assert_eq!(found.worst().unwrap().1.fidelity(), 1.0, "{found:?}");
    assert!(found.span > Duration::from_secs(58) && found.requests[0].abs_diff(found.requests[1]) <= 1);
    let found = original.compare(&original, Some(Duration::from_secs(10)), false);
    assert_eq!(found.span, Duration::from_secs(10));
}

#[test]
fn what_is_not_there_is_not_compared() {
    let original = USUAL.workload();
    let mut bare = USUAL.entries();
    for entry in &mut bare {
        let at = entry.at.as_mut().unwrap();
        (at.whole_second, at.micros) = (true, at.micros / 1_000_000 * 1_000_000);
        (entry.user, entry.bytes) = (None, None);
    }
    let bare = Workload::new(bare, "x-user", 1).unwrap();
    let found = original.compare(&bare, None, false);
    let why = |aspect| found.parts.iter().find(|(of, _)| *of == aspect).unwrap().1.err();
    assert_eq!(why(Aspect::Gaps), Some(Incomparable::WholeSeconds { which: Which::Copy }));
    assert_eq!(why(Aspect::SessionLength), Some(Incomparable::NoUsers { which: Which::Copy }));
    assert_eq!(why(Aspect::AnswerSizes), Some(Incomparable::NoSizes { which: Which::Copy }));
    assert!(found.worst().unwrap().1.fidelity() > 0.9, "{found:?}");
    let few = Workload::new(USUAL.entries().into_iter().take(29), "x-user", 1).unwrap();
    let found = few.compare(&few, None, false);
    assert_eq!(found.worst(), None);
    let why = found.parts[0].1.unwrap_err().to_string();
    assert_eq!(why, "29 and 29 are too few, at least 30 are needed");
}

#[test]
fn a_header_tells_the_user() {
    let mut entries = USUAL.entries();
    for entry in &mut entries {
        // As behind one address.
        let user = entry.user.replace("127.0.0.1".to_owned()).unwrap();
        entry.headers.push(("X-User".to_owned(), user));
    }
    let copy = Workload::new(entries, "x-user", 1).unwrap();
    assert_eq!(of(&USUAL.workload().compare(&copy, None, false), Aspect::SessionLength).fidelity(), 1.0);
}

#[test]
fn endpoints_of_a_case_are_those_of_the_log() {
    let mut entries = USUAL.entries();
    for entry in &mut entries {
        entry.url = if entry.url == "/cart" { "/cart" } else { "/products-id" }.to_owned();
    }
    let copy = Workload::new(entries, "x-user", 1).unwrap();
    let found = USUAL.workload().compare(&copy, None, false);
    assert_eq!(of(&found, Aspect::Mix).fidelity(), 1.0);
    let names: Vec<&str> = found.mix.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["GET /cart", "GET /products/:id"]);
}
