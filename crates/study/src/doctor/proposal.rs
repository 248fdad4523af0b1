//! An experiment that proves a finding: the service as it is against the service with one change.
//!
//! ```text
//! findings → control::diagnosis::change (on the command of the process) → config::experiment::Experiment
//! ```
//!
//! ## What is started
//! The command of the process, in its directory, with those variables of its environment that this process does not have, and a port
//! that headroom finds in place of its own. Values that look like secrets are left out: whoever starts the experiment has to
//! have them in the environment.

use ::load::scenario::split_url;
use config::experiment::{
    Arm, Ends, Experiment, Find, Hypothesis, Pace, Primary, Requests, SecondControl, Shared,
};
use control::diagnosis::{Cause, Change, Edit, NoChange, PORT, Shows, Start, bound, change};
use documents::doctor::Found;
use host::{CommandLine, Layout, NoService, Service, looks_secret};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What an experiment is made of.
#[derive(Debug)]
pub struct Basis<'a> {
    /// What was found, most important first.
    pub findings: &'a [Found],
    /// The run in which it was found.
    pub run: Option<String>,
    /// The service, if it runs.
    pub service: Option<&'a Service>,
    /// The command that starts it, in place of that of its process.
    pub command: Option<&'a str>,
    /// Ports that it listens at.
    pub ports: Vec<u16>,
    /// What is requested.
    pub paths: Vec<String>,
    /// How often.
    pub pace: Pace,
    /// Whether two copies of the service would share another one, such as a database.
    pub shared: Shared,
}

/// An experiment, and what it is about.
#[derive(Debug)]
pub struct Proposal {
    /// The experiment.
    pub experiment: Experiment,
    /// The finding that it proves.
    pub finding: Found,
    /// The change of the candidate.
    pub change: Change,
    /// More important findings that no command can prove, and why.
    pub passed_over: Vec<(String, NoChange)>,
    /// What a reader of the file has to know.
    pub notes: Vec<String>,
}

/// Why there is no experiment.
#[derive(Debug, thiserror::Error)]
pub enum NoProposal {
    /// There are no findings.
    #[error("nothing was found that limits the service, so there is nothing to prove")]
    NothingFound,
    /// No finding is about the command.
    #[error("no change to the command of the service proves what was found: {}", listed(.0))]
    NotByCommand(Vec<(String, NoChange)>),
    /// The process shows a title in the place of its command.
    #[error(
        "process {pid} shows `{title}` in the place of its command; give the command that starts the service with --command"
    )]
    Title {
        /// The process.
        pid: u32,
        /// What it shows.
        title: String,
    },
    /// There is no process to read it from.
    #[error("the command of the service is not known; give it with --command")]
    NoCommand,
    /// It does not listen.
    #[error("the service listens at no port; give the URL that it is asked at with --url")]
    NoPort,
    /// It listens at several ports.
    #[error(
        "the service listens at the ports {}; give the URL of the one that is asked with --url", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    SeveralPorts(Vec<u16>),
    /// Nothing of the command is its port.
    #[error(
        "the port {port} of the service is neither in its command nor in its environment; give the command with {{port}} in its \
         place: --command '...'"
    )]
    PortNotInCommand {
        /// The port.
        port: u16,
    },
    /// The service has ended.
    #[error(transparent)]
    Service(#[from] NoService),
}

fn listed(all: &[(String, NoChange)]) -> String {
    all.iter().map(|(code, why)| format!("{code}: {why}")).collect::<Vec<_>>().join("; ")
}

/// The experiment that proves the first finding that a change to the command can prove.
///
/// # Errors
/// Where there is none, or the command of the service is not known.
pub fn propose(basis: Basis<'_>) -> Result<Proposal, NoProposal> {
    if basis.findings.is_empty() {
        return Err(NoProposal::NothingFound);
    }
    // What is outside of any command is said before a command is asked for.
    let outside = |found: &Found| {
        let cause = Cause::of_code(&found.code)?;
        match change(cause, &Start::default()) {
            Err(why @ NoChange::Outside(_)) => Some((found.code.clone(), why)),
            _ => None,
        }
    };
    let all: Vec<_> = basis.findings.iter().filter_map(outside).collect();
    if all.len() == basis.findings.len() {
        return Err(NoProposal::NotByCommand(all));
    }
    let launch = Launch::of(&basis)?;
    let mut passed_over = Vec::new();
    for found in basis.findings {
        let Some(cause) = Cause::of_code(&found.code) else { continue };
        let start = Start { workers_wanted: found.workers, ..launch.start.clone() };
        match change(cause, &start) {
            Err(why) => passed_over.push((found.code.clone(), why)),
            Ok(change) => {
                let (control, candidate) = launch.arms(&change)?;
                let notes = launch.notes(found, &change);
                return Ok(Proposal {
                    experiment: experiment(basis, cause, &change, control, candidate),
                    finding: found.clone(),
                    change,
                    passed_over,
                    notes,
                });
            }
        }
    }
    Err(NoProposal::NotByCommand(passed_over))
}

fn experiment(basis: Basis<'_>, finding: Cause, change: &Change, control: Arm, candidate: Arm) -> Experiment {
    Experiment {
        find: Find::Differences,
        fleet: None,
        compare_answers: true,
        name: format!("prove-{}", finding.code().replace('_', "-")),
        variable: change.variable.to_owned(),
        hypothesis: Some(Hypothesis { finding, run: basis.run }),
        requests: Requests::Paths(basis.paths),
        pace: basis.pace,
        timeout: Duration::from_secs(10),
        control,
        candidates: vec![candidate],
        second_control: SecondControl::First,
        shared: basis.shared,
        primary: match change.shows {
            Shows::Median => Primary::P50,
            Shows::Tail => Primary::P95,
            Shows::Errors => Primary::Errors,
            Shows::ProcessorTime => Primary::ProcessorTime,
        },
        margin: 0.01,
        harm: 0.5,
        effect: EFFECT,
        time: TIME,
        warm_up: Duration::from_secs(10),
        block: Duration::from_secs(3),
        max_lag: control::trial::Limits::default().lag,
        ready_within: Duration::from_secs(60),
        design: None,
        ends: Ends::Decided,
    }
}

/// How the service is started.
#[derive(Debug)]
struct Launch {
    start: Start,
    /// Whether the words are quoted for a shell already.
    quoted: bool,
    directory: Option<String>,
    /// Variables that this process does not have.
    environment: BTreeMap<String, String>,
    /// Variables that were left out.
    secrets: Vec<String>,
    /// The port that is replaced.
    port: Port,
}

#[derive(Debug)]
enum Port {
    One(u16),
    /// The command has a place for it.
    Placed,
}

impl Launch {
    fn of(basis: &Basis<'_>) -> Result<Self, NoProposal> {
        let main = basis.service.map(|service| main(service, &basis.ports)).transpose()?;
        let seen = main.and_then(CommandLine::of).unwrap_or_default();
        let words = match (basis.command, &seen.words, main) {
            (Some(command), ..) => command.split_whitespace().map(str::to_owned).collect(),
            (None, Some(words), _) => words.clone(),
            (None, None, Some(pid)) => return Err(NoProposal::Title { pid, title: seen.title }),
            (None, None, None) => return Err(NoProposal::NoCommand),
        };
        let port = match basis.ports[..] {
            _ if words.iter().any(|word: &String| word.contains(PORT)) => Port::Placed,
            [port] => Port::One(port),
            [] => return Err(NoProposal::NoPort),
            _ => return Err(NoProposal::SeveralPorts(basis.ports.clone())),
        };
        let own: BTreeMap<String, String> = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        let (environment, secrets) = differences(&seen.environment, &own);
        let running = basis.service.map(Service::running).transpose()?.unwrap_or_default();
        Ok(Launch {
            start: Start {
                words,
                environment: seen.environment.into_iter().collect(),
                workers: Layout::of(&running).map(|layout| layout.processes),
                workers_wanted: None,
                descriptors: seen.descriptors,
                backlog_most: CommandLine::backlog_most(),
            },
            quoted: basis.command.is_some(),
            directory: seen.directory.map(|directory| directory.display().to_string()),
            environment,
            secrets,
            port,
        })
    }

    /// The service as it is, and with the change.
    fn arms(&self, change: &Change) -> Result<(Arm, Arm), NoProposal> {
        let (mut ours, mut theirs) = (self.environment.clone(), self.environment.clone());
        let mut words = self.start.words.clone();
        let mut limits = [None, None];
        match &change.edit {
            Edit::Words(changed) => words.clone_from(changed),
            Edit::Variable { name, value } => {
                ours.insert(name.clone(), change.before.clone());
                theirs.insert(name.clone(), value.clone());
            }
            Edit::Descriptors { from, to } => limits = [Some(*from), Some(*to)],
        }
        let control = self.arm(&change.before, &self.start.words, ours, limits[0])?;
        let candidate = self.arm(&change.after, &words, theirs, limits[1])?;
        Ok((control, candidate))
    }

    fn arm(
        &self,
        value: &str,
        words: &[String],
        mut env: BTreeMap<String, String>,
        descriptors: Option<u64>,
    ) -> Result<Arm, NoProposal> {
        let (words, variables) = self.with_port(words, &mut env)?;
        let shown = |word: &String| if self.quoted { word.clone() } else { shell_word(word) };
        let mut command = String::new();
        if let Some(directory) = &self.directory {
            command += &format!("cd {} && ", shell_word(directory));
        }
        if let Some(limit) = descriptors {
            command += &format!("ulimit -n {limit} && ");
        }
        // A command of a shell with more than one part cannot take the place of the shell.
        let is_plain = !self.quoted || !words.iter().any(|word| word.contains(['|', '&', ';']));
        command += if is_plain { "exec " } else { "" };
        if !variables.is_empty() {
            command += &format!("env {} ", variables.join(" "));
        }
        command += &words.iter().map(shown).collect::<Vec<_>>().join(" ");
        Ok(Arm {
            value: value.chars().take(VALUE_CHARACTERS).collect(),
            command: Some(command),
            env,
            url: format!("http://127.0.0.1:{PORT}"),
            pid: None,
            own_store: false,
        })
    }

    /// The words with a place for the port, and the variables that have it, which are no longer in `env`.
    fn with_port(
        &self,
        words: &[String],
        env: &mut BTreeMap<String, String>,
    ) -> Result<(Vec<String>, Vec<String>), NoProposal> {
        let port = match self.port {
            Port::Placed => return Ok((words.to_vec(), Vec::new())),
            Port::One(port) => port,
        };
        let placed: Vec<String> = words.iter().map(|word| place_port(word, port)).collect();
        if placed != words {
            return Ok((placed, Vec::new()));
        }
        let all = self.start.environment.iter();
        let with: Vec<(&String, String)> = all
            .filter(|(_, value)| !value.contains("://"))
            .map(|(name, value)| (name, place_port(value, port)))
            .filter(|(_, value)| value.contains(PORT))
            .collect();
        if !with.is_empty() {
            with.iter().for_each(|(name, _)| drop(env.remove(*name)));
            let variables = with.iter().map(|(name, value)| shell_word(&format!("{name}={value}")));
            return Ok((words.to_vec(), variables.collect()));
        }
        let bound = bound(words).ok_or(NoProposal::PortNotInCommand { port })?;
        Ok((bound, Vec::new()))
    }

    fn notes(&self, found: &Found, change: &Change) -> Vec<String> {
        let mut notes = vec![
            format!("Written by headroom doctor. It found: {}", found.sentence),
            format!(
                "To prove it, {} is changed from {} to {}.",
                change.variable, change.before, change.after
            ),
            "headroom experiment FILE starts both, beside the service that was examined.".to_owned(),
        ];
        if !self.secrets.is_empty() {
            notes.push(format!(
                "Left out, because they look like secrets; export them before the experiment: {}",
                self.secrets.join(", ")
            ));
        }
        notes
    }
}

/// The process that was started by the command: the one that listens at the port, or the first one.
fn main(service: &Service, ports: &[u16]) -> Result<u32, NoService> {
    let running = service.running()?;
    let is_inside = |id: u32| running.iter().any(|one| one.id == id);
    let listens = |&port: &u16| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Service::listening_at(address)?.first().ok().filter(|&id| is_inside(id))
    };
    match ports.iter().find_map(listens) {
        Some(id) => Ok(id),
        None => service.first(),
    }
}

/// Variables that the service has and this process has not, without those of the session that started it; and the names of those that
/// look like secrets.
fn differences(
    environment: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut found, mut secrets) = (BTreeMap::new(), Vec::new());
    for (name, value) in environment {
        let of_session =
            SESSION.contains(&name.as_str()) || SESSIONS.iter().any(|begin| name.starts_with(begin));
        if of_session || own.get(name) == Some(value) {
            continue;
        }
        if looks_secret(name, value) {
            secrets.push(name.clone());
        } else {
            found.insert(name.clone(), value.clone());
        }
    }
    (found, secrets)
}

/// A word with [`PORT`] in the place of a port: `8080`, `:8080`, `--port=8080`, `tcp://127.0.0.1:8080?x`.
fn place_port(word: &str, port: u16) -> String {
    let port = port.to_string();
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(&port) {
        let (before, after) = (&rest[..at], &rest[at + port.len()..]);
        let begins = text.is_empty() && before.is_empty() || before.ends_with([':', '=']);
        let ends = after.is_empty() || after.starts_with(['/', '?', ',']);
        text += before;
        text += if begins && ends { PORT } else { &port };
        rest = after;
    }
    text + rest
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !word.is_empty() && word.replace(PORT, "").chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The path of a URL, and its port.
pub fn path_and_port(url: &str) -> Option<(String, u16)> {
    let (origin, path) = split_url(url)?;
    let usual = if origin.secure { 443 } else { 80 };
    let port = origin.authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(usual);
    Some((if path.is_empty() { "/".to_owned() } else { path.to_owned() }, port))
}

/// Variables of the session or the supervisor that started a service.
const SESSION: [&str; 14] = [
    "_",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "TERM",
    "LS_COLORS",
    "MAIL",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "NOTIFY_SOCKET",
    "SYSTEMD_EXEC_PID",
    "MANAGERPID",
    "WINDOWID",
    "HEADROOM_LEDGER",
];
/// Beginnings of the names of others.
const SESSIONS: [&str; 7] = ["SSH_", "XDG_", "DBUS_", "LISTEN_", "WATCHDOG_", "MEMORY_PRESSURE_", "TMUX"];
/// A longer value, such as all options of a variable, is cut where it is a name.
const VALUE_CHARACTERS: usize = 40;
/// A change that proves a limit has a large effect.
const EFFECT: f64 = 0.1;
const TIME: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests;
