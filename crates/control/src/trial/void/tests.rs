use super::*;
use alloc::vec;

const ARMS: [Arm; 2] = [Arm::Control, Arm::Candidate(0)];

fn seen() -> Seen {
    Seen { offered: 10_000, answered: 10_000, mix: vec![7_000, 3_000], ..Seen::default() }
}

fn block(candidate: Seen) -> Block {
    Block { lag: Duration::from_millis(1), arms: vec![seen(), candidate] }
}

/// What is said of a block after five normal ones, with the arms in either order.
fn judged(after: Seen, lag_ms: u64) -> [Option<Void>; 2] {
    [false, true].map(|exchanged| {
        let mut usual = Usual::default();
        for _ in 0..5 {
            let normal = block(Seen { throttled: 0.2, ..seen() });
            assert_eq!(usual.judge(&Limits::default(), &ARMS, &normal), None);
        }
        let mut last = Block { lag: Duration::from_millis(lag_ms), ..block(after.clone()) };
        if exchanged {
            last.arms.reverse();
        }
        usual.judge(&Limits::default(), &ARMS, &last)
    })
}

/// Where a tenth is usually stolen, a few more of a few ticks are chance.
#[test]
fn steal_of_few_ticks_differs_by_chance() {
    for (usual, found, ticks, is_void) in [
        (0.1, 0.2, 80, false),
        (0.1, 0.2, 600, true),
        (0.1, 0.15, 600, false),
        (0.1, 0.25, 80, true),
        (0.1, 0.15, 0, true),
        (0.0, 0.05, 80, true),
    ] {
        let mut conditions = Usual::default();
        let mut judge = |steal| {
            let arm = Seen { steal, ticks, ..seen() };
            conditions.judge(&Limits::default(), &ARMS, &block(arm))
        };
        (0..5).for_each(|_| assert_eq!(judge(usual), None));
        assert_eq!(judge(found).is_some(), is_void, "{found} for {usual} of {ticks}");
    }
}

#[test]
fn each_condition_has_its_reason_whichever_arm_it_is() {
    let usual = Seen { throttled: 0.2, ..seen() };
    for (what, after, lag_ms, name) in [
        ("as before", usual.clone(), 1, None),
        ("late generator", usual.clone(), 6, Some("GeneratorLag")),
        ("steal", Seen { steal: 0.04, ..usual.clone() }, 1, Some("StealChanged")),
        ("a little steal", Seen { steal: 0.02, ..usual.clone() }, 1, None),
        ("no longer throttled", Seen { throttled: 0.0, ..seen() }, 1, Some("ThrottlingChanged")),
        ("throttled in a few periods more", Seen { throttled: 0.6, periods: 10, ..seen() }, 1, None),
        (
            "throttled in many periods more",
            Seen { throttled: 0.6, periods: 100, ..seen() },
            1,
            Some("ThrottlingChanged"),
        ),
        ("dropped", Seen { dropped: 101, ..usual.clone() }, 1, Some("CopiesDropped")),
        ("another mix", Seen { mix: vec![6_000, 4_000], ..usual.clone() }, 1, Some("MixMoved")),
        ("nearly the mix", Seen { mix: vec![6_900, 3_100], ..usual.clone() }, 1, None),
        ("half the requests", Seen { offered: 5_000, ..usual.clone() }, 1, Some("ArmsUnequal")),
        ("no requests", Seen { offered: 0, ..usual.clone() }, 1, Some("Incomplete")),
        ("slow, with errors", Seen { answered: 1, values: vec![Some(1e9)], ..usual.clone() }, 1, None),
    ] {
        for found in judged(after, lag_ms) {
            let text = found.map(|void| std::format!("{void:?}"));
            assert!(
                text.as_deref().map(|text| text.split([' ', '(']).next().unwrap()) == name,
                "{what}: {text:?}"
            );
        }
    }
}

#[test]
fn few_requests_say_nothing() {
    let limits = Limits { requests: 10_000, ..Limits::default() };
    let judged = |offered| Usual::default().judge(&limits, &ARMS, &block(Seen { offered, ..seen() }));
    assert_eq!(judged(10_000), None);
    let void = judged(9_999).unwrap();
    assert_eq!(void, Void::FewRequests { found: 9_999, least: 10_000 });
    assert_eq!(std::format!("{void}"), "an arm had 9999 requests, fewer than 10000");
}

#[test]
fn a_bad_start_does_not_make_the_rest_void() {
    let mut usual = Usual::default();
    let mut void = 0;
    for at in 0..20 {
        let steal = if at < 3 { 0.2 } else { 0.0 };
        void +=
            usize::from(usual.judge(&Limits::default(), &ARMS, &block(Seen { steal, ..seen() })).is_some());
    }
    assert!(void <= 4, "{void}");
}

#[test]
fn a_missing_arm_is_no_panic() {
    let only = Block { arms: vec![seen()], ..Block::default() };
    assert_eq!(Usual::default().judge(&Limits::default(), &ARMS, &only), Some(Void::Incomplete));
}
