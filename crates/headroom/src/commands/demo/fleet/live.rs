//! One policy, live: the gateway, the processes, the load, and the controller that decides each second.

use super::FleetError;
use super::instances::{POOL, Processes};
use super::meters::{OfGateway, Seen};
use super::process::First;
use ::gateway::settings::{PathMatch, Pool, Route, Settings};
use ::load::{Arrivals, Course, Model, Plan, Target};
use config::case::Stage;
use control::scaling::controller::{Controller, Decision, Shell};
use measure::Measurement;
use sim::Arrival;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use study::load::{Event, Load, Watching};
use units::Timestamp;

/// What happened.
pub(super) struct Played {
    /// Running instances and their mean processor use at the end of each second of the measured time.
    pub(super) seconds: Vec<(u32, Option<f64>)>,
    /// What the load measured, warm-up included.
    pub(super) measured: Measurement,
    /// What was decided, with when.
    pub(super) decisions: Vec<(Timestamp, Decision)>,
}

/// Plays a stage with these arrivals.
pub(super) fn play(
    stage: &Stage,
    arrivals: &[Arrival],
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Played, FleetError> {
    let system = &stage.system;
    let first = First::start(system)?;
    let gateway = ::gateway::start(settings(&first))?;
    let admin = gateway.admin_address().ok_or(FleetError::Unlike { what: "a gateway without metrics" })?;
    let target = Target::new(&format!("http://{}/", gateway.address()), "GET", &[], b"")?;
    let times: Arc<[Timestamp]> = arrivals.iter().map(|arrival| arrival.at).collect();
    let course = Course::Recorded(times);
    let plan = Plan {
        duration: Some(system.warm_up + system.measured),
        timeout: PATIENCE,
        good_within: PATIENCE,
        arrival_header: Some("X-Headroom-Arrival".to_owned()),
        ..Plan::new(target, Model::Open { course, arrivals: Arrivals::Even, connections: None })
    };
    let (begins, begun) = channel();
    thread::scope(|scope| {
        let load = scope.spawn(move || {
            let load = Load { plan, thresholds: Vec::new(), watching: Watching::default(), interrupted };
            study::load::run(&load, &mut |event| {
                if let Event::Runs { now, .. } = event {
                    // The fleet takes the first one, by which it knows the clock of the load.
                    let _ = begins.send(Instant::now() - now.at.since(Timestamp::ZERO));
                }
            })
        });
        let begun = begun.recv().map_err(|_| FleetError::Unlike { what: "no load" });
        let scaled = begun.and_then(|begun| {
            let mut processes = Processes::new(&gateway, system, first, begun)?;
            scale(stage, &mut processes, admin, begun, &|| interrupted() || load.is_finished())
        });
        let outcome = load.join().map_err(|_| FleetError::Unlike { what: "a load that failed" })??;
        gateway.drain();
        let (seconds, decisions) = scaled?;
        Ok(Played { seconds, measured: outcome.measured, decisions })
    })
}

type Scaled = (Vec<(u32, Option<f64>)>, Vec<(Timestamp, Decision)>);

/// Decides each second until the measured time is over.
fn scale(
    stage: &Stage,
    processes: &mut Processes<'_>,
    admin: SocketAddr,
    begun: Instant,
    over: &dyn Fn() -> bool,
) -> Result<Scaled, FleetError> {
    let system = &stage.system;
    let service = &system.services[0];
    let controller = Controller::new(&service.scaling.policy, service.instances);
    let mut shell: Shell<Seen> = Shell::new(controller);
    let mut gateway = OfGateway::default();
    let (mut seconds, mut decisions) = (Vec::new(), Vec::new());
    let end = (system.warm_up + system.measured).as_secs();
    for second in 1..=end {
        let due = begun + Duration::from_secs(second);
        loop {
            processes.follow()?;
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || over() {
                break;
            }
            thread::sleep(left.min(TICK));
        }
        if over() {
            break;
        }
        let now = Timestamp::from_secs(second);
        processes.read();
        let cpu = processes.take_cpu();
        if second > system.warm_up.as_secs() {
            seconds.push((processes.running(), cpu));
        }
        let mut seen = gateway.read(admin, SECOND).map_err(|source| FleetError::Metrics { source })?;
        shell.add(&mut seen, SECOND);
        shell.read_fine(now, processes);
        if Shell::<Seen>::ends_minute(now) {
            shell.read_minute(now, processes);
        }
        let Some((_, verdict)) = shell.decide(now, processes) else { continue };
        decisions.extend(verdict.decisions.into_iter().map(|decision| (now, decision)));
        if let Some(desired) = verdict.desired {
            processes.set_desired(desired);
        }
    }
    Ok((seconds, decisions))
}

/// A gateway before the first instances.
fn settings(first: &First) -> Settings {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Settings {
        admin: Some(any_port.into()),
        pools: vec![Pool::new(POOL, first.addresses())],
        routes: vec![Route::new("/*", PathMatch::Prefix("/".to_owned()), 0)],
        ..Settings::new(any_port)
    }
}

const SECOND: Duration = Duration::from_secs(1);
/// How often processes are looked after.
const TICK: Duration = Duration::from_millis(20);
/// The time-out of requests.
const PATIENCE: Duration = Duration::from_secs(10);
