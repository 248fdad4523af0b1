//! How services that run were started, and what differs between two of them.

use super::Failed;
use super::arms::{Candidate, Running};
use config::experiment::{Program, Recorded, changes};
use host::{NoService, Origin, Service};
use std::env;

/// How a service was started: the command line of its process, as the kernel has it, and what it was started from.
#[derive(Debug)]
pub struct Started {
    command: String,
    origin: Origin,
}

/// A candidate that differs from the control in more than one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "process {process} of the candidate `{value}` differs from that of the control in {count} places: {changes}; change one variable"
)]
pub struct Differs {
    /// The process.
    pub process: u32,
    /// The value of the candidate.
    pub value: String,
    /// How many places.
    pub count: usize,
    /// Which.
    pub changes: String,
}

impl Started {
    /// How a service that runs was started, with the id of its process: the first one that is not the shell of its command.
    /// `None` where the process cannot be read.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn of(service: &Service) -> Result<Option<(u32, Self)>, NoService> {
        let first = service.first()?;
        let running = service.running()?;
        let is_shell = |command: &str| command.starts_with(SHELL);
        let found = running.iter().find(|process| process.id == first).and_then(|process| {
            let child = || running.iter().find(|child| child.parent == first);
            if is_shell(&process.command) { child() } else { Some(process) }
        });
        Ok(found.map(|process| {
            let started =
                Started { command: process.command.clone(), origin: Origin::of_process(process.id) };
            (process.id, started)
        }))
    }

    /// Whether it passes connections on, so that its command says nothing of the service.
    fn is_tunnel(&self) -> bool {
        let program = self.command.split_whitespace().next().and_then(|word| word.rsplit('/').next());
        program.is_some_and(|name| TUNNELS.contains(&name.trim_end_matches(':')))
    }

    /// Refuses a candidate that differs from the control in more than one place. Each has the URL that requests go to. What passes
    /// connections on to a service elsewhere is not compared.
    ///
    /// # Errors
    /// It does.
    pub fn one_variable(
        (control, at): (&Started, &str),
        (process, candidate, url): (u32, &Started, &str),
        value: &str,
    ) -> Result<(), Differs> {
        if [control, candidate].into_iter().any(Started::is_tunnel) {
            return Ok(());
        }
        let found = changes(&control.recorded(at), &candidate.recorded(url));
        if found.len() < 2 {
            return Ok(());
        }
        let named: Vec<String> = found.iter().map(ToString::to_string).collect();
        Err(Differs { process, value: value.to_owned(), count: named.len(), changes: named.join("; ") })
    }

    fn recorded<'a>(&'a self, url: &'a str) -> Recorded<'a> {
        let Origin { program, sources, environment } = &self.origin;
        Recorded {
            command: &self.command,
            env: environment.as_ref(),
            url,
            program: program.as_ref().map(|program| Program { path: &program.path, file: program.file }),
            sources: sources.as_ref().map(|sources| (&*sources.folder, &*sources.commit)),
        }
    }

    /// Without the variables that it only has from this process, and `other` has not: nobody set them for the experiment.
    fn without_inherited(mut self, other: &Started) -> Self {
        let of_other = other.origin.environment.as_ref();
        let is_inherited = |name: &str, value: &str| {
            of_other.is_some_and(|other| !other.contains_key(name))
                && env::var_os(name).is_some_and(|ours| ours.to_string_lossy() == value)
        };
        if let Some(variables) = &mut self.origin.environment {
            variables.retain(|name, value| !is_inherited(name, value));
        }
        self
    }
}

/// Compares services of which one was started by its command, and the other runs already: their commands cannot be compared
/// before. A service that cannot be read is not compared.
pub(super) fn one_variable(control: &Running, candidates: &[Candidate]) -> Result<(), Failed> {
    let read = |running: &Running| Started::of(running.processes()?).ok().flatten();
    let is_mixed = |candidate: &&Running| control.arm.command.is_some() != candidate.arm.command.is_some();
    for candidate in candidates.iter().filter_map(Candidate::running).filter(is_mixed) {
        let Some(((_, ours), (process, theirs))) = read(control).zip(read(candidate)) else { continue };
        let (ours, theirs) = match control.arm.command {
            Some(_) => (ours.without_inherited(&theirs), theirs),
            None => {
                let theirs = theirs.without_inherited(&ours);
                (ours, theirs)
            }
        };
        let candidate = &candidate.arm;
        Started::one_variable(
            (&ours, &control.arm.url),
            (process, &theirs, &candidate.url),
            &candidate.name,
        )?;
    }
    Ok(())
}

/// To other machines, pods and containers.
const TUNNELS: [&str; 6] = ["ssh", "kubectl", "docker-proxy", "rootlessport", "slirp4netns", "socat"];
/// How the command of a service is started, unless the shell is replaced by it.
const SHELL: &str = "sh -c ";
