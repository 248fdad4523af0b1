//! One change to the command of a service that proves a finding.
//!
//! ## Why the command
//! An experiment starts the service as it is and the service with one change, side by side. What it can change is what starts
//! a service: an argument, a variable of its environment, a limit of its process. What is limited from outside (a quota, a neighbour,
//! another service) is no variable of the command, and [`NoChange`] says so.
//!
//! ## The table
//! [`SERVERS`] has the options of the servers that are known, with the values that they have where nobody gives one. An option that
//! the command of another server already has by the same name is changed too.
//!
//! Sources: gunicorn *Settings* (`--workers`, `--threads`, `--backlog`, `--keep-alive`, `WEB_CONCURRENCY`), uvicorn *Settings*, Hypercorn
//! *Configuring*, Puma (`puma --help`, `WEB_CONCURRENCY`), uWSGI *Options*; for modes of development the sources of `host::modes`.

mod mode;
mod words;

use super::Cause;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use words::{Given, given, program, with};

/// How a service was started, and what is known of it since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// The words of its command.
    pub words: Vec<String>,
    /// The variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Processes that answer requests, if they were counted.
    pub workers: Option<u32>,
    /// How many the diagnosis asks for.
    pub workers_wanted: Option<u32>,
    /// Its limit of descriptors.
    pub descriptors: Option<u64>,
    /// The longest accept queue that the kernel allows (`net.core.somaxconn`).
    pub backlog_most: Option<u32>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is changed, such as `workers`.
    pub variable: &'static str,
    /// Its value now.
    pub before: String,
    /// Its value after the change.
    pub after: String,
    /// What makes it.
    pub edit: Edit,
    /// The measure that shows whether it helps.
    pub shows: Shows,
}

/// What is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// All words of the changed command.
    Words(Vec<String>),
    /// A variable of the environment gets another value.
    Variable {
        /// Its name.
        name: String,
        /// Its new value.
        value: String,
    },
    /// The limit of descriptors.
    Descriptors {
        /// Now.
        from: u64,
        /// After the change.
        to: u64,
    },
}

/// The measure that shows the effect of a change best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// The median response time: what all requests wait for.
    Median,
    /// The 95th percentile: what some requests wait for.
    Tail,
    /// Requests without a good response.
    Errors,
    /// Processor time of a request.
    ProcessorTime,
}

/// Why a finding has no change that a command can express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoChange {
    /// What limits the service is outside of its command.
    Outside(Cause),
    /// The command and its environment have no such option, and the server is not known to have one.
    NoOption {
        /// What the option is for.
        what: &'static str,
        /// The program.
        program: String,
    },
    /// The kernel's bound is in the way of a longer accept queue.
    Bounded {
        /// `net.core.somaxconn`.
        most: u32,
    },
    /// The mode is not one that the command or the environment switches on.
    NotInCommand(Cause),
}

/// The options of a server.
struct Server {
    program: &'static str,
    /// Processes that answer requests.
    workers: Option<Numbered>,
    /// Threads of each of them.
    threads: Option<Numbered>,
    /// The length of the accept queue.
    backlog: Option<Numbered>,
    /// Seconds that it keeps an idle connection.
    keep_alive: Option<Numbered>,
    /// The option that makes it listen at a port, which is [`PORT`].
    bind: &'static [&'static str],
}

/// An option with a number.
#[derive(Clone, Copy)]
struct Numbered {
    /// Its names, the one that is added first.
    names: &'static [&'static str],
    /// The variable of the environment that it has in place of the option.
    variable: Option<&'static str>,
    /// Its value if it is not given; `None` where it cannot be added.
    usual: Option<u32>,
}

const fn option(names: &'static [&'static str], usual: Option<u32>) -> Numbered {
    Numbered { names, variable: None, usual }
}

const fn workers(names: &'static [&'static str], usual: Option<u32>) -> Numbered {
    Numbered { names, variable: Some("WEB_CONCURRENCY"), usual }
}

/// Servers by the name of their program; the last is any other.
const SERVERS: [Server; 8] = [
    Server {
        program: "gunicorn",
        workers: Some(workers(&["-w", "--workers"], Some(1))),
        threads: Some(option(&["--threads"], None)),
        backlog: Some(option(&["--backlog"], Some(2048))),
        keep_alive: Some(option(&["--keep-alive"], None)),
        bind: &["-b", "127.0.0.1:{port}"],
    },
    Server {
        program: "uvicorn",
        workers: Some(workers(&["--workers"], Some(1))),
        threads: None,
        backlog: Some(option(&["--backlog"], Some(2048))),
        keep_alive: Some(option(&["--timeout-keep-alive"], None)),
        bind: &["--port", PORT],
    },
    Server {
        program: "hypercorn",
        workers: Some(option(&["-w", "--workers"], Some(1))),
        threads: None,
        backlog: Some(option(&["--backlog"], Some(100))),
        keep_alive: Some(option(&["--keep-alive"], None)),
        bind: &["-b", "127.0.0.1:{port}"],
    },
    // Without workers it is one process.
    Server {
        program: "puma",
        workers: Some(workers(&["-w", "--workers"], Some(0))),
        threads: Some(option(&["-t", "--threads"], None)),
        backlog: None,
        keep_alive: None,
        bind: &["-p", PORT],
    },
    Server {
        program: "uwsgi",
        workers: Some(option(&["--processes", "--workers", "-p"], Some(1))),
        threads: Some(option(&["--threads"], None)),
        backlog: Some(option(&["--listen", "-l"], Some(100))),
        keep_alive: None,
        bind: &[],
    },
    // Its number of workers is in its file, which usually reads this variable.
    Server {
        program: "unicorn",
        workers: Some(workers(&[], None)),
        threads: None,
        backlog: None,
        keep_alive: None,
        bind: &["-p", PORT],
    },
    Server {
        program: "flask",
        workers: None,
        threads: None,
        backlog: None,
        keep_alive: None,
        bind: &["-p", PORT],
    },
    Server {
        program: "",
        workers: Some(workers(&["--workers", "--processes"], None)),
        threads: Some(option(&["--threads"], None)),
        backlog: Some(option(&["--backlog"], None)),
        keep_alive: None,
        bind: &[],
    },
];

/// The change that proves a finding.
///
/// # Errors
/// Where no argument, variable or limit of the command is one.
pub fn change(cause: Cause, start: &Start) -> Result<Change, NoChange> {
    let (place, name, server) = server(&start.words);
    let numbers = Numbers { start, place, program: &name };
    match cause {
        Cause::Workers => more_slots(server, &numbers),
        Cause::Lock | Cause::OneThread => {
            let raise = |now: u32| now.max(1) + 1;
            numbers.raised("workers", server.workers, raise, Shows::Median)
        }
        Cause::Descriptors => {
            let from = start.descriptors.ok_or(NoChange::NotInCommand(cause))?;
            let to = from.saturating_mul(4);
            Ok(Change {
                variable: "descriptors",
                before: from.to_string(),
                after: to.to_string(),
                edit: Edit::Descriptors { from, to },
                shows: Shows::Errors,
            })
        }
        Cause::AcceptQueue => {
            let most = start.backlog_most.unwrap_or(u32::MAX);
            let raise = |now: u32| now.saturating_mul(8).max(128).min(most);
            let found = numbers.raised("backlog", server.backlog, raise, Shows::Tail)?;
            let is_more = found.before.parse::<u32>().is_ok_and(|now| now < most);
            if is_more { Ok(found) } else { Err(NoChange::Bounded { most }) }
        }
        Cause::NoKeepAlive => keep_alive(server, &numbers),
        Cause::Debug | Cause::Profiler => mode::without(cause, start).ok_or(NoChange::NotInCommand(cause)),
        Cause::Tester
        | Cause::Stolen
        | Cause::Throttled
        | Cause::Neighbour
        | Cause::ConnectionTable
        | Cause::Ports
        | Cause::Memory
        | Cause::Disk
        | Cause::Retransmits
        | Cause::Upstream
        | Cause::Processor => Err(NoChange::Outside(cause)),
    }
}

/// The command with an option that makes its server listen at [`PORT`]; `None` where the server is not known to have one.
pub fn bound(words: &[String]) -> Option<Vec<String>> {
    let (_, _, server) = server(words);
    let bound = words.iter().cloned().chain(server.bind.iter().map(|&word| word.to_owned()));
    (!server.bind.is_empty()).then(|| bound.collect())
}

/// The place and the name of the program, and its options.
fn server(words: &[String]) -> (usize, String, &'static Server) {
    let (place, name) = program(words, SERVERS.iter().map(|server| server.program));
    let known = SERVERS.iter().find(|server| server.program == name);
    (place, name, known.unwrap_or(&SERVERS[SERVERS.len() - 1]))
}

/// How many workers a diagnosis asks for: as many as fit, but no more than have a request under the load that was seen; at least a
/// quarter more than now. `busy` is the number of workers that all requests together would keep busy.
pub fn more_workers(now: u32, fit: Option<u32>, busy: Option<f64>) -> u32 {
    let least = now + now.div_ceil(4).max(1);
    let busy = busy.map_or(u32::MAX, |busy| libm::ceil(busy).clamp(0.0, f64::from(u32::MAX)) as u32);
    fit.map_or(least, |fit| fit.min(busy)).max(least)
}

/// More requests at a time: more workers, or more threads where only these are given.
fn more_slots(server: &Server, numbers: &Numbers<'_>) -> Result<Change, NoChange> {
    let has_workers = server.workers.is_some_and(|option| numbers.now(option).is_some());
    if let (false, Some(option)) = (has_workers, server.threads)
        && let Some(Now::Given(given)) = numbers.now(option)
    {
        return numbers.more_threads(&given);
    }
    let wanted = numbers.start.workers_wanted;
    let raise = |now: u32| {
        wanted.filter(|&wanted| wanted > now).unwrap_or_else(|| more_workers(now.max(1), None, None))
    };
    numbers.raised("workers", server.workers, raise, Shows::Median)
}

/// A server that closes its connections keeps them.
fn keep_alive(server: &Server, numbers: &Numbers<'_>) -> Result<Change, NoChange> {
    let what = "time for which it keeps connections";
    let none = || NoChange::NoOption { what, program: numbers.program.to_owned() };
    if let Some(Now::Given(given)) = server.keep_alive.and_then(|option| numbers.now(option)) {
        let is_off = given.value.parse::<u32>().is_ok_and(|seconds| seconds == 0);
        let words = with(&numbers.start.words, &given, KEPT);
        return if is_off {
            Ok(Change::of_words("keep-alive", &given.value, KEPT, words, Shows::Median))
        } else {
            Err(NoChange::Outside(Cause::NoKeepAlive))
        };
    }
    // The sync workers of gunicorn close each connection.
    let words = &numbers.start.words;
    if numbers.program == "gunicorn" && given(words, &["-k", "--worker-class", "--threads"]).is_none() {
        let words = words::added(words, numbers.place, ["-k", "gthread"]);
        return Ok(Change::of_words("worker class", "sync", "gthread", words, Shows::Median));
    }
    Err(if server.program.is_empty() { none() } else { NoChange::Outside(Cause::NoKeepAlive) })
}

/// The numbers among the options of a command.
struct Numbers<'a> {
    start: &'a Start,
    /// The place of the program among the words.
    place: usize,
    program: &'a str,
}

/// Where a number is given.
enum Now {
    Given(Given),
    Variable(&'static str, String),
}

impl Numbers<'_> {
    /// Where a number is given; an option is stronger than a variable.
    fn now(&self, option: Numbered) -> Option<Now> {
        let given = given(&self.start.words, option.names).map(Now::Given);
        given.or_else(|| {
            let name = option.variable?;
            let (_, value) = self.start.environment.iter().find(|(other, _)| other == name)?;
            Some(Now::Variable(name, value.clone()))
        })
    }

    fn raised(
        &self,
        variable: &'static str,
        option: Option<Numbered>,
        raise: impl Fn(u32) -> u32,
        shows: Shows,
    ) -> Result<Change, NoChange> {
        let none = || NoChange::NoOption { what: variable, program: self.program.to_owned() };
        let option = option.ok_or_else(none)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| none());
        match self.now(option) {
            Some(Now::Given(given)) => {
                let after = raise(number(&given.value)?).to_string();
                let words = with(&self.start.words, &given, &after);
                Ok(Change::of_words(variable, &given.value, &after, words, shows))
            }
            Some(Now::Variable(name, before)) => {
                let value = raise(number(&before)?).to_string();
                let edit = Edit::Variable { name: name.to_owned(), value: value.clone() };
                Ok(Change { variable, before, after: value, edit, shows })
            }
            None => {
                let (name, usual) = option.names.first().zip(option.usual).ok_or_else(none)?;
                // A file of settings may say another number than the usual one.
                let counted = self.start.workers.filter(|&count| variable == "workers" && count > 1);
                let now = counted.unwrap_or(usual);
                let after = raise(now).to_string();
                let words = words::added(&self.start.words, self.place, [name, &after]);
                Ok(Change::of_words(variable, &now.to_string(), &after, words, shows))
            }
        }
    }

    /// Twice as many threads: `4`, or Puma's `MIN:MAX`.
    fn more_threads(&self, given: &Given) -> Result<Change, NoChange> {
        let none = || NoChange::NoOption { what: "threads", program: self.program.to_owned() };
        let doubled =
            |count: &str| Ok(count.parse::<u32>().map_err(|_| none())?.saturating_mul(2).to_string());
        let after = match given.value.split_once(':') {
            Some((least, most)) => format!("{}:{}", doubled(least)?, doubled(most)?),
            None => doubled(&given.value)?,
        };
        let words = with(&self.start.words, given, &after);
        Ok(Change::of_words("threads", &given.value, &after, words, Shows::Median))
    }
}

impl Change {
    fn of_words(variable: &'static str, before: &str, after: &str, words: Vec<String>, shows: Shows) -> Self {
        let [before, after] = [before, after].map(str::to_owned);
        Change { variable, before, after, edit: Edit::Words(words), shows }
    }
}

impl fmt::Display for NoChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoChange::Outside(cause) => f.write_str(match cause {
                Cause::Tester => "the load generator is the limit, and not the service",
                Cause::Stolen => "the processor time goes to other guests of the hypervisor",
                Cause::Throttled => "the quota belongs to the control group, and not to the command",
                Cause::Neighbour => "the cores are used by other processes",
                Cause::ConnectionTable => "the connection table is one of the host (net.netfilter.nf_conntrack_max)",
                Cause::Ports => {
                    "local ports are a setting of the host (net.ipv4.ip_local_port_range), and whether the application keeps its \
                     connections is in its code"
                }
                Cause::Memory => "the memory limit belongs to the control group or the host, and not to the command",
                Cause::Disk => "which disk a service uses is not an argument that headroom knows",
                Cause::Retransmits => "the packets are lost in the network",
                Cause::Upstream => "the time is spent in another service",
                Cause::Processor => "it needs more cores, or less work for each request",
                Cause::NoKeepAlive => {
                    "no option of the server closes the connections; the clients or the application do"
                }
                _ => "it is outside of the command",
            }),
            NoChange::NoOption { what, program } => {
                write!(f, "the command of `{program}` has no option for the {what} that headroom knows")
            }
            NoChange::Bounded { most } => {
                write!(f, "the kernel allows no longer accept queue than {most} (net.core.somaxconn)")
            }
            NoChange::NotInCommand(Cause::Descriptors) => f.write_str("the limit of descriptors is not known"),
            NoChange::NotInCommand(_) => {
                f.write_str("neither the command nor its environment has an option that switches it off")
            }
        }
    }
}

/// What is replaced by a free port when a command is started.
pub const PORT: &str = "{port}";
/// Seconds that a connection is kept; longer than the usual pauses of clients.
const KEPT: &str = "75";

#[cfg(test)]
mod tests;
