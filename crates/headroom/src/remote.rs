//! Sends the results of a run to Prometheus while it runs.

use ::load::Progress;
use measure::{Cell, Measurement, Outcome, Second, SparseHistogram};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use units::Rate;
use watch::{Endpoint, LoadSeries, Now, RemoteWrite, Written};

/// Sends the results of one run.
pub struct Stream {
    remote: RemoteWrite,
    series: LoadSeries,
    /// The counts that were sent, for each endpoint and outcome.
    said: BTreeMap<(u32, Outcome), BTreeMap<u64, u32>>,
    unsent: u64,
    last: (u64, f64),
}

impl Stream {
    /// Sends the run with this name to `endpoint`.
    pub fn new(endpoint: Endpoint, run: String) -> Self {
        let remote = RemoteWrite::new(endpoint);
        let series = LoadSeries::new(run);
        Stream { remote, series, said: BTreeMap::new(), unsent: 0, last: (0, 0.0) }
    }

    /// Sends what was measured since the last call.
    pub fn send(&mut self, so_far: &Measurement, progress: &Progress) {
        let (count, at) = (progress.accounting.scheduled, progress.at.as_secs_f64());
        let passed = at - self.last.1;
        let offered = if passed > 0.0 { count.saturating_sub(self.last.0) as f64 / passed } else { 0.0 };
        self.last = (count, at);
        let offered = Rate::try_per_second(offered).unwrap_or(Rate::ZERO);
        self.push(so_far, progress.in_flight, offered);
    }

    /// Sends the rest and the end of all series. Returns how many samples were accepted.
    pub fn end(mut self, measured: &Measurement) -> Written {
        self.push(measured, 0, Rate::ZERO);
        self.remote.push(self.series.end(SystemTime::now()));
        self.remote.close(FAREWELL)
    }

    fn push(&mut self, so_far: &Measurement, in_flight: u64, offered: Rate) {
        let mut added = Second::default();
        for (endpoint, each) in (0_u32..).zip(&so_far.endpoints) {
            for (&outcome, times) in &each.part.by_outcome {
                let said = self.said.entry((endpoint, outcome)).or_default();
                let mut new = Vec::new();
                for (value, count) in times.sparse().counts() {
                    let known = said.insert(value, count).unwrap_or(0);
                    if count > known {
                        new.push((value, count - known));
                    }
                }
                if !new.is_empty() {
                    added.cells.push(Cell { endpoint, outcome, times: SparseHistogram::from_counts(new, 0) });
                }
            }
        }
        added.accounting.unsent = so_far.accounting.unsent.saturating_sub(self.unsent);
        self.unsent = so_far.accounting.unsent;
        let names: Vec<String> = so_far.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect();
        let now = Now { at: SystemTime::now(), added: &added, endpoints: &names, in_flight, offered };
        self.remote.push(self.series.samples(&now));
    }
}

/// The longest wait for the receiver of the last samples.
const FAREWELL: Duration = Duration::from_secs(3);
