//! From the file to the arms: ports, requests and processes.

use super::recording::{Live, Whole};
use super::{Args, UsageError};
use crate::commands::load;
use crate::inputs::{self, BadLines, FormatArgs};
use crate::ledger_file::RunName;
use ::load::{Arrivals, Base, Connecting, Course, Model, Plan, Servers, Target, Targets, Work};
use config::experiment::{Experiment, File, Find, Pace, Requests, SecondControl};
use host::{Service, looks_secret, without_secrets};
use http::codec::method::is_safe;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::Path;
use study::experiment::{Arm, Recording, Started};
use units::Timestamp;

/// What an experiment needs.
pub struct Planned {
    pub file: Experiment,
    pub control: Arm,
    pub second_control: Option<Arm>,
    pub candidates: Vec<Arm>,
    pub recording: Option<Box<dyn Recording>>,
    pub connecting: Connecting,
    /// The run of the finding that the experiment is made for.
    pub finding_of: Option<RunName>,
    /// The commands as they are started, by the name of the arm.
    pub commands: Vec<(String, String)>,
}

/// Reads the file; `--time` replaces the one in it.
pub fn read(args: &Args) -> Result<File, UsageError> {
    let mut file = config::experiment::read(&args.file).map_err(UsageError::File)?;
    if let Some(wanted) = args.time {
        let (time, warm_up, block) = match &mut file {
            File::Services(file) => (&mut file.time, &mut file.warm_up, file.block),
            File::Mirroring(file) => (&mut file.time, &mut file.warm_up, file.block),
        };
        if wanted < block * BLOCKS_MIN {
            return Err(UsageError::Time { time: wanted, block });
        }
        *time = wanted;
        *warm_up = (*warm_up).min(wanted / 4);
    }
    let no_use = match &file {
        File::Mirroring(_) => Some((&args.file, "sends no requests")),
        File::Services(file) => match &file.requests {
            Requests::Scenario(path) => Some((path, "has `headers` of its own")),
            Requests::Paths(_) | Requests::Listed { .. } => None,
        },
    };
    match no_use.filter(|_| !args.headers.is_empty()) {
        Some((file, why)) => Err(UsageError::Headers { file: file.clone(), why }),
        None => Ok(file),
    }
}

/// Reads all that the file names.
pub fn plan(args: &Args, file: Experiment) -> Result<Planned, UsageError> {
    let finding_of = finding_of(&file)?;
    let mut source = Source::read(&file)?;
    let recording = source.recording(args, file.pace, without_store(&file).is_none())?;
    refuse_writes(&file, &source)?;
    let resolver = args.connect.resolver()?;
    let mut servers = Servers::new(&resolver);
    let mut ports = Ports::default();
    let mut arm = |declared: &config::experiment::Arm, name: String| -> Result<Arm, UsageError> {
        let (command, url) = ports.fill(declared)?;
        let work = source.work(&url, &args.headers, &mut servers)?;
        let service = declared.pid.map(Service::of_process).transpose()?;
        Ok(Arm { name, command, env: declared.env.clone(), url, work, service })
    };
    let name = if file.find == Find::Differences { "control" } else { &file.control.value };
    let control = arm(&file.control, name.to_owned())?;
    let second_control = match file.second_control {
        SecondControl::Off => None,
        SecondControl::First | SecondControl::Alongside => {
            Some(arm(&file.control, "second control".to_owned())?)
        }
    };
    let candidates = file.candidates.iter().map(|declared| arm(declared, declared.value.clone()));
    let candidates = candidates.collect::<Result<Vec<Arm>, UsageError>>()?;
    one_variable(&control, &candidates)?;
    let model = match file.pace {
        Pace::Rate(rate) => Model::open(rate, Arrivals::Even, None),
        Pace::Users(users) => Model::closed(users),
        Pace::Recorded | Pace::Live => {
            let times: Vec<Timestamp> = Vec::new();
            Model::Open {
                course: Course::Recorded(times.into()),
                arrivals: Arrivals::Even,
                connections: None,
            }
        }
    };
    let all = || std::iter::once(&control).chain(&second_control).chain(&candidates);
    let mut secure = matches!(file.requests, Requests::Scenario(_));
    for arm in all() {
        let plan = Plan::new(arm.work.clone(), model.clone());
        args.guard.check(&plan)?;
        secure |= plan.uses_tls();
    }
    let commands = all().filter_map(|arm| Some((arm.name.clone(), arm.command.clone()?))).collect();
    let connecting = args.connect.connecting(resolver, secure, matches!(model, Model::Open { .. }))?;
    Ok(Planned { file, finding_of, control, second_control, candidates, recording, connecting, commands })
}

/// Refuses what can be refused without asking for addresses or processes.
pub fn check(path: &Path) -> Result<(), UsageError> {
    let File::Services(file) = config::experiment::read(path).map_err(UsageError::File)? else {
        return Ok(());
    };
    finding_of(&file)?;
    let source = Source::read(&file)?;
    refuse_writes(&file, &source)
}

/// The run that the hypothesis names.
fn finding_of(file: &Experiment) -> Result<Option<RunName>, UsageError> {
    let run = file.hypothesis.as_ref().and_then(|hypothesis| hypothesis.run.as_deref());
    run.map(str::parse).transpose().map_err(UsageError::RunName)
}

/// The experiment as the ledger has it.
pub fn recorded(file: &Experiment, commands: &[(String, String)], headers: &[String]) -> Value {
    let name_of = |header: &String| header.split(':').next().unwrap_or_default().trim().to_owned();
    let env = |env: &BTreeMap<String, String>| {
        let masked = |(name, value): (&String, &String)| {
            (name.clone(), if looks_secret(name, value) { "***".to_owned() } else { value.clone() })
        };
        env.iter().map(masked).collect::<BTreeMap<_, _>>()
    };
    let arm = |arm: &config::experiment::Arm| {
        json!({
            "value": arm.value, "command": arm.command.as_deref().map(without_secrets), "env": env(&arm.env), "url": arm.url, "pid": arm.pid,
            "own_store": arm.own_store,
        })
    };
    let load = match &file.requests {
        Requests::Paths(paths) => json!({ "paths": paths }),
        Requests::Listed { file, reads_only } => json!({ "requests": file, "reads_only": reads_only }),
        Requests::Scenario(file) => json!({ "scenario": file }),
    };
    let pace = match file.pace {
        Pace::Rate(rate) => json!({ "rate_per_second": rate.per_second() }),
        Pace::Users(users) => json!({ "users": users.get() }),
        Pace::Recorded => json!({ "times": "recorded" }),
        Pace::Live => json!({ "times": "live" }),
    };
    json!({
        "experiment": file.name, "variable": file.variable, "load": load, "pace": pace,
        "headers": headers.iter().map(name_of).collect::<Vec<_>>(),
        "hypothesis": file.hypothesis.as_ref().map(|hypothesis| {
            json!({ "finding": hypothesis.finding.code(), "run": hypothesis.run })
        }),
        "control": arm(&file.control), "candidates": file.candidates.iter().map(arm).collect::<Vec<_>>(),
        "started": commands
            .iter()
            .map(|(name, command)| (name.clone(), without_secrets(command)))
            .collect::<BTreeMap<String, String>>(),
        "margin": file.margin, "effect": file.effect, "harm": file.harm, "max_lag_seconds": file.max_lag.as_secs_f64(),
        "time_seconds": file.time.as_secs_f64(), "block_seconds": file.block.as_secs_f64(),
        "warm_up_seconds": file.warm_up.as_secs_f64(), "compare_answers": file.compare_answers,
    })
}

/// The requests of the file, before they have a server.
enum Source<'a> {
    Paths(&'a [String]),
    Listed { file: &'a Path, entries: Vec<import::Entry>, reads_only: bool },
    Scenario { file: &'a Path, methods: BTreeSet<String> },
}

impl<'a> Source<'a> {
    fn read(file: &'a Experiment) -> Result<Self, UsageError> {
        Ok(match &file.requests {
            Requests::Paths(paths) => Source::Paths(paths),
            Requests::Listed { file, reads_only } => {
                let format =
                    FormatArgs { format: "auto".to_owned(), log_format: None, bad_lines: BadLines::Skip };
                let mut entries = format.entries(file)?;
                if *reads_only {
                    entries.retain(|entry| is_safe(entry.method.as_bytes()));
                }
                if entries.is_empty() {
                    return Err(inputs::InputError::Empty(file.clone()).into());
                }
                Source::Listed { file, entries, reads_only: *reads_only }
            }
            Requests::Scenario(file) => {
                let methods = load::methods(file)?;
                Source::Scenario { file, methods }
            }
        })
    }

    /// The requests with times of their own, if the file asks for them. What is left is each of them once.
    fn recording(
        &mut self,
        args: &Args,
        pace: Pace,
        own_stores: bool,
    ) -> Result<Option<Box<dyn Recording>>, UsageError> {
        let Source::Listed { file, entries, reads_only } = self else { return Ok(None) };
        match pace {
            Pace::Recorded => {
                let (whole, listed) = Whole::new(std::mem::take(entries), args.seed)
                    .map_err(|why| UsageError::Recording { file: file.to_owned(), why })?;
                *entries = listed;
                Ok(Some(Box::new(whole)))
            }
            Pace::Live => {
                let resolver = args.connect.resolver()?;
                let live = Live::open(file, *reads_only, own_stores, &args.headers, resolver)?;
                *entries = live.examples();
                Ok(Some(Box::new(live)))
            }
            Pace::Rate(_) | Pace::Users(_) => Ok(None),
        }
    }

    /// Methods of requests that change data.
    fn unsafe_methods(&self) -> BTreeSet<&str> {
        let methods: Box<dyn Iterator<Item = &str>> = match self {
            Source::Paths(_) => Box::new(std::iter::empty()),
            Source::Listed { entries, .. } => Box::new(entries.iter().map(|entry| entry.method.as_str())),
            Source::Scenario { methods, .. } => Box::new(methods.iter().map(String::as_str)),
        };
        methods.filter(|method| !is_safe(method.as_bytes())).collect()
    }

    fn work(&self, url: &str, headers: &[String], servers: &mut Servers<'_>) -> Result<Work, UsageError> {
        match self {
            Source::Paths(paths) => {
                let target = |path: &String| {
                    let whole = Base::All(url).whole(path);
                    Target::at(servers, &whole, "GET", headers, &[])
                        .map_err(|source| UsageError::Target { path: path.clone(), source })
                };
                Ok(Work::Targets(Targets::new(paths.iter().map(target).collect::<Result<_, _>>()?)))
            }
            Source::Listed { file, entries, .. } => {
                let list =
                    inputs::targets(servers, file, inputs::recorded(entries), Base::All(url), headers)?;
                let named = list
                    .into_iter()
                    .zip(entries)
                    .map(|(target, entry)| target.named(&import::endpoint(entry)));
                Ok(Work::Targets(Targets::new(named.collect())))
            }
            Source::Scenario { file, .. } => Ok(load::scenario(file, Some(url), servers)?),
        }
    }
}

/// A service that gets copies and has no store of its own. The control gets them, too: the service that runs today would do again
/// what it has done for its users.
fn without_store(file: &Experiment) -> Option<String> {
    let candidate = file.candidates.iter().find(|candidate| !candidate.own_store);
    let candidate = candidate.map(|arm| format!("the candidate `{}`", arm.value));
    candidate.or_else(|| (!file.control.own_store).then(|| format!("the control `{}`", file.control.value)))
}

/// Refuses copies of requests that change data to a service without a store of its own.
fn refuse_writes(file: &Experiment, source: &Source<'_>) -> Result<(), UsageError> {
    let methods = source.unsafe_methods();
    if methods.is_empty() {
        return Ok(());
    }
    let Some(arm) = without_store(file) else { return Ok(()) };
    let (what, or) = match source {
        Source::Scenario { file, .. } => (format!("requests of {}", file.display()), ""),
        Source::Listed { file, .. } => {
            (format!("requests of {}", file.display()), "; or leave them out with `reads_only: true`")
        }
        Source::Paths(_) => ("requests".to_owned(), ""),
    };
    let methods = methods.into_iter().collect::<Vec<_>>().join(", ");
    Err(UsageError::Unsafe { what, methods, arm, or })
}

/// Compares services that run already: the command lines of their processes, as the kernel has them, and what they were started from.
fn one_variable(control: &Arm, candidates: &[Arm]) -> Result<(), UsageError> {
    let started = |arm: &Arm| arm.runs().map(|service| Started::of(&service)).transpose();
    let Some((_, ours)) = started(control)?.flatten() else { return Ok(()) };
    for candidate in candidates {
        let Some((process, theirs)) = started(candidate)?.flatten() else { continue };
        Started::one_variable((&ours, &control.url), (process, &theirs, &candidate.url), &candidate.name)?;
    }
    Ok(())
}

/// Free ports; each is given once.
#[derive(Default)]
struct Ports {
    /// Held until all are found, so that none is found twice.
    held: Vec<TcpListener>,
}

impl Ports {
    /// The command and the URL of an arm with their port.
    fn fill(&mut self, arm: &config::experiment::Arm) -> Result<(Option<String>, String), UsageError> {
        let uses = |text: &str| text.contains(PORT);
        if !arm.command.as_deref().is_some_and(uses) && !uses(&arm.url) {
            return Ok((arm.command.clone(), arm.url.clone()));
        }
        let listener = TcpListener::bind("127.0.0.1:0").map_err(UsageError::Port)?;
        let port = listener.local_addr().map_err(UsageError::Port)?.port().to_string();
        self.held.push(listener);
        let filled = |text: &str| text.replace(PORT, &port);
        Ok((arm.command.as_deref().map(filled), filled(&arm.url)))
    }
}

/// What is replaced by a free port.
const PORT: &str = "{port}";
/// As in the file.
const BLOCKS_MIN: u32 = 20;
