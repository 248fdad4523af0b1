//! `headroom scale`: the policy that was simulated, on the running service.

use super::simulate::{self, refuse};
use crate::exit::Exit;
use crate::ledger_file::{self, LedgerArgs};
use crate::live::Interrupts;
use crate::next::{Line, Typed};
use crate::output;
use crate::recorder::{About, Recorder};
use config::case::{Case, Given, Results, Stage};
use documents::scale::{Account, Decision, Period};
use ledger::RunId;
use listener::Address;
use scaler::settings;
use scaler::{Ended, Goal, Listener, Options, Plan, RemoteTarget, ScaleError, Told};
use scaler_api::Server;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use units::parse_duration;

/// Run the scaling policy of a case file on the running service
///
/// FILE is a case file, as `headroom simulate` reads it, with a `live` section: the gateway before the service, and how
/// an instance is started. The same code decides as in the simulation, from what the gateway and the processes report.
///
/// Without --apply, decisions are recommended and nothing is changed. With --apply, instances are started and added to
/// the gateway's pool when they are ready; they are drained before they are stopped. They outlive the scaler: the next
/// one adopts them. One scaler leads; another one on the same state directory waits and takes over.
///
/// With `kubernetes` in the section, the size is that of a resource of Kubernetes with a scale subresource, and the leader
/// holds a Lease (in builds with the feature `kube`). With `ecs` or `auto_scaling_group` it is that of a service of ECS or of
/// an Auto Scaling group of EC2 (in builds with the feature `aws`).
///
/// With `serve` in the section, others read the wanted size and act on it: KEDA, or Prometheus and a horizontal pod
/// autoscaler; `headroom top --scaler` shows what it does and why nothing happens.
///
/// The ledger keeps each run with its decisions; the record in the state directory also has every sample. --replay decides
/// again from the record of a run.
///
/// A file `pause` or `kill` in the state directory stops all changes; `size` has the wanted size, and a size that
/// somebody else writes there is left as it is for 15 minutes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Case file with a `live` section
    #[arg(required_unless_present = "replay")]
    file: Option<PathBuf>,

    /// Carry decisions out
    #[arg(long, conflicts_with = "replay")]
    apply: bool,

    /// Stage of the case [default: the last one in sequence]
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,

    /// End after this time [default: run until interrupted]
    #[arg(long = "for", value_name = "SPAN", value_parser = parse_duration, conflicts_with = "replay")]
    lasts: Option<Duration>,

    /// Decide again from a run of the ledger or a record, and compare; exit code 99 if a decision differs or a sample is missing
    #[arg(long, value_name = "RUN|RECORD")]
    replay: Option<String>,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Print the rights that FILE needs, as Kubernetes manifests or as an IAM policy, and end
    #[arg(long, conflicts_with_all = ["replay", "apply"])]
    print_permissions: bool,

    /// Print one JSON object for each decision
    #[arg(long, conflicts_with = "replay", help_heading = "Output")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  What the policy would do, without changing anything:
      headroom scale shop.yaml
  Carry its decisions out:
      headroom scale shop.yaml --apply
  Grant what a resource of Kubernetes needs:
      headroom scale shop.yaml --print-permissions | kubectl apply -f -
  Decide again from a run of the ledger, or from its record:
      headroom scale --replay r12
      headroom scale --replay run/record.jsonl";

/// Why nothing is scaled.
#[derive(Debug, Error)]
enum Error {
    #[error("{} has no `live` section; add one with the gateway and a state directory: docs/scale.md", .0.display())]
    NoLive(PathBuf),
    #[error(
        "{} has no `kubernetes`, `ecs` or `auto_scaling_group` in `live`; other targets need no permissions of a cluster or of AWS",
        .0.display()
    )]
    NoPermissions(PathBuf),
    #[error(transparent)]
    Scale(#[from] ScaleError),
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    #[error("cannot read {}", path.display())]
    Record { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Ledger(#[from] ledger_file::Error),
    #[error("there is no run {0}: the ledger is empty; `headroom runs` lists them")]
    NoRun(RunId),
    #[error(
        "run {id} is one of `headroom {command}`; give one of `headroom scale`: `headroom runs` lists them"
    )]
    OtherCommand { id: RunId, command: String },
    #[error("the samples of run {id} are not there any more: neither {} nor the file with the ending .1 beside it is its record, and \
             a state directory keeps the last two; `headroom show {id}` has its decisions", path.display())]
    Gone { id: RunId, path: PathBuf },
    #[error("{} cannot be replayed", path.display())]
    Replay { path: PathBuf, source: scaler::ReplayError },
}

/// Scales.
pub fn run(args: &Args) -> Exit {
    let outcome = match &args.replay {
        Some(record) => replay(args, record),
        None => scale(args),
    };
    outcome.unwrap_or_else(|exit| exit)
}

fn complain(error: Error) -> Exit {
    let exit = match &error {
        Error::Scale(ScaleError::System { .. } | ScaleError::LostLead)
        | Error::Signals(_)
        | Error::Record { .. } => Exit::Failed,
        _ => Exit::Usage,
    };
    output::complain(&error, exit)
}

fn scale(args: &Args) -> Result<Exit, Exit> {
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    let text = text_of(file)?;
    let results = args.ledger.results();
    let given = Given { live: Some(scaler::now_us()), results: Some(results.clone()), ..Given::default() };
    let (mut plan, stage, place) = plan(file, &text, args.stage.as_deref(), given)?;
    // The processor use of a cluster or of AWS is read for a policy on it only.
    let usage = plan.policy.measures().contains(&"cpu");
    if args.print_permissions {
        let text = permissions(&plan.live, usage).map_err(|error| complain(error.into()))?;
        let text = text.ok_or_else(|| complain(Error::NoPermissions(file.to_owned())))?;
        return Ok(output::print(&text));
    }
    let remote = remote(&plan.live, usage).map_err(|error| complain(error.into()))?;
    let interrupts = Interrupts::listen().map_err(|error| complain(Error::Signals(error)))?;
    let serve = plan.live.serve.clone().map(|serve| (serve, plan.live.state.clone()));
    let options = Options { apply: args.apply, lasts: args.lasts };
    let record = std::path::absolute(plan.record(options)).unwrap_or_else(|_| plan.record(options));
    let mut recorder = Recorder::open(&args.ledger);
    let begun = recorder.begin(About {
        command: "scale",
        target: &format!("{}, {}", plan.service, fleet(&plan.live)),
        config: json!({
            "case": plan.case,
            "text": text,
            "stage": plan.stage,
            "applies": args.apply,
            "record": record.display().to_string(),
        })
        .to_string(),
        parent: None,
    });
    plan.run = begun.name();
    let mut story = Story {
        file: file.to_owned(),
        text,
        results,
        place,
        run: plan.run.clone(),
        json: args.json,
        applies: args.apply,
        interrupts,
        serve,
        server: None,
        failed: None,
        decisions: Vec::new(),
        more: 0,
    };
    let begins = if args.apply { "carries out" } else { "recommends, and changes nothing" };
    output::say(&format!(
        "scale {}: {begins}; {} to {} instances, {}\n",
        plan.stage,
        plan.live.guard.min,
        plan.live.guard.max,
        fleet(&plan.live)
    ));
    let ended = scaler::run(&plan, options, remote, &mut story).map_err(|error| {
        recorder.fail(begun, &error.to_string());
        complain(error.into())
    })?;
    let Some(Ended { lasted, actual_s, wanted_s, changes, record, lost }) = ended else {
        // Another scaler led all the time.
        recorder.finish(begun, None, None);
        return Ok(story.failed.unwrap_or(Exit::Done));
    };
    let result = json!({
        "lasted_s": lasted.as_secs_f64(),
        "changes": changes,
        "instance_s": actual_s,
        "wanted_instance_s": wanted_s,
        "lines_lost": lost,
        "decisions": story.decisions,
        "decisions_left_out": story.more,
    });
    recorder.finish(begun, None, Some(result.to_string()));
    if let Some(exit) = story.failed {
        return Ok(exit);
    }
    let service = stage.system.services.get(plan.live.service);
    let per_hour = service.and_then(|service| service.prices.first()).map(|price| price.per_hour);
    let record = record.display().to_string();
    let replayed = plan.run.clone().unwrap_or_else(|| record.clone());
    let account = Account {
        lasted,
        applied: args.apply,
        changes,
        actual_s,
        wanted_s,
        per_hour,
        record: record.clone(),
    };
    output::say(&account.text());
    output::say(
        &Line::new("headroom scale")
            .flag("replay", &replayed)
            .repeated(&Typed::now(), "scale", &["ledger"])
            .remark("decides again from the record")
            .next(),
    );
    Ok(Exit::Done)
}

/// What is scaled, in words.
fn fleet(live: &settings::Live) -> String {
    let settings::Live { gateway, kubernetes, aws, .. } = live;
    match (gateway, kubernetes, aws) {
        (Some(gateway), ..) => format!("pool `{}` of {}", gateway.pool, gateway.admin),
        (None, Some(target), _) => target.to_string(),
        (None, None, Some(target)) => target.to_string(),
        (None, None, None) => String::new(),
    }
}

/// The target over a network that a section names, in builds that have its client; none: it names none.
fn remote(live: &settings::Live, usage: bool) -> Result<Option<Box<dyn RemoteTarget>>, ScaleError> {
    #[cfg(feature = "kube")]
    if let Some(target) = &live.kubernetes {
        return Ok(Some(Box::new(scaler_kube::KubernetesTarget::new(target, usage)?)));
    }
    #[cfg(feature = "aws")]
    if let Some(target) = &live.aws {
        let bounds = (live.guard.min, live.guard.max);
        return Ok(Some(Box::new(scaler_aws::AwsTarget::new(target, bounds, usage)?)));
    }
    let _ = usage;
    live.needs().map_or(Ok(None), |(key, feature)| Err(ScaleError::NotBuilt { key, feature }))
}

/// The rights that the target of a section needs; none: it needs none.
fn permissions(live: &settings::Live, usage: bool) -> Result<Option<String>, ScaleError> {
    #[cfg(feature = "kube")]
    if let Some(target) = &live.kubernetes {
        return Ok(Some(scaler_kube::rights::manifest(target, usage)?));
    }
    #[cfg(feature = "aws")]
    if let Some(target) = &live.aws {
        return Ok(Some(scaler_aws::rights::policy(target, usage)));
    }
    let _ = usage;
    live.needs().map_or(Ok(None), |(key, feature)| Err(ScaleError::NotBuilt { key, feature }))
}

fn text_of(file: &Path) -> Result<String, Exit> {
    let text = fields::text_of(file, "a case file is UTF-8 text; see cases/accounts.yaml");
    text.map_err(|problems| refuse(&simulate::Error::Problems(problems)))
}

/// What a case file says of the running service.
fn plan(file: &Path, text: &str, stage: Option<&str>, given: Given) -> Result<(Plan, Stage, usize), Exit> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let case = config::case::parse(&file.display().to_string(), text, folder, given);
    let case = case.map_err(|problems| refuse(&simulate::Error::Problems(problems)))?;
    let place = match stage {
        Some(name) => simulate::place(&case, name).map_err(|error| refuse(&error))?,
        None => in_force(&case),
    };
    let plan = plan_of(&case, place, file).ok_or_else(|| complain(Error::NoLive(file.to_owned())))?;
    Ok((plan, case.stages[place].clone(), place))
}

/// The plan of a stage; none without a `live` section.
fn plan_of(case: &Case, place: usize, file: &Path) -> Option<Plan> {
    let live = case.live(place)?;
    let stage = &case.stages[place];
    let service = &stage.system.services[live.service];
    let scaling = &service.scaling;
    let quotas = &stage.system.quotas;
    Some(Plan {
        policy: scaling.policy.clone(),
        goal: scaling.goal.map(|goal| Goal { quantile: goal.quantile, below: goal.below }),
        instances: service.instances.get(),
        quota: [quotas.instances, quotas.addresses].into_iter().flatten().min(),
        case: std::path::absolute(file).unwrap_or_else(|_| file.to_owned()).display().to_string(),
        stage: stage.name.clone(),
        title: case.name.clone(),
        service: service.name.clone(),
        run: None,
        live,
    })
}

/// The last stage in sequence: the policy that the account ended with.
fn in_force(case: &Case) -> usize {
    case.stages.iter().rposition(|stage| !stage.aside).unwrap_or(0)
}

/// The record of a run of the ledger.
fn record_of(args: &Args, id: RunId) -> Result<PathBuf, Error> {
    let ledger = args.ledger.open_existing()?.ok_or(Error::NoRun(id))?;
    let begun = ledger.run(id).map_err(ledger_file::Error::from)?.begun;
    if begun.command != "scale" {
        return Err(Error::OtherCommand { id, command: begun.command });
    }
    let config: serde_json::Value = serde_json::from_str(&begun.config).unwrap_or_default();
    let path = PathBuf::from(config["record"].as_str().unwrap_or_default());
    let is_its = |path: &PathBuf| {
        let mut line = String::new();
        let read = File::open(path).and_then(|file| BufReader::new(file).read_line(&mut line));
        let begin = read.ok().and_then(|_| scaler::begin(&line).ok());
        begin.is_some_and(|begin| begin.run == Some(id.to_string()))
    };
    let found = [path.clone(), scaler::Record::before(&path)].into_iter().find(is_its);
    found.ok_or(Error::Gone { id, path })
}

fn replay(args: &Args, what: &str) -> Result<Exit, Exit> {
    let path = match what.parse() {
        Ok(id) if !Path::new(what).exists() => record_of(args, id).map_err(complain)?,
        _ => what.into(),
    };
    let path = path.as_path();
    let text = std::fs::read_to_string(path)
        .map_err(|source| complain(Error::Record { path: path.to_owned(), source }))?;
    let failed = |source| complain(Error::Replay { path: path.to_owned(), source });
    let begin = scaler::begin(&text).map_err(failed)?;
    let file = args.file.clone().unwrap_or_else(|| begin.case.clone().into());
    let stage = args.stage.as_deref().or(Some(&begin.stage));
    let given = Given { live: begin.began_us, results: Some(args.ledger.results()), ..Given::default() };
    let (plan, _, _) = plan(&file, &text_of(&file)?, stage, given)?;
    let found = scaler::replay(&text, plan.brain(begin.size)).map_err(failed)?;
    let replayed = documents::scale::Replayed {
        record: path.display().to_string(),
        samples: found.samples,
        decisions: found.decisions,
        missing: found.missing,
        different: found.different,
    };
    let printed = output::print(&replayed.text());
    Ok(if replayed.is_same() { printed } else { Exit::Missed })
}

/// Tells what happens: decisions on standard output, the rest on standard error.
struct Story {
    /// The case file, its text, the results of runs that it names, the index of the stage, and the run of the ledger.
    file: PathBuf,
    text: String,
    results: Results,
    place: usize,
    run: Option<String>,
    json: bool,
    applies: bool,
    interrupts: Interrupts,
    /// Where the wanted size is to be served, and the state directory with the switches.
    serve: Option<(settings::Serve, PathBuf)>,
    server: Option<Server>,
    /// Nobody reads the output any more.
    failed: Option<Exit>,
    /// The first [`KEPT`] decisions, for the ledger.
    decisions: Vec<Decision>,
    /// How many came after them.
    more: u64,
}

impl Story {
    fn print(&mut self, text: &str) {
        let exit = output::print(text);
        if exit != Exit::Done {
            self.failed = Some(exit);
        }
    }
}

impl Listener for Story {
    fn plan(&mut self, now_us: i64) -> Result<Option<Plan>, ScaleError> {
        // The text that was checked, whatever the file has now.
        let results = Some(self.results.clone());
        let given = Given { live: Some(now_us), results, ..Given::default() };
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let case = config::case::parse(&self.file.display().to_string(), &self.text, folder, given);
        let case = case.map_err(|problems| ScaleError::NotNow(problems.to_string()))?;
        let plan = plan_of(&case, self.place, &self.file);
        Ok(plan.map(|plan| Plan { run: self.run.clone(), ..plan }))
    }

    fn decision(&mut self, told: &Told) {
        let Told { at, policy, from, to, reason, applied } = told.clone();
        let decision = Decision { at: at.as_secs_f64(), policy, from, to, reason, applied };
        let text = if self.json { decision.json() } else { decision.text(self.applies) };
        self.print(&text);
        if self.decisions.len() < KEPT {
            self.decisions.push(decision);
        } else {
            self.more += 1;
        }
    }

    fn note(&mut self, text: &str) {
        output::note(text);
    }

    fn period(&mut self, seen: &scaler::PeriodSeen) {
        let scaler::PeriodSeen { at, size, ready, demand, goal_held } = *seen;
        let text = Period { at: at.as_secs_f64(), size, ready, demand, goal_held }.text();
        if self.json { output::say(&text) } else { self.print(&text) }
    }

    fn ends(&mut self) -> bool {
        self.failed.is_some() || self.interrupts.came()
    }

    fn begins(&mut self) -> std::io::Result<()> {
        let Some((serve, state)) = &self.serve else { return Ok(()) };
        let listen = match &serve.listen {
            settings::Address::Tcp(address) => Address::Tcp(*address),
            settings::Address::Unix(path) => Address::Unix(path.clone()),
        };
        let state = state.clone();
        let switches = Arc::new(move |switch: status::scaler::Switch| scaler::switch(&state, switch));
        let server = Server::start(&listen, serve.token_file.as_deref(), switches)?;
        output::note(&format!("serves the wanted size on {}", server.address()));
        self.server = Some(server);
        Ok(())
    }

    fn state(&mut self, state: status::scaler::Scaler) {
        if let Some(server) = &self.server {
            server.publish(state);
        }
    }
}

/// Decisions of a run that the ledger keeps. All of them are in its record.
const KEPT: usize = 10_000;
