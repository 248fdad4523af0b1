//! The application server of an instance, and its host.

use super::Builder;
use super::service::times;
use crate::case::file::{CreditsTable, FrontTable, HostTable, ServerTable, ServiceTable};
use crate::case::words::Number;
use fields::{At, Count, Names, between, word};
use sim::settings::{Accept, Credits, Front, Host, Price, Quota, Server, Steal};
use std::time::Duration;
use units::Bytes;

impl Builder<'_> {
    pub(super) fn server(&mut self, table: &ServerTable) -> Server {
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
                self.report.wrong(place, "only with `accept: kept`".to_owned(), "no effect", help);
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

    /// The processor request of a pod, in cores: as its autoscaler says it, and as the first of its hosts that has one. At most one
    /// of both is known.
    pub(super) fn request(&mut self, table: &ServiceTable) -> (Option<f64>, Option<f64>) {
        let scaling = table.scaling.as_ref().map(|at| &at.value);
        let of_scaler = scaling.and_then(|scaling| match (&scaling.hpa, &scaling.keda) {
            (Some(hpa), _) => hpa.value.request.as_ref(),
            (None, Some(keda)) => keda.value.request.as_ref(),
            (None, None) => None,
        });
        let hosts = table.hosts.0.iter().flat_map(|hosts| hosts.value.iter());
        let of_host = |host: &HostTable| Some(host.request.as_ref()?.value.cpu.as_ref()?.value.0);
        let of_hosts = hosts.filter_map(|named| of_host(&named.value.as_ref()?.value)).next();
        if let (Some(at), Some(_)) = (of_scaler, of_hosts) {
            let message = "`request` of a pod whose host has `request`".to_owned();
            self.report.wrong(&at.place, message, "said twice", "keep that of the host".to_owned());
        }
        (of_scaler.map(|at| self.above_zero(at)), of_hosts)
    }

    /// The hosts, with their prices. `request` is the processor request of a pod, in cores, where its autoscaler says it.
    pub(super) fn hosts(
        &mut self,
        at: &At<Names<At<HostTable>>>,
        request: Option<f64>,
    ) -> (Vec<Host>, Vec<Price>) {
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
            let own = table.request.as_ref().map(|at| &at.value);
            let own_cpu = own.and_then(|own| own.cpu.as_ref()).map(|at| self.above_zero(at));
            let cores = own_cpu.or(request).unwrap_or(host.allotted());
            let memory = own.and_then(|own| own.memory.as_ref()).map(|at| at.value.0).or(host.memory);
            prices.push(self.prices.price(name, place, (cores, memory), self.report));
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
            self.report.wrong(&at.place, "`limit_period` without `limit`".to_owned(), "no effect", help);
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

    pub(super) fn above_zero(&mut self, at: &At<Number>) -> f64 {
        if at.value.0 <= 0.0 {
            self.report.wrong(&at.place, "0 is not above 0".to_owned(), "zero", "1 is usual".to_owned());
        }
        at.value.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Shared,
    PerProcess,
    Kept,
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
/// The usual listen backlog of application servers.
const BACKLOG: u32 = 1024;
/// Puma's `MAX_FAST_INLINE`.
const INLINE: u32 = 10;
/// AWS's price of surplus credits (T3, Linux) for an hour of a core, in US dollars.
const SURPLUS: f64 = 0.05;
const SLOTS_MAX: u32 = 65_536;
const CORES_MAX: u32 = 1024;
