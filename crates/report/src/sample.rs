//! A run for the tests of this crate: two seconds of warm-up, then thirty seconds with two endpoints.

use measure::{
    Accounting, Cell, Check, Endpoint, Failure, Histogram, Measurement, Outcome, Part, Reason, Second, Stage,
    Validity,
};
use std::time::Duration;
use units::{Ratio, Timestamp};

/// Each second: 60 responses and one time-out of `get item`, 30 responses and two failures of `list`.
pub(crate) fn sample() -> Measurement {
    let mut measured = Measurement { elapsed: Duration::from_secs(30), ..Measurement::default() };
    let (mut items, mut lists) = (Part::default(), Part::default());
    for at in 0..32_u64 {
        let times = |count: u64, step: u64| {
            let mut times = Histogram::new();
            (0..count).for_each(|n| times.record(Duration::from_micros(4_000 + step * n + 10 * at)));
            times
        };
        let (item, list, failed) = (times(60, 100), times(30, 700), times(2, 10));
        let mut given_up = Histogram::new();
        given_up.record_censored(Duration::from_secs(1));
        let mut response = item.clone();
        response.add(&list);
        response.add(&given_up);
        let accounting =
            Accounting { scheduled: 93, answered: 90, timed_out: 1, failed: 2, ..Accounting::default() };
        let cell = |endpoint, outcome, times: &Histogram| Cell { endpoint, outcome, times: times.sparse() };
        measured.series.seconds.push(Second {
            accounting,
            good: 90,
            good_response: item.sparse().plus(&list.sparse()),
            response: response.sparse(),
            cells: vec![
                cell(0, Outcome::Success, &item),
                cell(0, Outcome::TimedOut, &given_up),
                cell(1, Outcome::Success, &list),
                cell(1, Outcome::Failed, &failed),
            ],
        });
        if at < 2 {
            continue;
        }
        items.add(&Part {
            accounting: Accounting { scheduled: 61, answered: 60, timed_out: 1, ..Accounting::default() },
            completed: 60,
            by_outcome: [(Outcome::Success, item.clone()), (Outcome::TimedOut, given_up)].into(),
            service: item.clone(),
            dispatch: times(61, 0),
            ..Part::default()
        });
        lists.add(&Part {
            accounting: Accounting { scheduled: 32, answered: 30, failed: 2, ..Accounting::default() },
            completed: 30,
            failures: [(Failure::Reset, 2)].into(),
            by_outcome: [(Outcome::Success, list.clone()), (Outcome::Failed, failed)].into(),
            service: list,
            dispatch: times(30, 0),
            ..Part::default()
        });
    }
    let mut whole = items.clone();
    whole.add(&lists);
    measured.set_whole(&whole);
    measured.endpoints = vec![
        Endpoint { name: "get item".to_owned(), part: items, ..Endpoint::default() },
        Endpoint { name: "list".to_owned(), part: lists, ..Endpoint::default() },
    ];
    let at = Timestamp::from_secs;
    measured.stages = vec![
        Stage { name: "warm-up".to_owned(), from: at(0), until: at(2), warm_up: true, part: Part::default() },
        Stage { name: "90/s".to_owned(), from: at(2), until: at(32), warm_up: false, part: whole },
    ];
    measured.checks = vec![Check { name: "has a name".to_owned(), passed: 2_690, failed: 10 }];
    measured.validity = Validity::of(vec![Reason::Steal { share: Ratio::of(1, 20).unwrap() }]);
    measured
}
