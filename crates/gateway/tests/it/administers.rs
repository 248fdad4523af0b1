//! The admin listener: access control, status, changes.

use crate::peers::peer;
use crate::sheds::{engage, protected};
use crate::support::{
    Message, PATIENCE, Peer, Upstream, admin, before, client, eventually, eventually_metric, get, loopback,
    nobody, settings, started,
};
use gateway::settings::{AccessLog, Admin, AdminAddress, LogForm, LogFormat, ShedAnswer};
use gateway::{Gateway, start};
use serde_json::Value;
use status::Status;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const TOKEN: &str = "a-token-of-some-length";

fn asked(gateway: &Gateway, request_line: &str, headers: &[&str]) -> Message {
    let mut peer = Peer::connect(gateway.admin_address().unwrap());
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    peer.ask(format!("{request_line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
}

fn status(gateway: &Gateway) -> Status {
    serde_json::from_str(&admin(gateway, "/status").text()).unwrap()
}

#[test]
fn a_token_opens_everything_but_the_probes() {
    let upstream = Upstream::hello();
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), format!("{TOKEN}\n")).unwrap();
    let mut settings = settings(&[upstream.address]);
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    settings.admin = Some(Admin { token_file: Some(token.path().to_owned()), ..any.into() });
    let gateway = started(settings.clone());
    let port = gateway.admin_address().unwrap().port();
    let asked = |path: &str, headers: &[&str]| {
        let mut peer = Peer::connect(SocketAddr::from(([127, 0, 0, 1], port)));
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        peer.ask(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}\r\n"))
    };
    let right = format!("Authorization: Bearer {TOKEN}");
    for path in ["/metrics", "/status", "/changes"] {
        let refused = asked(path, &[]);
        assert_eq!((refused.status(), refused.header("www-authenticate").is_some()), (401, true), "{path}");
        assert_eq!(asked(path, &["Authorization: Bearer a-token-of-some-lengtH"]).status(), 401);
        assert_eq!(asked(path, &[&right]).status(), 200, "{path}");
    }
    assert_eq!(asked("/livez", &[]).status(), 200);
    assert_eq!(asked("/readyz", &[]).status(), 200);

    // A token changed in its file takes effect at the next reload; an invalid one is refused.
    std::fs::write(token.path(), "another-token-of-some-length").unwrap();
    gateway.reload(settings.clone()).unwrap();
    assert_eq!(asked("/status", &[&right]).status(), 401);
    assert_eq!(asked("/status", &["Authorization: Bearer another-token-of-some-length"]).status(), 200);
    std::fs::write(token.path(), "short").unwrap();
    assert!(gateway.reload(settings).is_err());
    assert_eq!(asked("/status", &["Authorization: Bearer another-token-of-some-length"]).status(), 200);
}

#[test]
fn half_sent_heads_keep_no_probe_out() {
    let upstream = Upstream::hello();
    let gateway = started(settings(&[upstream.address]));
    let address = gateway.admin_address().unwrap();
    let mut held = Vec::new();
    for _ in 0..80 {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: a").unwrap();
        held.push(stream);
    }
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(asked(&gateway, &format!("GET {path}"), &["Host: 127.0.0.1"]).status(), 200, "{path}");
    }
}

#[test]
fn an_address_for_others_needs_a_token() {
    let mut settings = settings(&[nobody()]);
    settings.admin = Some(SocketAddr::from(([0, 0, 0, 0], 0)).into());
    let error = start(settings.clone()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("token_file"), "{error}: {source}");
    settings.admin = Some(Admin { token_file: Some("/nonexistent/token".into()), ..loopback().into() });
    let error = start(settings).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("/nonexistent/token"), "{error}: {source}");
}

#[test]
fn pages_in_a_browser_may_not_ask() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let at = gateway.admin_address().unwrap();
    let (host, origin) = (format!("Host: {at}"), format!("Origin: http://{at}"));
    assert_eq!(asked(&gateway, "GET /status", &[&host]).status(), 200);
    assert_eq!(asked(&gateway, "GET /status", &[&host, &origin]).status(), 200);
    let refused = asked(&gateway, "GET /status", &["Host: rebound.example"]);
    assert_eq!((refused.status(), refused.header("content-type")), (403, Some("application/problem+json")));
    assert!(refused.text().contains("localhost"), "{}", refused.text());
    assert_eq!(asked(&gateway, "GET /metrics", &["Host: rebound.example"]).status(), 403);
    assert_eq!(asked(&gateway, "GET /status", &[&host, "Origin: http://evil.example"]).status(), 403);
    assert_eq!(asked(&gateway, "POST /reload", &[&host, "Content-Length: 0"]).status(), 415);
    let form = ["Content-Type: text/plain", "Content-Length: 0"];
    assert_eq!(asked(&gateway, "POST /reload", &[&[host.as_str()], &form[..]].concat()).status(), 415);
    assert_eq!(asked(&gateway, "DELETE /status", &[&host, "Content-Type: application/json"]).status(), 405);
}

#[test]
fn a_socket_in_the_file_system_is_its_owners_and_goes_with_the_gateway() {
    let upstream = Upstream::hello();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let mut settings = settings(&[upstream.address]);
    settings.admin = Some(AdminAddress::Unix(path.clone()).into());
    let gateway = started(settings.clone());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"uptime_s\""), "{answer}");
    let error = start(settings).unwrap_err();
    assert!(error.to_string().contains("admin.sock"), "{error}");
    gateway.drain();
    assert!(!path.exists());
}

#[test]
fn the_status_says_what_the_gateway_is_and_does() {
    let upstream = Upstream::hello();
    let mut settings = protected(&upstream, ShedAnswer::Redirect { location: "/sorry".to_owned() });
    settings.concurrency_limits = vec![gateway::settings::Class::new("knee", 12)];
    settings.policies[0].concurrency = Some(0);
    settings.rate_classes[0].provenance = Some(gateway::settings::Provenance {
        run: "r17".to_owned(),
        date: "2026-11-21".to_owned(),
        target: "http://127.0.0.1:9000/".to_owned(),
    });
    let gateway = started(settings);
    engage(&gateway);
    let mut client = client(&gateway);
    let statuses: Vec<u16> = (0..10).map(|_| client.ask(get("/limited")).status()).collect();
    let shed = statuses.iter().filter(|&&status| status == 302).count() as u64;
    eventually("the counts are told", || {
        status(&gateway).routes[0].shed.get("rate_class").is_some_and(|flow| flow.total == shed)
    });
    let mut found = status(&gateway);
    let [limited, all] = &mut found.routes[..] else { panic!("{found:?}") };
    assert_eq!((limited.demand.total, all.demand.total), (11, 0));
    assert_eq!(limited.answered["2xx"].total, 11 - shed);
    let policy = &found.policies[0];
    assert!(policy.engaged && policy.engaged_for_s >= Some(0.0), "{policy:?}");
    assert!(policy.reason.as_deref().unwrap().contains("of 1 responses conformed"), "{policy:?}");
    assert!(found.since.as_deref().is_some_and(|since| since.ends_with('Z')), "{:?}", found.since);
    assert_eq!(found.connections.open, 1);

    // Values that do not depend on the moment are compared exactly.
    for flow in [&mut limited.demand, &mut all.demand]
        .into_iter()
        .chain(limited.shed.values_mut())
        .chain(all.answered.values_mut())
    {
        *flow = Default::default();
    }
    limited.answered.clear();
    found.listen = "127.0.0.1:8080".to_owned();
    (found.since, found.uptime_s) = (None, None);
    found.pools[0].instances[0] = Default::default();
    found.policies[0].engaged_for_s = None;
    found.policies[0].reason = None;
    found.service_levels[0].shed = 0;
    (found.service_levels[0].conforming, found.service_levels[0].responses) = (None, 0);
    found.connections = Default::default();
    insta::assert_json_snapshot!(found);

    eventually_metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}", 0.0);
    let changes: Value = serde_json::from_str(&admin(&gateway, "/changes").text()).unwrap();
    let changes = changes.as_array().unwrap();
    assert_eq!(
        (changes.len(), &changes[0]["engaged"], &changes[1]["engaged"]),
        (2, &false.into(), &true.into())
    );
    assert!(changes[1]["reason"].as_str().unwrap().contains("conformed"), "{changes:?}");
    // Reading the status does not consume the changes for the gateway's runner.
    assert_eq!(gateway.take_changes().len(), 2);
    assert_eq!(gateway.take_changes().len(), 0);
}

#[test]
fn an_instance_of_two_pools_has_the_requests_of_each() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.pools.push(gateway::settings::Pool::new("idle", vec![upstream.address]));
    let gateway = started(settings);
    let mut busy = client(&gateway);
    busy.send(get("/?1000"));
    eventually("it is in flight", || status(&gateway).pools[0].instances[0].in_flight == 1);
    assert_eq!(status(&gateway).pools[1].instances[0].in_flight, 0);
    busy.answer();
}

#[test]
fn an_unknown_place_is_answered_with_those_that_there_are() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let host = format!("Host: {}", gateway.admin_address().unwrap());
    let answer = asked(&gateway, "GET /instances", &[&host]);
    assert_eq!(answer.status(), 404);
    for place in ["/status", "/pools,", "POST /reload", "/pools/POOL/instances/ADDRESS/drain", "DELETE"] {
        assert!(answer.text().contains(place), "{place}: {}", answer.text());
    }
}

#[test]
fn rates_and_requests_in_flight_are_told_while_they_last() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let mut busy = client(&gateway);
    busy.send(get("/?1500"));
    eventually("it is in flight", || status(&gateway).pools[0].instances[0].in_flight == 1);
    let found = status(&gateway);
    assert_eq!((found.routes[0].in_flight, found.routes[0].demand.total), (1, 1));
    assert!(found.routes[0].demand.per_second > 0.0, "{found:?}");
    busy.answer();
    eventually("it is over", || {
        let found = status(&gateway);
        let instance = &found.pools[0].instances[0];
        (instance.in_flight, instance.idle, found.routes[0].answered.get("2xx").map(|flow| flow.total))
            == (0, 1, Some(1))
    });
}

#[test]
fn a_reload_is_asked_of_whoever_runs_the_gateway() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let ask = || {
        let at = gateway.admin_address().unwrap();
        std::thread::spawn(move || {
            let mut peer = Peer::connect(at);
            peer.ask(format!(
                "POST /reload HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
                 Connection: close\r\n\r\n{{}}"
            ))
        })
    };
    for (outcome, expected, word) in
        [(Ok(()), 200, "reloaded"), (Err("line 3 is wrong".to_owned()), 422, "line 3 is wrong")]
    {
        let asked = ask();
        let mut reload = None;
        eventually("it is asked", || {
            reload = gateway.take_reload();
            reload.is_some()
        });
        reload.unwrap().answer(outcome);
        let answer = asked.join().unwrap();
        assert_eq!(answer.status(), expected, "{}", answer.text());
        assert!(answer.text().contains(word), "{}", answer.text());
    }
    let asked = ask();
    eventually("it is asked", || gateway.take_reload().map(drop).is_some());
    assert_eq!(asked.join().unwrap().status(), 503);
}

#[test]
fn the_metrics_please_promtool() {
    let Some(promtool) = peer("promtool") else { return };
    let upstream = Upstream::hello();
    let gateway = started(protected(&upstream, ShedAnswer::Problem));
    engage(&gateway);
    let mut client = client(&gateway);
    (0..5).for_each(|_| drop(client.ask(get("/limited"))));
    client.ask("BREW /\u{1}");
    eventually("all kinds are counted", || admin(&gateway, "/metrics").text().contains("error_type="));
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(&admin(&gateway, "/metrics").body).unwrap();
    let output = check.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn demand_is_what_arrived_whatever_became_of_it() {
    let upstream = Upstream::hello();
    let gateway = started(protected(&upstream, ShedAnswer::Problem));
    engage(&gateway);
    let mut shed = client(&gateway);
    (0..10).for_each(|_| drop(shed.ask(get("/limited"))));
    eventually_metric(&gateway, "headroom_demand_total{route=\"limited\"}", 11.0);
    let mut busy = client(&gateway);
    busy.send(get("/?1000"));
    eventually_metric(&gateway, "headroom_demand_total{route=\"all\"}", 1.0);
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 1.0);
    busy.answer();
    eventually_metric(&gateway, "headroom_in_flight{route=\"all\"}", 0.0);
    eventually_metric(&gateway, "headroom_demand_total{route=\"all\"}", 1.0);
    let waits = "headroom_wait_seconds_count{route=\"all\"}";
    eventually_metric(&gateway, waits, 1.0);
}

fn logged(format: LogFormat, path: &Path) -> Gateway {
    let upstream = Box::leak(Box::new(Upstream::hello()));
    let mut settings = settings(&[upstream.address]);
    settings.access_log = AccessLog::File(path.to_owned());
    settings.log_form = LogForm { format, flush: Duration::from_millis(100), ..LogForm::default() };
    started(settings)
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_combined_log_tells_referer_and_user_agent() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let gateway = logged(LogFormat::Combined, log.path());
    let mut client = client(&gateway);
    client.ask("GET /a?b=1 HTTP/1.1\r\nHost: a\r\nUser-Agent: curl \"8\"\r\nReferer: http://b/\r\n\r\n");
    client.ask("GET /second HTTP/1.1\r\nHost: a\r\n\r\n");
    gateway.drain();
    let lines = lines(log.path());
    assert!(
        lines[0].ends_with("] \"GET /a?b=1 HTTP/1.1\" 200 5 \"http://b/\" \"curl \\x228\\x22\""),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("] \"GET /second HTTP/1.1\" 200 5 \"-\" \"-\""), "{lines:?}");
}

#[test]
fn a_json_log_is_an_object_a_line() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let gateway = logged(LogFormat::Json, log.path());
    let mut peer = client(&gateway);
    peer.ask("GET /a#\"x HTTP/1.1\r\nHost: a\r\n\r\n");
    client(&gateway).ask(get("/ok"));
    gateway.drain();
    let lines = lines(log.path());
    assert_eq!(lines.len(), 2, "{lines:?}");
    let found: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered = found.iter().find(|line| line["status"] == 200).unwrap();
    assert_eq!((&answered["target"], &answered["route"]), (&"/ok".into(), &"all".into()));
    assert!(answered["upstream_us"].as_u64() <= answered["total_us"].as_u64(), "{answered}");
}

#[test]
fn a_log_is_rotated_under_load_without_losing_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("access.log");
    let gateway = logged(LogFormat::Extended, &name);
    let mut peer = client(&gateway);
    let mut sent = 0;
    for round in 0..3 {
        for _ in 0..50 {
            assert_eq!(peer.ask(get("/")).status(), 200);
            sent += 1;
        }
        std::fs::rename(&name, folder.path().join(format!("access.log.{round}"))).unwrap();
        if round == 1 {
            gateway.reopen_logs();
        }
        eventually("there is a new one", || {
            peer.ask(get("/"));
            sent += 1;
            name.exists()
        });
    }
    gateway.drain();
    let files = std::fs::read_dir(folder.path()).unwrap();
    let written: usize = files.map(|file| lines(&file.unwrap().path()).len()).sum();
    assert_eq!(written, sent);
}

/// What `logrotate` itself does, if it is installed.
#[test]
fn logrotate_rotates_it() {
    let Some(logrotate) = peer("logrotate") else { return };
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("access.log");
    let gateway = logged(LogFormat::Combined, &name);
    let mut client = client(&gateway);
    client.ask(get("/before"));
    eventually("it is written", || !lines(&name).is_empty());
    let [config, state] = ["conf", "state"].map(|file| folder.path().join(file));
    let text = format!("{} {{\n size 1\n rotate 3\n create\n}}\n", name.display());
    std::fs::write(&config, text).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(logrotate).arg("-f").arg("-s").arg(&state).arg(&config).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rotated = folder.path().join("access.log.1");
    assert_eq!(lines(&rotated).len(), 1);
    std::thread::sleep(Duration::from_millis(400));
    client.ask(get("/after"));
    eventually("it goes on in the new file", || lines(&name).len() == 1);
}
