use super::cause::{Said, of_group, of_target};
use super::*;
use crate::instant_of;
use std::time::Duration;

const START: i64 = 1_772_442_310_000_000;

fn told(said: Said) -> String {
    match said {
        Said::Unchanged => "unchanged".to_owned(),
        Said::Unclear => "not understood".to_owned(),
        Said::Changes(changes) => {
            let change = |change: &Change| {
                let from = change.from.map_or("?".to_owned(), |from| from.to_string());
                let kind = if change.desired { "desired" } else { "actual" };
                let at = crate::shown_time(change.at);
                format!("{at} {kind} {from} -> {}", change.to)
            };
            changes.iter().map(change).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn causes_of_groups_are_understood() {
    for (cause, want) in [
        // An alarm, and the instance that follows.
        (
            "At 2026-03-02T09:05:00Z a monitor alarm cpu-high in state ALARM triggered policy out changing the desired capacity from 4 to 5.  At 2026-03-02T09:05:10Z an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 4 to 5.",
            "2026-03-02T09:05:00Z desired 4 -> 5; 2026-03-02T09:05:10Z actual 4 -> 5",
        ),
        // Two changes before one launch.
        (
            "At 2026-03-02T09:05:00Z a monitor alarm a in state ALARM triggered policy out changing the desired capacity from 4 to 5.  At 2026-03-02T09:05:04Z a monitor alarm b in state ALARM triggered policy out-b changing the desired capacity from 5 to 7.  At 2026-03-02T09:05:10Z an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 4 to 7.",
            "2026-03-02T09:05:00Z desired 4 -> 5; 2026-03-02T09:05:04Z desired 5 -> 7; 2026-03-02T09:05:10Z actual 4 -> 7",
        ),
        // In, by a user, by a schedule, at the creation.
        (
            "At 2026-03-02T10:00:10Z an instance was taken out of service in response to a difference between desired and actual capacity, shrinking the capacity from 5 to 4.  At 2026-03-02T10:00:10Z instance i-0a was selected for termination.",
            "2026-03-02T10:00:10Z actual 5 -> 4",
        ),
        (
            "At 2026-03-02T08:00:00Z a user request explicitly set group desired capacity changing the desired capacity from 0 to 3.",
            "2026-03-02T08:00:00Z desired 0 -> 3",
        ),
        (
            "At 2026-03-02T08:00:00Z a scheduled action update of AutoScalingGroup constraints to min: 2, max: 9, desired: 4 changing the desired capacity from 2 to 4.",
            "2026-03-02T08:00:00Z desired 2 -> 4",
        ),
        (
            "At 2026-03-02T08:00:00Z a user request created an AutoScalingGroup changing the desired capacity from 0 to 1.",
            "2026-03-02T08:00:00Z desired 0 -> 1",
        ),
        // Without a time: the start of the activity.
        (
            "An instance was launched in response to a difference between desired and actual capacity, increasing the capacity from 4 to 5.",
            "2026-03-02T09:05:10Z actual 4 -> 5",
        ),
        // An alarm whose name begins like a time.
        (
            "At 2026-03-02T09:05:00Z a monitor alarm At night in state ALARM triggered policy out changing the desired capacity from 4 to 5.",
            "2026-03-02T09:05:00Z desired 4 -> 5",
        ),
        // The desired number stays.
        (
            "At 2026-03-02T09:05:00Z an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped.",
            "unchanged",
        ),
        (
            "At 2026-03-02T09:05:00Z an instance was launched in response to an unhealthy instance needing to be replaced.",
            "unchanged",
        ),
        (
            "At 2026-03-02T09:05:00Z an instance was launched to aid in balancing the group's zones.",
            "unchanged",
        ),
        (
            "At 2026-03-02T09:05:00Z a user request update of AutoScalingGroup constraints to min: 1, max: 9, desired: 4.",
            "unchanged",
        ),
        // Not understood: no guess.
        ("", "not understood"),
        ("At 2026-03-02T09:05:00Z something happened.", "not understood"),
        ("changing the desired capacity from four to five", "not understood"),
        ("changing the desired capacity from 4 to 99999999999", "not understood"),
        ("changing the desired capacity from 4", "not understood"),
        ("At ", "not understood"),
        ("At \u{e4}\u{f6}: capacity from 1 to \u{0663}", "not understood"),
    ] {
        assert_eq!(told(of_group(cause, START)), want, "{cause}");
    }
}

#[test]
fn descriptions_of_targets_are_understood() {
    for (description, want) in [
        ("Setting desired count to 5.", "2026-03-02T09:05:10Z desired ? -> 5"),
        ("Setting desired count to 0", "2026-03-02T09:05:10Z desired ? -> 0"),
        ("Setting min capacity to 2 and max capacity to 10", "unchanged"),
        ("Setting max capacity to 10", "unchanged"),
        ("Attempting to scale due to alarm triggered", "unchanged"),
        ("Setting desired count to many.", "not understood"),
        ("Setting write capacity units to 15.", "not understood"),
        ("", "not understood"),
    ] {
        assert_eq!(told(of_target(description, START)), want, "{description}");
    }
}

const GROUPS: &str = include_str!("../../../tests/aws/group-activities.json");
const ECS: &str = include_str!("../../../tests/aws/activities.json");

fn at(text: &str) -> i64 {
    instant_of(text).unwrap()
}

/// The changes within a day, as minutes after midnight.
fn day(group: &Group, before: Option<u32>) -> (u32, Vec<(u64, u32)>) {
    let series = group.series(at("2026-03-02T00:00:00Z"), Duration::from_secs(86_400), before).unwrap();
    (series.start, series.changes.iter().map(|(after, to)| (after.as_secs() / 60, *to)).collect())
}

#[test]
fn a_file_of_two_groups_and_two_pages_gives_both() {
    let read = read("group-activities.json", GROUPS).unwrap();
    let names: Vec<&str> = read.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["other-asg", "web-asg"]);
    let web = &read.groups[1];
    let want = Counts { read: 9, failed: 1, cancelled: 1, in_progress: 1, unchanged: 1, ..Counts::default() };
    assert_eq!((web.counts, web.gaps, read.cut), (want, 0, false));
    assert_eq!(web.not_understood.len(), 1);
    assert!(web.not_understood[0].to_string().starts_with("group-activities.json, "), "{web:?}");
    let (start, changes) = day(web, None);
    // Two instances of one change are one change, and a failed launch does not undo it.
    assert_eq!((start, changes), (3, vec![(480, 5), (545, 6), (1200, 4), (1260, 3)]));
}

#[test]
fn ecs_does_not_say_from_which_number_it_starts() {
    let read = read("activities.json", ECS).unwrap();
    let [web] = &read.groups[..] else { panic!("{read:?}") };
    assert_eq!(read.others, [("table/orders".to_owned(), 1)]);
    let want = Counts {
        read: 6,
        failed: 1,
        overridden: 1,
        unfulfilled: 1,
        not_scaled: 1,
        unchanged: 3,
        ..Counts::default()
    };
    assert_eq!((web.name.as_str(), web.counts, read.cut), ("shop/web", want, true));
    let (start, changes) = day(web, Some(2));
    assert_eq!((start, changes), (2, vec![(540, 3), (543, 4), (1200, 3)]));
    let error = web.series(at("2026-03-02T00:00:00Z"), Duration::from_secs(86_400), None).unwrap_err();
    // An activity before the beginning says it.
    let evening = web.series(at("2026-03-02T12:00:00Z"), Duration::from_secs(43_200), None).unwrap();
    assert_eq!(evening.start, 4);
    let later = web.series(at("2026-04-01T00:00:00Z"), Duration::from_secs(86_400), None).unwrap_err();
    let earlier = web.series(at("2026-02-01T00:00:00Z"), Duration::from_secs(86_400), None).unwrap_err();
    insta::assert_snapshot!([error, later, earlier].map(|error| error.to_string()).join("\n"));
}

#[test]
fn a_change_from_another_number_is_a_gap() {
    let activity = |id: &str, at: &str, from: u32, to: u32| {
        format!(
            r#"{{"ActivityId": "{id}", "AutoScalingGroupName": "g", "StatusCode": "Successful", "StartTime": "{at}", "Cause": "At {at} a user request explicitly set group desired capacity changing the desired capacity from {from} to {to}."}}"#
        )
    };
    let (first, second) =
        (activity("a", "2026-03-02T08:00:00Z", 3, 5), activity("b", "2026-03-02T09:00:00Z", 7, 8));
    let read = read("a.json", &format!(r#"{{"Activities": [{second}, {first}, {first}]}}"#)).unwrap();
    assert_eq!((read.groups[0].counts.read, read.groups[0].gaps), (2, 1));
    assert_eq!(day(&read.groups[0], None), (3, vec![(480, 5), (540, 8)]));
    // As `--query 'Activities[]'` prints them.
    assert_eq!(super::read("a.json", &format!("[{second}, {first}]")).unwrap(), read);
}

#[test]
fn broken_files_are_refused_with_their_places() {
    let activity = |change: &str| {
        let text = r#"{"Activities": [{"ActivityId": "1", "AutoScalingGroupName": "g", "StatusCode": "Successful", "StartTime": "2026-03-02T08:00:00Z", "Cause": "At 2026-03-02T08:00:00Z a user request"}]}"#;
        let (from, to) = change.split_once(" => ").unwrap();
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let mut shown = String::new();
    for text in [
        String::new(),
        "{".to_owned(),
        "3".to_owned(),
        "{}".to_owned(),
        r#"{"ScalingPolicies": []}"#.to_owned(),
        r#"{"Activities": []}"#.to_owned(),
        r#"{"Activities": 3}"#.to_owned(),
        r#"{"Activities": [3]}"#.to_owned(),
        r#"{"ScalingActivities": [{"ActivityId": "1", "ResourceId": "table/orders", "ServiceNamespace": "dynamodb", "Description": "Setting write capacity units to 15.", "StatusCode": "Successful", "StartTime": 1772442310.5}]}"#.to_owned(),
        activity(r#""StartTime": "2026-03-02T08:00:00Z" => "StartTime": "soon""#),
        activity(r#""StartTime": "2026-03-02T08:00:00Z", => "#),
        activity(r#""AutoScalingGroupName": "g", => "#),
        activity(r#""ActivityId": "1" => "ActivityId": 7"#),
        activity(r#""StatusCode": "Successful" => "StatusCode": null"#),
    ] {
        let errors = read("activities.json", &text).expect_err(&text);
        shown += &format!("{}\n", capture::shown(text.as_bytes()));
        shown += &errors.iter().map(|error| format!("  {error}\n")).collect::<String>();
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn text_that_is_not_understood_leaves_nothing_to_compare() {
    let text = r#"{"Activities": [{"ActivityId": "1", "AutoScalingGroupName": "g", "StatusCode": "Successful", "StartTime": "2026-03-02T08:00:00+01:00", "Cause": "Wind."}]}"#;
    let read = read("activities.json", text).unwrap();
    assert_eq!(read.groups[0].oldest, at("2026-03-02T07:00:00Z"));
    let error =
        read.groups[0].series(at("2026-03-02T00:00:00Z"), Duration::from_secs(86_400), Some(3)).unwrap_err();
    assert!(matches!(error, SeriesError::NoChange { read: 1, not_understood: 1, .. }), "{error}");
}
