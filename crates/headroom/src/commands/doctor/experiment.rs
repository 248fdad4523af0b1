//! The experiment file that proves a finding: of a service that was watched, or of a run of the ledger.

use super::Args;
use crate::exit::Exit;
use crate::ledger_file::{self, RunName};
use crate::next::Line;
use crate::output_file::{self, WriteError};
use crate::{output, stored};
use config::experiment::{Pace, Shared};
use documents::doctor::Examined;
use documents::stored::{Load, Run};
use host::Service;
use std::net::ToSocketAddrs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use study::doctor::proposal::{Basis, NoProposal, Proposal, path_and_port, propose};
use thiserror::Error;
use units::Rate;

/// Why no file was written.
#[derive(Debug, Error)]
pub enum NoExperiment {
    /// It is there.
    #[error("{} exists; give another name, or remove it", .0.display())]
    Exists(PathBuf),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The URL is none.
    #[error("`{0}` is no URL; write it as http://HOST:PORT/PATH")]
    Url(String),
    /// The ledger, or the run.
    #[error(transparent)]
    Ledger(#[from] ledger_file::Error),
    /// There is no ledger.
    #[error("there are no runs yet; `headroom load URL` records one")]
    NoRuns,
    /// The load of the run cannot be repeated by a list of paths.
    #[error(
        "the requests of {0} are not GET of one URL without further headers; give the URL for the experiment with --url"
    )]
    Requests(String),
    /// The load is not known.
    #[error(
        "no requests were seen, so the load of the experiment is not known; watch the service under load"
    )]
    NoLoad,
    /// The service of a run has ended.
    #[error("no service listens at {0} now; start it, or give its command with --command")]
    NotListening(String),
    /// Nothing can be proved.
    #[error("no experiment file was written")]
    Proposal(#[from] NoProposal),
    /// The file would be refused.
    #[error("the experiment would be refused")]
    Problems(fields::Problems),
}

impl NoExperiment {
    /// The exit code: wrong usage, or no such experiment.
    pub fn exit(&self) -> Exit {
        match self {
            NoExperiment::Exists(_) | NoExperiment::Url(_) | NoExperiment::Write(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// Refuses a file that cannot be written, before a service is watched.
pub fn check(file: &Path) -> Result<(), NoExperiment> {
    match file.try_exists() {
        Ok(true) => Err(NoExperiment::Exists(file.to_owned())),
        _ => Ok(output_file::check(file)?),
    }
}

/// Proves what was seen of a service: the load is the one that it had.
pub fn of_service(
    args: &Args,
    service: &Service,
    examined: &Examined,
    file: &Path,
) -> Result<(), NoExperiment> {
    let (paths, ports) = match &args.url {
        Some(url) => {
            let (path, port) = path_and_port(url).ok_or_else(|| NoExperiment::Url(url.clone()))?;
            (vec![path], vec![port])
        }
        None => (vec!["/".to_owned()], examined.known.listening.clone()),
    };
    let findings = examined.findings();
    // Whether there is something to prove is said first.
    let known = examined.budget.and_then(|budget| seen_pace(budget.rate, budget.rate * budget.whole));
    let basis = Basis {
        findings: &findings,
        run: None,
        service: Some(service),
        command: args.command.as_deref(),
        ports,
        paths,
        pace: known.unwrap_or(Pace::Users(NonZeroU32::MIN)),
        // What it talks to was seen.
        shared: if examined.known.destinations.is_empty() { Shared::Nothing } else { Shared::Unknown },
    };
    let mut proposal = propose(basis)?;
    if known.is_none() {
        return Err(NoExperiment::NoLoad);
    }
    if args.url.is_none() {
        proposal
            .notes
            .push("The load is what was seen, as GET of the path /; change `paths` to yours.".to_owned());
    }
    write(&proposal, file)
}

/// The load that was seen: at a service whose requests wait, as many at a time. At the same rate with equal gaps, none of them would.
fn seen_pace(rate: f64, in_flight: f64) -> Option<Pace> {
    let users =
        (in_flight >= 1.5).then(|| NonZeroU32::new(in_flight.round().min(MOST_USERS) as u32)).flatten();
    let rate = || Rate::try_per_second(rate).filter(|rate| rate.per_second() > 0.0).map(Pace::Rate);
    users.map(Pace::Users).or_else(rate)
}

/// Proves what was found during a run: the load is that of the run.
pub fn of_run(args: &Args, name: &RunName, file: &Path) -> Result<(), NoExperiment> {
    let run = read(args, name)?;
    let findings = run.findings();
    if findings.is_empty() {
        return Err(NoProposal::NothingFound.into());
    }
    let url = match &args.url {
        Some(url) => url.clone(),
        None if is_plain(&run) => run.target.clone(),
        None => return Err(NoExperiment::Requests(run.id)),
    };
    let (path, port) = path_and_port(&url).ok_or(NoExperiment::Url(url))?;
    let service = service_at(&run.target);
    let pace = pace(&run);
    let basis = Basis {
        findings: &findings,
        run: Some(run.said.name.clone().unwrap_or_else(|| run.id.clone())),
        service: service.as_ref(),
        command: args.command.as_deref(),
        ports: vec![port],
        paths: vec![path],
        pace: pace.unwrap_or(Pace::Users(NonZeroU32::MIN)),
        shared: Shared::Unknown,
    };
    let proposal = propose(basis).map_err(|error| match error {
        NoProposal::NoCommand => NoExperiment::NotListening(run.target.clone()),
        other => other.into(),
    })?;
    if pace.is_none() {
        return Err(NoExperiment::NoLoad);
    }
    write(&proposal, file)
}

fn read(args: &Args, name: &RunName) -> Result<Run, NoExperiment> {
    let ledger = args.ledger.open_existing()?.ok_or(NoExperiment::NoRuns)?;
    let read = || {
        let id = name.of(&ledger)?;
        let said = ledger.notes(&[id])?.remove(&id).unwrap_or_default();
        Ok::<_, ledger::Error>(stored::run(ledger.run(id)?, said))
    };
    Ok(read().map_err(ledger_file::Error::from)?)
}

/// Whether a run sent GET of its target and nothing else.
fn is_plain(run: &Run) -> bool {
    let other = |word: &str| {
        let flag = word.split('=').next().unwrap_or_default();
        OTHER_REQUESTS.contains(&flag)
    };
    matches!(run.command.as_str(), "load" | "find") && !run.command_line.split_whitespace().any(other)
}

fn pace(run: &Run) -> Option<Pace> {
    let measured = || {
        let recorded = run.recorded.as_ref()?;
        let seconds = recorded.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| recorded.accounting.answered as f64 / seconds)
    };
    let rate = match run.load(None) {
        Some(Load::Users(users)) => return NonZeroU32::new(users).map(Pace::Users),
        Some(Load::Rate { rate, .. }) => Some(rate),
        None => run.search().map_or_else(measured, |search| search.highest()),
    };
    rate.and_then(Rate::try_per_second).filter(|rate| rate.per_second() > 0.0).map(Pace::Rate)
}

/// The service of this machine that a URL leads to.
fn service_at(url: &str) -> Option<Service> {
    let (origin, _) = ::load::scenario::split_url(url)?;
    let (_, port) = path_and_port(url)?;
    let mut addresses = (origin.host(), port).to_socket_addrs().ok()?;
    addresses.find_map(Service::listening_at)
}

fn write(proposal: &Proposal, file: &Path) -> Result<(), NoExperiment> {
    let text = config::experiment::write(&proposal.experiment, &proposal.notes);
    let folder = file.parent().unwrap_or(Path::new(""));
    config::experiment::parse(&file.display().to_string(), &text, folder).map_err(NoExperiment::Problems)?;
    output_file::write(file, |out| out.write_all(text.as_bytes()))?;
    for (code, why) in &proposal.passed_over {
        output::note(&format!("`{code}` cannot be proved by a changed command: {why}"));
    }
    let change = &proposal.change;
    output::say(&format!(
        "\n{} tests the finding `{}`: {} {} -> {}\n{}",
        file.display(),
        proposal.finding.code,
        change.variable,
        change.before,
        change.after,
        Line::new("headroom experiment").value(&file.display().to_string()).next()
    ));
    Ok(())
}

/// More requests at a time than this are a queue that need not be repeated.
const MOST_USERS: f64 = 1_000.0;
/// Flags of a run that sent something else than GET of one URL.
const OTHER_REQUESTS: [&str; 8] =
    ["-X", "-m", "--method", "-H", "--header", "--data", "--scenario", "--targets"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_wait_are_repeated_as_users() {
        let rate = |rate| Some(Pace::Rate(Rate::per_second_of(rate)));
        assert_eq!(seen_pace(10.0, 5.2), NonZeroU32::new(5).map(Pace::Users));
        assert_eq!(seen_pace(100.0, 0.4), rate(100.0));
        assert_eq!(seen_pace(0.0, 0.0), None);
    }
}
