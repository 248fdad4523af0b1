use crate::client::Client;
use sample::{Config, Running, Service};
use std::process::Command;
use units::Bytes;

fn service() -> Running {
    let mut config = Config { routes: vec!["/slow wait=30ms".parse().unwrap()], ..Config::default() };
    config.otherwise.body = Bytes::new(5);
    Service::start(config).unwrap()
}

#[test]
fn serves_many_requests_on_one_connection() {
    let service = service();
    let mut client = Client::connect(service.addr());
    for _ in 0..100 {
        let response = client.get("/?q=1").unwrap();
        assert_eq!((response.status, response.body.as_slice()), (200, &b"headr"[..]));
        assert!(response.head.contains("Server-Timing: queue;dur="), "{}", response.head);
    }
    assert_eq!(service.stop().unwrap().served, 100);
}

#[test]
fn answers_pipelined_requests_in_their_order() {
    let service = service();
    let mut client = Client::connect(service.addr());
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
    client.send(&(get("/slow") + &get("/") + &get("/slow") + &get("/")));
    let lengths: Vec<usize> = (0..4).map(|_| client.response().unwrap().body.len()).collect();
    assert_eq!(lengths, [128, 5, 128, 5]);
    assert_eq!(client.get("/").unwrap().status, 200, "the connection is still good");
}

#[test]
fn closes_after_http_1_0_and_when_asked() {
    let service = service();
    for request in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"] {
        let mut client = Client::connect(service.addr());
        client.send(request);
        let response = client.response().unwrap();
        assert!(response.head.contains("Connection: close"), "{}", response.head);
        assert!(client.is_closed(), "{request}");
    }
    let mut kept = Client::connect(service.addr());
    for _ in 0..2 {
        kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert!(kept.response().unwrap().head.contains("Connection: keep-alive"));
    }
}

#[test]
fn head_has_the_length_but_no_body() {
    let service = service();
    let mut client = Client::connect(service.addr());
    client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(client.response_to("HEAD").unwrap().head.contains("Content-Length: 5\r\n"));
    assert_eq!(client.get("/").unwrap().body.len(), 5, "nothing was sent between the two responses");
}

#[test]
fn reads_and_discards_bodies_that_come_in_pieces() {
    let service = service();
    let mut client = Client::connect(service.addr());
    let size = 300_000;
    client.send(&format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n"));
    for _ in 0..3 {
        client.send(&"x".repeat(size / 3));
    }
    assert_eq!(client.response().unwrap().status, 200);
    assert_eq!(client.get("/").unwrap().status, 200, "the body was not taken for a request");
}

#[test]
fn says_continue_to_a_client_that_waits_for_it() {
    let service = service();
    let mut client = Client::connect(service.addr());
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(client.response().unwrap().status, 100);
    client.send("abc");
    assert_eq!(client.response().unwrap().status, 200);
}

#[test]
fn refuses_what_it_cannot_read_and_closes() {
    let service = service();
    let large = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\nx", 413),
        (large.as_str(), 431),
    ] {
        let mut client = Client::connect(service.addr());
        client.send(request);
        let found = client.response().map(|response| response.status);
        assert_eq!(found, Some(status), "{}", &request[..request.len().min(60)]);
        assert!(client.is_closed());
    }
    assert_eq!(service.stop().unwrap().refused, 6);
}

#[test]
fn curl_understands_it() {
    let service = service();
    let url = format!("http://{}/", service.addr());
    let mut curl = Command::new("curl");
    curl.args([
        "-sS",
        "--max-time",
        "5",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code} %{size_download} %{num_connects};",
    ]);
    // If there is no curl, only the tests with raw sockets run.
    let Ok(output) = curl.args([&url, "-o", "/dev/null", &url]).output() else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "200 5 1;200 5 0;", "two requests on one connection");
}
