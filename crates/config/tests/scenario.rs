//! The scenario of a file is executed as written.

use config::scenario::{LoadModel, ScenarioFile, read};
use load::Stages;
use load::scenario::{Answer, CheckId, Next, StepId, User};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Timestamp;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenario.yaml")
}

fn parsed(text: &str) -> ScenarioFile {
    config::scenario::parse("scenario.yaml", text, Path::new(""), None)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// A request as it would be sent, with `body` as its response.
fn asked(file: &ScenarioFile, user: &mut User, body: &str) -> String {
    match user.next(&file.scenario, 0, Timestamp::ZERO) {
        Next::Request { request, .. } => {
            let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let text = format!(
                "{} {}\n{}{}",
                request.method,
                request.url,
                lossy(request.fields).replace("\r\n", "\n"),
                lossy(request.body)
            );
            let answer = Answer {
                status: 200,
                head: b"Content-Type: application/json\r\n",
                body: body.as_bytes(),
                body_bytes: body.len() as u64,
                response_time: Duration::from_millis(1),
            };
            user.answered(&file.scenario, Timestamp::ZERO, &answer);
            text
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_example_is_valid_and_can_be_walked_through() {
    let file = read(&example(), None).unwrap_or_else(|problems| panic!("{problems}"));
    let names: Vec<&str> = file.scenario.endpoints().iter().map(|endpoint| endpoint.name.as_str()).collect();
    assert_eq!(names, ["list products", "product", "reviews", "photos", "log in", "add to cart"]);
    assert_eq!(file.scenario.checks().len(), 6);
    assert_eq!(file.thresholds.len(), 3);
    assert!(file.thresholds[2].abort);
    assert_eq!(file.thresholds[2].after, Duration::from_secs(10));
    assert_eq!(file.thresholds[2].metric.value, "http_req_failed{endpoint:list products}");
    assert_eq!(file.thresholds[0].condition.value, "p(95)<500ms");
    let model = file.load.model.as_ref().map(|model| &model.value);
    assert!(matches!(model, Some(LoadModel::Stages(Stages::Rates(profile))) if profile.stages().len() == 2));
    let mut completed = 0;
    for number in 0..50 {
        let mut user = User::new(&file.scenario, number, 1);
        let mut told = String::new();
        while !told.starts_with("IterationDone") {
            told = asked(&file, &mut user, r#"[{"id":7,"token":"token=0af"}]"#);
        }
        completed += usize::from(told.contains("completed: true"));
    }
    assert_eq!(completed, 50);
}

#[test]
fn a_file_becomes_requests() {
    let text = r#"
scenario: x
base: http://127.0.0.1:8080/api/
headers: { Accept: text/html, X-Run: "${user}" }
flows:
  - name: all
    steps:
      - post: /a?b=1
        query: { q: "a & b" }
        headers: { accept: application/json }
        json: { n: 5, t: "5", b: true, z: , l: [1.5, x], "k\"": "v ${user}", v: "${user}" }
        extract: { id: { json: /id }, text: { json: /text } }
      - put: ${id}
        body: "${text} $${id}"
      - delete: http://other:1/${text}
        form: { "a b": "${text}", c: "${id}" }
"#;
    let text = text.replace("put: ${id}", "put: \"${id}\"");
    let file = parsed(&text);
    let mut user = User::new(&file.scenario, 3, 1);
    let body = r#"{"id":"/x/7","text":"a b&c"}"#;
    let all: Vec<String> = (0..4).map(|_| asked(&file, &mut user, body)).collect();
    insta::assert_snapshot!(all.join("\n---\n"));
}

#[test]
fn a_flag_takes_the_place_of_the_base() {
    let text = "scenario: x\nbase: http://a\nflows: [{ name: f, steps: [{ get: /p }] }]\n";
    let parse = |base| config::scenario::parse("s.yaml", text, Path::new(""), Some(base));
    let file = parse("http://b:1/c").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(file.scenario.definition().base.as_ref().map(|base| base.authority.as_str()), Some("b:1"));
    assert_eq!(file.scenario.step(StepId(0)).url.as_fixed(), Some(b"/c/p".as_slice()));
    assert!(parse("ftp://b").is_err());
}

#[test]
fn checks_are_named_by_what_they_say() {
    let text = "scenario: x\nbase: http://a\nflows: [{ name: f, steps: [{ get: /p, check: [\
                { status: [2xx, 304] }, { json: /a, equals: 5 }, { json: /a }, { header: ETag }, \
                { contains: ok }, { matches: 'o+k' }, { size_max: 10kB }, { within: 50ms }, \
                { name: mine, status: 200 }] }] }]\n";
    let file = parsed(text);
    let names: Vec<&str> = file.scenario.checks().iter().map(|check| check.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "status is 2xx or 304",
            "json /a equals 5",
            "json /a exists",
            "header ETag exists",
            "body contains ok",
            "body matches o+k",
            "size is at most 10.0 kB",
            "response time is at most 50.0 ms",
            "mine"
        ]
    );
    let mut user = User::new(&file.scenario, 0, 1);
    user.next(&file.scenario, 0, Timestamp::ZERO);
    let body = br#"{"a":5,"x":"ok"}"#;
    let answer = Answer {
        status: 304,
        head: b"etag: x\r\n",
        body,
        body_bytes: 16,
        response_time: Duration::from_millis(60),
    };
    let judged = user.answered(&file.scenario, Timestamp::ZERO, &answer);
    let failed: Vec<CheckId> =
        judged.checks.iter().filter(|(_, held)| !held).map(|(check, _)| *check).collect();
    assert_eq!(failed, [CheckId(7), CheckId(8)]);
}

#[test]
fn what_somebody_else_finds_wrong_is_shown_in_its_place() {
    let file = read(&example(), None).unwrap_or_else(|problems| panic!("{problems}"));
    let problem = file.problem(&file.thresholds[0].metric, "unknown metric", "did you mean another?");
    assert!(problem.plain().contains("scenario.yaml:"), "{}", problem.plain());
    assert!(
        problem.plain().contains("`thresholds.http_req_duration`: unknown metric"),
        "{}",
        problem.plain()
    );
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/scenario.schema.json");
    let current = config::scenario::schema_text();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&kept, &current).unwrap();
    }
    let kept = std::fs::read_to_string(&kept).unwrap_or_default();
    assert!(kept == current, "run the test with UPDATE_SCHEMA=1 and commit schemas/scenario.schema.json");
}
