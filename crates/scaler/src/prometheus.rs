//! Requests from a Prometheus: rates of queries, added up between two of them.
//!
//! ## Why rates
//! The sum of the counters of some instances falls when one of them goes away, at each scale-in. `rate(...)` knows that; so a query
//! gives requests a second, and what it gave holds until the next one. Policies see it as late as the span of the
//! rate, which the scaler cannot know.

use crate::settings::{Gateway, Prometheus as Settings};
use crate::source::{GatewaySource, PoolInstance, Source, SourceError, Times, Totals};
use std::time::{Duration, Instant};
use watch::{Endpoint, Prometheus, WrongEndpoint};

/// The requests of a service, as a Prometheus has them.
#[derive(Debug)]
pub struct PrometheusSource {
    server: Prometheus,
    settings: Settings,
    /// Without credentials.
    url: String,
    asked: Option<Instant>,
    /// What the last queries gave, or why they gave nothing.
    rates: Result<Rates, String>,
    /// The gateway that knows the instances; none: a target does.
    gateway: Option<GatewaySource>,
    instances: Vec<PoolInstance>,
    added: Option<Instant>,
    sums: Sums,
}

/// What is true a second.
#[derive(Debug, Clone, PartialEq, Default)]
struct Rates {
    requests: f64,
    errors: f64,
    in_flight: f64,
    /// Response times with their requests a second.
    times: Vec<(f64, f64)>,
}

#[derive(Debug, Default)]
struct Sums {
    requests: f64,
    errors: f64,
    /// Whole requests at each time; what is left of one, and how many there were.
    times: Vec<(f64, u64)>,
    left: f64,
    drawn: u64,
}

impl Sums {
    /// Adds requests at times with these rates. A rate says how many there are and not when: a whole request is at a time that
    /// is drawn by the rates, evenly over many requests, so that few requests are not all fast, or many at once slow.
    fn add_times(&mut self, rates: &[(f64, f64)], seconds: f64) {
        let all: f64 = rates.iter().map(|(_, rate)| rate).sum();
        self.left += all * seconds;
        let mut whole = self.left.floor();
        self.left -= whole;
        let mut add = |at: f64, count: u64| match self.times.iter_mut().find(|(known, _)| *known == at) {
            Some((_, known)) => *known += count,
            None => self.times.push((at, count)),
        };
        let many = whole;
        for (at, rate) in rates.iter().filter(|_| many > DRAWN) {
            let count = (many * rate / all).floor();
            whole -= count;
            add(*at, count as u64);
        }
        for _ in 0..whole as u64 {
            // The golden ratio spreads its multiples evenly.
            let mut drawn = (self.drawn as f64 * 0.618_033_988_749_895).fract() * all;
            self.drawn += 1;
            let at = rates.iter().find(|(_, rate)| {
                drawn -= rate;
                drawn < 0.0
            });
            if let Some((at, _)) = at.or(rates.last()) {
                add(*at, 1);
            }
        }
    }
}

impl PrometheusSource {
    /// A source that was not read yet. A gateway tells the instances, if there is one.
    ///
    /// # Errors
    /// The URL is not one, or a token cannot be read.
    pub fn new(settings: &Settings, gateway: Option<&Gateway>) -> Result<Self, SourceError> {
        let failed =
            |why: WrongEndpoint| SourceError::Prometheus { url: String::new(), why: why.to_string() };
        let mut endpoint = Endpoint::new(&settings.url).map_err(failed)?;
        if let Some(path) = &settings.token_file {
            let token = std::fs::read_to_string(path)
                .map_err(|source| SourceError::File { path: path.clone(), source })?;
            let value = format!("Bearer {}", token.trim());
            endpoint = endpoint.with_header("Authorization", &value).map_err(failed)?;
        }
        Ok(PrometheusSource {
            server: Prometheus::new(&endpoint, LONGEST),
            settings: settings.clone(),
            url: endpoint.url().to_owned(),
            asked: None,
            rates: Ok(Rates::default()),
            gateway: gateway.map(GatewaySource::new).transpose()?,
            instances: Vec::new(),
            added: None,
            sums: Sums::default(),
        })
    }

    fn ask(&self) -> Result<Rates, String> {
        let Settings { requests, errors, in_flight, times, .. } = &self.settings;
        let number =
            |key: &str, text: &str| self.server.number(text).map_err(|why| format!("`{key}`: {why}"));
        let known = |key: &str, text: &str| {
            let nothing = || format!("`{key}`: the query gave no series; is its metric scraped?");
            number(key, text)?.ok_or_else(nothing)
        };
        let found = known("requests", requests)?;
        // A service that never had an error has no series of them.
        let errors = errors.as_ref().map_or(Ok(None), |text| number("errors", text))?.unwrap_or_default();
        let in_flight = in_flight.as_ref().map_or(Ok(0.0), |text| known("in_flight", text))?;
        let by_bound = match times {
            None => Vec::new(),
            Some(text) => self.server.by_bound(text).map_err(|why| format!("`times`: {why}"))?,
        };
        if times.is_some() && by_bound.is_empty() {
            return Err("`times`: the query gave no series; is its metric scraped?".to_owned());
        }
        Ok(Rates {
            requests: found.max(0.0),
            errors: errors.clamp(0.0, found.max(0.0)),
            in_flight: in_flight.max(0.0),
            times: spread(&by_bound),
        })
    }

    /// Adds what the rates have made since the last time.
    fn add_up(&mut self, now: Instant) {
        let since = self.added.replace(now).map_or(Duration::ZERO, |added| now.duration_since(added));
        let Ok(rates) = &self.rates else { return };
        let seconds = since.as_secs_f64();
        self.sums.requests += rates.requests * seconds;
        self.sums.errors += rates.errors * seconds;
        self.sums.add_times(&rates.times, seconds);
    }
}

impl Source for PrometheusSource {
    fn read(&mut self) -> Result<Totals, SourceError> {
        if self.asked.is_none_or(|asked| asked.elapsed() >= self.settings.every) {
            self.add_up(Instant::now());
            self.rates = self.ask();
            self.asked = Some(Instant::now());
            if let Some(gateway) = &mut self.gateway {
                self.instances = gateway.read()?.instances;
            }
        }
        self.add_up(Instant::now());
        let rates = self
            .rates
            .as_ref()
            .map_err(|why| SourceError::Prometheus { url: self.url.clone(), why: why.clone() })?;
        let Sums { requests, errors, times, .. } = &self.sums;
        Ok(Totals {
            arrived: *requests as u64,
            answered: *requests as u64,
            errors: *errors as u64,
            shed: 0,
            failed: 0,
            in_flight: rates.in_flight.round() as u64,
            waiting: 0,
            // Counts wrap as those of a gateway do.
            response_times: Times {
                buckets: times.iter().map(|(at, count)| (*at, (*count % (1 << 32)) as u32)).collect(),
            },
            upstream_sum_s: 0.0,
            instances: self.instances.clone(),
        })
    }
}

/// The requests of a histogram's buckets at times within them: evenly, as `histogram_quantile` assumes. Those above the last
/// bound are at it, which is all that is known of them.
fn spread(by_bound: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    let (mut lowest, mut before) = (0.0, 0.0);
    for &(bound, rate) in by_bound {
        let within = (rate - before).max(0.0);
        let parts = if bound.is_finite() { PARTS } else { 1 };
        for part in 0..parts {
            let at = match bound.is_finite() {
                true => lowest + (bound - lowest) * (f64::from(part) + 0.5) / f64::from(parts),
                false => lowest,
            };
            if within > 0.0 && at > 0.0 {
                all.push((at, within / f64::from(parts)));
            }
        }
        (lowest, before) = (if bound.is_finite() { bound } else { lowest }, rate.max(before));
    }
    all
}

/// Times within a bucket.
const PARTS: u32 = 10;

/// Of more requests at once most have times by the rates, without a draw.
const DRAWN: f64 = 1_000.0;

/// The longest time of a query.
const LONGEST: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_histogram_is_spread_within_its_buckets() {
        let found = spread(&[(0.1, 10.0), (0.2, 30.0), (f64::INFINITY, 31.0)]);
        assert_eq!(found.len(), 21);
        let rate = |from: f64, to: f64| {
            found.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, rate)| rate).sum::<f64>()
        };
        assert!((rate(0.0, 0.1) - 10.0).abs() < 1e-9 && (rate(0.1, 0.15) - 10.0).abs() < 1e-9);
        assert_eq!(found.last(), Some(&(0.2, 1.0)));
        assert!(spread(&[]).is_empty() && spread(&[(f64::INFINITY, 0.0)]).is_empty());
    }

    #[test]
    fn few_requests_have_the_times_of_many() {
        // Two a second, of which 3 % are slow, in steps of a tenth of a second.
        let rates = [(0.1, 1.94), (2.0, 0.06)];
        let mut sums = Sums::default();
        let mut slow = Vec::new();
        for step in 0..10_000 {
            let before = sums.times.clone();
            sums.add_times(&rates, 0.1);
            let of =
                |times: &[(f64, u64)]| times.iter().find(|(at, _)| *at == 2.0).map_or(0, |(_, count)| *count);
            if of(&sums.times) > of(&before) {
                slow.push(step);
            }
        }
        let all: u64 = sums.times.iter().map(|(_, count)| count).sum();
        assert!((1_999..=2_000).contains(&all), "{all}");
        assert!((55..=65).contains(&slow.len()), "{}", slow.len());
        assert!(slow.windows(2).all(|pair| pair[1] - pair[0] > 50), "one after the other: {slow:?}");
        let mut many = Sums::default();
        many.add_times(&rates, 1e6);
        assert_eq!(many.times.iter().map(|(_, count)| count).sum::<u64>(), 2_000_000);
    }

    /// A server that gives what is set for each query; none: 503.
    fn server(answer: Arc<Mutex<Option<&'static str>>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let result = *answer.lock().unwrap();
                let (status, body) = match result {
                    Some(result) => {
                        ("200 OK", format!(r#"{{"data":{{"resultType":"vector","result":[{result}]}}}}"#))
                    }
                    None => ("503 Service Unavailable", r#"{"error":"starting"}"#.to_owned()),
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
            }
        });
        url
    }

    #[test]
    fn rates_are_added_up_while_they_are_known() {
        let answer = Arc::new(Mutex::new(Some(r#"{"metric":{},"value":[1,"2000"]}"#)));
        let settings = Settings {
            url: server(Arc::clone(&answer)),
            token_file: None,
            requests: "rate".to_owned(),
            errors: None,
            in_flight: Some("gauge".to_owned()),
            times: None,
            every: Duration::from_millis(50),
        };
        let mut source = PrometheusSource::new(&settings, None).unwrap();
        let first = source.read().unwrap();
        assert_eq!(first.in_flight, 2000);
        std::thread::sleep(Duration::from_millis(200));
        let second = source.read().unwrap();
        let grown = second.arrived - first.arrived;
        assert!(grown >= 400, "{grown}: 2000 a second for at least 0.2 s");
        *answer.lock().unwrap() = None;
        std::thread::sleep(Duration::from_millis(60));
        let error = source.read().unwrap_err().to_string();
        assert!(
            error.contains("`requests`: status 503: starting") && error.contains("http://127.0.0.1"),
            "{error}"
        );
        *answer.lock().unwrap() = Some("");
        std::thread::sleep(Duration::from_millis(60));
        let error = source.read().unwrap_err().to_string();
        assert!(error.contains("the query gave no series"), "{error}");
    }
}
