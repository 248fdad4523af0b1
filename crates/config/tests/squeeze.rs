//! Squeeze files: what they mean, and every kind of problem with its place and the way out.

use config::squeeze::Squeeze;
use control::search::Condition;
use gateway::settings::AdminAddress;
use std::path::Path;
use std::time::Duration;

/// A valid file, in which parts are replaced.
const BASE: &str = "\
squeeze: search
gateway: 127.0.0.1:9901
pool: search
goal: p(95)<100ms
";

fn parsed(text: &str) -> Result<Squeeze, fields::Problems> {
    config::squeeze::parse("squeeze.yaml", text, Path::new("dir"))
}

#[test]
fn defaults_are_those_of_the_description() {
    let found = parsed(BASE).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(found.goal.to_string(), "p(95)<100ms and failed<1 %");
    assert_eq!((found.instances.get(), found.time), (1, Duration::from_secs(600)));
    assert_eq!((found.step.get(), found.precision.get(), found.guards.errors.get()), (0.1, 0.03, 0.01));
    assert_eq!((found.guards.response_time, found.guards.processor, found.traffic), (None, None, None));
}

#[test]
fn each_key_is_read() {
    let text = BASE
        .replace("127.0.0.1:9901", "http://127.0.0.1:9901/")
        .replace("goal: p(95)<100ms", "goal: [p(95)<100ms, p(99)<1s]")
        + "token_file: token\ninstances: 2\nstep: 5%\nprecision: 1%\ntime: 2m\ntraffic: week.csv\n\
           guards: { errors: 0%, response_time: p(99)<2s, processor: 90% }\n";
    let found = parsed(&text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(matches!(found.gateway.listen, AdminAddress::Tcp(address) if address.port() == 9901));
    assert_eq!(found.gateway.token_file.as_deref(), Some(Path::new("dir/token")));
    assert_eq!(found.goal.conditions().len(), 3);
    assert_eq!((found.instances.get(), found.step.get()), (2, 0.05));
    assert_eq!((found.precision.get(), found.time), (0.01, Duration::from_secs(120)));
    assert_eq!(found.traffic.as_deref(), Some(Path::new("dir/week.csv")));
    assert!(matches!(found.guards.response_time, Some(Condition::ResponseTime { .. })));
    assert_eq!((found.guards.errors.get(), found.guards.processor.unwrap().get()), (0.0, 0.9));
}

#[test]
fn problems_say_the_place_and_the_way_out() {
    let mut told = String::new();
    for (from, to) in [
        ("pool:", "pol:"),
        ("127.0.0.1:9901", "localhost"),
        ("goal: p(95)<100ms", "goal: fast"),
        ("goal: p(95)<100ms", "goal: []"),
        ("goal: p(95)<100ms", "goal: [p(95)<1ms, p(96)<1ms, p(97)<1ms, p(98)<1ms]"),
        ("pool: search", "pool: search\ninstances: 0"),
        ("pool: search", "pool: search\nstep: 90%"),
        ("pool: search", "pool: search\nprecision: 0%"),
        ("pool: search", "pool: search\ntime: 1s"),
        ("pool: search", "pool: search\nguards: { response_time: failed<1% }"),
        ("pool: search", "pool: search\nguards: { processor: 0% }"),
    ] {
        let text = BASE.replacen(from, to, 1);
        match parsed(&text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(problems) => told += &format!("--- {to}\n{}", problems.plain()),
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn the_example_is_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/squeeze.yaml");
    config::squeeze::read(&path).unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/squeeze.schema.json");
    let current = config::squeeze::schema_text();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&kept, &current).unwrap();
    }
    let kept = std::fs::read_to_string(&kept).unwrap_or_default();
    assert!(kept == current, "run the test with UPDATE_SCHEMA=1 and commit schemas/squeeze.schema.json");
}
