//! What can be typed after `headroom load`.

use crate::connect::ConnectArgs;
use crate::guard::GuardArgs;
use crate::inputs::InputArgs;
use crate::ledger_file::LedgerArgs;
use crate::outputs::OutputArgs;
use crate::request::{RequestArgs, Spacing};
use ::load::StageText;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;
use units::{Rate, parse_duration};

/// Run a load test against a URL
///
/// Closed model (without -r): each connection sends its next request after the response to the previous one, so the
/// service determines the rate. Open model (-r, stages with rates, --trace): requests start on a schedule, however
/// slowly the service responds, as with independent users. Response times are measured from the scheduled start.
///
/// On a terminal, a live screen shows the run; otherwise, one line a second is written to standard error. The summary
/// is written to standard output. Ctrl-C stops the run and prints the results so far; a second Ctrl-C exits
/// immediately.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXAMPLES)]
pub struct Args {
    /// Target URL, such as http://127.0.0.1:8080/path
    ///
    /// With --scenario, it replaces the base URL of the file.
    #[arg(required_unless_present_any = ["scenario", "targets"])]
    pub url: Option<String>,

    /// Number of connections [default: 50]
    ///
    /// With -r, the maximum number of connections, 0 for unlimited [default: 0].
    #[arg(short, long, value_name = "COUNT", help_heading = "Load")]
    pub connections: Option<u32>,

    /// Open model: total rate, such as 100/s or 5M/m
    #[arg(short, long, value_name = "RATE", short_aliases = ['q', 'R'], allow_hyphen_values = true, help_heading = "Load")]
    pub rate: Option<Rate>,

    /// Duration, such as 1m30s [default: 10s, or until -n]
    #[arg(short, long, value_name = "SPAN", short_alias = 'z', value_parser = span, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// Number of requests, such as 500, 10k or 1M
    ///
    /// With --scenario, number of iterations.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count, help_heading = "Load")]
    pub requests: Option<NonZeroU64>,

    /// Stage of the run, such as 30s:200/s; can be repeated
    ///
    /// 30s:200/s holds a rate, 30s:..200/s ramps to it from the end of the previous stage, 30s:50 holds 50 users
    /// (closed model).
    #[arg(long, value_name = "STAGE", conflicts_with_all = ["rate", "duration"], help_heading = "Load")]
    pub stage: Vec<StageText>,

    /// CSV file with requests per minute (time,count)
    ///
    /// Each minute gets exactly this number of requests.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "stage"], help_heading = "Load")]
    pub trace: Option<PathBuf>,

    /// Time covered by a line of --trace without times [default: from the times in the file, or 1m]
    #[arg(long, value_name = "SPAN", requires = "trace", value_parser = span, help_heading = "Load")]
    pub trace_bin: Option<Duration>,

    /// Speed-up of the trace; the number of requests in each of its minutes stays the same
    #[arg(long, value_name = "FACTOR", requires = "trace", help_heading = "Load")]
    pub trace_speed: Option<f64>,

    /// Factor for the number of requests in the trace
    #[arg(long, value_name = "FACTOR", requires = "trace", help_heading = "Load")]
    pub trace_scale: Option<f64>,

    /// Distribution of arrivals in the open model
    #[arg(long, value_name = "HOW", default_value = "even", help_heading = "Load")]
    pub arrivals: Spacing,

    /// Seed for random arrivals and users; the same seed gives the same run
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    pub seed: u64,

    /// Closed model: pause of a user before its next request
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    pub think: Option<Duration>,

    /// Number of runs, one after another
    ///
    /// Each run uses the next seed. All are recorded in the ledger, and `headroom compare` accepts the first one for
    /// the whole series.
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "1",
        hide_default_value = true,
        value_parser = repetitions,
        conflicts_with_all = ["csv", "hlog", "hgrm", "markdown"],
        help_heading = "Load"
    )]
    pub repeat: NonZeroU32,

    /// Exclude the first SPAN of the run from the results
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    pub warm_up: Option<Duration>,

    /// Request timeout
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    pub timeout: Duration,

    /// Number of sending threads, each with an event loop [default: from rate, connections and cores]
    #[arg(long, value_name = "COUNT", help_heading = "Load")]
    pub workers: Option<NonZeroU32>,

    #[command(flatten)]
    pub request: RequestArgs,

    #[command(flatten)]
    pub inputs: InputArgs,

    /// Scenario file (YAML) that describes what users do; see examples/scenario.yaml
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["targets", "method", "headers", "data", "think"],
        help_heading = "Request"
    )]
    pub scenario: Option<PathBuf>,

    /// Add a header with the number of each arrival, to match received requests with sent ones
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "X-Headroom-Arrival",
        help_heading = "Request"
    )]
    pub arrival_header: Option<String>,

    #[command(flatten)]
    pub connect: ConnectArgs,

    /// Condition that the run must meet, such as 'p(95)<50ms'; can be repeated
    ///
    /// Other examples: 'failed<1%', 'http_req_duration{endpoint:login}: p(99)<1s'. A request fails if it
    /// cannot be sent, gets no response, or a status outside 200 to 399, including 429 and 503. Response times are those
    /// of responses except 429 and 503, and of requests that timed out.
    #[arg(long, value_name = "CONDITION", visible_alias = "slo", help_heading = "Thresholds")]
    pub threshold: Vec<String>,

    /// Stop the run as soon as a threshold is missed
    #[arg(long, requires = "threshold", help_heading = "Thresholds")]
    pub abort_on_fail: bool,

    /// With --abort-on-fail: evaluate thresholds only after this time
    #[arg(long, value_name = "SPAN", default_value = "0s", value_parser = span, help_heading = "Thresholds")]
    pub delay_abort: Duration,

    #[command(flatten)]
    pub guard: GuardArgs,

    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Print lines instead of the live screen, even on a terminal
    #[arg(long, help_heading = "Output")]
    pub plain: bool,

    /// Print what would be sent, without sending anything
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,

    #[command(flatten)]
    pub outputs: OutputArgs,

    #[command(flatten, next_help_heading = "Output")]
    pub ledger: LedgerArgs,
}

/// A span such as `30s`, for flags.
pub fn span(text: &str) -> Result<Duration, units::ParseError> {
    parse_duration(text)
}

fn repetitions(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number| *number <= MOST_REPETITIONS).and_then(NonZeroU32::new);
    number.ok_or_else(|| format!("expected a whole number of runs from 1 to {MOST_REPETITIONS}"))
}

/// More than any comparison needs; a mistyped zero should not run for a week.
const MOST_REPETITIONS: u32 = 100;

fn count(text: &str) -> Result<NonZeroU64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number
        .and_then(NonZeroU64::new)
        .ok_or_else(|| "expected a whole number of requests from 1, such as 500, 10k or 1M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole() {
        assert_eq!(count("10k").map(NonZeroU64::get), Ok(10_000));
        assert_eq!(count("2M").map(NonZeroU64::get), Ok(2_000_000));
        for text in ["", "k", "0", "-1", "1.5", "99999999999999999999", "18446744073709551615M"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
