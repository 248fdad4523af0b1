//! Services and their endpoints.

use super::Builder;
use crate::case::file::{BalancingTable, EndpointTable, IncidentsTable, ServiceTable, StepTable};
use crate::case::words::Times;
use fields::{At, Count, Named, Names, Place, Share, Text, between, suggestion};
use sim::settings::{
    Call, Connections, Distribution, Endpoint, Incidents, PoolId, RequestPriority, Service, ServiceId, Step,
};
use std::time::Duration;
use units::InstanceCount;

impl Builder<'_> {
    /// The service, unless there are problems.
    pub(super) fn service(&mut self, place: usize, named: &Named<At<ServiceTable>>) -> Option<Service> {
        let At { value: table, place: at } = named.value.as_ref()?;
        let limited = table.admission.is_some();
        let endpoints = table.endpoints.0.as_ref().map(|found| self.endpoints(found, place == 0, limited));
        let server = table.server.0.as_ref().map(|at| self.server(&at.value));
        let (of_scaler, of_host) = self.request(table);
        let hosts = table.hosts.0.as_ref().map(|found| self.hosts(found, of_scaler));
        let (scaling, least) = self.scaling(table.scaling.as_ref(), of_scaler.or(of_host));
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
            hash: None,
            affinity: None,
            ejection: None,
            health: None,
            panic_below: None,
            nodes: None,
            reuse: None,
            idle_timeout: None,
            connection: None,
            timeout: None,
            retries: None,
            instance_limit: None,
            queue: None,
            slow_start: None,
            network: None,
            cross_zone: None,
        };
        let admission = self.admission(table.admission.as_ref());
        let zones = self.zones(table);
        let balancing =
            self.balancing(table.balancing.as_ref().map_or(&no_balancing, |at| &at.value), &zones);
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
        let failures = table.failures.iter().flatten().filter_map(|at| self.failure(at)).collect();
        let (hosts, prices) = hosts?;
        Some(Service {
            name: named.name.clone(),
            endpoints: endpoints??,
            server: server?,
            hosts,
            admission,
            balancing,
            start,
            instances: InstanceCount::new(instances),
            prices,
            deployments,
            failures,
            zones,
            scaling,
        })
    }

    fn endpoints(
        &mut self,
        at: &At<Names<At<EndpointTable>>>,
        entry: bool,
        limited: bool,
    ) -> Option<Vec<Endpoint>> {
        let known = self.report.problems.len();
        let usual = if entry { 1.0 } else { 0.0 };
        let mut endpoints = Vec::new();
        for named in at.value.iter() {
            self.plain_name(&named.name, &named.place);
            let Some(At { value: table, place }) = &named.value else { continue };
            let share = table.share.as_ref().map_or(usual, |at| at.value.0);
            let steps = self.steps(table, place);
            let errors = share_of(table.errors.as_ref(), 0.0);
            let priority = table.priority.as_ref();
            if let Some(at) = priority.filter(|_| !limited) {
                let help = "add `admission` to the service, or remove it".to_owned();
                let message = "no limit before the balancer uses it".to_owned();
                self.report.wrong(&at.place, message, "no effect", help);
            }
            let priority = priority.map_or(RequestPriority::None, |at| self.priority(at));
            let bytes = table.bytes.as_ref().map(|at| at.value.0.clone());
            endpoints.push(Endpoint { name: named.name.clone(), share, steps, errors, priority, bytes });
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
}

pub(super) fn times(at: Option<&At<Times>>) -> Distribution {
    at.map_or(Distribution::ZERO, |at| at.value.0.clone())
}

pub(super) fn share_of(at: Option<&At<Share>>, default: f64) -> f64 {
    at.map_or(default, |at| at.value.0.get())
}

const INSTANCES_MAX: u32 = 100_000;
const BURSTS_MAX: u32 = 1000;
