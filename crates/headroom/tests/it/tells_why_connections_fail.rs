//! Names, ports, certificates and sockets: where connections go, and why they fail.

use crate::nginx::Nginx;
use crate::programs::{headroom, json, load, refused, summary};
use crate::service::{self, Answer};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const FEW: [&str; 4] = ["-n", "20", "-c", "2"];

fn secure(address: SocketAddr) -> String {
    format!("https://{address}/")
}

/// Twenty requests, and how many of them failed in each way.
fn fails(url: &str, flags: &[&str]) -> serde_json::Value {
    let run = json(&load(url, &[&FEW, flags, &["--json"]].concat()));
    assert_eq!(
        run["accounting"]["failed"].as_u64().unwrap() + run["accounting"]["answered"].as_u64().unwrap(),
        20,
        "{run:#}"
    );
    run["failures"].clone()
}

fn works(url: &str, flags: &[&str]) {
    assert_eq!(fails(url, flags), serde_json::json!({}), "{flags:?}");
}

#[test]
fn an_unknown_host_is_refused_before_any_load() {
    let output = load("http://no-such-host.invalid/", &FEW);
    let said = refused(&output);
    assert!(
        said.contains("cannot find the address of `no-such-host.invalid`") && said.contains("--resolve"),
        "{said}"
    );
}

#[test]
fn certificates_are_judged_as_curl_judges_them() {
    let Some(nginx) = Nginx::start() else { return };
    let authority = nginx.certificates.authority();
    let trust = ["--cacert", authority.as_str()];
    works(&secure(nginx.tls), &trust);
    assert_eq!(fails(&secure(nginx.expired), &trust), serde_json::json!({ "certificate_expired": 20 }));
    assert_eq!(fails(&secure(nginx.other), &trust), serde_json::json!({ "certificate": 20 }));
    // An authority that nobody named.
    assert_eq!(fails(&secure(nginx.tls), &[]), serde_json::json!({ "certificate": 20 }));
    works(&secure(nginx.expired), &["-k"]);
    works(&secure(nginx.other), &["--insecure"]);
    for (address, parts) in [
        (nginx.expired, ["20 certificate expired", "renew it"]),
        (nginx.other, ["20 certificate not accepted", "other.example"]),
    ] {
        let output = load(&secure(address), &[&FEW[..], &trust].concat());
        let said = summary(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
}

#[test]
fn a_client_certificate_is_shown_to_who_asks_for_it() {
    let Some(nginx) = Nginx::start() else { return };
    let [authority, certificate, key] =
        ["ca.pem", "good.pem", "good.key"].map(|name| nginx.certificates.file(name).display().to_string());
    let statuses = |flags: &[&str]| {
        let flags = [&FEW[..], &["--cacert", &authority, "--json"], flags].concat();
        json(&load(&secure(nginx.clients), &flags))["status"].clone()
    };
    assert_eq!(statuses(&[]), serde_json::json!({ "400": 20 }));
    assert_eq!(statuses(&["--cert", &certificate, "--key", &key]), serde_json::json!({ "200": 20 }));
    // Both in one file.
    let both = nginx.certificates.file("both.pem");
    let parts = [&certificate, &key].map(|file| std::fs::read_to_string(file).unwrap());
    std::fs::write(&both, parts.concat()).unwrap();
    assert_eq!(statuses(&["-E", &both.display().to_string()]), serde_json::json!({ "200": 20 }));
    for (flags, parts) in [
        (&["--cert", certificate.as_str()][..], ["no private key in", "--key"]),
        (&["--cacert", &key], ["no certificate in", "BEGIN CERTIFICATE"]),
        (&["--cacert", "/no/such.pem"], ["cannot read `/no/such.pem`", "No such file"]),
        (&["--key", &key], ["--cert", "required"]),
        (&["--tlsv1.3", "--tls-max", "1.2"], ["1.3", "1.2"]),
        (&["--ciphers", "NULL-MD5"], ["`NULL-MD5` is not known", "TLS_AES_128_GCM_SHA256"]),
    ] {
        let output = load(&secure(nginx.clients), flags);
        let said = refused(&output);
        assert!(parts.iter().all(|part| said.contains(part)), "{flags:?}: {said}");
    }
}

#[test]
fn http2_falls_back_where_the_server_offers_none() {
    let Some(nginx) = Nginx::start() else { return };
    works(&secure(nginx.other), &["-k", "--http2"]);
    assert_eq!(nginx.answered(nginx.other, 20), [("HTTP/1.1 TLSv1.3 200".to_owned(), 20)].into());
    // nginx would speak HTTP/1.1 on a connection that selected no protocol.
    let flags = ["--cacert", &nginx.certificates.authority(), "--http2-prior-knowledge"];
    works(&secure(nginx.tls), &flags);
    assert_eq!(nginx.answered(nginx.tls, 20), [("HTTP/2.0 TLSv1.3 200".to_owned(), 20)].into());
    // Without asking there is nothing to fall back to: the run ends, and says why.
    let begun = Instant::now();
    let failures = fails(&format!("http://{}/", service::start(Answer::Ok)), &["--http2-prior-knowledge"]);
    assert_eq!(failures, serde_json::json!({ "malformed": 20 }));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_does_not_fit_a_protocol_is_refused() {
    for (flags, part) in [
        (&["--streams", "5"][..], "add --http2"),
        (&["--resolve", "nonsense"], "HOST:PORT:ADDRESS"),
        (&["--connect-to", "a:b"], "HOST1:PORT1:HOST2:PORT2"),
    ] {
        let output = load("http://127.0.0.1:1/", flags);
        assert!(refused(&output).contains(part), "{flags:?}: {}", refused(&output));
    }
}

#[test]
fn connections_go_where_the_flags_lead() {
    let Some(nginx) = Nginx::start() else { return };
    let (port, authority) = (nginx.plain.port(), nginx.certificates.authority());
    let socket = nginx.unix_socket().display().to_string();
    works("http://shop.example:81/", &["--unix-socket", &socket]);
    works(&format!("http://shop.example:{port}/"), &["--resolve", &format!("shop.example:{port}:127.0.0.1")]);
    works("http://shop.example/", &["--connect-to", &format!("shop.example:80:127.0.0.1:{port}")]);
    // The name stays the one that the certificate must carry.
    let tls = nginx.tls.port();
    let trust = ["--cacert", authority.as_str()];
    let rule = format!("localhost:{tls}:127.0.0.1");
    works(&format!("https://localhost:{tls}/"), &[&trust[..], &["--resolve", &rule]].concat());
    let other = nginx.other.port();
    let rule = format!("other.example:{other}:127.0.0.1");
    works(&format!("https://other.example:{other}/"), &[&trust[..], &["--resolve", &rule]].concat());
    let output =
        load("http://shop.example/", &["--unix-socket", "/no/such/socket", "-r", "100/s", "-d", "200ms"]);
    assert!(summary(&output).contains("failed 20 "), "{}", summary(&output));
}

#[test]
fn connections_come_from_the_local_addresses_in_turn() {
    let (listener, (sender, seen)) = (TcpListener::bind("127.0.0.1:0").unwrap(), mpsc::channel());
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            sender.send(stream.peer_addr().unwrap().ip()).unwrap();
            // Requests come with --no-keep-alive, so that each has a connection.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let from = ["--local-address", "127.0.0.2", "--local-address", "127.0.0.3", "--no-keep-alive"];
    works(&format!("http://{address}/"), &from);
    let seen: BTreeSet<IpAddr> = seen.try_iter().collect();
    assert_eq!(seen, ["127.0.0.2", "127.0.0.3"].map(|ip| ip.parse().unwrap()).into());
}

#[test]
fn a_redirect_loop_ends_and_is_counted() {
    let Some(nginx) = Nginx::start() else { return };
    let file = nginx.certificates.file("loop.yaml");
    std::fs::write(
        &file,
        "scenario: loop\nredirects: 5\nflows:\n  - name: loop\n    steps:\n      - get: /moved\n",
    )
    .unwrap();
    let base = format!("http://{}", nginx.plain);
    let file = file.display().to_string();
    let arguments = ["load", &base, "--scenario", &file, "-c", "2", "-n", "10", "--json"];
    let run = json(&headroom(&arguments).output().unwrap());
    assert_eq!(run["step_failures"], serde_json::json!({ "GET /moved: too many redirects": 10 }));
    assert_eq!((&run["iterations"]["completed"], &run["iterations"]["broken"]), (&0.into(), &10.into()));
    // Five are followed, and the sixth is one too many.
    assert_eq!(run["status"], serde_json::json!({ "302": 60 }));
    assert_eq!(nginx.answered(nginx.plain, 60), [("HTTP/1.1 - 302".to_owned(), 60)].into());
    // Without a scenario, redirects are responses, and the summary says that they are not followed.
    let output = load(&format!("{base}/moved"), &FEW);
    assert!(
        summary(&output).contains("20 of 20 responses; redirects are not followed"),
        "{}",
        summary(&output)
    );
}

#[test]
fn public_addresses_are_not_loaded_unasked() {
    let directory = tempfile::tempdir().unwrap();
    let (allowed, url) = (directory.path().join("allow"), "http://93.184.216.34/");
    std::fs::write(&allowed, "# ours\n93.184.216.0/24\n").unwrap();
    let allowed = allowed.display().to_string();
    let run = |flags: &[&str]| {
        let mut command = headroom(&[&["load", url], flags].concat());
        // Not the hosts that whoever runs the tests has allowed.
        command.env("XDG_CONFIG_HOME", directory.path()).output().unwrap()
    };
    let begun = Instant::now();
    // The same without --dry-run: the refusal comes before any packet.
    for flags in
        [&["-r", "100/s"][..], &["-r", "100/s", "--dry-run"], &["-c", "1"], &["--stage", "1m:..51/s"]]
    {
        let output = run(flags);
        let said = refused(&output);
        assert!(
            said.contains("93.184.216.34") && said.contains("--allow-host 93.184.216.34"),
            "{flags:?}: {said}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    for flags in [
        &["-r", "50/s"][..],
        &["-r", "100/s", "--allow-host", "93.184.216.34"],
        &["-r", "100/s", "--allow-host", "93.184.0.0/16"],
        &["-r", "100/s", "--allow-file", &allowed],
    ] {
        let output = run(&[flags, &["--dry-run"]].concat());
        assert!(summary(&output).contains("93.184.216.34:80"), "{flags:?}");
    }
}
