use measure::{Gap, Watched};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use watch::{Source, Watcher};

#[test]
fn whom_the_system_trusts_is_asked_and_nobody_else() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("roots.pem");
    std::fs::write(&trusted, made.cert.pem()).unwrap();
    let url = format!("https://localhost:{}/metrics#up", serve(&made));

    let stranger = first_answer(&url);
    assert!(stranger.gaps.contains_key(&Gap::Unreachable), "{stranger:?}");
    assert!(stranger.first_gap.as_ref().is_some_and(|why| why.contains("certificate")), "{stranger:?}");

    // The variable applies to the whole process, and other tests of this one run at the same time.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "asks_over_tls::asked_in_a_process_of_its_own", "--ignored", "--nocapture"])
        .env("SSL_CERT_FILE", &trusted)
        .env("WATCH_TEST_URL", &url)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by the test above, with a system that trusts its server"]
fn asked_in_a_process_of_its_own() {
    let friend = first_answer(&std::env::var("WATCH_TEST_URL").unwrap());
    assert_eq!(friend.seen().map(|seen| seen.last), Some(3.0), "{friend:?}");
}

fn first_answer(url: &str) -> Watched {
    let begun = Instant::now();
    let watcher = Watcher::start(vec![Source::metrics(url).unwrap()], Duration::from_secs(1), begun);
    while watcher.so_far()[0].seen().is_none() && watcher.so_far()[0].missing() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(10));
    }
    watcher.stop().remove(0)
}

/// A server with this certificate, for as long as the test runs; returns its port.
fn serve(made: &rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), socket);
            thread::spawn(move || {
                while let Ok(1..) = stream.read(&mut [0; 4_096]) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 3\n");
                }
            });
        }
    });
    port
}
