//! What is said, written and decided about outcomes of every kind.

use crate::commands::schema;
use crate::emit::{Proxy, emit};
use crate::exit::Exit;
use crate::next::tests::{accepted, typed};
use ::load::Target;
use control::Statuses;
use control::search::closed_loop::{Knee, Measured, Stopped};
use control::search::recovery::Recovery;
use control::search::rhythm::Rhythm;
use control::search::{
    Bad, Ceiling, Condition, Found, Goal, Good, Interval, Missed, Purpose, Share, Trial, TrialOutcome,
    Verdict,
};
use documents::emit::MARK;
use documents::find::{
    self as document, Ended, Gateway, Kept, Next, NoFile, Outcome, Peak, Proof, Tried, so_far,
};
use gateway::settings::PathMatch;
use measure::Value;
use report::Terminal;
use std::path::Path;
use std::time::Duration;
use study::find::gateway_file;
use units::{InstanceCount, Rate, Ratio};

fn rate(per_second: f64) -> Rate {
    Rate::per_second_of(per_second)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn time(at: u64) -> Value {
    Value { at: millis(at), censored: false, few_above: None }
}

fn p95() -> Condition {
    "p(95)<50ms".parse().unwrap()
}

/// The search at the service of the account.
fn outcome() -> Outcome {
    let step = |concurrency, throughput, response_ms| Measured {
        concurrency,
        throughput: rate(throughput),
        response_time: millis(response_ms),
    };
    let share = Share { condition: p95(), missed: 0, of: 228 };
    let tried = TrialOutcome {
        trial: Trial::new(rate(105.9), Duration::from_secs(10), Purpose::Narrow),
        verdict: Verdict::Good(Good::ClearlyFine(share)),
        ran: millis(2_160),
        share,
        missed: Missed::default(),
        steady: true,
        clusters: 0,
    };
    Outcome {
        target: "http://127.0.0.1:9000/search.cgi?q=1".to_owned(),
        goal: Goal::new(vec![p95()]).unwrap(),
        calm: Duration::from_micros(18_900),
        knee: Some(Knee {
            best: rate(107.5),
            best_at: 5,
            calm: Duration::from_micros(18_900),
            knee: 2,
            stopped: Stopped::Flat,
            steps: vec![step(1, 53.1, 19), step(2, 106.2, 19), step(5, 107.5, 39), step(10, 107.5, 93)],
        }),
        found: Found::Within(Interval {
            low: rate(105.92),
            high: rate(108.49),
            confidence: Ratio::new(0.9627).unwrap(),
            binding: p95(),
            verified: true,
            confirmed: true,
        }),
        trials: vec![Tried {
            outcome: tried,
            achieved: rate(105.5),
            p50: Some(time(19)),
            p95: Some(Value { few_above: Some(11), ..time(26) }),
            samples: 228,
            failed: Statuses::NONE,
            disturbed_by: None,
        }],
        proof: Some(Proof {
            rate: rate(108.49),
            missed: true,
            disturbed: false,
            recovery: Some(Recovery { rate: rate(100.0), after: Some(millis(500)), limit: millis(20_000) }),
        }),
        ended: Ended::Done,
        peak: Some(Peak { rate: rate(72.0), instances: Some(InstanceCount::new(5)) }),
        run: Some("r17".to_owned()),
        only_path: false,
        date: "2026-11-21".to_owned(),
        elapsed: millis(27_200),
        rhythm: Rhythm::default(),
        verification: Some(Duration::from_secs(10)),
        time_limit: Duration::from_secs(230),
        findings: Vec::new(),
    }
}

fn target() -> Target {
    Target::new(&outcome().target, "GET", &[], b"").unwrap()
}

#[test]
fn the_numbers_come_first() {
    let outcome = outcome();
    let limits = document::limits(&outcome).unwrap();
    insta::assert_snapshot!(document::summary(
        &outcome,
        Gateway::Written(Path::new("headroom-gateway.yaml"), limits),
        Terminal::of_width(80),
    ));
}

#[test]
fn a_goal_with_few_samples_above_its_quantile_makes_the_rate_suspect() {
    let mut outcome = outcome();
    let trial = &mut outcome.trials[0].outcome.trial;
    (trial.purpose, trial.rate) = (Purpose::Verify, rate(106.0));
    let summary = document::summary(&outcome, Gateway::NotWanted, Terminal::of_width(80));
    assert!(
        summary.contains("\nsuspect    the goal p(95)<50ms judges a quantile with 11 samples"),
        "{summary}"
    );
    assert_eq!(
        outcome.suspect()[0].to_string(),
        "the goal p(95)<50ms judges a quantile with 11 samples above it; 30 make it repeatable: at this rate, run for \
         at least 6 s"
    );
    outcome.trials[0].outcome.share.of = 600;
    assert_eq!(outcome.suspect(), []);
}

#[test]
fn the_next_command_repeats_the_goal_and_the_request() {
    let typed = typed(
        "headroom find http://127.0.0.1:9000/search.cgi?q=1 --slo 'p(95)<50ms' --slo 'failed<0.1%' -H 'X-Key: a b' \
         --seed 3 -c 40 --no-write --peak 72/s",
    );
    let nothing = Outcome { found: Found::Invalid, ..outcome() };
    let next = |outcome: &Outcome, written| {
        accepted(&super::next(&typed, &outcome.target, document::next(outcome, written)))
    };
    insta::assert_snapshot!(format!(
        "{}\n{}\n{}",
        next(&outcome(), Some(Path::new("my gateway.yaml"))),
        next(&outcome(), None),
        next(&nothing, None)
    ));
}

#[test]
fn every_kind_of_answer_is_said() {
    let kinds = [
        Found::AtLeast { rate: rate(500.0), ceiling: Ceiling::Disturbed, verified: true },
        Found::MissedWhenCalm { binding: p95(), calm: millis(60) },
        Found::Unreachable { lowest: rate(10.0), binding: p95() },
        Found::Unfinished { good: Some(rate(60.0)), bad: None },
        Found::Invalid,
    ];
    let mut told = String::new();
    for found in kinds {
        let interrupted = matches!(found, Found::Unfinished { .. });
        let ended = if interrupted { Ended::Interrupted } else { Ended::Done };
        let outcome = Outcome { found, ended, proof: None, ..outcome() };
        let gateway = document::limits(&outcome).map_or_else(Gateway::None, |_| Gateway::NotWanted);
        told.push_str(&document::summary(&outcome, gateway, Terminal::of_width(80)));
        told.push('\n');
    }
    insta::assert_snapshot!(told);
}

#[test]
fn the_gateway_file_reads_back_and_says_where_it_comes_from() {
    let outcome = outcome();
    let limits = document::limits(&outcome).unwrap();
    let settings = gateway_file::settings(&target(), &outcome, &limits);
    let text = file(&target(), &outcome);
    assert_eq!(config::parse("gateway.yaml", &text, Path::new("")).unwrap().0, settings);
    insta::assert_snapshot!(text);
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gateway.yaml");
    assert!(gateway_file::check(&path).is_ok(), "it is not there yet");
    std::fs::write(&path, format!("{MARK}\n")).unwrap();
    assert!(gateway_file::check(&path).is_ok(), "an earlier search wrote it");
    std::fs::write(&path, "listen: 127.0.0.1:80\n").unwrap();
    let error = gateway_file::check(&path).unwrap_err().to_string();
    assert!(error.contains("--write FILE") && error.contains("--force"), "{error}");
}

/// The text of the gateway file.
fn file(target: &Target, outcome: &Outcome) -> String {
    let limits = document::limits(outcome).unwrap();
    let notes = gateway_file::notes(target, outcome, &limits);
    gateway_file::text(&notes, &gateway_file::settings(target, outcome, &limits))
}

/// A search where a trial above the limit missed the goal in these ways.
fn limited(goal: &[&str], missed: Missed) -> Outcome {
    let goal = Goal::new(goal.iter().map(|condition| condition.parse().unwrap()).collect()).unwrap();
    let mut outcome = Outcome { goal: goal.clone(), ..outcome() };
    let Found::Within(interval) = &mut outcome.found else { panic!("the outcome has an interval") };
    let failed = |condition: &&Condition| matches!(condition, Condition::Failed { .. });
    let failed = goal.conditions().iter().find(failed).copied().unwrap();
    interval.binding = if missed.response_time { p95() } else { failed };
    let share = Share { condition: interval.binding, missed: 90, of: 228 };
    let above = TrialOutcome {
        trial: Trial::new(rate(108.49), Duration::from_secs(10), Purpose::Confirm),
        verdict: Verdict::Bad(Bad::BudgetSpent(share)),
        share,
        missed,
        ..outcome.trials[0].outcome
    };
    let failed = Statuses::of(if missed.failures { 420 } else { 500 }).unwrap();
    outcome.trials.push(Tried { outcome: above, failed, ..outcome.trials[0].clone() });
    outcome
}

#[test]
fn the_file_holds_to_what_limited_the_service() {
    let late = Missed { response_time: true, failures: false };
    let failed = Missed { response_time: false, failures: true };
    let both = Missed { response_time: true, failures: true };
    let mut told = String::new();
    for (what, outcome) in [
        ("failures beside a goal in time", limited(&["p(95)<50ms"], failed)),
        ("both", limited(&["p(95)<50ms", "failed<0.1%"], both)),
        ("failures only", limited(&["failed<1%"], failed)),
        ("nothing", Outcome { found: at_least(true), ..outcome() }),
        ("only the path", Outcome { only_path: true, ..limited(&["p(95)<50ms"], late) }),
    ] {
        let text = file(&target(), &outcome);
        let (read, warnings) = config::parse("gateway.yaml", &text, Path::new("")).unwrap();
        assert_eq!(warnings.len(), 0, "{what}: {warnings:?}");
        let limits = document::limits(&outcome).unwrap();
        assert_eq!(read, gateway_file::settings(&target(), &outcome, &limits), "{what}");
        let begins = text.find("# A headroom gateway").unwrap();
        let classes = text.find("\nservice_levels:").unwrap();
        told += &format!("=== {what}\n{}...\n{}\n", &text[..begins], &text[classes..]);
        let provenance = |line: &&str| {
            !line.contains("provenance:") && !line.contains("# measured") && !line.contains("# at ")
        };
        told = told.lines().filter(provenance).collect::<Vec<_>>().join("\n") + "\n";
        told += &document::summary(
            &outcome,
            Gateway::Written(Path::new("g.yaml"), limits),
            Terminal::of_width(80),
        );
        told.push('\n');
    }
    insta::assert_snapshot!(told);
}

#[test]
fn everything_is_below_the_root_so_it_stands_for_itself() {
    for (path, measured) in [
        ("/", PathMatch::Exact("/".to_owned())),
        ("/api/", PathMatch::Prefix("/api".to_owned())),
        ("/a%20b/c?x=/y", PathMatch::Prefix("/a%20b/c".to_owned())),
    ] {
        let url = format!("http://127.0.0.1:9000{path}");
        let target = Target::new(&url, "GET", &[], b"").unwrap();
        let outcome = Outcome { target: url, ..outcome() };
        let limits = document::limits(&outcome).unwrap();
        let settings = gateway_file::settings(&target, &outcome, &limits);
        let [first, rest] = &settings.routes[..] else { panic!("{:?}", settings.routes) };
        assert_eq!((&first.path, first.any_spelling), (&measured, true));
        assert_eq!((&rest.path, rest.policy), (&PathMatch::Prefix("/".to_owned()), None));
        assert!(first.concurrency.is_some() && first.concurrency == rest.concurrency);
        assert!(config::parse("gateway.yaml", &file(&target, &outcome), Path::new("")).is_ok());
    }
}

#[test]
fn bounds_of_the_limit_are_in_order_whatever_was_measured() {
    let goal = |text: &str| Goal::new(vec![text.parse().unwrap()]).unwrap();
    for (knee, best_at, alone) in [(1, 1, 53.1), (2, 5, 10.0), (100, 200, 53.1), (1, 1_000, 1e-3)] {
        for goal in [outcome().goal, goal("p(95)<5ms"), goal("p(95)<1ms"), goal("failed<1%")] {
            let mut outcome = Outcome { goal, calm: Duration::from_micros(150), ..outcome() };
            let found = outcome.knee.as_mut().unwrap();
            (found.knee, found.best_at) = (knee, best_at);
            found.steps[0].throughput = rate(alone);
            let text = file(&target(), &outcome);
            let read = config::parse("gateway.yaml", &text, Path::new(""));
            assert!(read.is_ok(), "{knee} {best_at} {alone}: {text}");
        }
    }
    let mut outcome = outcome();
    outcome.knee.as_mut().unwrap().steps[0].throughput = Rate::ZERO;
    assert_eq!(document::limits(&outcome).unwrap().service.adaptive.prior, None, "nothing is known of calm");
}

#[test]
fn exit_codes_say_whether_a_rate_was_shown() {
    let unreachable = Found::Unreachable { lowest: rate(10.0), binding: p95() };
    let peak = |per_second| Some(Peak { rate: rate(per_second), instances: None });
    for (outcome, exit) in [
        (Outcome { peak: None, ..outcome() }, Exit::Done),
        (Outcome { peak: peak(105.0), ..outcome() }, Exit::Done),
        (Outcome { peak: peak(107.0), ..outcome() }, Exit::Missed),
        (Outcome { found: unreachable, peak: None, ..outcome() }, Exit::Missed),
        (Outcome { found: not_verified(), peak: None, ..outcome() }, Exit::Missed),
        (Outcome { found: at_least(false), peak: None, ..outcome() }, Exit::Missed),
        (
            Outcome {
                found: Found::Unfinished { good: Some(rate(60.0)), bad: None },
                peak: None,
                ..outcome()
            },
            Exit::Missed,
        ),
        // Nothing is known about the service, so the goal was not missed.
        (Outcome { found: Found::Invalid, ..outcome() }, Exit::Invalid),
        (Outcome { found: Found::Invalid, peak: None, ..outcome() }, Exit::Invalid),
        (Outcome { ended: Ended::Interrupted, ..outcome() }, Exit::Failed),
    ] {
        assert_eq!(super::exit(&outcome), exit, "{:?}", outcome.found);
    }
}

/// As on a service that pauses: the trials contradict each other, and every verification failed.
fn not_verified() -> Found {
    let Found::Within(interval) = outcome().found else { panic!("the outcome has an interval") };
    Found::Within(Interval { verified: false, ..interval })
}

fn at_least(verified: bool) -> Found {
    Found::AtLeast { rate: rate(500.0), ceiling: Ceiling::Allowed, verified }
}

#[test]
fn nothing_is_stated_and_no_file_written_without_a_verification() {
    for found in [not_verified(), at_least(false), Found::Unfinished { good: Some(rate(60.0)), bad: None }] {
        let outcome = Outcome { found, proof: None, ..outcome() };
        assert!(document::limits(&outcome).is_err(), "{found:?}");
        assert!(document::json(&outcome, Gateway::NotWanted)["sustainable_rate"].is_null(), "{found:?}");
        let said = document::summary(&outcome, Gateway::NotWanted, Terminal::PIPE);
        assert!(said.starts_with("sustained") && said.contains("not found"), "{said}");
        assert!(!said.contains("confidence"), "{said}");
    }
}

/// As on a machine that others keep busy.
#[test]
fn a_disturbed_trial_is_called_disturbed_and_what_was_busy_is_named() {
    let busy =
        "the generator's event loop was 40 ms late at p99; meanwhile cc1plus (4711) used 97 % of a core";
    let mut told = outcome();
    told.trials[0].disturbed_by = Some(busy.to_owned());
    told.trials[0].outcome.verdict = Verdict::Disturbed;
    told.proof = Some(Proof { missed: false, disturbed: true, recovery: None, ..told.proof.unwrap() });
    for found in [at_least(true), Found::Invalid] {
        let found = match found {
            Found::AtLeast { rate, verified, .. } => {
                Found::AtLeast { rate, verified, ceiling: Ceiling::Disturbed }
            }
            other => other,
        };
        let said = document::summary(&Outcome { found, ..told.clone() }, Gateway::NotWanted, Terminal::PIPE);
        assert!(said.contains("cc1plus (4711)") && said.contains("disturbed"), "{said}");
        assert!(said.contains("not shown: the trial at 108.5/s was disturbed"), "{said}");
        assert!(!said.contains("cannot send more") && !said.contains("held the goal"), "{said}");
    }
    let json = document::json(&told, Gateway::NotWanted);
    assert_eq!(json["trials"][0]["reason"], format!("disturbed: {busy}"));
    assert_eq!(json["overload"]["disturbed"], true);
}

#[test]
fn a_search_that_was_cut_short_keeps_what_it_knows() {
    let one = outcome().trials.remove(0);
    assert_eq!(so_far(&[one]), Found::Unfinished { good: Some(rate(105.9)), bad: None });
    assert_eq!(so_far(&[]), Found::Unfinished { good: None, bad: None });
}

#[test]
fn json_has_the_fixed_names() {
    let json = document::json(&outcome(), Gateway::NotWanted);
    assert_eq!(json["sustainable_rate"]["low"], 105.92);
    assert_eq!(json["sustainable_rate"]["high"], 108.49);
    let peak = &json["peak"];
    assert_eq!((&peak["instances"], &peak["instances_needed"]), (&5.into(), &4.into()));
    let unknown = document::json(&Outcome { found: Found::Invalid, ..outcome() }, Gateway::NotWanted);
    assert!(unknown["sustainable_rate"].is_null());
}

#[test]
fn json_keeps_to_its_schema() {
    let schema = serde_json::from_str(documents::find::SCHEMA).unwrap();
    let mut told = outcome();
    let knee = told.knee.as_mut().unwrap();
    knee.steps =
        [(1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (216, 1702.2)]
            .map(|(concurrency, throughput)| Measured {
                concurrency,
                throughput: rate(throughput),
                response_time: millis(10),
            })
            .into();
    let whole = document::json(&told, Gateway::NotWanted);
    assert!(whole["knee"]["scaling"]["peak"].is_object(), "{}", whole["knee"]);
    let limits = document::limits(&told).unwrap();
    let unknown = Outcome { found: Found::Invalid, knee: None, proof: None, peak: None, ..outcome() };
    let documents = [
        whole,
        document::json(&told, Gateway::Written(Path::new("gateway.yaml"), limits)),
        document::json(&outcome(), Gateway::NotWanted),
        document::json(&unknown, Gateway::NotWanted),
    ];
    let mut texts = String::new();
    for mut json in documents {
        assert_eq!(schema::check(&schema, &json), Vec::<String>::new());
        json["version"] = "VERSION".into();
        texts += &format!("{json:#}\n");
    }
    insta::assert_snapshot!(texts);
    let page = document::page(&told, Gateway::NotWanted);
    assert!(page.contains("the peak is 1,884/s at 97 in flight") && page.contains(">fitted<"));
}

#[test]
fn another_proxy_gets_the_limits_of_the_gateway_file() {
    let outcome = outcome();
    let limits = document::limits(&outcome).unwrap();
    // As the ledger keeps it.
    let kept: serde_json::Value =
        serde_json::from_str(&document::json(&outcome, Gateway::NotWanted).to_string()).unwrap();
    let text = emit(Proxy::Haproxy, &kept).unwrap();
    let (rate, in_flight) = (limits.rate().unwrap(), limits.gated.unwrap().in_flight);
    assert!(text.contains(&format!(" ge {} }}", rate.rate.per_second())), "{text}");
    assert!(text.contains(&format!(" maxconn {in_flight} maxqueue {}\n", rate.room)), "{text}");
    let unknown = document::json(&Outcome { found: Found::Invalid, ..outcome }, Gateway::NotWanted);
    assert!(emit(Proxy::Haproxy, &unknown).is_err());
}

#[test]
fn a_search_that_the_ledger_keeps_reads_as_a_page() {
    let outcome = outcome();
    let limits = document::limits(&outcome).unwrap();
    let mut json = document::json(&outcome, Gateway::Written(Path::new("g.yaml"), limits));
    let kept = Kept::of(&json.to_string()).unwrap();
    assert_eq!((kept.found().as_str(), kept.has_rate()), ("105.9/s to 108.5/s", true));
    assert_eq!(kept.next(), Next::Gateway(Path::new("g.yaml")));
    insta::assert_snapshot!(kept.text(Terminal::of_width(80)));
    // As an earlier version kept it.
    json.as_object_mut().unwrap().remove("summary");
    let text = Kept::of(&json.to_string()).unwrap().text(Terminal::PIPE);
    assert!(text.starts_with("sustained  105.9/s to 108.5/s\ngoal "), "{text}");
    assert!(Kept::of(r#"{"limit": 104.5}"#).is_none(), "the result of something else");
    let unverified = Outcome { found: not_verified(), proof: None, ..outcome };
    let kept = document::json(&unverified, Gateway::None(NoFile::NotVerified)).to_string();
    let kept = Kept::of(&kept).unwrap();
    assert_eq!((kept.found().as_str(), kept.has_rate()), ("none: no rate passed verification", false));
    assert_eq!(kept.next(), Next::Measure);
}

#[test]
fn the_page_shows_both_curves() {
    let page = document::page(&outcome(), Gateway::NotWanted);
    for part in [
        "median response time without load",
        "knee 2",
        "requests in flight",
        "offered requests per second",
        "<dt>sustainable rate</dt><dd>105.9/s</dd>",
        "sustainable rate: 105.9/s to 108.5/s",
        "goal: p(95)&lt;50ms",
        "1 of 1 trials met the goal",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_page_states_no_rate_that_no_verification_showed() {
    let Found::Within(interval) = outcome().found else { panic!("the sample found an interval") };
    let found = Found::Within(Interval { verified: false, ..interval });
    let page = document::page(&Outcome { found, ..outcome() }, Gateway::NotWanted);
    assert!(page.contains("likely, not verified: 105.9/s to 108.5/s"), "{page}");
    assert!(
        page.contains("Sustainable rate: not found") && !page.contains("<dt>sustainable rate</dt>"),
        "{page}"
    );
}
