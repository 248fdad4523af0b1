use crate::programs::{Server, beside_others, free_addresses, headroom, measured, text};
use serde_json::Value;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr};
use std::time::{Duration, Instant};

/// What the admin listener says of the pool.
fn pool(admin: SocketAddr) -> Value {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.write_all(b"GET /pools/service HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(&answer[answer.find('{').unwrap()..=answer.rfind('}').unwrap()]).unwrap()
}

/// A squeeze in its first trial, and the rest of what it says.
fn until_it_squeezes(file: &str) -> (Child, BufReader<ChildStderr>) {
    let mut squeeze = headroom(&["squeeze", file]).spawn().unwrap();
    let mut story = BufReader::new(squeeze.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("of the traffic") {
        // A trial has no end of its line before it has ended.
        let mut byte = [0];
        assert_eq!(story.read(&mut byte).unwrap(), 1, "it ended: {line}");
        line.push(char::from(byte[0]));
    }
    (squeeze, story)
}

#[test]
fn a_squeeze_that_is_killed_leaves_nothing_behind_and_no_request_fails() {
    let _slot = beside_others();
    let [listen, admin, instances @ ..]: [SocketAddr; 6] = free_addresses();
    let _services = instances.map(|address| {
        let sample = ["sample-service", "--listen", &address.to_string(), "--wait", "5ms"];
        Server::start(headroom(&sample), address)
    });
    let folder = tempfile::tempdir().unwrap();
    let gateway = folder.path().join("gateway.yaml");
    let named: Vec<String> = instances.iter().map(ToString::to_string).collect();
    let quoted: Vec<String> = named.iter().map(|address| format!("'{address}'")).collect();
    let settings = format!(
        "listen: {listen}\nadmin: {admin}\npools: {{ service: {{ instances: [{}] }} }}\n\
         routes: [{{ path_prefix: /, pool: service }}]\n",
        quoted.join(", ")
    );
    std::fs::write(&gateway, settings).unwrap();
    let _gateway = Server::start(headroom(&["gateway", gateway.to_str().unwrap()]), listen);
    let file = folder.path().join("squeeze.yaml");
    let text_of = format!("squeeze: it\ngateway: {admin}\npool: service\ngoal: p(95)<500ms\n");
    std::fs::write(&file, text_of).unwrap();
    let file = file.to_str().unwrap();
    let url = format!("http://{listen}/");
    let load = headroom(&["load", &url, "-r", "100/s", "-d", "22s", "--json"]).spawn().unwrap();
    let (mut squeeze, _story) = until_it_squeezes(file);
    let held = pool(admin);
    assert!(held["squeeze"]["holder"].as_str().unwrap().contains("squeeze it"), "{held:#}");
    assert_eq!(held["squeeze"]["instances"][0], named[0]);
    // Nobody else may squeeze the pool meanwhile.
    let second = headroom(&["squeeze", file]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("is squeezed by headroom squeeze it"), "{}", text(&second.stderr));
    squeeze.kill().unwrap();
    squeeze.wait().unwrap();
    let killed = Instant::now();
    while !pool(admin)["squeeze"].is_null() {
        assert!(killed.elapsed() < Duration::from_secs(10), "it is still squeezed");
        std::thread::sleep(Duration::from_millis(100));
    }
    let requests = || -> Vec<u64> {
        let page = pool(admin);
        page["instances"].as_array().unwrap().iter().map(|one| one["requests"].as_u64().unwrap()).collect()
    };
    let before = requests();
    std::thread::sleep(Duration::from_secs(1));
    let new: Vec<u64> = requests().iter().zip(before).map(|(now, before)| now - before).collect();
    assert!(new.iter().all(|count| (10..60).contains(count)), "{new:?}");
    let load = measured(&load.wait_with_output().unwrap());
    let account = &load["accounting"];
    assert_eq!(account["answered"], account["scheduled"], "{account:#}");
}

#[test]
fn instances_that_get_copies_are_squeezed_and_live_requests_do_not_notice() {
    let _slot = beside_others();
    let [live, service, shadow, admin, instances @ ..]: [SocketAddr; 6] = free_addresses();
    let folder = tempfile::tempdir().unwrap();
    let gateway = |name: &str, settings: String, listen: SocketAddr| {
        let file = folder.path().join(name);
        std::fs::write(&file, settings).unwrap();
        Server::start(headroom(&["gateway", file.to_str().unwrap()]), listen)
    };
    let sample = |address: SocketAddr| {
        Server::start(
            headroom(&["sample-service", "--listen", &address.to_string(), "--wait", "5ms"]),
            address,
        )
    };
    let _service = sample(service);
    let _instances = instances.map(sample);
    let [one, other] = instances;
    let of_copies = format!(
        "listen: {shadow}\nadmin: {admin}\npools: {{ service: {{ instances: ['{one}', '{other}'] }} }}\n\
         routes: [{{ path_prefix: /, pool: service }}]\n"
    );
    let _copies = gateway("copies.yaml", of_copies, shadow);
    let of_live = format!(
        "listen: {live}\npools: {{ service: {{ instances: ['{service}'] }}, copies: {{ instances: ['{shadow}'] }} }}\n\
         mirrors: {{ all: {{ pool: copies, fraction: 100%, breaker: {{ trip_at: 10s }} }} }}\n\
         routes: [{{ path_prefix: /, pool: service, mirror: all }}]\n"
    );
    let _live = gateway("live.yaml", of_live, live);
    let file = folder.path().join("squeeze.yaml");
    let wanted = format!("squeeze: copies\ngateway: {admin}\npool: service\ngoal: p(95)<500ms\nstep: 50%\n");
    std::fs::write(&file, wanted).unwrap();
    let load = headroom(&["load", &format!("http://{live}/"), "-r", "100/s", "-d", "22s", "--json"])
        .spawn()
        .unwrap();
    let (mut squeeze, _story) = until_it_squeezes(file.to_str().unwrap());
    let share = pool(admin)["squeeze"]["share"].as_f64().unwrap();
    let requests = || -> Vec<f64> {
        let page = pool(admin);
        page["instances"].as_array().unwrap().iter().map(|one| one["requests"].as_f64().unwrap()).collect()
    };
    let before = requests();
    std::thread::sleep(Duration::from_secs(3));
    let new: Vec<f64> = requests().iter().zip(before).map(|(now, before)| now - before).collect();
    let all = new.iter().sum::<f64>();
    // Those of at least two seconds, and about as many of them at the squeezed instance as the gateway says.
    assert!(all > 200.0 && (new[0] / all - share).abs() < 0.15, "{new:?} with {share}");
    squeeze.kill().unwrap();
    squeeze.wait().unwrap();
    let account = &measured(&load.wait_with_output().unwrap())["accounting"];
    assert_eq!(account["answered"], account["scheduled"], "{account:#}");
}
