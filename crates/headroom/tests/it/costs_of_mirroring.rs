use crate::disturbance::again_if_disturbed;
use crate::programs::{Server, beside_one, free_addresses, headroom, measured, refused, text};
use crate::schema::check;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;

/// An experiment on the gateway with this admin listener.
fn experiment(folder: &Path, admin: &str, more: &str, flags: &[&str]) -> Output {
    let path = folder.join("experiment.yaml");
    std::fs::write(&path, format!("experiment: copies\nmirroring: {admin}\n{more}")).unwrap();
    headroom(&[&["experiment", path.to_str().unwrap()], flags].concat()).output().unwrap()
}

/// A gateway in front of a service, with a mirror to another one unless `mirror` is empty.
fn gateway(
    folder: &Path,
    listen: SocketAddr,
    admin: SocketAddr,
    [service, shadow]: [SocketAddr; 2],
    mirror: &str,
) -> Server {
    let path = folder.join("gateway.yaml");
    // A busy machine must not trip the breaker here.
    let (pool, mirrors) = match mirror {
        "" => (String::new(), ""),
        _ => (
            format!(", shadow: {{ instances: ['{shadow}'] }}"),
            "mirrors: { next: { pool: shadow, fraction: 100%, breaker: { trip_at: 10s } } }\n",
        ),
    };
    let settings = format!(
        "listen: {listen}\nadmin: {admin}\npools: {{ service: {{ instances: ['{service}'] }}{pool} }}\n{mirrors}\
         routes: [{{ path_prefix: /, pool: service{mirror} }}]\n"
    );
    std::fs::write(&path, settings).unwrap();
    Server::start(headroom(&["gateway", path.to_str().unwrap()]), listen)
}

fn sample(address: SocketAddr) -> Server {
    Server::start(headroom(&["sample-service", "--listen", &address.to_string(), "--wait", "2ms"]), address)
}

#[test]
fn the_cost_of_copies_is_measured_by_pausing_them_and_no_request_fails() {
    let _slot = beside_one();
    again_if_disturbed(|| {
        let [listen, admin, service, shadow]: [SocketAddr; 4] = free_addresses();
        let _services = [service, shadow].map(sample);
        let folder = tempfile::tempdir().unwrap();
        let _gateway = gateway(folder.path(), listen, admin, [service, shadow], ", mirror: next");
        let url = format!("http://{listen}/");
        let load =
            headroom(&["load", &url, "-r", "300/s", "-d", "13s", "--json", "--no-doctor"]).spawn().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        let ledger = ["--ledger", ledger.to_str().unwrap()];
        let more = "time: 11s\nblock: 200ms\nwarm_up: 1s\nends: time\nharm: 100%\n";
        let flags = [&["--json"], &ledger[..]].concat();
        let output = experiment(folder.path(), &admin.to_string(), more, &flags);
        let story = text(&output.stderr).to_owned();
        let load = measured(&load.wait_with_output().unwrap());
        let account = &load["accounting"];
        assert_eq!(account["answered"], account["scheduled"], "{account:#}");
        assert_eq!(output.status.code(), Some(0), "{story}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let schema = serde_json::from_str(documents::experiment::SCHEMA).unwrap();
        assert_eq!(check(&schema, &found), Vec::<String>::new());
        let first = &found["verdicts"][0];
        // Each request is copied: that the gateway needs more for it shows even in a few short blocks.
        assert_eq!(
            (first["measure"].as_str(), first["primary"].as_bool()),
            (Some("processor_time"), Some(true))
        );
        assert!(first["effect"].as_f64().unwrap() > 0.05, "{found:#}\n{story}");
        let cost = &found["mirroring"];
        assert!((cost["copies_per_request"].as_f64().unwrap() - 1.0).abs() < 0.2, "{cost:#}");
        assert!((cost["responses_per_second"].as_f64().unwrap() - 300.0).abs() < 60.0, "{cost:#}");
        assert!(cost["cores"]["value"].as_f64().unwrap() > 0.0 && cost["resumed"] == true, "{cost:#}");
        assert_eq!((&found["design"], &cost["mirrors"][0]), (&"slices".into(), &"next".into()));
        let log = headroom(&[&["log", "--format", "csv"], &ledger[..]].concat()).output().unwrap();
        assert!(text(&log.stdout).contains("mirroring: off -> on"), "{}", text(&log.stdout));
    });
}

#[test]
fn what_is_no_gateway_with_copies_is_refused() {
    let [listen, admin, service, shadow]: [SocketAddr; 4] = free_addresses();
    let folder = tempfile::tempdir().unwrap();
    let nobody = experiment(folder.path(), &admin.to_string(), "", &[]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("cannot reach a gateway"), "{}", text(&nobody.stderr));
    let _service = sample(service);
    let other = experiment(folder.path(), &service.to_string(), "", &[]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("is it the admin listener of a gateway"), "{}", text(&other.stderr));
    let _gateway = gateway(folder.path(), listen, admin, [service, shadow], "");
    let without = experiment(folder.path(), &admin.to_string(), "", &[]);
    assert!(refused(&without).contains("has no mirror and no capture"), "{}", text(&without.stderr));
    let both = experiment(
        folder.path(),
        &admin.to_string(),
        "control: { value: 2, url: 'http://127.0.0.1:1' }\n",
        &[],
    );
    assert!(refused(&both).contains("`control` beside `mirroring`"), "{}", text(&both.stderr));
}
