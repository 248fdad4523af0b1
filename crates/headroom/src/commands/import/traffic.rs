//! `headroom import traffic`: requests a minute from tables, CloudWatch, Prometheus and access logs.

use super::refuse;
use crate::exit::Exit;
use crate::next::quoted;
use crate::output::{fail, note, print};
use crate::output_file;
use ::import::{
    BadLines, Duplicates, Gaps, Notice, Traffic, TrafficFormat, TrafficOptions, TrafficReader, write_traffic,
};
use documents::import::traffic::summary;
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::parse_duration;

/// Import traffic into one table for `simulate` and `load --trace`
///
/// FILE is a table (CSV; times with or without time zone, as Unix time, or none), a line of counts (94,56,187,... or a
/// JSON array), the JSON of `aws cloudwatch get-metric-data` or `get-metric-statistics` (Sum of RequestCount; pages may
/// be concatenated), the JSON of Prometheus' /api/v1/query_range (rates a second; counters are refused: use rate()), an
/// access log (AWS ALB, nginx, Apache), a capture of the gateway, or (with --format events) a log with one line and one
/// time for each request. Several files are read together, as pages or days; they may be gzip-compressed. Gaps,
/// duplicates, unordered rows, clock changes and unknown units are reported with their place in the file and how they
/// were handled.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write the table to this file, and a summary to standard output [default: the table to standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Time covered by a row of the result [default: as in the source; 1m for logs and events]
    #[arg(long, value_name = "SPAN", value_parser = parse_duration)]
    bin: Option<Duration>,

    /// Format of the files: auto, table, counts, events, cloudwatch, prometheus, alb, nginx, apache, capture
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = format, help_heading = "Reading")]
    format: Format,

    /// Format of an access log, as nginx's log_format or Apache's LogFormat [default: combined]
    #[arg(long, value_name = "FORMAT", help_heading = "Reading")]
    log_format: Option<String>,

    /// Events: column with the time: its name, its number from 1, or a key of JSON lines [default: detected]
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    time: Option<String>,

    /// Column of a table (its name, or its number from 1 if there are no names), id or label of a CloudWatch result, or
    /// labels of a Prometheus series, such as 'job="web"'
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pick: Option<String>,

    /// Add several Prometheus series (with --pick: those with these labels)
    #[arg(long, help_heading = "Reading")]
    sum: bool,

    /// Time zone of times without one, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "Reading")]
    time_zone: Option<String>,

    /// Time covered by a row, if the table does not say [default: the most common step]
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, help_heading = "Reading")]
    row: Option<Duration>,

    /// Start of the first row of a table without times: 2026-03-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = instant, help_heading = "Reading")]
    start: Option<i64>,

    /// How to fill missing rows
    #[arg(long, value_name = "WHAT", default_value = "zero", help_heading = "Input errors")]
    gaps: GapWord,

    /// How to combine rows with the same time
    #[arg(long, value_name = "WHAT", default_value = "refuse", help_heading = "Input errors")]
    duplicates: DuplicateWord,

    /// What to do with lines that cannot be parsed
    #[arg(long, value_name = "WHAT", default_value = "few", help_heading = "Input errors")]
    bad_lines: BadLineWord,
}

#[derive(Debug, Clone, Copy)]
struct Format(Option<TrafficFormat>);

fn format(text: &str) -> Result<Format, String> {
    if text == "auto" { Ok(Format(None)) } else { text.parse().map(|format| Format(Some(format))) }
}

/// The value of a flag that is a time, in microseconds since 1970.
pub fn instant(text: &str) -> Result<i64, String> {
    ::import::instant_of(text).ok_or_else(|| "expected a time such as 2026-03-01T00:00:00Z".to_owned())
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum GapWord {
    /// 0: sources leave out empty rows
    Zero,
    /// The value of the row before
    Hold,
    /// Linear interpolation
    Interpolate,
    /// Report them and write nothing
    Refuse,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum DuplicateWord {
    /// Report them and write nothing
    Refuse,
    /// Add them, for example rows of several load balancers
    Add,
    /// Use the first
    First,
    /// Use the last
    Last,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum BadLineWord {
    /// Skip up to 1 % of the lines of a log or of events, none of a table
    Few,
    /// Report them and write nothing
    Refuse,
    /// Skip them
    Skip,
}

impl Args {
    fn options(&self) -> TrafficOptions {
        TrafficOptions {
            format: self.format.0,
            bin: self.bin,
            row: self.row,
            start: self.start,
            time_zone: self.time_zone.clone(),
            pick: self.pick.clone(),
            sum: self.sum,
            time: self.time.clone(),
            log_format: self.log_format.clone(),
            gaps: match self.gaps {
                GapWord::Zero => Gaps::Zero,
                GapWord::Hold => Gaps::Hold,
                GapWord::Interpolate => Gaps::Interpolate,
                GapWord::Refuse => Gaps::Refuse,
            },
            duplicates: match self.duplicates {
                DuplicateWord::Refuse => Duplicates::Refuse,
                DuplicateWord::Add => Duplicates::Add,
                DuplicateWord::First => Duplicates::First,
                DuplicateWord::Last => Duplicates::Last,
            },
            bad_lines: match self.bad_lines {
                BadLineWord::Few => BadLines::Few,
                BadLineWord::Refuse => BadLines::Refuse,
                BadLineWord::Skip => BadLines::Skip,
            },
            ..TrafficOptions::default()
        }
    }
}

/// Reads, and prints or writes the table.
pub fn run(args: &Args) -> Exit {
    let mut reader = TrafficReader::new(args.options());
    for file in &args.files {
        if file == Path::new("-") {
            reader.add("standard input", BufReader::new(io::stdin().lock()));
        } else {
            reader.add_file(file);
        }
    }
    let (traffic, notices) = match reader.finish() {
        Ok(read) => read,
        Err(errors) => return refuse(&errors),
    };
    notices.iter().for_each(|notice: &Notice| note(&notice.to_string()));
    match &args.output {
        None => {
            // Where nobody can be told, the table is worth more than the summary.
            let _ = write!(io::stderr(), "{}", summary(&traffic, "traffic.csv"));
            match written(&traffic, io::stdout().lock()) {
                // `headroom import traffic ... | head` has all that it wanted.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
                Err(error) => fail(&error),
                Ok(()) => Exit::Done,
            }
        }
        Some(path) => match output_file::write(path, |mut out| write_traffic(&traffic, &mut out)) {
            Ok(()) => print(&summary(&traffic, &quoted(&path.display().to_string()))),
            Err(error) => fail(&error),
        },
    }
}

/// Writes the table row by row: as one text, a month of seconds would be larger than its counts.
fn written(traffic: &Traffic, out: impl io::Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    write_traffic(traffic, &mut out)?;
    out.flush()
}

const EXAMPLES: &str = "\
Examples:
  headroom import traffic requests.json -o traffic.csv
  curl -G http://prometheus:9090/api/v1/query_range \\
      --data-urlencode 'query=sum(rate(http_requests_total[1m]))' \\
      -d start=2026-03-01T00:00:00Z -d end=2026-03-02T00:00:00Z -d step=60 |
      headroom import traffic - -o traffic.csv
  headroom import traffic 2026-03-0*.log.gz -o traffic.csv
  headroom import traffic app.log --format events --bin 1m -o traffic.csv
  headroom import traffic requests.csv --format events --time started_at \\
      --bin 10s -o traffic.csv
  headroom import traffic day.txt --row 1m -o traffic.csv
  headroom import traffic hourly.txt --row 1h \\
      --start 2026-03-01T00:00:00Z -o traffic.csv
  headroom import traffic local.csv --time-zone Europe/Berlin \\
      --gaps interpolate -o traffic.csv
  cat access.log | headroom import traffic - --log-format \\
      '$remote_addr [$time_local] \"$request\" $status'";
