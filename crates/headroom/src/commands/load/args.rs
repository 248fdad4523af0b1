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

/// Drive load at a URL, and account for every request
///
/// Closed model (without -r): each connection sends its next request when the last is answered, so the service sets
/// the rate. Open model (-r, stages with rates, --trace): requests come at their times whatever the service does, as
/// users do, and the response time counts from the time at which a request should have started.
///
/// On a terminal a live screen shows the run. Otherwise, one line a second goes to standard error. The summary goes to
/// standard output. Ctrl-C ends the run and gives the summary of what was measured; a second one quits at once.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXAMPLES)]
pub struct Args {
    /// Where to, such as http://127.0.0.1:8080/path; with --scenario, in place of the file's base
    #[arg(required_unless_present_any = ["scenario", "targets"])]
    pub url: Option<String>,

    /// Connections; with -r the most at a time, 0 for as many as needed [default: 50; with -r 0]
    #[arg(short, long, value_name = "COUNT", help_heading = "Load")]
    pub connections: Option<u32>,

    /// Open model: the rate of all requests together, such as 100/s or 5M/m
    #[arg(short, long, value_name = "RATE", short_aliases = ['q', 'R'], help_heading = "Load")]
    pub rate: Option<Rate>,

    /// How long, such as 30s or 1m30s [default: 10s, or until -n is reached]
    #[arg(short, long, value_name = "SPAN", short_alias = 'z', value_parser = span, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// How many requests, such as 500, 10k or 1M; with --scenario, how many iterations
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count, help_heading = "Load")]
    pub requests: Option<NonZeroU64>,

    /// A stretch of the run: 30s:200/s holds a rate, 30s:..200/s ramps to it from where the last stage ended,
    /// 30s:50 holds 50 users of the closed model; repeat for more
    #[arg(long, value_name = "STAGE", conflicts_with_all = ["rate", "duration"], help_heading = "Load")]
    pub stage: Vec<StageText>,

    /// Requests per minute from a CSV file (time,count); each minute has exactly its requests
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "stage"], help_heading = "Load")]
    pub trace: Option<PathBuf>,

    /// How long a line of --trace without times stands for [default: as its times say, or 1m]
    #[arg(long, value_name = "SPAN", requires = "trace", value_parser = span, help_heading = "Load")]
    pub trace_bin: Option<Duration>,

    /// How many times as fast the trace passes, with as many requests in each of its minutes
    #[arg(long, value_name = "FACTOR", requires = "trace", help_heading = "Load")]
    pub trace_speed: Option<f64>,

    /// How many times as many requests the trace has
    #[arg(long, value_name = "FACTOR", requires = "trace", help_heading = "Load")]
    pub trace_scale: Option<f64>,

    /// How the requests of the open model are spaced
    #[arg(long, value_name = "HOW", default_value = "even", help_heading = "Load")]
    pub arrivals: Spacing,

    /// Seed of all that is random: the same seed gives the same arrivals and the same users
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    pub seed: u64,

    /// Closed model: how long each user waits after an answer
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    pub think: Option<Duration>,

    /// Run so many times, one after the other, each with the next seed; the ledger keeps every run, and `headroom
    /// compare` takes the name of the first for all
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

    /// Leave the requests of the first SPAN out of the results
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    pub warm_up: Option<Duration>,

    /// Give a request up after this span
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    pub timeout: Duration,

    /// Threads that send, each with an event loop [default: by rate, connections and cores]
    #[arg(long, value_name = "COUNT", help_heading = "Load")]
    pub workers: Option<NonZeroU32>,

    #[command(flatten)]
    pub request: RequestArgs,

    #[command(flatten)]
    pub inputs: InputArgs,

    /// Users who walk through a scenario file (YAML); see examples/scenario.yaml
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["targets", "method", "headers", "data", "think"],
        help_heading = "Request"
    )]
    pub scenario: Option<PathBuf>,

    /// Put the number of each arrival into a header, to join what arrived with what was sent
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

    /// What the run must hold, such as 'p(95)<50ms', 'failed<1%' or
    /// 'http_req_duration{endpoint:login}: p(99)<1s'; repeat for more. Failed are requests without a status from 200 to
    /// 399: 429 and 503 count
    #[arg(long, value_name = "CONDITION", visible_alias = "slo", help_heading = "Thresholds")]
    pub threshold: Vec<String>,

    /// End the run as soon as a threshold is missed
    #[arg(long, requires = "threshold", help_heading = "Thresholds")]
    pub abort_on_fail: bool,

    /// Look at the thresholds of --abort-on-fail only after this span
    #[arg(long, value_name = "SPAN", default_value = "0s", value_parser = span, help_heading = "Thresholds")]
    pub delay_abort: Duration,

    #[command(flatten)]
    pub guard: GuardArgs,

    /// Result as JSON on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Lines instead of the live screen, also on a terminal
    #[arg(long, help_heading = "Output")]
    pub plain: bool,

    /// Say what would be sent, and send nothing
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
