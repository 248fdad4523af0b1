use super::*;
use config::experiment::File;
use std::path::Path;
use std::process::{Command, Stdio};
use units::Rate;

fn found(code: &str, workers: Option<u32>) -> Found {
    Found {
        code: code.to_owned(),
        sentence: "It is limited.".to_owned(),
        evidence: Vec::new(),
        since_seconds: 0,
        change: "change it".to_owned(),
        workers,
    }
}

fn basis<'a>(findings: &'a [Found], command: Option<&'a str>) -> Basis<'a> {
    Basis {
        findings,
        run: Some("r17".to_owned()),
        service: None,
        command,
        ports: vec![8080],
        paths: vec!["/search?q=a".to_owned()],
        pace: Pace::Rate(Rate::per_second_of(100.0)),
        shared: Shared::Unknown,
    }
}

/// The commands of the control and of the candidate.
fn commands(proposal: &Proposal) -> [String; 2] {
    let Experiment { control, candidates, .. } = &proposal.experiment;
    [control, &candidates[0]].map(|arm| arm.command.clone().unwrap())
}

#[test]
fn the_file_reads_back_and_changes_one_thing() {
    let findings = [found("upstream", None), found("workers", Some(6))];
    let proposal = propose(basis(&findings, Some("gunicorn -w 2 -b 127.0.0.1:8080 app:app"))).unwrap();
    assert_eq!(proposal.finding.code, "workers");
    assert_eq!(proposal.passed_over, [("upstream".to_owned(), NoChange::Outside(Cause::Upstream))]);
    assert_eq!(
        commands(&proposal),
        ["exec gunicorn -w 2 -b 127.0.0.1:{port} app:app", "exec gunicorn -w 6 -b 127.0.0.1:{port} app:app"]
    );
    let text = config::experiment::write(&proposal.experiment, &proposal.notes);
    let read = config::experiment::parse("prove.yaml", &text, Path::new(""));
    let read = read.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(read, File::Services(Box::new(proposal.experiment.clone())), "{text}");
    let hypothesis = proposal.experiment.hypothesis.unwrap();
    assert_eq!((hypothesis.finding, hypothesis.run.as_deref()), (Cause::Workers, Some("r17")));
}

#[test]
fn a_limit_is_set_for_both() {
    let launch = Launch {
        start: Start {
            words: ["node", "it's.js"].map(str::to_owned).to_vec(),
            environment: vec![("PORT".to_owned(), "8080".to_owned())],
            descriptors: Some(64),
            ..Start::default()
        },
        quoted: false,
        directory: Some("/srv/my shop".to_owned()),
        environment: BTreeMap::from([
            ("PORT".to_owned(), "8080".to_owned()),
            ("A".to_owned(), "b".to_owned()),
        ]),
        secrets: vec!["DB_PASSWORD".to_owned()],
        port: Port::One(8080),
    };
    let change = change(Cause::Descriptors, &launch.start).unwrap();
    let (control, candidate) = launch.arms(&change).unwrap();
    assert_eq!(
        control.command.unwrap(),
        r"cd '/srv/my shop' && ulimit -n 64 && exec env PORT={port} node 'it'\''s.js'"
    );
    assert!(candidate.command.unwrap().contains("ulimit -n 256 && exec env PORT={port} node"));
    // What the command has is not in `env` too.
    assert_eq!(control.env, BTreeMap::from([("A".to_owned(), "b".to_owned())]));
    assert!(launch.notes(&found("descriptors", None), &change)[3].ends_with("DB_PASSWORD"));
}

#[test]
fn what_cannot_be_written_is_said() {
    let error = |findings: &[Found], command| propose(basis(findings, command)).unwrap_err().to_string();
    assert!(error(&[], None).starts_with("nothing was found"));
    // Before the command is asked for.
    assert_eq!(
        error(&[found("stolen", None)], None),
        "no change to the command of the service proves what was found: stolen: the processor time goes to other guests of the \
         hypervisor"
    );
    assert!(error(&[found("workers", None)], None).contains("--command"));
    assert!(error(&[found("workers", None)], Some("/opt/shop --workers 2")).contains("the port 8080"));
    assert!(
        error(&[found("lock", None)], Some("/opt/shop :8080"))
            .contains("lock: the command of `shop` has no option")
    );
    let findings = [found("workers", None)];
    let ports = |ports: &[u16]| {
        let basis = Basis { ports: ports.to_vec(), ..basis(&findings, Some("gunicorn app")) };
        propose(basis).map(|proposal| commands(&proposal)[1].clone()).map_err(|error| error.to_string())
    };
    assert!(ports(&[]).unwrap_err().contains("--url"));
    assert!(ports(&[80, 443]).unwrap_err().contains("80, 443"));
    assert_eq!(ports(&[8000]).unwrap(), "exec gunicorn -w 2 app -b 127.0.0.1:{port}");
}

#[test]
fn the_command_is_that_of_the_process() {
    let mut command = Command::new("sh");
    command.args(["-c", "read line", "8080"]).env("HEADROOM_DEBUG_TEST", "1").env("FLASK_DEBUG", "1");
    let mut child = command.current_dir("/").stdin(Stdio::piped()).spawn().unwrap();
    // The process is a copy of this one until it has become a shell.
    std::thread::sleep(Duration::from_millis(200));
    let service = Service::of_process(child.id()).unwrap();
    let findings = [found("debug", None)];
    let proposal = propose(Basis { service: Some(&service), ..basis(&findings, None) });
    child.kill().unwrap();
    child.wait().unwrap();
    let proposal = proposal.unwrap();
    assert_eq!(commands(&proposal), ["cd / && exec sh -c 'read line' {port}"; 2]);
    let Experiment { control, candidates, .. } = proposal.experiment;
    assert_eq!(control.env["FLASK_DEBUG"], "1");
    assert_eq!(candidates[0].env["FLASK_DEBUG"], "0");
    assert_eq!(control.env["HEADROOM_DEBUG_TEST"], "1");
}

#[test]
fn only_a_whole_number_is_the_port() {
    for (word, expected) in [
        ("8080", "{port}"),
        ("127.0.0.1:8080", "127.0.0.1:{port}"),
        ("tcp://0.0.0.0:8080?backlog=8", "tcp://0.0.0.0:{port}?backlog=8"),
        ("--port=8080", "--port={port}"),
        ("18080", "18080"),
        ("80801", "80801"),
        ("server-8080.js", "server-8080.js"),
    ] {
        assert_eq!(place_port(word, 8080), expected, "{word}");
    }
    assert_eq!(path_and_port("http://h/a?b=c"), Some(("/a?b=c".to_owned(), 80)));
    assert_eq!(path_and_port("http://127.0.0.1:81"), Some(("/".to_owned(), 81)));
    assert_eq!(path_and_port("ftp://h"), None);
}

#[test]
fn secrets_and_the_session_stay_out() {
    let of = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
        all.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let service =
        of(&[("A", "1"), ("SAME", "x"), ("API_TOKEN", "x"), ("SSH_TTY", "x"), ("PWD", "/"), ("LANG", "C")]);
    let (found, secrets) = differences(&service, &of(&[("SAME", "x"), ("LANG", "de")]));
    assert_eq!(found, of(&[("A", "1"), ("LANG", "C")]));
    assert_eq!(secrets, ["API_TOKEN"]);
}
