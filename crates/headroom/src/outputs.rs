//! Files with the results of a run, metrics that are recorded during it, and where its results are sent.

use crate::output;
use crate::output_file;
use ::load::{Plan, RequestLog};
use documents::run::LoadRun;
use documents::watched;
use ledger::WallTime;
use report::{csv, hgrm, hlog, markdown};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use study::load::Watching;
use thiserror::Error;
use watch::{Endpoint, Query, Source, WrongEndpoint, WrongSource};

/// Files that are written at the end of a run, and what happens during it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write results for each second as CSV; - for standard output
    ///
    /// One row for each second, endpoint and outcome.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write every request as a line of JSON, as a capture of the gateway
    ///
    /// With time, method, path, user, status, response time from the actual start and bytes of the body of the response. At
    /// most 5,000,000; `headroom fidelity` and `headroom replay` read them. A step of a scenario has the name of its endpoint as
    /// its path.
    #[arg(long, value_name = "FILE")]
    request_log: Option<PathBuf>,

    /// Write response times as an HdrHistogram interval log, one line a second
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,

    /// Write response times as an HdrHistogram percentile table
    #[arg(long, value_name = "FILE")]
    hgrm: Option<PathBuf>,

    /// Write the summary as Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write an HTML report with charts and all tables
    ///
    /// One file that needs no network and no scripts.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Base URL of the Prometheus server for --watch
    #[arg(long, value_name = "URL", requires = "watch", help_heading = "Watching")]
    prometheus: Option<String>,

    /// Record the result of this Prometheus query during the run, such as 'healthy hosts=sum(up)'; can be repeated
    #[arg(long, value_name = "NAME=QUERY", requires = "prometheus", help_heading = "Watching")]
    watch: Vec<Query>,

    /// Record metrics from a metrics endpoint, such as 'http://127.0.0.1:9000/metrics#requests_total'; can be repeated
    #[arg(long, value_name = "URL[#NAMES]", help_heading = "Watching")]
    watch_metrics: Vec<String>,

    /// Interval between two readings
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "1s",
        value_parser = units::parse_duration,
        help_heading = "Watching"
    )]
    watch_every: Duration,

    /// Do not examine the service for what limits it, as headroom doctor does, where it is on this machine
    #[arg(long, help_heading = "Watching")]
    no_doctor: bool,

    /// Send results during the run to this Prometheus remote-write URL
    #[arg(long, value_name = "URL", help_heading = "Watching")]
    remote_write: Option<String>,
}

/// What happens during a run, beside the load.
pub struct Beside {
    /// Metrics that are recorded.
    pub watching: Watching,
    /// Where results are sent.
    pub remote: Option<Endpoint>,
    /// What keeps the requests.
    pub request_log: Option<RequestLog>,
}

/// A flag of this group cannot be used, or a file cannot be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] output_file::WriteError),
    /// A source of metrics that cannot be read.
    #[error(transparent)]
    Source(#[from] WrongSource),
    /// A URL that cannot be used.
    #[error(transparent)]
    Endpoint(#[from] WrongEndpoint),
}

/// What is written to the files.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// The command that asked for it.
    pub command: &'static str,
    /// The run.
    pub run: LoadRun<'a>,
    /// Its name in the ledger, if it is recorded.
    pub name: Option<&'a str>,
    /// When it started.
    pub began: SystemTime,
    /// Its plan, with the requests that were kept.
    pub plan: &'a Plan,
}

impl OutputArgs {
    /// Checks that the files can be written, and reads the flags of what happens during the run.
    ///
    /// # Errors
    /// The file, URL, query or metric that cannot be used.
    pub fn check(&self) -> Result<Beside, OutputError> {
        for path in [&self.csv, &self.request_log, &self.hlog, &self.hgrm, &self.markdown, &self.report]
            .into_iter()
            .flatten()
        {
            output_file::check_or_stdout(path)?;
        }
        let mut sources = Vec::new();
        if let Some(url) = &self.prometheus {
            sources.push(Source::prometheus(&Endpoint::new(url)?, self.watch.clone()));
        }
        for url in &self.watch_metrics {
            sources.push(Source::metrics(url)?);
        }
        let remote = self.remote_write.as_deref().map(Endpoint::new).transpose()?;
        Ok(Beside {
            request_log: self.request_log.as_ref().map(|_| RequestLog::new(MOST_REQUESTS)),
            watching: Watching { sources, every: self.watch_every, doctor: !self.no_doctor },
            remote,
        })
    }

    /// Writes the files that the flags name.
    ///
    /// # Errors
    /// The first file that cannot be written.
    pub fn write(&self, results: &Results<'_>) -> Result<(), OutputError> {
        let Results { command, run, name, began, plan } = *results;
        let LoadRun { asked, measured, thresholds, watched, .. } = run;
        to_file(self.csv.as_deref(), |mut out| {
            let more = |second| watched::csv_cells(watched, second);
            csv::write(measured, (&watched::csv_headings(watched), &more), &mut out)
        })?;
        to_file(self.request_log.as_deref(), |out| write_requests(plan, began, out))?;
        to_file(self.hlog.as_deref(), |mut out| hlog::write(measured, began, &mut out))?;
        to_file(self.hgrm.as_deref(), |mut out| hgrm::write(&measured.response, &mut out))?;
        to_file(self.markdown.as_deref(), |mut out| {
            let mut facts = vec![("target", asked.target.clone()), ("model", asked.model())];
            facts.extend(thresholds.iter().map(|threshold| ("threshold", threshold.said.clone())));
            let rows = watched::rows(watched);
            facts.extend(rows.iter().map(|(name, words)| ("watched", format!("{name}: {words}"))));
            markdown::write("headroom load", &facts, measured, &mut out)
        })?;
        to_file(self.report.as_deref(), |out| {
            let began = WallTime::from(began).to_string();
            out.write_all(run.reported(command, began, name).page().as_bytes())
        })
    }
}

fn write_requests(plan: &Plan, began: SystemTime, mut out: &mut dyn Write) -> io::Result<()> {
    let Some(log) = &plan.request_log else { return Ok(()) };
    let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (entries, left_out) = log.take(plan, i64::try_from(began.as_micros()).unwrap_or(i64::MAX));
    for entry in entries {
        capture::write_line(&mut out, &entry)?;
    }
    if left_out > 0 {
        output::note(&format!(
            "--request-log left out {left_out} of the requests: it has room for {MOST_REQUESTS}"
        ));
    }
    Ok(())
}

/// At most 280 MB.
const MOST_REQUESTS: usize = 5_000_000;

fn to_file(
    path: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), OutputError> {
    match path {
        None => Ok(()),
        Some(path) => Ok(output_file::write_or_stdout(path, write)?),
    }
}
