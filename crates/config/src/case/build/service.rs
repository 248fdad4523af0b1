//! Services: endpoints, servers, hosts, balancing, start.

use super::Builder;
use crate::case::file::{
    BalancingTable, CreditsTable, DeploymentTable, EndpointTable, FailureTable, FrontTable, HostTable,
    IncidentsTable, RetriesTable, ServerTable, ServiceTable, StartTable, StepTable,
};
use crate::case::words::{Number, Times};
use crate::check::between;
use crate::problem::Place;
use crate::scalar::{Count, Share, Span, Text};
use crate::scenario::word;
use crate::suggest::suggestion;
use crate::table::{At, Named, Names};
use sim::settings::{
    Accept, Algorithm, Balancing, Call, Connections, Credits, Deployment, Distribution, Endpoint, Failure,
    Front, Host, Incidents, PoolId, Price, Quota, Retries, Reuse, Server, Service, ServiceId, Start, Steal,
    Step,
};
use std::time::Duration;
use units::{Bytes, InstanceCount};

impl Builder<'_> {
    /// The service, unless the report says why not.
    pub(super) fn service(&mut self, place: usize, named: &Named<At<ServiceTable>>) -> Option<Service> {
        let At { value: table, place: at } = named.value.as_ref()?;
        let endpoints = table.endpoints.0.as_ref().map(|found| self.endpoints(found, place == 0));
        let server = table.server.0.as_ref().map(|at| self.server(&at.value));
        let hosts = table.hosts.0.as_ref().map(|found| self.hosts(found));
        let scaling = self.scaling(table.scaling.as_ref());
        let least = table.scaling.as_ref().map_or(1, |at| at.value.min.value.0);
        let instances = table.instances.as_ref().map_or(least, |at| {
            between(at, 0, INSTANCES_MAX, "as many as run at the beginning", self.report)
        });
        if instances == 0 && table.scaling.is_none() {
            let message = "no instance, and nothing that would start one".to_owned();
            let help = "add `instances: 1` or `scaling:`".to_owned();
            let at = table.instances.as_ref().map_or(at, |at| &at.place);
            self.report.wrong(at, message, "zero", help);
        }
        let no_balancing = BalancingTable {
            algorithm: None,
            nodes: None,
            reuse: None,
            idle_timeout: None,
            connection: None,
            timeout: None,
            retries: None,
            instance_limit: None,
            slow_start: None,
            network: None,
        };
        let balancing = self.balancing(table.balancing.as_ref().map_or(&no_balancing, |at| &at.value));
        if let (Some(At { value: server, .. }), Connections::PerCall { .. }) =
            (table.server.0.as_ref(), &balancing.connections)
            && let Some(accept) = server.accept.as_ref().filter(|at| at.value.0 == "kept")
        {
            let message = "`accept: kept` beside `reuse: never`: no connection is kept".to_owned();
            let help = "take `reuse: random`, or `accept: per-process`".to_owned();
            self.report.wrong(&accept.place, message, "contradiction", help);
        }
        let start = self.start(table.start.as_ref().map(|at| &at.value));
        let deployments = table.deployments.iter().flatten().map(|at| self.deployment(&at.value)).collect();
        let failures = table.failures.iter().flatten().map(|at| self.failure(&at.value)).collect();
        let (hosts, prices) = hosts?;
        Some(Service {
            name: named.name.clone(),
            endpoints: endpoints??,
            server: server?,
            hosts,
            balancing,
            start,
            instances: InstanceCount::new(instances),
            prices,
            deployments,
            failures,
            scaling,
        })
    }

    fn endpoints(&mut self, at: &At<Names<At<EndpointTable>>>, entry: bool) -> Option<Vec<Endpoint>> {
        let known = self.report.problems.len();
        let usual = if entry { 1.0 } else { 0.0 };
        let mut endpoints = Vec::new();
        for named in at.value.iter() {
            self.plain_name(&named.name, &named.place);
            let Some(At { value: table, place }) = &named.value else { continue };
            let share = table.share.as_ref().map_or(usual, |at| at.value.0);
            let steps = self.steps(table, place);
            let errors = share_of(table.errors.as_ref(), 0.0);
            endpoints.push(Endpoint { name: named.name.clone(), share, steps, errors });
        }
        if endpoints.is_empty()
            && self.report.problems.len() == known
            && !self.report.knows_of(&at.place.path)
        {
            let message = "a service without endpoints does nothing".to_owned();
            self.report.wrong(&at.place, message, "empty", "add one".to_owned());
        }
        if entry && !endpoints.is_empty() && endpoints.iter().all(|endpoint| endpoint.share <= 0.0) {
            let help = "give one a `share` above 0".to_owned();
            self.report.wrong(&at.place, "all shares are 0".to_owned(), "never called", help);
        }
        Some(endpoints)
    }

    fn steps(&mut self, table: &EndpointTable, place: &Place) -> Vec<Step> {
        let EndpointTable { cpu, wait, bursts, incidents, steps, .. } = table;
        if let Some(steps) = steps {
            if cpu.is_some() || wait.is_some() || bursts.is_some() || incidents.is_some() {
                let help = "write the work as a step of its own".to_owned();
                self.report.wrong(&steps.place, "`steps` beside work".to_owned(), "said twice", help);
            }
            return steps.value.iter().filter_map(|at| self.step(at)).collect();
        }
        if cpu.is_none() && wait.is_none() {
            if !self.report.knows_of(&place.path) {
                let help = "add `cpu: 5ms`, `wait: 20ms` or `steps:`".to_owned();
                self.report.wrong(place, "an endpoint that does nothing".to_owned(), "empty", help);
            }
            return Vec::new();
        }
        vec![self.work(cpu.as_ref(), wait.as_ref(), bursts.as_ref(), incidents.as_ref())]
    }

    fn work(
        &mut self,
        cpu: Option<&At<Times>>,
        wait: Option<&At<Times>>,
        bursts: Option<&At<Count>>,
        incidents: Option<&At<IncidentsTable>>,
    ) -> Step {
        let bursts = bursts.map_or(1, |at| between(at, 1, BURSTS_MAX, "3 is usual", self.report));
        let incidents = incidents.map(|at| {
            let IncidentsTable { per_hour, duration, factor } = &at.value;
            let duration_found = self.span(Some(duration), Duration::ZERO);
            if duration_found.is_zero() {
                let help = "write a span such as `4m`".to_owned();
                self.report.wrong(&duration.place, "no incident".to_owned(), "zero", help);
            }
            Incidents { per_hour: per_hour.value.0, duration: duration_found, factor: factor.value.0 }
        });
        Step::Work { cpu: times(cpu), wait: times(wait), bursts, incidents }
    }

    fn step(&mut self, at: &At<StepTable>) -> Option<Step> {
        let StepTable { cpu, wait, bursts, incidents, hold, time, call } = &at.value;
        let work = cpu.is_some() || wait.is_some();
        if [work, hold.is_some(), call.is_some()].iter().filter(|&&given| given).count() != 1 {
            if !self.report.knows_of(&at.place.path) {
                let message = "expected one of work (`cpu`, `wait`), `hold` and `call`".to_owned();
                let help = "write one step for each".to_owned();
                self.report.wrong(&at.place, message, "in this step", help);
            }
            return None;
        }
        if let Some(hold) = hold {
            let place = self.pools.iter().position(|known| *known == hold.value.0);
            let Some(place) = place else {
                let help = suggestion(&hold.value.0, self.pools.iter().map(String::as_str));
                let message = format!("unknown pool `{}`", hold.value.0);
                self.report.wrong(&hold.place, message, "not in `pools`", help);
                return None;
            };
            if time.is_none() && !self.report.knows_of(&at.place.path) {
                let message = "`hold` without `time`".to_owned();
                self.report.wrong(&hold.place, message, "for how long?", "add `time: 5ms`".to_owned());
            }
            return Some(Step::Hold { pool: PoolId(place as u16), time: times(time.as_ref()) });
        }
        if let Some(call) = call {
            let calls = call.value.iter().filter_map(|at| self.call(at)).collect();
            return Some(Step::Calls(calls));
        }
        Some(self.work(cpu.as_ref(), wait.as_ref(), bursts.as_ref(), incidents.as_ref()))
    }

    fn call(&mut self, at: &At<Text>) -> Option<Call> {
        let text = &at.value.0;
        let (service, endpoint) = text.split_once('/').unwrap_or((text, ""));
        let Some(place) = self.services.iter().position(|(name, _)| name == service) else {
            let help = suggestion(service, self.services.iter().map(|(name, _)| name.as_str()));
            self.report.wrong(&at.place, format!("unknown service `{service}`"), "not in `services`", help);
            return None;
        };
        let endpoints = &self.services[place].1;
        let found = match (endpoint, endpoints.as_slice()) {
            ("", [_]) => Some(0),
            (name, known) => known.iter().position(|known| known == name),
        };
        let Some(found) = found else {
            let help = suggestion(endpoint, endpoints.iter().map(String::as_str));
            let message = format!("`{service}` has no endpoint `{endpoint}`");
            self.report.wrong(&at.place, message, "write `service/endpoint`", help);
            return None;
        };
        Some(Call { service: ServiceId(place as u16), endpoint: found as u16 })
    }

    fn server(&mut self, table: &ServerTable) -> Server {
        let ServerTable {
            processes,
            threads,
            lock,
            accept,
            backlog,
            linger,
            inline,
            front,
            memory_per_process,
        } = table;
        let bound = backlog.as_ref().map_or(BACKLOG, |at| at.value.0);
        let kinds = [("shared", Kind::Shared), ("per-process", Kind::PerProcess), ("kept", Kind::Kept)];
        let kind = word(accept.as_ref(), &kinds, self.report);
        if kind != Kind::Kept {
            for place in [linger.as_ref().map(|at| &at.place), inline.as_ref().map(|at| &at.place)] {
                let Some(place) = place else { continue };
                let help = "add `accept: kept`, or remove it".to_owned();
                self.report.wrong(place, "only with `accept: kept`".to_owned(), "means nothing", help);
            }
        }
        let accept = match kind {
            Kind::Shared => Accept::Shared { bound },
            Kind::PerProcess => Accept::PerProcess { bound },
            Kind::Kept => Accept::Kept {
                bound,
                linger: self.span(linger.as_ref(), Duration::ZERO),
                inline: inline.as_ref().map_or(INLINE, |at| at.value.0),
            },
        };
        let mut count = |at: &Option<At<Count>>| {
            at.as_ref().map_or(1, |at| between(at, 1, SLOTS_MAX, "as the server is configured", self.report))
        };
        let (processes, threads) = (count(processes), count(threads));
        Server {
            processes,
            threads,
            lock: lock.as_ref().map(|at| at.value.0),
            accept,
            front: front.as_ref().map(|at| self.front(&at.value)),
            memory_per_process: memory_per_process.as_ref().map_or(Bytes::new(0), |at| at.value.0),
        }
    }

    fn front(&mut self, table: &FrontTable) -> Front {
        let FrontTable { workers, cpu, wait, backlog } = table;
        Front {
            workers: between(workers, 1, SLOTS_MAX, "one for each core is usual", self.report),
            cpu: times(cpu.as_ref()),
            wait: times(wait.as_ref()),
            bound: backlog.as_ref().map_or(BACKLOG, |at| at.value.0),
        }
    }

    fn hosts(&mut self, at: &At<Names<At<HostTable>>>) -> (Vec<Host>, Vec<Price>) {
        let mut hosts = Vec::new();
        let mut prices = Vec::new();
        for named in at.value.iter() {
            let Some(At { value: table, .. }) = &named.value else { continue };
            let Some(cores) = &table.cores.0 else { continue };
            let host = self.host(&named.name, table, cores);
            let (name, place) = match &table.price {
                Some(at) => (at.value.0.as_str(), &at.place),
                None => (named.name.as_str(), &named.place),
            };
            prices.push(self.prices.price(name, place, &host, self.report));
            hosts.push(host);
        }
        if hosts.is_empty() && !self.report.knows_of(&at.place.path) {
            let help = "add one, such as `one-core: { cores: 1 }`".to_owned();
            self.report.wrong(&at.place, "no host".to_owned(), "empty", help);
        }
        (hosts, prices)
    }

    fn host(&mut self, name: &str, table: &HostTable, cores: &At<Count>) -> Host {
        let HostTable { speed, limit, limit_period, memory, background, credits, steal, .. } = table;
        let cores = between(cores, 1, CORES_MAX, "as many as the machine has", self.report);
        let speed = speed.as_ref().map_or(1.0, |at| self.above_zero(at));
        let period = self.span(limit_period.as_ref(), PERIOD);
        if let (Some(at), None) = (limit_period, limit) {
            let help = "add `limit: 0.5`, or remove it".to_owned();
            self.report.wrong(&at.place, "`limit_period` without `limit`".to_owned(), "means nothing", help);
        }
        let quota = limit.as_ref().map(|at| Quota { cores: self.above_zero(at), period });
        let background_cores = background.as_ref().map_or(0.0, |at| at.value.0);
        if let Some(at) = background.as_ref().filter(|at| at.value.0 >= f64::from(cores)) {
            let message = format!("{} cores of {cores} are used in the background", at.value.0);
            self.report.wrong(&at.place, message, "nothing is left", "0.04 is 4 % of a core".to_owned());
        }
        Host {
            name: name.to_owned(),
            cores,
            speed,
            quota,
            memory: memory.as_ref().map(|at| at.value.0),
            background: background_cores,
            credits: credits.as_ref().map(|at| credit(&at.value)),
            steal: steal.as_ref().map(|at| Steal { share: at.value.0.get() }),
        }
    }

    fn above_zero(&mut self, at: &At<Number>) -> f64 {
        if at.value.0 <= 0.0 {
            self.report.wrong(&at.place, "0 is not above 0".to_owned(), "zero", "1 is usual".to_owned());
        }
        at.value.0
    }

    fn balancing(&mut self, table: &BalancingTable) -> Balancing {
        let algorithms = [
            ("round-robin", Algorithm::RoundRobin),
            ("weighted-round-robin", Algorithm::WeightedRoundRobin),
            ("least-outstanding", Algorithm::LeastOutstanding),
            ("peak-ewma", Algorithm::PeakEwma),
        ];
        let reuses = [
            ("random", Some(Reuse::Random)),
            ("most-recent", Some(Reuse::MostRecent)),
            ("least-recent", Some(Reuse::LeastRecent)),
            ("never", None),
        ];
        let reuse = word(table.reuse.as_ref(), &reuses, self.report);
        let connections = match reuse {
            Some(reuse) => {
                if let Some(at) = &table.connection {
                    let help = "add `reuse: never`, or remove it".to_owned();
                    self.report.wrong(
                        &at.place,
                        "only with `reuse: never`".to_owned(),
                        "means nothing",
                        help,
                    );
                }
                Connections::Kept { reuse, idle_timeout: self.span(table.idle_timeout.as_ref(), IDLE) }
            }
            None => {
                let cost = table.connection.as_ref().map(|at| &at.value);
                let mut span = |pick: fn(&crate::case::file::ConnectionTable) -> Option<&At<Span>>| {
                    self.span(cost.and_then(pick), Duration::ZERO)
                };
                Connections::PerCall {
                    caller_cpu: span(|cost| cost.caller_cpu.as_ref()),
                    server_cpu: span(|cost| cost.server_cpu.as_ref()),
                    delay: span(|cost| cost.delay.as_ref()),
                }
            }
        };
        let nodes = table.nodes.as_ref();
        Balancing {
            algorithm: word(table.algorithm.as_ref(), &algorithms, self.report),
            nodes: nodes.map_or(1, |at| between(at, 1, NODES_MAX, "6 is usual for a cloud", self.report)),
            connections,
            timeout: table.timeout.as_ref().map(|at| at.value.0),
            retries: table.retries.as_ref().map(|at| {
                let RetriesTable { most, budget, backoff } = &at.value;
                Retries {
                    most: most.value.0,
                    budget: share_of(budget.as_ref(), 0.2),
                    backoff: self.span(backoff.as_ref(), Duration::ZERO),
                }
            }),
            instance_limit: table.instance_limit.as_ref().map(|at| at.value.0),
            slow_start: table.slow_start.as_ref().map(|at| at.value.0),
            network: self.span(table.network.as_ref(), Duration::ZERO),
        }
    }

    fn start(&mut self, table: Option<&StartTable>) -> Start {
        let get = |pick: fn(&StartTable) -> Option<&At<Span>>| table.and_then(pick);
        let factor = table.and_then(|table| table.warm_up_factor.as_ref());
        if let Some(at) = factor.filter(|at| at.value.0 < 1.0) {
            let message = format!("{} is below 1", at.value.0);
            self.report.wrong(&at.place, message, "faster than warm", "1.5 is usual".to_owned());
        }
        let launches = table.and_then(|table| table.launches_per_second.as_ref());
        Start {
            provision: self.span(get(|table| table.provision.as_ref()), Duration::ZERO),
            boot: self.span(get(|table| table.boot.as_ref()), Duration::ZERO),
            boot_cpu: share_of(table.and_then(|table| table.boot_cpu.as_ref()), 0.0),
            warm_up: self.span(get(|table| table.warm_up.as_ref()), Duration::ZERO),
            warm_up_factor: factor.map_or(1.0, |at| at.value.0),
            drain: self.span(get(|table| table.drain.as_ref()), DRAIN),
            launches_per_second: launches.map(|at| self.above_zero(at)),
            launch_burst: table.and_then(|table| table.launch_burst.as_ref()).map_or(1, |at| at.value.0),
        }
    }

    fn deployment(&mut self, table: &DeploymentTable) -> Deployment {
        let DeploymentTable { at, least_healthy, most } = table;
        let most_found = most.as_ref().map_or(2.0, |at| at.value.0);
        let least = share_of(least_healthy.as_ref(), 1.0);
        if let Some(at) = most.as_ref().filter(|at| at.value.0 < 1.0 || at.value.0 <= least) {
            let message = format!("at most {} of the count may run, and {least} of it must", at.value.0);
            let help = "no instance could be replaced; 2 is usual".to_owned();
            self.report.wrong(&at.place, message, "nothing can change", help);
        }
        Deployment {
            at: self.warm_up + self.span(Some(at), Duration::ZERO),
            least_healthy: least,
            most: most_found,
        }
    }

    fn failure(&mut self, table: &FailureTable) -> Failure {
        let FailureTable { at, instances, noticed_after } = table;
        Failure {
            at: self.warm_up + self.span(Some(at), Duration::ZERO),
            instances: instances.value.0,
            noticed_after: self.span(noticed_after.as_ref(), Duration::ZERO),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Shared,
    PerProcess,
    Kept,
}

fn times(at: Option<&At<Times>>) -> Distribution {
    at.map_or(Distribution::ZERO, |at| at.value.0.clone())
}

fn share_of(at: Option<&At<Share>>, default: f64) -> f64 {
    at.map_or(default, |at| at.value.0.get())
}

fn credit(table: &CreditsTable) -> Credits {
    let CreditsTable { earned_per_hour, most, at_start, baseline, unlimited, surplus_per_hour } = table;
    Credits {
        earned_per_hour: earned_per_hour.value.0,
        most: most.as_ref().map_or(earned_per_hour.value.0 * 24.0, |at| at.value.0),
        at_start: at_start.as_ref().map_or(0.0, |at| at.value.0),
        baseline: baseline.value.0.get(),
        unlimited: unlimited.as_ref().is_some_and(|at| at.value.0),
        surplus_per_hour: surplus_per_hour.as_ref().map_or(SURPLUS, |at| at.value.0),
    }
}

const PERIOD: Duration = Duration::from_millis(100);
/// An ALB's default towards clients; towards targets it is not published.
const IDLE: Duration = Duration::from_secs(60);
/// The default of a target group's deregistration delay.
const DRAIN: Duration = Duration::from_secs(300);
/// The usual listen backlog of application servers.
const BACKLOG: u32 = 1024;
/// Puma's `MAX_FAST_INLINE`.
const INLINE: u32 = 10;
/// AWS's price of surplus credits (T3, Linux) for an hour of a core, in US dollars.
const SURPLUS: f64 = 0.05;

const INSTANCES_MAX: u32 = 100_000;
const SLOTS_MAX: u32 = 65_536;
const CORES_MAX: u32 = 1024;
const BURSTS_MAX: u32 = 1000;
const NODES_MAX: u32 = 1024;
