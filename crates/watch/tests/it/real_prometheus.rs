use crate::peers::peer;
use measure::{Accounting, Cell, Histogram, Outcome, Second};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use units::Rate;
use watch::{Endpoint, LoadSeries, Now, RemoteWrite, Source, Watcher};

#[test]
fn what_is_written_can_be_watched() {
    let Some(program) = peer("prometheus") else { return };
    let (_server, address, _folder) = Server::start(&program);
    let base = format!("http://{address}");

    let writer = RemoteWrite::new(Endpoint::new(&format!("{base}/api/v1/write")).unwrap());
    let mut load = LoadSeries::new("7");
    let mut times = Histogram::new();
    (0..100).for_each(|_| times.record(Duration::from_millis(40)));
    let cells = vec![Cell { endpoint: 0, outcome: Outcome::Success, times: times.sparse() }];
    let second = Second { accounting: Accounting::default(), cells, ..Second::default() };
    let now = SystemTime::now();
    for ago in [2, 1, 0] {
        let at = now - Duration::from_secs(ago);
        let offered = Rate::per_second_of(100.0);
        let endpoints = ["the \"search\"".to_owned()];
        writer.push(load.samples(&Now { at, added: &second, endpoints: &endpoints, in_flight: 4, offered }));
    }
    let written = writer.close(Duration::from_secs(20));
    assert_eq!((written.dropped, written.reason), (0, None));
    assert!(written.sent > 60, "{}", written.sent);

    let queries = [
        r#"requests=headroom_load_requests_total{run="7",endpoint="the \"search\"",outcome="success"}"#,
        r#"p99=headroom_load_response_time_quantile_seconds{quantile="0.99"}"#,
        "rate=sum(headroom_load_offered_rate)",
        "quantile=histogram_quantile(0.5, sum by (le) (headroom_load_response_time_seconds_bucket))",
        "nothing=no_such_metric",
        "several=headroom_load_response_time_seconds_bucket",
        "wrong=sum(",
    ];
    let queries = queries.iter().map(|query| query.parse().unwrap()).collect();
    let begun = Instant::now();
    let source = Source::prometheus(&Endpoint::new(&base).unwrap(), queries);
    let watcher = Watcher::start(vec![source], Duration::from_millis(200), begun);
    while watcher.so_far().iter().any(|watched| watched.seen().is_none() && watched.missing() == 0) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", watcher.so_far());
        sleep(Duration::from_millis(20));
    }
    let series = watcher.stop();
    let last = |at: usize| series[at].seen().unwrap().last;
    assert_eq!(last(0), 300.0);
    assert!((last(1) - 0.04).abs() < 0.001, "{}", last(1));
    assert_eq!(last(2), 100.0);
    assert!((0.025..=0.05).contains(&last(3)), "{}", last(3));
    let told = series.iter().map(|watched| {
        let gaps: Vec<&str> = watched.gaps.keys().map(|gap| gap.name()).collect();
        format!("{}: {}", gaps.join(", "), watched.first_gap.as_deref().unwrap_or_default())
    });
    let told: Vec<String> = told.collect();
    assert!(told[4].contains("absent"), "{}", told[4]);
    assert!(told[5].contains("sum(...)"), "{}", told[5]);
    assert!(told[6].contains("status 400: invalid parameter"), "{}", told[6]);

    // After its end the run disappears from the dashboard at once, and not after five minutes.
    let writer = RemoteWrite::new(Endpoint::new(&format!("{base}/api/v1/write")).unwrap());
    writer.push(load.end(SystemTime::now()));
    assert_eq!(writer.close(Duration::from_secs(20)).dropped, 0);
    let source =
        Source::prometheus(&Endpoint::new(&base).unwrap(), vec!["headroom_load_in_flight".parse().unwrap()]);
    let watcher = Watcher::start(vec![source], Duration::from_millis(200), begun);
    while watcher.so_far()[0].missing() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", watcher.so_far());
        sleep(Duration::from_millis(20));
    }
    assert!(watcher.stop()[0].gaps.contains_key(&measure::Gap::Absent));
}

/// A Prometheus that scrapes nothing and accepts remote writes; ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start(program: &Path) -> (Self, SocketAddr, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        std::fs::write(&config, "global: {}\n").unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(program)
            .arg("--web.enable-remote-write-receiver")
            .arg(format!("--web.listen-address={address}"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server(child);
        let begun = Instant::now();
        // It listens before it is ready, and responds with 503 until then, which the writer retries.
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{} does not listen", program.display());
            assert!(server.0.try_wait().unwrap().is_none(), "{} ended", program.display());
            sleep(Duration::from_millis(50));
        }
        (server, address, folder)
    }
}
