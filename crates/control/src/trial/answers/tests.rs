use super::*;
use alloc::format;
use alloc::string::{String, ToString};
use stats::Rng;

fn data(path: &str, value: &str) -> Field {
    Field { path: path.to_string(), value: Value::Data(value.to_string()) }
}

fn count(path: &str, elements: usize) -> Field {
    Field { path: path.to_string(), value: Value::Structure(format!("{elements} elements")) }
}

fn response(fields: &[Field]) -> Response {
    let size = fields.len() as u64;
    Response {
        status: Some(200),
        media_type: "application/json".to_string(),
        size,
        body: Body::Fields(fields.to_vec()),
    }
}

/// Rounds in which the control is asked twice; `answer` is given the number of the arm: 0 and 1 are the control.
fn rounds(answers: &mut Answers, count: usize, mut answer: impl FnMut(usize) -> Response) {
    for _ in 0..count {
        let control = answer(0);
        for candidate in 0..answers.candidates {
            answers.observe(Pair::Candidate(candidate), 0, Some(0), &control, &answer(2 + candidate));
        }
        answers.observe(Pair::Control, 0, Some(0), &control, &answer(1));
    }
}

fn paths(parts: impl IntoIterator<Item = Part>) -> Vec<String> {
    parts.into_iter().map(|part| part.path().unwrap_or(part.name()).to_string()).collect()
}

#[test]
fn what_always_differs_is_ignored_and_what_only_a_candidate_changes_is_a_difference() {
    let mut answers = Answers::new(2, &[0]);
    let mut number = 0;
    rounds(&mut answers, 20, |arm| {
        number += 1;
        let price = if arm == 3 { "9.99" } else { "10.00" };
        response(&[data(".now", &number.to_string()), data(".price", price), data(".name", "a")])
    });
    let found = answers.found();
    assert_eq!((found.compared, found.control_pairs, found.open, found.complete), (40, 20, 0, true));
    assert_eq!(paths(found.ignored.into_iter().map(|(_, part)| part)), [".now"]);
    let [difference] = found.differences.as_slice() else { panic!("{:?}", found.differences) };
    assert_eq!((difference.candidate, difference.count, difference.of), (1, 20, 20));
    let [example] = difference.examples.as_slice() else { panic!("{difference:?}") };
    assert_eq!((example.control.as_deref(), example.candidate.as_deref()), (Some("99.99"), Some("9.99")));
}

#[test]
fn a_difference_needs_pairs_of_the_control() {
    let control = response(&[data(".a", "1")]);
    let mut answers = Answers::new(1, &[0]);
    for _ in 0..100 {
        answers.observe(Pair::Candidate(0), 0, Some(0), &control, &response(&[data(".a", "2")]));
    }
    assert_eq!((answers.found().differences.len(), answers.found().open), (0, 1));
    for pairs in 1..=7 {
        answers.observe(Pair::Control, 0, Some(0), &control, &control);
        assert!(pairs >= 2 || answers.found().differences.is_empty(), "{pairs} pairs");
    }
    assert_eq!(answers.found().differences.len(), 1);
}

#[test]
fn what_differs_by_chance_is_no_difference() {
    // A value that changes from time to time, whoever is asked.
    let mut wrong = 0;
    for seed in 0..500 {
        let mut rng = Rng::new(seed, "answers");
        let share = [0.02, 0.1, 0.3, 0.5, 0.9][seed as usize % 5];
        let mut answers = Answers::new(1, &[0]);
        let mut is_found = false;
        for _ in 0..40 {
            rounds(&mut answers, 2, |_| {
                let value = if rng.uniform() < share { rng.below(1_000) } else { 0 };
                response(&[data(".a", &value.to_string())])
            });
            is_found |= !answers.found().differences.is_empty();
        }
        wrong += usize::from(is_found);
    }
    assert!(wrong <= 5, "{wrong} of 500");
}

#[test]
fn a_candidate_that_is_wrong_from_time_to_time_is_found() {
    let found = (0..100).filter(|seed| {
        let mut rng = Rng::new(*seed, "answers");
        let mut answers = Answers::new(1, &[0]);
        rounds(&mut answers, 200, |arm| {
            let status = if arm == 2 && rng.uniform() < 0.1 { 500 } else { 200 };
            Response { status: Some(status), ..response(&[]) }
        });
        answers.found().differences.iter().any(|one| one.part == Part::Status && one.of == 200)
    });
    assert!(found.count() >= 95);
}

#[test]
fn what_each_process_has_of_its_own_is_learned_from_the_second_control() {
    let mut answers = Answers::new(1, &[0]);
    let of = |process: &str| response(&[data(".process", process)]);
    for _ in 0..12 {
        answers.observe(Pair::Candidate(0), 0, Some(0), &of("1"), &of("3"));
        answers.observe(Pair::SecondControl, 0, Some(0), &of("1"), &of("2"));
    }
    // It has ended, and the control is compared with itself.
    rounds(&mut answers, 100, |arm| of(if arm < 2 { "1" } else { "3" }));
    let found = answers.found();
    assert_eq!((found.differences.len(), found.ignored.len(), found.open), (0, 1, 0));
}

#[test]
fn outer_differences_hide_inner_ones() {
    let control = response(&[count(".items[]", 2), data(".items[].id", "1"), data(".items[].id", "2")]);
    let shorter = response(&[count(".items[]", 1), data(".items[].id", "3"), data(".item", "4")]);
    let parts = |other: &Response| paths(compare(&control, other).into_iter().map(|(part, _)| part));
    assert_eq!(parts(&Response { size: 3, ..shorter.clone() }), [".item", ".items[]"]);
    assert_eq!(parts(&Response { media_type: "text/html".to_string(), ..shorter.clone() }), ["media_type"]);
    assert_eq!(parts(&Response { status: None, ..shorter }), ["status"]);
    assert_eq!(parts(&Response { size: 4, body: Body::Hash(1), ..control.clone() }), ["size", "body"]);
    assert_eq!(parts(&control), Vec::<String>::new());
    // Nothing is in common: one difference, not hundreds.
    let other: Vec<Field> = (0..200).map(|n| data(&format!(".field{n}"), "x")).collect();
    assert_eq!(parts(&response(&other)), ["size", "body"]);
}

#[test]
fn each_route_comes_first_and_an_undecided_request_again() {
    let mut answers = Answers::new(1, &[5, 5, 5, 7]);
    assert_eq!(answers.next(3), [0, 3, 1]);
    let same = response(&[data(".a", "1")]);
    answers.observe(Pair::Candidate(0), 5, Some(1), &same, &response(&[data(".a", "2")]));
    assert_eq!(answers.next(3), [1, 2, 0]);
    assert_eq!(answers.next(3), [3, 1, 2]);
    // However often it differs, it is not repeated for ever.
    let mut repeated = 0;
    for _ in 0..100 {
        answers.observe(Pair::Candidate(0), 5, Some(1), &same, &response(&[data(".a", "2")]));
        repeated += answers.next(1).iter().filter(|request| **request == 1).count();
    }
    assert!(repeated < 60, "{repeated}");
    assert_eq!(Answers::new(1, &[]).next(3), Vec::<usize>::new());
}

#[test]
fn memory_is_bounded() {
    let mut answers = Answers::new(1, &[0]);
    let control = response(&[]);
    for number in 0..PLACES_MAX + 50 {
        let path = format!(".field{number}");
        answers.observe(Pair::Candidate(0), 0, Some(number), &control, &response(&[data(&path, "x")]));
    }
    assert_eq!((answers.places.len(), answers.found().complete), (PLACES_MAX, false));
    assert!(answers.again.len() <= REPEATED_MAX);
}

#[test]
fn requests_that_come_later_follow_those_that_are_known() {
    let mut answers = Answers::new(1, &[0, 0, 1]);
    assert_eq!(answers.next(2), [0, 2], "the first of each route");
    answers.extend(&[0, 0, 1, 2, 2]);
    answers.extend(&[0, 0, 1, 2, 2]);
    assert_eq!(answers.next(5), [1, 3, 4, 0, 2]);
}
