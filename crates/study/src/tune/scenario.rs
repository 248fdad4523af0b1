//! The days and the disturbances under which a candidate has to hold.

use config::case::Stage;
use control::scaling::keda::Trigger;
use control::scaling::predictive::Load;
use control::scaling::{Policy as AwsPolicy, PredictiveScaling, begun_later};
use sim::lint::{Demand, demands};
use sim::settings::{
    Failure, HpaScaling, KedaScaling, MINUTE, Noise, Policy, Service, System, Traffic, ZoneFailure,
};
use std::sync::Arc;
use std::time::Duration;
use units::InstanceCount;

/// What a candidate is simulated under: the candidate's system with other traffic, failures or starts.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    /// In words.
    pub(super) name: String,
    pub(super) seed: u64,
    traffic: Traffic,
    /// How long after the beginning of the whole traffic.
    begins: Duration,
    /// Requests a second in each hour before it, oldest first: what a forecast learns from. Empty where that is not known.
    before: Arc<[f64]>,
    measured: Duration,
    disturbance: Option<Disturbance>,
}

#[derive(Debug, Clone, Copy)]
enum Disturbance {
    /// An instance, or a zone if there are several, is lost at this time.
    Loss(Duration, Times),
    /// Instances take longer to start.
    SlowStarts,
}

/// How long disturbances last: in a fleet that scales within seconds they are as much shorter as its rows.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// A row.
    row: Duration,
    /// The flash crowd.
    crowd: Duration,
    /// From the peak to the crowd.
    away: Duration,
    /// The loss of a zone.
    lasts: Duration,
    /// Two failed health checks.
    noticed: Duration,
}

impl Times {
    fn of(row: Duration, day: Duration) -> Self {
        Times {
            row,
            crowd: 15 * row,
            away: day / 6,
            lasts: 30 * row,
            noticed: NOTICED.mul_f64(row.div_duration_f64(MINUTE)),
        }
    }
}

/// All scenarios.
#[derive(Debug, Clone)]
pub(super) struct Scenarios {
    /// Usual days; the first [`SEEDS`] are simulated request by request too.
    pub(super) usual: Vec<Scenario>,
    /// Growth, flash crowd, loss, slower starts.
    pub(super) stress: Vec<Scenario>,
    /// Days that the search does not see.
    pub(super) unseen: Vec<Scenario>,
    /// Whether those are days of the traffic, not the same day with other noise.
    pub(super) are_days: bool,
    /// Whether the traffic is simulated day by day.
    pub(super) in_days: bool,
    /// How days are made.
    pub(super) note: String,
}

impl Scenarios {
    /// Whether it is known what was before each day, so that forecasts can be made.
    pub(super) fn have_before(&self) -> bool {
        !self.usual[0].before.is_empty()
    }

    /// Days on which the best has to hold, beside the first [`SEEDS`], request by request: all that the traffic has, again with
    /// other random numbers, as long as that does not take too long. A policy with a minute outside the goal in two weeks
    /// has none in most of them.
    pub(super) fn others(&self) -> Vec<Scenario> {
        let mut left = if self.are_days { OTHER_REQUESTS } else { NOISE_REQUESTS };
        let fits = |day: &Scenario| {
            left -= day.requests();
            left >= 0.0
        };
        let first = self.usual[SEEDS.min(self.usual.len())..].iter().chain(&self.unseen).cloned();
        let again = (1..OTHER_TIMES).flat_map(|time| {
            let all = self.usual.iter().chain(&self.unseen);
            all.map(move |day| Scenario { seed: day.seed.wrapping_add(time * OTHER_SEEDS), ..day.clone() })
        });
        first.chain(again).take_while(fits).collect()
    }
}

impl Scenario {
    /// About so many requests; of a closed loop it is not known.
    fn requests(&self) -> f64 {
        match &self.traffic {
            Traffic::Open { rates, bin, .. } => rates.iter().sum::<f64>() * bin.as_secs_f64(),
            Traffic::Closed { .. } => f64::INFINITY,
        }
    }

    /// The rows of this length that are measured.
    pub(super) fn rows(&self, row: Duration) -> f64 {
        self.measured.as_secs_f64() / row.as_secs_f64()
    }

    /// The system under this scenario.
    pub(super) fn of(&self, system: &System) -> System {
        let mut system = System {
            traffic: self.traffic.clone(),
            measured: self.measured,
            seed: self.seed,
            ..system.clone()
        };
        if !self.begins.is_zero() {
            system.services.iter_mut().for_each(|service| begin_later(service, self.begins));
        }
        if !self.before.is_empty() {
            for (demand, service) in demands(&system).into_iter().zip(&mut system.services) {
                remember(service, demand, &self.before);
            }
        }
        match self.disturbance {
            None => {}
            Some(Disturbance::Loss(at, Times { lasts, noticed, .. })) => {
                for service in &mut system.services {
                    if service.zones.names.len() > 1 {
                        service.zones.failures.push(ZoneFailure {
                            zone: 0,
                            at,
                            lasts,
                            noticed_after: noticed,
                        });
                    } else {
                        service.failures.push(Failure { at, instances: 1, noticed_after: noticed });
                    }
                }
            }
            Some(Disturbance::SlowStarts) => {
                for service in &mut system.services {
                    service.start.provision *= SLOWER;
                    service.start.boot *= SLOWER;
                }
            }
        }
        system
    }
}

/// What is scheduled comes so much earlier.
fn begin_later(service: &mut Service, by: Duration) {
    let (min, max) = match &mut service.scaling.policy {
        Policy::Aws(aws) => {
            let scaler = &mut aws.scaler;
            (scaler.min, scaler.max) = begun_later(&mut scaler.scheduled, (scaler.min, scaler.max), by);
            (scaler.min, scaler.max)
        }
        Policy::Hpa(settings) => {
            let HpaScaling { hpa, scheduled, .. } = settings.as_mut();
            let (min, max) = begun_later(scheduled, (hpa.min.get(), hpa.max.get()), by);
            (hpa.min, hpa.max) = (InstanceCount::new(min), InstanceCount::new(max));
            (min, max)
        }
        _ => return,
    };
    service.instances = InstanceCount::new(service.instances.get().clamp(min, max));
}

/// Gives forecasts that know nothing the load of the hours before.
fn remember(service: &mut Service, demand: Demand, before: &[f64]) {
    let all: f64 = service.hosts.iter().map(|host| host.speed * host.allotted()).sum();
    let cores = all / service.hosts.len().max(1) as f64;
    let Policy::Aws(aws) = &mut service.scaling.policy else { return };
    for policy in &mut aws.scaler.policies {
        let AwsPolicy::Predictive(forecast) = policy else { continue };
        // The load of a minute, for each request a second that enters.
        let of_minute = match forecast.load {
            Load::Requests => 60.0 * demand.visits,
            Load::Cpu => 100.0 * demand.visits * demand.cpu / cores,
        };
        if forecast.history.is_empty() {
            forecast.history = before.iter().map(|rate| Some(60.0 * of_minute * rate)).collect();
        }
    }
}

/// The scenarios of a system. `forecasts`: whether candidates have forecasts, which need a day before each.
pub(super) fn scenarios(stage: &Stage, growth: f64, forecasts: bool) -> Scenarios {
    let (system, whole_day) = (&stage.system, stage.day);
    let times = Times::of(system.row, whole_day);
    let days = (system.measured.as_nanos() / whole_day.as_nanos().max(1)) as usize;
    let forecasts =
        forecasts || system.services.iter().any(|service| own_forecasts(service).next().is_some());
    // The first day has none before it.
    let skipped = usize::from(forecasts && days > DAYS_MIN && whole_day >= HOUR);
    let needs_all = system.services.iter().any(|service| needs_all_days(service, skipped > 0));
    let blocks = match &system.traffic {
        Traffic::Open { .. } if days >= DAYS_MIN && !needs_all => days - skipped,
        _ => 1,
    };
    // Days of one day of traffic differ by noise; those of several are real ones.
    let (noisy, is_assumed) = with_noise(&system.traffic);
    let (unseen_traffic, is_assumed) =
        if blocks == 1 { (&noisy, is_assumed) } else { (&system.traffic, false) };
    let day = |number: usize, traffic: &Traffic, seed: u64, name: String| {
        if blocks == 1 {
            let (traffic, measured) = (traffic.clone(), system.measured);
            let (begins, before) = (Duration::ZERO, Arc::from([]));
            return Scenario { name, seed, traffic, begins, before, measured, disturbance: None };
        }
        let begins = whole_day * (skipped + number) as u32;
        let before = if skipped > 0 { hours(traffic, begins) } else { Arc::from([]) };
        let traffic = cut(traffic, begins, system.warm_up + whole_day);
        Scenario { name, seed, traffic, begins, before, measured: whole_day, disturbance: None }
    };
    let seed = |number: usize| system.seed.wrapping_add(number as u64);
    let seen = if blocks == 1 { SEEDS } else { blocks.div_ceil(2).clamp(SEEDS, SEEN_MAX) };
    // Days that are seen are spread over the traffic; the others are between them.
    let block = |number: usize| if blocks == 1 { 0 } else { number * blocks / seen.min(blocks) % blocks };
    let usual: Vec<Scenario> = (0..seen)
        .map(|number| day(block(number), &system.traffic, seed(number), format!("day {}", number + 1)))
        .collect();
    let others: Vec<usize> = match blocks {
        1 => vec![0; UNSEEN],
        _ => (0..blocks).filter(|place| (0..seen).all(|number| block(number) != *place)).collect(),
    };
    let step = (others.len() / UNSEEN).max(1);
    let unseen = others.iter().step_by(step).take(UNSEEN).enumerate().map(|(number, place)| {
        day(*place, unseen_traffic, seed(seen + number), format!("unseen day {}", number + 1))
    });
    let first = &usual[0];
    let peak = peak(first, system.warm_up, times);
    let stressed = |name: &str, traffic: Traffic, disturbance| Scenario {
        name: name.to_owned(),
        traffic,
        disturbance,
        ..first.clone()
    };
    let mut stress = Vec::new();
    if growth != 0.0 {
        let grown = stressed(
            &format!("growth of {:.0} %", 100.0 * growth),
            scaled(&first.traffic, 1.0 + growth),
            None,
        );
        let before = first.before.iter().map(|rate| rate * (1.0 + growth)).collect();
        stress.push(Scenario { before, ..grown });
    }
    if let Some(crowd) = crowd(&first.traffic, system.warm_up + first.measured, peak, times) {
        stress.push(stressed("flash crowd", crowd, None));
    }
    let zones = system.services.iter().any(|service| service.zones.names.len() > 1);
    let lost = if zones { "loss of a zone" } else { "loss of an instance" };
    stress.push(stressed(lost, first.traffic.clone(), Some(Disturbance::Loss(peak, times))));
    stress.push(stressed("slower starts", first.traffic.clone(), Some(Disturbance::SlowStarts)));
    let why = match needs_all && days >= DAYS_MIN {
        true => "a forecast without a day before each, or a trigger of cron, needs all days of the traffic",
        false => "the traffic has fewer than three days",
    };
    let mut note = match (blocks, is_assumed) {
        (1, true) => format!(
            "days differ by noise that was assumed (sigma 0.06, phi 0.9), because {why} and there is no `noise`; search and figures of \
             `today` and `best` have the traffic of the file"
        ),
        (1, false) => format!("days differ by the `noise` of the traffic, because {why}"),
        (days, _) if others.len() < UNSEEN_MIN => format!(
            "{seen} of {days} days were used for the search; the saving is promised from all of them, because the others are too \
             few: bring traffic of five days or more"
        ),
        (days, _) => {
            format!(
                "{seen} of {days} days were used for the search; on the others the best has to hold too, and from them the saving is \
                 promised"
            )
        }
    };
    let mut unseen: Vec<Scenario> = unseen.collect();
    let are_days = blocks > 1 && unseen.len() >= UNSEEN_MIN;
    if blocks > 1 && !are_days {
        unseen.extend(usual.iter().cloned());
    }
    if !first.before.is_empty() {
        note += "; forecasts know the days before each of them";
    }
    Scenarios { usual, stress, unseen, are_days, in_days: blocks > 1, note }
}

/// The forecasts that a service has today.
fn own_forecasts(service: &Service) -> impl Iterator<Item = &PredictiveScaling> {
    let policies = match &service.scaling.policy {
        Policy::Aws(aws) => aws.scaler.policies.as_slice(),
        _ => &[],
    };
    policies.iter().filter_map(|policy| match policy {
        AwsPolicy::Predictive(forecast) => Some(forecast),
        _ => None,
    })
}

/// Whether days cannot be simulated one by one: a forecast needs the days before, and has others if the file says them; triggers of
/// cron have a time of their own.
fn needs_all_days(service: &Service, known: bool) -> bool {
    let cron = |keda: &KedaScaling| keda.keda.triggers.iter().any(|one| matches!(one, Trigger::Cron { .. }));
    matches!(&service.scaling.policy, Policy::Keda(keda) if cron(keda))
        || own_forecasts(service).any(|forecast| !known || !forecast.history.is_empty())
}

/// The traffic with noise, and whether that was assumed.
fn with_noise(traffic: &Traffic) -> (Traffic, bool) {
    match traffic {
        Traffic::Open { rates, bin, arrivals, noise: None } => {
            let noise = Some(Noise { sigma: 0.06, phi: 0.9 });
            (Traffic::Open { rates: rates.clone(), bin: *bin, arrivals: *arrivals, noise }, true)
        }
        other => (other.clone(), false),
    }
}

/// A part of the traffic.
fn cut(traffic: &Traffic, from: Duration, length: Duration) -> Traffic {
    match traffic {
        Traffic::Open { rates, bin, arrivals, noise } => {
            let place = |at: Duration| (at.as_secs_f64() / bin.as_secs_f64()).round() as usize;
            let (from, to) =
                (place(from).min(rates.len().saturating_sub(1)), place(from + length).min(rates.len()));
            let rates = Arc::from(&rates[from..to.max(from + 1)]);
            Traffic::Open { rates, bin: *bin, arrivals: *arrivals, noise: *noise }
        }
        closed => closed.clone(),
    }
}

/// Requests a second in the hours until then, each a mean of its bins.
fn hours(traffic: &Traffic, until: Duration) -> Arc<[f64]> {
    let Traffic::Open { rates, bin, .. } = traffic else { return Arc::from([]) };
    let place = |at: Duration| (at.as_nanos() / bin.as_nanos().max(1)) as usize;
    let mean = |hour: u32| {
        let from = place(HOUR * hour);
        let part = rates.get(from..place(HOUR * (hour + 1)).max(from + 1))?;
        Some(part.iter().sum::<f64>() / part.len() as f64)
    };
    (0..(until.as_secs() / HOUR.as_secs()) as u32).map_while(mean).collect()
}

fn scaled(traffic: &Traffic, factor: f64) -> Traffic {
    match traffic {
        Traffic::Open { rates, bin, arrivals, noise } => {
            let rates = rates.iter().map(|rate| rate * factor).collect();
            Traffic::Open { rates, bin: *bin, arrivals: *arrivals, noise: *noise }
        }
        Traffic::Closed { users, think } => {
            let users = (f64::from(*users) * factor).round().max(1.0) as u32;
            Traffic::Closed { users, think: think.clone() }
        }
    }
}

/// The time of the highest rate of the measured span.
fn peak(scenario: &Scenario, warm_up: Duration, times: Times) -> Duration {
    let Traffic::Open { rates, bin, .. } = &scenario.traffic else { return warm_up + scenario.measured / 2 };
    let first = (warm_up.as_secs_f64() / bin.as_secs_f64()) as usize;
    let highest = rates.iter().enumerate().skip(first).max_by(|one, other| one.1.total_cmp(other.1));
    let last = warm_up + scenario.measured.saturating_sub(times.lasts);
    highest.map_or(warm_up, |(place, _)| bin.mul_f64(place as f64)).clamp(warm_up, last.max(warm_up))
}

/// Traffic with a flash crowd: twice the requests for 15 rows, away from the peak.
fn crowd(traffic: &Traffic, length: Duration, peak: Duration, times: Times) -> Option<Traffic> {
    let Traffic::Open { rates, bin, arrivals, noise } = traffic else { return None };
    let rows = length.as_nanos() / times.row.as_nanos().max(1);
    let fine = (*bin).min(times.row);
    let at = if peak > length / 2 { peak.saturating_sub(times.away) } else { peak + times.away };
    let bins = rows as f64 * times.row.as_secs_f64() / fine.as_secs_f64();
    let rate = |place: u64| {
        let time = fine.mul_f64(place as f64);
        let from = (time.as_secs_f64() / bin.as_secs_f64()) as usize;
        let rate = rates.get(from).or(rates.last()).copied().unwrap_or(0.0);
        if (at..at + times.crowd).contains(&time) { CROWDED * rate } else { rate }
    };
    let rates = (0..bins as u64).map(rate).collect();
    Some(Traffic::Open { rates, bin: fine, arrivals: *arrivals, noise: *noise })
}

const HOUR: Duration = Duration::from_secs(3600);
/// Two failed health checks, in a fleet with rows of a minute.
const NOTICED: Duration = Duration::from_secs(20);
/// Days that are simulated request by request.
pub(super) const SEEDS: usize = 3;
/// The least number of days that are resampled.
const DAYS_MIN: usize = 3;
/// Most days that the search sees.
const SEEN_MAX: usize = 6;
/// Days from which the saving is promised, at most and at least.
const UNSEEN: usize = 12;
const UNSEEN_MIN: usize = 2;
/// Requests of the other days on which the best has to hold, at most.
const OTHER_REQUESTS: f64 = 4e8;
/// The same where days differ by noise only: where they are large, the first ones stand for them.
const NOISE_REQUESTS: f64 = 4e6;
/// How often each of them is simulated, at most.
const OTHER_TIMES: u64 = 8;
/// Seeds of another time are this far away.
const OTHER_SEEDS: u64 = 1_000_000;
/// How much longer starts take.
const SLOWER: u32 = 2;
const CROWDED: f64 = 2.0;
