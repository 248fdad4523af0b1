//! Experiment files: what they mean, and every kind of problem with its place and the way out.

use config::experiment::{
    Design, Ends, Experiment, File, Find, Hypothesis, Mirroring, Pace, Primary, Requests, SecondControl,
    Shared,
};
use control::diagnosis::Cause;
use gateway::settings::AdminAddress;
use std::path::Path;
use std::time::Duration;

/// A valid file, in which parts are replaced.
const BASE: &str = "\
experiment: workers
variable: workers
load: { paths: [/], rate: 100/s }
control:
  value: 2
  command: serve -w 2 -b 127.0.0.1:{port}
candidates:
  - value: 4
    command: serve -w 4 -b 127.0.0.1:{port}
time: 10m
";

fn parsed(text: &str) -> Result<Experiment, fields::Problems> {
    config::experiment::parse("experiment.yaml", text, Path::new("dir")).map(services)
}

fn services(file: File) -> Experiment {
    match file {
        File::Services(experiment) => *experiment,
        File::Mirroring(other) => panic!("not of services: {other:?}"),
    }
}

/// The plain lines for each change of the valid file.
fn told(changes: &[(&str, &str)]) -> String {
    let mut told = String::new();
    for (from, to) in changes {
        assert!(BASE.contains(from), "{from}");
        let text = BASE.replacen(from, to, 1);
        match parsed(&text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(problems) => told += &format!("--- {to}\n{}", problems.plain()),
        }
    }
    told
}

#[test]
fn defaults_are_those_of_the_description() {
    let found = parsed(BASE).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(found.requests, Requests::Paths(vec!["/".to_owned()]));
    assert!(matches!(found.pace, Pace::Rate(rate) if rate.per_second() == 100.0));
    assert_eq!((found.second_control, found.shared), (SecondControl::First, Shared::Unknown));
    assert_eq!((found.primary, found.design, found.ends), (Primary::P50, None, Ends::Planned));
    assert_eq!((found.margin, found.effect, found.harm), (0.01, 0.05, 0.5));
    assert_eq!((found.block, found.warm_up), (Duration::from_secs(3), Duration::from_secs(10)));
    assert_eq!(found.control.url, "http://127.0.0.1:{port}");
    assert!(!found.candidates[0].own_store && found.compare_answers);
}

#[test]
fn each_key_is_read() {
    let text = BASE
        .replace("paths: [/], rate: 100/s", "requests: access.log, reads_only: true, users: 8")
        .replace(
            "time: 10m",
            "time: 2m\nblock: 1s\nprimary: p95\ndesign: slices\nends: time\nshared: something\nsecond_control: off\n\
             compare_answers: false",
        );
    let found = parsed(&text).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        found.requests,
        Requests::Listed { file: Path::new("dir/access.log").to_owned(), reads_only: true }
    );
    assert!(matches!(found.pace, Pace::Users(users) if users.get() == 8));
    assert_eq!((found.primary, found.design), (Primary::P95, Some(Design::Slices)));
    assert_eq!(
        (found.ends, found.shared, found.second_control),
        (Ends::Time, Shared::Something, SecondControl::Off)
    );
    assert!(!found.compare_answers);
}

#[test]
fn problems_of_the_load_and_of_numbers() {
    insta::assert_snapshot!(told(&[
        ("variable:", "varible:"),
        ("load: { paths: [/], rate: 100/s }", "load: {}"),
        ("rate: 100/s", "rate: 0/s"),
        ("rate: 100/s", "rate: 100/s, users: 8"),
        ("paths: [/]", "paths: [shop]"),
        ("paths: [/]", "paths: []"),
        ("paths: [/]", "paths: [/], scenario: a.yaml"),
        ("paths: [/]", "paths: [/], reads_only: true"),
        ("time: 10m", "time: 1s"),
        ("time: 10m", "block: 2m"),
        ("time: 10m", "margin: 0%"),
        ("time: 10m", "design: trio"),
        ("time: 10m", "design: restarts\nsecond_control: off"),
        ("time: 10m", "primary: p90"),
    ]));
}

#[test]
fn problems_of_the_arms() {
    insta::assert_snapshot!(told(&[
        ("    command: serve -w 4 -b 127.0.0.1:{port}\n", ""),
        ("serve -w 4 -b 127.0.0.1:{port}", "serve -w 4"),
        ("    command: serve -w 4 -b 127.0.0.1:{port}\n", "    url: 'http://127.0.0.1:{port}'\n"),
        ("    command: serve -w 4 -b 127.0.0.1:{port}\n", "    url: http://127.0.0.1:80/shop\n"),
        ("- value: 4", "- value: 4\n    pid: 12"),
        ("serve -w 4 -b 127.0.0.1:{port}", "serve -w 4 --threads 8 -b 127.0.0.1:{port} --log"),
        ("serve -w 4 -b", "serve -w 4 -c -b"),
        ("- value: 4", "- value: 4\n    env: { THREADS: 8 }"),
        ("time: 10m", "second_control: never"),
        ("candidates:\n", "candidates:\n  - { value: 4, url: 'http://127.0.0.1:80' }\n"),
        ("- value: 4", "- value: control"),
        (
            "  command: serve -w 2 -b 127.0.0.1:{port}\n",
            "  url: http://127.0.0.1:80\nsecond_control: first\n"
        ),
        ("  command: serve -w 2 -b 127.0.0.1:{port}\n", "  url: http://127.0.0.1:80\nprimary: memory\n"),
        ("  command: serve -w 2 -b 127.0.0.1:{port}\n", "  url: http://127.0.0.1:80\ndesign: restarts\n"),
    ]));
}

/// A valid file with variables, in which parts are replaced.
const VARIED: &str = "\
experiment: workers
vary: { workers: 2..4, threads: [1, 8] }
service: { command: 'serve -w {workers} -t {threads} -b 127.0.0.1:{port}', env: { T: '{threads}' } }
load: { paths: [/], users: 8 }
";

#[test]
fn combinations_of_values_are_services() {
    let found = parsed(VARIED).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((found.variable.as_str(), found.find), ("workers, threads", Find::Best));
    let arms: Vec<_> = std::iter::once(&found.control).chain(&found.candidates).collect();
    let values: Vec<&str> = arms.iter().map(|arm| arm.value.as_str()).collect();
    assert_eq!(
        values,
        [
            "workers=2 threads=1",
            "workers=3 threads=1",
            "workers=4 threads=1",
            "workers=2 threads=8",
            "workers=3 threads=8",
            "workers=4 threads=8"
        ]
    );
    assert_eq!(arms[5].command.as_deref(), Some("serve -w 4 -t 8 -b 127.0.0.1:{port}"));
    assert_eq!(arms[5].env["T"], "8");
    assert_eq!((found.second_control, found.warm_up), (SecondControl::Off, Duration::from_secs(2)));
    let fleet = |value: &str| {
        let text = format!("{VARIED}fleet: {{ servers: 3{value} }}\n");
        parsed(&text).unwrap_or_else(|problems| panic!("{problems}")).fleet.map(|fleet| fleet.value)
    };
    assert_eq!([fleet(""), fleet(", value: workers=2 threads=8")], [Some(0), Some(3)]);
    let effects = VARIED.replace("2..4", "[2, 4]") + "find: effects\n";
    let found = parsed(&effects).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((found.find, found.candidates.len()), (Find::Effects { variables: 2 }, 3));
    // The bits of the place: the first variable is the lowest.
    assert_eq!(found.candidates[0].value, "workers=4 threads=1");
}

#[test]
fn problems_of_variables() {
    let mut told = String::new();
    for (from, to) in [
        ("vary: { workers: 2..4,", "vary: { workers: 4..2,"),
        ("2..4", "2..400"),
        ("2..4", "[2]"),
        ("2..4", "[2, 3, 2]"),
        ("2..4", "[2, [3]]"),
        ("threads: [1, 8] }", "thread: [1, 8] }"),
        ("threads: [1, 8] }", "port: [1, 8] }"),
        ("threads: [1, 8] }", "threads: 1..40 }"),
        ("load:", "find: effects\nload:"),
        ("load:", "find: worst\nload:"),
        ("load:", "control: { value: 2, url: 'http://127.0.0.1:80' }\nload:"),
        ("load:", "design: duet\nload:"),
        ("vary: { workers: 2..4, threads: [1, 8] }\n", ""),
        ("-b 127.0.0.1:{port}'", "'"),
        ("service: {", "servce: {"),
        ("load:", "fleet: { servers: 2, value: 4 }\nload:"),
        (
            "vary: { workers: 2..4,",
            "fleet: { servers: 2, value: workers=2 threads=1 }\nfind: effects\nvary: { workers: [2, 4],",
        ),
    ] {
        assert!(VARIED.contains(from), "{from}");
        let text = VARIED.replacen(from, to, 1);
        match parsed(&text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(problems) => told += &format!("--- {to}\n{}", problems.plain()),
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn recorded_times_need_a_recording() {
    let listed = BASE.replace("paths: [/], rate: 100/s", "requests: access.log, times: recorded");
    assert_eq!(parsed(&listed).unwrap_or_else(|problems| panic!("{problems}")).pace, Pace::Recorded);
    let live = listed.replace("times: recorded", "times: live");
    assert_eq!(parsed(&live).unwrap_or_else(|problems| panic!("{problems}")).pace, Pace::Live);
    insta::assert_snapshot!(told(&[
        ("rate: 100/s", "times: recorded"),
        ("paths: [/], rate: 100/s", "requests: access.log, times: recorded, users: 8"),
        ("paths: [/], rate: 100/s", "requests: access.log, times: yesterday"),
    ]));
}

#[test]
fn a_hypothesis_names_a_finding_and_its_run() {
    let with = |keys: &str| BASE.replace("load:", &format!("hypothesis: {{ {keys} }}\nload:"));
    let found = |keys| parsed(&with(keys)).unwrap_or_else(|problems| panic!("{problems}")).hypothesis;
    assert_eq!(found("finding: workers"), Some(Hypothesis { finding: Cause::Workers, run: None }));
    let run = Some("r17".to_owned());
    assert_eq!(found("finding: debug, run: r17"), Some(Hypothesis { finding: Cause::Debug, run }));
    let told = |keys: &str| parsed(&with(keys)).unwrap_err().plain();
    insta::assert_snapshot!(
        [told("finding: worker"), told("run: r17"), told("finding: lock, run: ''")].concat()
    );
}

#[test]
fn a_written_experiment_reads_back() {
    let changed = BASE
        .replace("paths: [/], rate: 100/s", "requests: access.log, reads_only: true, users: 8, timeout: 2s")
        .replace("variable: workers", "variable: workers\nhypothesis: { finding: workers, run: base }")
        .replace("value: 2\n", "value: 2\n  env: { A: 'b \"c\"', EMPTY: '' }\n  own_store: true\n")
        .replace("value: 4\n", "value: 4\n    env: { A: 'b \"c\"', EMPTY: '' }\n    url: 'http://[::1]:{port}'\n")
        .replace(
            "time: 10m",
            "time: 2m\nblock: 1500ms\nprimary: errors\ndesign: slices\nends: decided\nshared: nothing\nmargin: 2.5%\nharm: 7%\nfleet: { servers: 3, per_hour: 0.5 }\ncompare_answers: false",
        );
    for text in [BASE, &changed] {
        let experiment = parsed(text).unwrap_or_else(|problems| panic!("{problems}"));
        let written = config::experiment::write(&experiment, &["why: it is a test".to_owned()]);
        let again = config::experiment::parse("written.yaml", &written, Path::new(""));
        let again = again.map(services).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again, experiment, "{written}");
    }
}

#[test]
fn a_precision_is_an_end() {
    let precise = BASE.replace("time: 10m", "time: 10m\nprecision: 2%");
    let found = parsed(&precise).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(found.ends, Ends::Precise(0.02));
    let written = config::experiment::write(&found, &[]);
    assert!(written.contains("precision: 2%\n") && !written.contains("ends:"), "{written}");
    let refused = parsed(&precise.replace("precision", "ends: time\nprecision")).unwrap_err().plain();
    assert!(refused.contains("`ends` beside `precision`"), "{refused}");
    assert_eq!(mirroring(&(MIRRORING.to_owned() + "precision: 1%\n")).ends, Ends::Precise(0.01));
}

#[test]
fn the_examples_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["experiment.yaml", "mirroring.yaml"] {
        config::experiment::read(&folder.join(name)).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

/// A valid file for a gateway, in which parts are replaced.
const MIRRORING: &str = "\
experiment: copies
mirroring: 127.0.0.1:9901
";

fn mirroring(text: &str) -> Mirroring {
    match config::experiment::parse("experiment.yaml", text, Path::new("dir")) {
        Ok(File::Mirroring(mirroring)) => mirroring,
        Ok(other) => panic!("not of a gateway: {other:?}"),
        Err(problems) => panic!("{problems}"),
    }
}

#[test]
fn a_gateway_is_compared_with_itself() {
    let found = mirroring(MIRRORING);
    assert!(matches!(found.gateway.listen, AdminAddress::Tcp(address) if address.port() == 9901));
    assert_eq!((found.primary, found.ends), (Primary::ProcessorTime, Ends::Planned));
    assert_eq!((found.margin, found.effect, found.harm), (0.01, 0.05, 0.5));
    assert_eq!((found.block, found.warm_up), (Duration::from_secs(3), Duration::from_secs(10)));
    let text = MIRRORING.replace("127.0.0.1:9901", "http://127.0.0.1:9901/")
        + "token_file: token\ntime: 2m\nprimary: p99\nblock: 4s\nends: decided\nwarm_up: 2s\n";
    let found = mirroring(&text);
    assert_eq!(found.gateway.token_file.as_deref(), Some(Path::new("dir/token")));
    assert_eq!((found.primary, found.ends), (Primary::P99, Ends::Decided));
    assert_eq!((found.time, found.block), (Duration::from_secs(120), Duration::from_secs(4)));
}

#[test]
fn problems_of_a_gateway() {
    let mut said = told(&[
        ("time: 10m", "mirroring: 127.0.0.1:9901"),
        ("time: 10m", "token_file: token"),
        ("load: { paths: [/], rate: 100/s }\n", ""),
    ]);
    for (from, to) in [
        ("127.0.0.1:9901", "gateway:9901"),
        ("mirroring:", "miroring:"),
        ("mirroring:", "primary: memory\nmirroring:"),
        ("mirroring:", "warm_up: 0s\nmirroring:"),
    ] {
        let text = MIRRORING.replacen(from, to, 1);
        let problems = parsed(&text).map(|_| ()).unwrap_err();
        said += &format!("--- {to}\n{}", problems.plain());
    }
    insta::assert_snapshot!(said);
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/experiment.schema.json");
    let current = config::experiment::schema_text();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&kept, &current).unwrap();
    }
    let kept = std::fs::read_to_string(&kept).unwrap_or_default();
    assert!(kept == current, "run the test with UPDATE_SCHEMA=1 and commit schemas/experiment.schema.json");
}
