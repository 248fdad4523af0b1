//! A client, a scripted server, and a gateway between them.

use control::rate::{Limit, RateSettings};
use gateway::settings::{Class, ConnectionLimits, PathMatch, Pool, RateClassSettings, Route, Settings};
use gateway::{Gateway, start};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than any step takes; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// One end of a connection that reads whole messages.
pub struct Peer {
    pub stream: TcpStream,
    input: Vec<u8>,
    seen: Option<Arc<Mutex<Vec<u8>>>>,
}

/// A request or a response.
#[derive(Debug, Clone)]
pub struct Message {
    pub head: String,
    pub body: Vec<u8>,
}

impl Message {
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    pub fn start_line(&self) -> &str {
        self.head.lines().next().unwrap_or("")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Peer {
    pub fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap(), None)
    }

    fn new(stream: TcpStream, seen: Option<Arc<Mutex<Vec<u8>>>>) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Peer { stream, input: Vec::new(), seen }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The other side may have left: the test detects that when it reads.
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Reads more; false at the end of the stream, for any reason.
    pub fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.input.extend_from_slice(&buffer[..count]);
                if let Some(seen) = &self.seen {
                    seen.lock().unwrap().extend_from_slice(&buffer[..count]);
                }
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("nothing came for {PATIENCE:?}; so far: {:?}", String::from_utf8_lossy(&self.input))
            }
            Err(_) => false,
        }
    }

    /// The next head, without its empty line.
    pub fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.input.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = self.input.split_off(end + 4);
                let head = std::mem::replace(&mut self.input, rest);
                return Some(String::from_utf8_lossy(&head[..end]).into_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    pub fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.input.len() < count {
            if !self.more() {
                return None;
            }
        }
        let rest = self.input.split_off(count);
        Some(std::mem::replace(&mut self.input, rest))
    }

    /// Everything until the end of the stream.
    pub fn until_end(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.input)
    }

    /// The bytes that arrived and were not taken yet.
    pub fn so_far(&self) -> &[u8] {
        &self.input
    }

    /// Drops the bytes that arrived.
    pub fn discard(&mut self) {
        self.input.clear();
        if let Some(seen) = &self.seen {
            seen.lock().unwrap().clear();
        }
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.input.windows(2).position(|two| two == b"\r\n") {
                let rest = self.input.split_off(end + 2);
                let line = std::mem::replace(&mut self.input, rest);
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn body(&mut self, head: &str, until_close: bool) -> Option<Vec<u8>> {
        let message = Message { head: head.to_owned(), body: Vec::new() };
        if message.header("transfer-encoding").is_some() {
            let mut body = Vec::new();
            loop {
                let size = self.line()?;
                let size = usize::from_str_radix(size.split(';').next()?, 16).ok()?;
                if size == 0 {
                    while !self.line()?.is_empty() {}
                    return Some(body);
                }
                body.extend(self.exactly(size)?);
                self.exactly(2)?;
            }
        }
        match message.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => self.exactly(length),
            None if until_close => Some(self.until_end()),
            None => Some(Vec::new()),
        }
    }

    /// The next complete request; `None` at the end of the connection.
    pub fn request(&mut self) -> Option<Message> {
        let head = self.head()?;
        let body = self.body(&head, false)?;
        Some(Message { head, body })
    }

    /// The next complete response, interim ones included; `None` if the connection ends before it is complete.
    pub fn try_answer(&mut self, to_head: bool) -> Option<Message> {
        let head = self.head()?;
        let status = Message { head: head.clone(), body: Vec::new() }.status();
        let bodiless = to_head || status < 200 || status == 204 || status == 304;
        let body = if bodiless { Vec::new() } else { self.body(&head, true)? };
        Some(Message { head, body })
    }

    pub fn answer(&mut self) -> Message {
        self.try_answer(false).expect("a response")
    }

    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> Message {
        self.send(request);
        self.answer()
    }

    /// Whether the other side has closed in an orderly way, within `PATIENCE`.
    pub fn is_closed(&mut self) -> bool {
        self.input.is_empty() && !self.more()
    }

    /// Whether the stream ends with a reset.
    pub fn is_reset(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::ConnectionReset,
            }
        }
    }

    pub fn no_more(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// A scripted server: one thread per connection.
pub struct Upstream {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<u8>>>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    /// `serve` is called with each connection and its number, from 0.
    pub fn start(serve: impl Fn(&mut Peer, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let serve = Arc::new(serve);
        let upstream = Upstream { address, seen: Arc::clone(&seen), connections: Arc::clone(&connections) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let mut peer = Peer::new(stream, Some(Arc::clone(&seen)));
                // The server has no time-out: closing idle connections is up to the gateway.
                peer.stream.set_read_timeout(None).unwrap();
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(&mut peer, number));
            }
        });
        upstream
    }

    /// Responds to every request with `answer`, for as long as the connection lasts.
    pub fn answering(answer: impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(move |peer, _| {
            while let Some(request) = peer.request() {
                peer.send(answer(&request));
            }
        })
    }

    /// Responds with `hello`, or after the milliseconds in the query (`?50`).
    pub fn hello() -> Self {
        Self::answering(|request| {
            if let Some(millis) = request
                .start_line()
                .split(' ')
                .nth(1)
                .and_then(|target| target.split_once('?'))
                .and_then(|(_, millis)| millis.parse().ok())
            {
                std::thread::sleep(Duration::from_millis(millis));
            }
            ok("hello")
        })
    }

    pub fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// What it received since the last call.
    pub fn take_seen(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.seen.lock().unwrap())).into_owned()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A plain response.
pub fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// An address that refuses connections.
pub fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

pub fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A gateway with one route that matches everything.
pub fn settings(instances: &[SocketAddr]) -> Settings {
    Settings {
        admin: Some(loopback().into()),
        limits: ConnectionLimits { drain_timeout: Duration::from_secs(5), ..Default::default() },
        pools: vec![Pool::new("pool", instances.to_vec())],
        routes: vec![route("all", PathMatch::Prefix("/".to_owned()))],
        ..Settings::new(loopback())
    }
}

/// A rate of requests a second; `backlog` requests may wait, for longer than any test takes.
pub fn rate(per_second: &str, burst: u32, backlog: u32) -> RateSettings {
    let per_second = Some(Limit { rate: per_second.parse().unwrap(), burst });
    let longest_wait = if backlog > 0 { PATIENCE } else { Duration::ZERO };
    RateSettings { per_second, per_minute: None, backlog, longest_wait }
}

/// Makes the rate class `rate` always apply to the one route.
pub fn under_rate(mut settings: Settings, rate: impl Into<RateClassSettings>) -> Settings {
    settings.rate_classes = vec![Class::new("rate", rate)];
    settings.routes[0].rate_class = Some(0);
    settings
}

pub fn route(name: &str, path: PathMatch) -> Route {
    Route::new(name, path, 0)
}

/// A gateway in front of one upstream.
pub fn before(upstream: &Upstream) -> Gateway {
    started(settings(&[upstream.address]))
}

pub fn started(settings: Settings) -> Gateway {
    start(settings).unwrap()
}

pub fn client(gateway: &Gateway) -> Peer {
    Peer::connect(gateway.address())
}

/// Waits until the condition holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The response for an admin path.
pub fn admin(gateway: &Gateway, path: &str) -> Message {
    let mut peer = Peer::connect(gateway.admin_address().unwrap());
    peer.ask(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

/// The response to a request with JSON to the admin listener.
pub fn change_admin(gateway: &Gateway, method: &str, path: &str, body: &str) -> Message {
    let mut peer = Peer::connect(gateway.admin_address().unwrap());
    peer.ask(format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// The value of a sample on the metrics page, such as `headroom_shed_total{route="all",reason="rule"}`; zero if there
/// is none.
pub fn metric(gateway: &Gateway, sample: &str) -> f64 {
    let page = admin(gateway, "/metrics").text();
    page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok()).unwrap_or(0.0)
}

pub fn eventually_metric(gateway: &Gateway, sample: &str, expected: f64) {
    let mut found = f64::NAN;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        found = metric(gateway, sample);
        if found == expected {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{sample} is {found}, expected {expected}");
}
