//! During a reload with many rules, requests are still served, and the newest configuration is in force at the end.

use super::replay::{Replay, settings, worker};
use super::{RULES_A_TURN, Worker};
use crate::settings::{PathMatch, Route, Rule, Settings};
use crate::shared::Shared;
use http::reactor::Ready;
use std::sync::Arc;
use units::Timestamp;

/// The replayed route, and this many with a rule each, which get no requests.
fn with_rules(name: &str, count: usize, source: impl Fn(usize) -> String) -> Settings {
    let mut settings = settings(false, "", Vec::new());
    settings.routes[0].name = name.to_owned();
    settings.routes.extend((0..count).map(|number| {
        let path = format!("/{number}");
        let rule = Rule { name: path.clone(), source: source(number) };
        // Both kinds of rules are loaded in slices.
        let (rule, response_rule) = if number % 2 == 0 { (Some(rule), None) } else { (None, Some(rule)) };
        Route { rule, response_rule, ..Route::new(&path, PathMatch::Exact(path.clone()), 0) }
    }));
    settings
}

/// Puts settings in force, and lets the worker see them in its next iteration.
fn reload(worker: &mut Worker<Replay>, settings: Settings) -> Arc<Shared> {
    let (_, before) = worker.room.current();
    worker.room.replace(Shared::new(settings, Some(&before), Timestamp::ZERO).unwrap());
    worker.next_tick = worker.now;
    let mut ready = Vec::new();
    worker.step(&mut ready).unwrap();
    worker.room.current().1
}

/// Runs iterations until no rules are left to load; returns the number of exchanges after each.
fn load(worker: &mut Worker<Replay>) -> Vec<usize> {
    let (mut turns, mut ready): (_, Vec<Ready>) = (Vec::new(), Vec::new());
    while worker.next.is_some() {
        worker.step(&mut ready).unwrap();
        turns.push(worker.net.exchanges);
    }
    turns
}

#[test]
fn requests_are_answered_while_rules_are_loaded() {
    let mut worker = worker(with_rules("old", 0, |_| String::new()), 1);
    let new = reload(&mut worker, with_rules("new", RULES, |_| "http.getPath()".to_owned()));
    assert_eq!(&*worker.local.shared.settings.routes[0].name, "old");
    let turns = load(&mut worker);
    assert!(turns.len() >= RULES / RULES_A_TURN - 2, "{} turns", turns.len());
    // An exchange takes an iteration for the request and one for the response; at first the connections are opened.
    let longest = turns.chunk_by(|before, after| before == after).map(<[usize]>::len).max();
    assert!(longest <= Some(6), "{longest:?} turns without a response");
    assert!(turns[turns.len() - 1] >= turns.len() / 2 - 6, "{turns:?}");
    assert!(Arc::ptr_eq(&worker.local.shared, &new));
    let loaded = worker.local.rules.iter().chain(&worker.local.response_rules).flatten().count();
    assert_eq!(
        (loaded, worker.local.rules.len(), worker.local.response_rules.len()),
        (RULES, RULES + 1, RULES + 1)
    );
}

#[test]
fn a_newer_reload_replaces_an_unfinished_one() {
    let mut worker = worker(with_rules("old", 0, |_| String::new()), 1);
    let first = reload(&mut worker, with_rules("first", RULES, |_| "http.getPath()".to_owned()));
    worker.step(&mut Vec::new()).unwrap();
    let second = reload(&mut worker, with_rules("second", 20, |_| "http.getMethod()".to_owned()));
    assert_eq!(&*worker.local.shared.settings.routes[0].name, "old");
    assert!(worker.next.is_some() && load(&mut worker).len() <= 20 / RULES_A_TURN);
    assert!(Arc::ptr_eq(&worker.local.shared, &second));
    drop(second);
    // Only the code that frees it and this test still hold the first one.
    assert_eq!(Arc::strong_count(&first), 2);
    let third = reload(&mut worker, with_rules("third", 0, |_| String::new()));
    assert!(worker.next.is_none(), "without rules it is in force at once");
    assert!(Arc::ptr_eq(&worker.local.shared, &third));
}

#[test]
fn rules_that_do_not_fit_are_refused() {
    let text = |number: usize| format!("local text = '{number}{}' log.info(text)", "x".repeat(60_000));
    let refused = Shared::new(with_rules("large", 200, text), None, Timestamp::ZERO).unwrap_err().to_string();
    assert!(refused.starts_with("200 rules are more than a core holds: "), "{refused}");
    // The accepted configuration leaves memory for requests.
    let mut worker = worker(with_rules("old", RULES, |_| "http.getPath()".to_owned()), 1);
    let mut ready = Vec::new();
    for _ in 0..20 {
        worker.step(&mut ready).unwrap();
    }
    assert!(worker.net.exchanges > 5, "{}", worker.net.exchanges);
}

/// Few more fit in the memory for a worker's rules.
const RULES: usize = 650;
