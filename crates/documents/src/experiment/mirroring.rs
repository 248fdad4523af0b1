//! What the copies of a gateway cost: in cores, and in the response time of live requests.

use crate::words::Rows;
use report::{Tone, grouped};
use serde::Serialize;

/// A gateway with its copies and without them. Costs are effects of the verdicts on what it needs without copies, at the traffic
/// of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mirroring {
    /// Its admin listener.
    pub gateway: String,
    /// The names of its mirrors.
    pub mirrors: Vec<String>,
    /// Whether it writes a capture.
    pub capture: bool,
    /// Responses a second in the blocks that count; `None` without any.
    pub responses_per_second: Option<f64>,
    /// Copies for each request of these blocks while nothing was paused; more than 1 with several mirrors.
    pub copies_per_request: Option<f64>,
    /// Processor time of all threads for live requests and copies, in cores: 0.012 is 1.2 % of a core.
    pub cores: Option<Cost>,
    /// That of the threads which serve live requests alone.
    pub live_cores: Option<Cost>,
    /// Of the 99th percentile of the response time, in seconds.
    pub p99_seconds: Option<Cost>,
    /// Whether the gateway has confirmed that it copies again.
    pub resumed: bool,
}

/// How much more is needed with copies; negative if less is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// The median.
    pub value: f64,
    /// The lower end of the interval; `None` if it has none yet.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Mirroring {
    pub(super) fn rows(&self, rows: &mut Rows) {
        let mut name = "cost";
        let mut row = |text: String, rows: &mut Rows| rows.row(std::mem::take(&mut name), text);
        let traffic = self.traffic();
        if let Some(cost) = self.cores {
            row(format!("mirroring takes {}{traffic}", cost.of_a_core()), rows);
        }
        if let Some(cost) = self.live_cores {
            row(format!("of that, {} in the threads that serve live requests", cost.of_a_core()), rows);
        }
        if let Some(cost) = self.p99_seconds {
            let sign = |value: f64| format!("{:+.3}", 1e3 * value);
            let (value, range) = (sign(cost.value), cost.range(sign));
            row(format!("p99 of live requests changes by {value} ms ({range})"), rows);
        }
        if self.cores.is_none() && !traffic.is_empty() {
            row(format!("measured{traffic}"), rows);
        }
        if !self.resumed {
            row("NOT CONFIRMED: the gateway did not say that it copies again".to_owned(), rows);
            rows.stress_until(':', Tone::Bad);
        }
    }

    /// The traffic at which it was measured.
    fn traffic(&self) -> String {
        let Some(rate) = self.responses_per_second else { return String::new() };
        let rate = if rate < 10.0 { format!("{rate:.1}") } else { grouped(rate.round() as u64) };
        let copied = match self.copies_per_request {
            None => String::new(),
            Some(copies) if self.mirrors.len() + usize::from(self.capture) == 1 => {
                format!(", {:.1} % of them copied", 100.0 * copies)
            }
            Some(copies) => format!(", with {copies:.2} copies of each"),
        };
        format!(" at {rate} requests a second{copied}")
    }
}

impl Cost {
    fn of_a_core(&self) -> String {
        let share = |value: f64| format!("{:.2}", 100.0 * value);
        format!("{} % of a core ({})", share(self.value), self.range(share))
    }

    fn range(&self, shown: impl Fn(f64) -> String) -> String {
        match (self.low, self.high) {
            (None, None) => "no interval yet".to_owned(),
            (low, high) => {
                let end = |value: Option<f64>| value.map_or("?".to_owned(), &shown);
                format!("{} to {}", end(low), end(high))
            }
        }
    }
}

#[cfg(test)]
mod tests;
