//! `headroom demo fleet`: a policy that was simulated runs live, on processes of this machine.
//!
//! ```text
//! case (demo-fleet) → study::tune → a case with today's and the tuned stage
//!   ├→ simulated before: instances and p95, second by second
//!   └→ live: arrivals of the simulator → load → gateway → processes ← controller of control, each second
//!        → documents::fleet → text, JSON, page with both curves
//! ```
//!
//! ## Why a compressed day is honest
//! Only the shape of the day is compressed. Requests, starts, drains and the periods of the policies have the times of the
//! case file, in the simulation and live. The same arrivals are sent that the simulation has, and a request takes the
//! times that the simulation draws for it; its processor time is a wait for a share of the instance's virtual core. What
//! the simulation does not know is this machine: scheduling, the network, the real start of a process.

mod instances;
mod live;
mod meters;
mod process;

use crate::commands::simulate::SourceArgs;
use crate::exit::Exit;
use crate::output;
use crate::output_file;
use config::case::{Case, Given, Stage};
use documents::fleet::{Curves, Fleet, Policy};
use live::{Played, play};
use measure::Verdict;
use report::FleetMinute;
use sim::Outcome;
use sim::settings::System;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use study::tune::{Asked, Limits, Shell, tune};
use thiserror::Error;
use units::Quantile;

/// Show in three minutes how a simulated policy runs
///
/// An account service runs as processes on this machine, behind a gateway; nothing leaves this machine. A day of traffic
/// is played in two minutes, to two fleets at once: one with today's policy, which keeps too many instances, and one with
/// the policy that `headroom tune` finds for it now. Both were simulated before. The report has the simulated and the
/// real curves over each other.
///
/// An instance's processor is virtual, so that 30 instances fit on two cores.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the policies as JSON
    #[arg(long)]
    json: bool,

    /// HTML report to write [default: headroom-demo-fleet.html]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Factor of the processor times in the simulation only: the control of the comparison, which has to fail
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, hide = true)]
    model_cpu: f64,

    /// Print every decision of the live policies
    #[arg(long)]
    decisions: bool,
}

/// Why the demo ended early.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FleetError {
    #[error("instance {number} cannot run: {why}")]
    Instance { number: u64, why: String },
    #[error("the demo cannot run {what}")]
    Unlike { what: &'static str },
    #[error("the gateway cannot run: {why}")]
    Settings { why: String },
    #[error("the gateway cannot run")]
    Gateway(#[from] ::gateway::GatewayError),
    #[error("the instances of the gateway cannot be changed")]
    Change(#[from] ::gateway::InstanceChangeError),
    #[error("the metrics of the gateway cannot be read")]
    Metrics { source: std::io::Error },
    #[error("no load can be sent")]
    Target(#[from] ::load::TargetError),
    #[error("no load can be sent")]
    Load(#[from] ::load::StartError),
    #[error("no better policy was found: {why}")]
    Tune { why: String },
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    #[error("interrupted")]
    Interrupted,
}

/// Plays both policies.
pub fn run(args: &Args) -> Exit {
    if let Some(Err(error)) = args.report.as_deref().map(output_file::check) {
        return output::complain(&error, Exit::Usage);
    }
    let fleet = match tell(args) {
        Ok(fleet) => fleet,
        Err(error) => return output::fail(&error),
    };
    let path = args.report.as_deref().unwrap_or(Path::new(REPORT));
    match output_file::write(path, |out| out.write_all(fleet.page().as_bytes())) {
        Ok(()) => output::tell(&format!("\nreport: {}\n", path.display())),
        Err(error) => {
            output::fail(&error);
        }
    }
    if args.json {
        return output::print(&format!("{:#}\n", fleet.json()));
    }
    let notes: String = fleet.notes.iter().map(|note| format!("{note}\n")).collect();
    let saved = fleet.saving().map_or(String::new(), |share| {
        format!(
            "The tuned policy needs {:.0} % fewer instance-minutes for the same requests.\n",
            100.0 * share
        )
    });
    output::print(&format!("\n{}\n{saved}{notes}{NEXT}", report::text(&fleet.table(), output::terminal())))
}

fn tell(args: &Args) -> Result<Fleet, FleetError> {
    let interrupts = crate::live::Interrupts::listen().map_err(FleetError::Signals)?;
    let interrupted = || interrupts.came();
    let read = SourceArgs::of(None, Some(CASE.to_owned())).read(Given::default());
    let read = read.map_err(|error| FleetError::Settings { why: error.to_string() })?;
    let case = read.ok_or(FleetError::Unlike { what: "without its case" })?;
    output::tell("headroom demo fleet: a policy that was simulated runs live\n\n");
    output::tell("tune       a cheaper policy for the fleet of the demo, which keeps the goal\n");
    let case = tuned(&case, &interrupted)?;
    let chosen = [0, case.stages.len() - 1];
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    output::tell("simulate   both policies, request by request\n");
    let systems: Vec<System> =
        chosen.iter().map(|place| model(&case.stages[*place].system, args.model_cpu)).collect();
    let simulated = sim::run_many(&systems, sim::Fidelity::Request, threads);
    let arrivals = sim::Requests::schedule(&case.stages[0].system);
    output::tell(&format!(
        "live       {} requests to each of two fleets, in {} s\n",
        arrivals.len(),
        (case.stages[0].system.warm_up + case.stages[0].system.measured).as_secs()
    ));
    let played: Vec<Result<Played, FleetError>> = thread::scope(|scope| {
        let (arrivals, interrupted) = (&arrivals, &interrupted);
        let threads: Vec<_> = chosen
            .iter()
            .map(|place| {
                let stage = &case.stages[*place];
                scope.spawn(move || play(stage, arrivals, interrupted))
            })
            .collect();
        threads
            .into_iter()
            .map(|one| one.join().unwrap_or(Err(FleetError::Unlike { what: "a policy that failed" })))
            .collect()
    });
    if interrupts.came() {
        return Err(FleetError::Interrupted);
    }
    let mut fleet = Fleet::default();
    for ((place, outcome), played) in chosen.iter().zip(&simulated).zip(played) {
        let (stage, played) = (&case.stages[*place], played?);
        if args.decisions {
            for (at, decision) in &played.decisions {
                let (from, to) = (decision.from, decision.to);
                let at = at.as_secs_f64();
                output::tell(&format!("{} {at:>4.0} s  {from} to {to}: {}\n", stage.name, decision.reason));
            }
        }
        fleet.policies.push(policy(stage, outcome, &played));
        if played.measured.validity.verdict != Verdict::Valid {
            fleet.notes.push(format!(
                "this machine was too busy to send the requests of {} on time, so the real times are not those of the \
                 model: run the demo again when it is idle",
                stage.name
            ));
        }
    }
    Ok(fleet)
}

/// The case with the stage that tuning found.
fn tuned(case: &Case, interrupted: &(dyn Fn() -> bool + Sync)) -> Result<Case, FleetError> {
    let asked = Asked {
        also: Vec::new(),
        growth: 0.0,
        limits: Limits {
            outside: Some(OUTSIDE),
            actions: Some(ACTIONS),
            flaps: Some(FLAPS),
            ..Limits::default()
        },
        candidates: CANDIDATES,
        seed: 1,
        threads: thread::available_parallelism().map_or(1, NonZero::get),
        inputs: Vec::new(),
        version: status::version(),
    };
    let tuned = tune(case, 0, &asked, &Shell { tell: &|_| {}, interrupted });
    let tuned = tuned.map_err(|error| FleetError::Tune { why: error.to_string() })?;
    for change in &tuned.changes {
        let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let line = format!("           {}: {} → {}\n", change.key, value(&change.from), value(&change.to));
        output::tell(&line);
    }
    let text = tuned.case_file.ok_or_else(|| FleetError::Tune { why: tuned.notes.join("; ") })?;
    let read = config::case::parse(CASE, &text, Path::new(""), Given::default());
    read.map_err(|problems| FleetError::Settings { why: problems.plain() })
}

/// The system as it is simulated: with processor times times a factor.
fn model(system: &System, factor: f64) -> System {
    let mut system = system.clone();
    for host in system.services.iter_mut().flat_map(|service| &mut service.hosts) {
        host.speed /= factor;
    }
    system
}

/// What a policy did, beside its simulation.
fn policy(stage: &Stage, outcome: &Outcome, played: &Played) -> Policy {
    let system = &stage.system;
    let warm = system.warm_up.as_secs() as usize;
    let end = warm + system.measured.as_secs() as usize;
    let goal = system.services[0].scaling.goal;
    let p95_of = |from: usize, to: usize| {
        let response = played.measured.series.between(from, to).response.dense();
        response.quantile(Quantile::P95).map(|value| value.at.as_secs_f64())
    };
    let real: Vec<FleetMinute> = played
        .seconds
        .iter()
        .enumerate()
        .map(|(second, (running, cpu))| FleetMinute {
            instances: f64::from(*running),
            desired: None,
            cpu: *cpu,
            p95: p95_of(warm + second, warm + second + 1),
        })
        .collect();
    let outside = (warm..end)
        .filter(|second| {
            let bound = goal.map(|goal| goal.below.as_secs_f64());
            p95_of(*second, second + 1).zip(bound).is_some_and(|(found, bound)| found >= bound)
        })
        .count();
    let service = outcome.services.first();
    let rows = service.map_or(&[][..], |service| &service.rows);
    let simulated: Vec<FleetMinute> = rows
        .iter()
        .map(|row| FleetMinute {
            instances: f64::from(row.counts.running),
            desired: None,
            cpu: row.cpu_average,
            p95: row.balancer.map(|times| times.p95),
        })
        .collect();
    let minutes = |curve: &[FleetMinute]| curve.iter().map(|second| second.instances).sum::<f64>() / 60.0;
    let accounting = played.measured.series.between(warm, end).accounting;
    let curves = Curves { simulated, real };
    Policy {
        name: stage.name.clone(),
        instance_minutes: minutes(&curves.real),
        simulated_instance_minutes: minutes(&curves.simulated),
        within_one_instance: Policy::within_one(&curves),
        goal_held: outside as f64 <= OUTSIDE,
        p95_ms: 1e3 * p95_of(warm, end).unwrap_or(0.0),
        simulated_p95_ms: 1e3 * service.and_then(|one| one.totals.balancer).map_or(0.0, |times| times.p95),
        answered: accounting.answered,
        failed: accounting.failed + accounting.timed_out + accounting.unsent,
        shed: accounting.shed,
        curves,
    }
}

/// The case of the demo.
const CASE: &str = "demo-fleet";
/// The report, where no other name is given.
const REPORT: &str = "headroom-demo-fleet.html";
/// Seconds outside the goal that the case allows, in its rows too.
const OUTSIDE: f64 = 6.0;
/// More than today, which hardly scales in.
const ACTIONS: f64 = 20.0;
/// Few actions may reverse a recent one.
const FLAPS: f64 = 2.0;
/// Enough for a search of half a minute on two cores.
const CANDIDATES: usize = 300;

const NEXT: &str = "\
The same for a fleet of your own
  headroom simulate fleet.yaml
  headroom tune fleet.yaml -o tuned.yaml
On a running service, once the file has a `live` section (docs/scale.md)
  headroom scale tuned.yaml
";
