//! Queries its sources at a constant interval, each in a thread of its own, so that a slow one delays only itself.

use crate::endpoint::{Client, Endpoint};
use crate::exposition::{Said, Selector};
use crate::query;
use crate::source::{Query, Source};
use measure::{Gap, Watched};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use units::Timestamp;

/// Sources that are being queried.
#[derive(Debug)]
pub struct Watcher {
    /// The series of each source, in the order of the sources.
    series: Vec<Arc<Mutex<Vec<Watched>>>>,
    /// Dropped to end the threads.
    ends: Vec<Sender<()>>,
}

impl Watcher {
    /// Queries each source now, then once every `every` (at least [`Watcher::FASTEST`]); times count from `begun`, the
    /// start of the run.
    pub fn start(sources: Vec<Source>, every: Duration, begun: Instant) -> Self {
        let every = every.max(Self::FASTEST);
        let mut watcher = Watcher { series: Vec::new(), ends: Vec::new() };
        for source in sources {
            let mut asker = Asker::new(source, begun);
            let series = Arc::new(Mutex::new(asker.empty_series()));
            let (end, ended) = channel();
            watcher.series.push(Arc::clone(&series));
            watcher.ends.push(end);
            let spawned = thread::Builder::new()
                .name("watch".to_owned())
                .spawn(move || watch(&mut asker, &series, every, &ended));
            if let (Err(error), Some(series)) = (spawned, watcher.series.last()) {
                let detail = format!("no thread to ask in: {error}");
                locked(series).iter_mut().for_each(|watched| watched.gap(Gap::Unreachable, &detail));
            }
        }
        watcher
    }

    /// The shortest interval.
    pub const FASTEST: Duration = Duration::from_millis(100);

    /// All series so far, in the order of the sources.
    pub fn so_far(&self) -> Vec<Watched> {
        self.series.iter().flat_map(|series| locked(series).clone()).collect()
    }

    /// Stops querying and returns all series. It does not wait for a pending response.
    pub fn stop(self) -> Vec<Watched> {
        drop(self.ends);
        self.series.iter().flat_map(|series| std::mem::take(&mut *locked(series))).collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The lock holders only push values: after a panic the data is complete.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(asker: &mut Asker, series: &Mutex<Vec<Watched>>, every: Duration, ended: &Receiver<()>) {
    let client = Client::new(every.clamp(TIMEOUT_MIN, TIMEOUT_MAX));
    let mut due = Instant::now();
    loop {
        let answers = asker.ask(&client);
        // After the end the series are gone, and this response is not needed.
        for (watched, answer) in locked(series).iter_mut().zip(answers) {
            answer.enter(watched);
        }
        due += every;
        let late = Instant::now().saturating_duration_since(due).as_nanos() / every.as_nanos();
        let late = u32::try_from(late).unwrap_or(u32::MAX);
        if late > 0 {
            due += every.saturating_mul(late);
            for watched in locked(series).iter_mut() {
                watched.gaps(Gap::Late, u64::from(late), "the previous response took too long");
            }
        }
        match ended.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A source with its previous values.
#[derive(Debug)]
struct Asker {
    source: Source,
    begun: Instant,
    /// For each selector of an exposition.
    before: Vec<Option<(Said, Instant)>>,
}

/// The result of querying one series.
enum Answered {
    Said(Timestamp, f64, measure::Reading),
    Missing(Gap, String),
    /// A rate needs two samples.
    NotYet(measure::Reading),
}

impl Answered {
    fn enter(self, watched: &mut Watched) {
        match self {
            Answered::Said(at, value, reading) => {
                watched.reading = reading;
                watched.record(at, value);
            }
            Answered::Missing(gap, detail) => watched.gap(gap, &detail),
            Answered::NotYet(reading) => watched.reading = reading,
        }
    }
}

impl Asker {
    fn new(source: Source, begun: Instant) -> Self {
        let before = match &source {
            Source::Prometheus { .. } => Vec::new(),
            Source::Metrics { selectors, .. } => vec![None; selectors.len()],
        };
        Asker { source, begun, before }
    }

    fn empty_series(&self) -> Vec<Watched> {
        match &self.source {
            Source::Prometheus { queries, .. } => {
                queries.iter().map(|query| Watched::new(&query.name, &query.text)).collect()
            }
            Source::Metrics { endpoint, selectors } => {
                let name = |selector: &Selector| Watched::new(selector.to_string(), endpoint.url());
                selectors.iter().map(name).collect()
            }
        }
    }

    fn ask(&mut self, client: &Client) -> Vec<Answered> {
        match &self.source {
            Source::Prometheus { endpoint, queries } => {
                queries.iter().map(|query| ask_query(client, endpoint, query, self.begun)).collect()
            }
            Source::Metrics { endpoint, selectors } => {
                let asked = Instant::now();
                let text = match client.get(endpoint, &[]) {
                    Ok(answer) if answer.status == 200 => Ok(answer.body),
                    Ok(answer) => Err((Gap::Refused, format!("status {}", answer.status))),
                    Err(error) => Err((Gap::Unreachable, error)),
                };
                let at = Timestamp::ZERO + asked.saturating_duration_since(self.begun);
                let read = |(selector, before): (&Selector, &mut Option<(Said, Instant)>)| {
                    let said = text.as_ref().map_err(Clone::clone).and_then(|text| selector.read(text));
                    match said {
                        Err((gap, detail)) => Answered::Missing(gap, detail),
                        Ok(said) => sample(said, asked, at, before),
                    }
                };
                selectors.iter().zip(&mut self.before).map(read).collect()
            }
        }
    }
}

fn ask_query(client: &Client, endpoint: &Endpoint, query: &Query, begun: Instant) -> Answered {
    let asked = Instant::now();
    let answer = client.get(endpoint, &[("query", &query.text)]);
    match answer.map_err(|error| (Gap::Unreachable, error)).and_then(|answer| query::read(&answer)) {
        Ok(value) => {
            let at = Timestamp::ZERO + asked.saturating_duration_since(begun);
            Answered::Said(at, value, measure::Reading::Value)
        }
        Err((gap, detail)) => Answered::Missing(gap, detail),
    }
}

fn sample(said: Said, asked: Instant, at: Timestamp, before: &mut Option<(Said, Instant)>) -> Answered {
    let seconds = |then: Instant| asked.saturating_duration_since(then).as_secs_f64();
    let earlier = before.replace((said, asked)).map(|(said, then)| (said, seconds(then)));
    match said.since(earlier) {
        Ok(Some(value)) => Answered::Said(at, value, said.reading()),
        Ok(None) => Answered::NotYet(said.reading()),
        Err(gap) => Answered::Missing(gap, "the counter is lower than before".to_owned()),
    }
}

/// The time-out is the interval between samples, within these bounds.
const TIMEOUT_MIN: Duration = Duration::from_secs(1);
const TIMEOUT_MAX: Duration = Duration::from_secs(5);
