//! The settings of a file reach the gateway's settings.

use config::Quick;
use gateway::settings::{AccessLog, Balance, KeyBy, PathMatch, Settings, ShedAnswer};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn parsed(text: &str) -> Settings {
    let (settings, warnings) =
        config::parse("gateway.yaml", text, Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(warnings.is_empty(), "{warnings:?}");
    settings
}

#[test]
fn the_examples_are_valid_and_every_part_is_used() {
    let (policy, warnings) =
        config::read(&example("gateway.yaml")).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(policy.routes[0].path, PathMatch::Exact("/search.cgi".into()));
    assert_eq!(policy.routes[0].policy, Some(0));
    assert_eq!(policy.routes[0].service_level, Some(0), "the class of the policy");
    assert_eq!(policy.service_levels[0].settings.target, Some(Duration::from_millis(50)));
    assert_eq!(policy.routes[1].name, "/*");
    let (rule, warnings) =
        config::read(&example("gateway-rule.yaml")).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(rule.routes[0].rule.as_ref().is_some_and(|rule| rule.source.contains("Search timer")));
    let (rules, warnings) =
        config::read(&example("gateway-rules.yaml")).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(rules.routes[3].response_rule.as_ref().is_some_and(|rule| rule.source.contains("Server")));
}

#[test]
fn a_token_that_everybody_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (file, token) = (folder.path().join("gateway.yaml"), folder.path().join("admin.token"));
    let text = "
listen: 127.0.0.1:8080
admin: { listen: 127.0.0.1:9901, token_file: admin.token }
pools: { app: { instances: ['127.0.0.1:9000'] } }
routes: [{ path_prefix: /, pool: app }]
";
    std::fs::write(&file, text).unwrap();
    let warned = || {
        let (_, warnings) = config::read(&file).unwrap_or_else(|problems| panic!("{problems}"));
        warnings.iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(warned(), "", "a missing file is reported where it is read");
    std::fs::write(&token, "a-token-of-some-length").unwrap();
    for (mode, is_warned) in [(0o644, true), (0o604, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&token, std::fs::Permissions::from_mode(mode)).unwrap();
        let warned = warned();
        assert_eq!(warned.contains("every user of this machine can read"), is_warned, "{mode:o}: {warned}");
    }
}

#[test]
fn the_example_of_the_guide_to_rules_is_valid() {
    let guide = std::fs::read_to_string(example("../docs/gateway.md")).unwrap();
    let section =
        guide.split("\n## ").find(|section| section.starts_with("Rules\n")).expect("a section on rules");
    let file =
        section.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    assert!(parsed(file).routes[0].response_rule.is_some());
}

#[test]
fn the_limits_of_the_docs_are_valid() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let section = docs.split("\n## ").find(|section| section.starts_with("Limits\n")).unwrap();
    let example = section.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let settings = parsed(example);
    assert_eq!(settings.priorities.len(), 3);
    assert_eq!(settings.rate_classes[0].settings.keyed.as_ref().map(|keyed| keyed.keys), Some(10_000));
    assert!(
        settings.concurrency_limits[0].settings.adaptive.is_some_and(|adaptive| adaptive.prior.is_some())
    );
    assert_eq!(settings.pools[0].instance_concurrency, Some(8));
    assert!(settings.policies[1].shadow);
}

#[test]
fn a_short_file_gets_the_usual_bounds() {
    let short = "listen: 127.0.0.1:80\npools: { a: { instances: ['127.0.0.1:1'] } }\n\
                 routes: [{ path_prefix: /, pool: a }]\n";
    let settings = parsed(short);
    let [to, listen] = ["127.0.0.1:1", "127.0.0.1:80"].map(|text| text.parse().unwrap());
    let quick = Quick { to, listen, limit: None, target: None, concurrency: None, admin: None };
    let quick = config::quick(quick);
    assert_eq!(settings.limits, quick.limits);
    assert_eq!(settings.access_log, AccessLog::Off);
    assert_eq!(settings.routes, quick.routes);
    assert_eq!(settings.pools[0].idle_connections, quick.pools[0].idle_connections);
}

#[test]
fn flags_say_what_a_file_says() {
    let [to, listen] = ["127.0.0.1:1", "127.0.0.1:80"].map(|text| text.parse().unwrap());
    let (limit, target) = ("100/s".parse().ok(), Some(Duration::from_millis(50)));
    let concurrency = None;
    for (limit, target) in [(limit, target), (limit, None), (None, target), (None, None)] {
        let settings = config::quick(Quick { to, listen, limit, target, concurrency, admin: None });
        assert_eq!(parsed(&config::write(&settings)), settings);
        assert_eq!(settings.policies.len(), usize::from(limit.is_some() && target.is_some()));
        assert_eq!(settings.routes[0].rate_class.is_some(), limit.is_some() && target.is_none());
    }
}

#[test]
fn shed_answers_are_read_from_files_beside_the_gateway_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sorry.html"), "<h1>Too busy</h1>").unwrap();
    let file = folder.path().join("gateway.yaml");
    let text = "listen: 127.0.0.1:80\npools: { a: { instances: ['127.0.0.1:1'] } }\nroutes:\n\
                - { path: /a, pool: a, shed: { page: sorry.html } }\n\
                - { path: /b, pool: a, shed: { redirect: /sorry.html } }\n\
                - { path: /c, pool: a, shed: problem }\n";
    std::fs::write(&file, text).unwrap();
    let (settings, _) = config::read(&file).unwrap_or_else(|problems| panic!("{problems}"));
    let body = b"<h1>Too busy</h1>".to_vec();
    assert_eq!(
        settings.routes[0].shed,
        ShedAnswer::Page { content_type: "text/html; charset=utf-8".into(), body }
    );
    assert_eq!(settings.routes[1].shed, ShedAnswer::Redirect { location: "/sorry.html".into() });
    assert_eq!(settings.routes[2].shed, ShedAnswer::Problem);
}

#[test]
fn warnings_name_what_nothing_uses() {
    let text = "listen: 127.0.0.1:80\npools: { a: { instances: ['127.0.0.1:1'] } }\n\
                service_levels: { idle: { target: 1s } }\npriorities: [low, high]\nroutes: [{ path_prefix: /, pool: a }]\n";
    let (_, warnings) = config::parse("gateway.yaml", text, Path::new("")).unwrap();
    let plain: String = warnings.iter().map(fields::Problem::plain).collect();
    insta::assert_snapshot!(plain);
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/gateway.schema.json");
    let current = config::schema_text();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&kept, &current).unwrap();
    }
    let kept = std::fs::read_to_string(&kept).unwrap_or_default();
    assert!(kept == current, "run the test with UPDATE_SCHEMA=1 and commit schemas/gateway.schema.json");
}

#[test]
fn the_pool_of_the_documentation_is_valid() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let pools = blocks.into_iter().find(|block| block.starts_with("pools:")).unwrap();
    let file = format!("listen: 127.0.0.1:8080\n{pools}routes:\n  - {{ path_prefix: /, pool: search }}\n");
    let (settings, warnings) =
        config::parse("gateway.yaml", &file, Path::new("")).unwrap_or_else(|found| panic!("{found}"));
    assert!(warnings.is_empty() && settings.pools[0].instances.len() == 3, "{warnings:?}");
}

#[test]
fn keys_are_read_alike_wherever_they_stand() {
    for (written, expected) in [
        ("client", KeyBy::Client),
        ("{ header: X-User }", KeyBy::Header("x-user".to_owned())),
        ("{ cookie: Sid }", KeyBy::Cookie("Sid".to_owned())),
    ] {
        let text = format!(
            "listen: 127.0.0.1:8080\n\
             pools: {{ a: {{ instances: ['127.0.0.1:9000'], balance: {{ hash: {written} }} }}, \
             b: {{ instances: ['127.0.0.1:9100'] }} }}\n\
             rate_classes: {{ each: {{ rate: 5/s, key: {written} }} }}\n\
             mirrors: {{ next: {{ pool: b, fraction: 100%, key: {written} }} }}\n\
             routes: [{{ path_prefix: /, pool: a, rate_class: each, mirror: next }}]\n"
        );
        let settings = parsed(&text);
        let keyed = settings.rate_classes[0].settings.keyed.as_ref().map(|keyed| &keyed.by);
        assert_eq!(settings.pools[0].balance, Balance::Hash(expected.clone()));
        assert_eq!((keyed, &settings.mirrors[0].key), (Some(&expected), &expected));
    }
}
