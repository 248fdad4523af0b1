//! What an instance and the gateway report of themselves.

use control::scaling::controller::{Part, Requests};
use stats::Sketch;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The metrics of an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfInstance {
    /// Virtual processor time since its start, in core seconds.
    pub(super) used: f64,
    /// Time since its start, at the same instant, in seconds.
    pub(super) up: f64,
    /// Requests in progress.
    pub(super) in_flight: f64,
}

/// Reads an instance; none if it does not respond in time.
pub(super) fn instance(address: SocketAddr) -> Option<OfInstance> {
    let (_, text) = get(address, "/metrics").ok().filter(|(status, _)| *status == 200)?;
    let used = value(&text, "process_cpu_seconds_total ")?;
    let up = value(&text, "sample_uptime_seconds ")?;
    Some(OfInstance { used, up, in_flight: value(&text, "sample_requests_in_flight ")? })
}

/// The first value of a metric in Prometheus' text.
fn value(text: &str, begins: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(begins))?.trim().parse().ok()
}

/// Status and body of a response.
pub(super) fn get(address: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    // One write: a server that responds to the first part of a request and closes would reset the connection.
    stream.write_all(
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    status.map(|status| (status, body)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The requests of a window, as the controller reads them.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ended: u64,
    worked: f64,
    in_flight: f64,
    times: Sketch,
}

impl Part for Seen {
    fn add(&mut self, part: &Self, share: f64) {
        self.ended += part.ended;
        self.worked += part.worked;
        self.in_flight += share * part.in_flight;
        self.times.add(&part.times);
    }

    fn clear(&mut self) {
        self.times.clear();
        (self.ended, self.worked, self.in_flight) = (0, 0.0, 0.0);
    }

    fn requests(&self) -> Requests<'_> {
        Requests {
            // What has ended stands for what has arrived: within a second they differ by what is in flight.
            arrived: self.ended,
            ended: self.ended,
            in_flight: self.in_flight,
            worked: self.worked,
            times: &self.times,
        }
    }
}

/// The response times of the gateway by bucket, as of the last reading.
#[derive(Debug, Default)]
pub(super) struct OfGateway {
    /// The upper bounds in seconds with the number of responses within them.
    before: Vec<(f64, u64)>,
    sum: f64,
}

impl OfGateway {
    /// The responses since the last reading. Times are known by bucket only: a quantile that is compared with a bound of a
    /// bucket is exact.
    pub(super) fn read(&mut self, admin: SocketAddr, span: Duration) -> io::Result<Seen> {
        let (_, text) = get(admin, "/metrics")?;
        let mut now: Vec<(f64, u64)> = Vec::new();
        let mut sum = 0.0;
        for line in text.lines().filter_map(|line| line.strip_prefix(DURATION)) {
            let Some(number) = line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok()) else {
                continue;
            };
            if line.starts_with("_sum") {
                sum += number;
            }
            let bound = line.split("le=\"").nth(1).and_then(|rest| rest.split('"').next());
            let Some(bound) = bound.filter(|_| line.starts_with("_bucket")) else { continue };
            let bound = bound.parse().unwrap_or(f64::INFINITY);
            match now.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, count)) => *count += number as u64,
                None => now.push((bound, number as u64)),
            }
        }
        now.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut seen = Seen::default();
        let (mut below, mut passed, mut passed_before) = (0.0, 0, 0);
        for (bound, count) in &now {
            let before = self.before.iter().find(|(known, _)| known == bound).map_or(0, |(_, count)| *count);
            let new = (count - passed).saturating_sub(before - passed_before);
            let middle = if bound.is_finite() { 0.5 * (below + bound) } else { 2.0 * below };
            seen.times.record_many(middle, u32::try_from(new).unwrap_or(u32::MAX));
            seen.ended += new;
            (below, passed, passed_before) = (*bound, *count, before);
        }
        seen.worked = (sum - self.sum).max(0.0);
        seen.in_flight = seen.worked / span.as_secs_f64();
        (self.before, self.sum) = (now, sum);
        Ok(seen)
    }
}

const DURATION: &str = "http_server_request_duration_seconds";
const TIMEOUT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn serves(text: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            stream.write_all(format!("{head}{text}").as_bytes()).unwrap();
        });
        address
    }

    #[test]
    fn reads_the_processor_use_of_an_instance() {
        let address = serves(
            "# HELP x\nprocess_cpu_seconds_total 1.25\nsample_requests_in_flight 3\nsample_uptime_seconds 4\n",
        );
        let found = instance(address).unwrap();
        assert_eq!((found.used, found.in_flight, found.up), (1.25, 3.0, 4.0));
        assert!(instance(serves("other 1\n")).is_none());
    }

    #[test]
    fn reads_the_new_responses_of_each_bucket_over_all_labels() {
        let first = "http_server_request_duration_seconds_bucket{a=\"1\",le=\"0.1\"} 10\n\
                     http_server_request_duration_seconds_bucket{a=\"1\",le=\"0.25\"} 12\n\
                     http_server_request_duration_seconds_bucket{a=\"1\",le=\"+Inf\"} 12\n\
                     http_server_request_duration_seconds_sum{a=\"1\"} 1.0\n";
        let second = "http_server_request_duration_seconds_bucket{a=\"1\",le=\"0.1\"} 10\n\
                      http_server_request_duration_seconds_bucket{a=\"1\",le=\"0.25\"} 15\n\
                      http_server_request_duration_seconds_bucket{a=\"1\",le=\"+Inf\"} 16\n\
                      http_server_request_duration_seconds_bucket{a=\"2\",le=\"0.1\"} 5\n\
                      http_server_request_duration_seconds_bucket{a=\"2\",le=\"0.25\"} 5\n\
                      http_server_request_duration_seconds_bucket{a=\"2\",le=\"+Inf\"} 5\n\
                      http_server_request_duration_seconds_sum{a=\"1\"} 2.5\n";
        let mut gateway = OfGateway::default();
        let second_long = Duration::from_secs(1);
        assert_eq!(gateway.read(serves(first), second_long).unwrap().ended, 12);
        let seen = gateway.read(serves(second), second_long).unwrap();
        assert_eq!((seen.ended, seen.worked), (9, 1.5));
        let near = |share: f64, expected: f64| {
            let found = seen.times.quantile(share).unwrap();
            assert!((found / expected - 1.0).abs() < 0.05, "{share}: {found}");
        };
        near(0.3, 0.05);
        near(0.8, 0.175);
        near(1.0, 0.5);
    }
}
