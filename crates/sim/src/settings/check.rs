//! The problems of a system: all at once, each with its place, so that the caller can point at it.

mod cloud;

use super::{
    Accept, Algorithm, Connections, Distribution, Endpoint, Host, RequestPriority, Service, Step, System,
    Traffic,
};
use std::fmt;

/// A setting that cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its path, such as `services[1].endpoints[0].steps[2].bursts`.
    pub place: String,
    /// What was found there.
    pub found: String,
    /// What it must be.
    pub bound: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { place, found, bound } = self;
        write!(f, "`{place}` is {found}; it has to be {bound}")
    }
}

impl std::error::Error for Problem {}

impl System {
    /// All problems; a system without problems can be simulated.
    pub fn problems(&self) -> Vec<Problem> {
        let mut check = Check { system: self, problems: Vec::new() };
        check.count("services", self.services.len(), 1, 1 << 16, "from 1 to 65536");
        check.count("pools", self.pools.len(), 0, 1 << 16, "at most 65536");
        for (number, service) in self.services.iter().enumerate() {
            check.service(number, service);
        }
        for (number, pool) in self.pools.iter().enumerate() {
            check.at_least_one(format!("pools[{number}].places"), pool.places);
        }
        check.traffic(&self.traffic);
        check.count("keys", self.keys.len(), 0, 1 << 16, "at most 65536");
        check.keys(&self.keys, &self.traffic);
        check.spans();
        check.circles();
        check.problems
    }
}

pub(super) struct Check<'a> {
    pub(super) system: &'a System,
    problems: Vec<Problem>,
}

impl Check<'_> {
    pub(super) fn that(
        &mut self,
        holds: bool,
        place: impl Into<String>,
        found: impl fmt::Display,
        bound: &'static str,
    ) {
        if !holds {
            self.problems.push(Problem { place: place.into(), found: found.to_string(), bound });
        }
    }

    fn count(&mut self, place: &str, found: usize, least: usize, most: usize, bound: &'static str) {
        self.that((least..=most).contains(&found), format!("{place}.len()"), found, bound);
    }

    pub(super) fn at_least_one(&mut self, place: String, found: u32) {
        self.that(found >= 1, place, found, "at least 1");
    }

    fn share(&mut self, place: String, found: f64) {
        self.that((0.0..=1.0).contains(&found), place, found, "from 0 to 1");
    }

    fn service(&mut self, number: usize, service: &Service) {
        let at = format!("services[{number}]");
        self.count(&format!("{at}.endpoints"), service.endpoints.len(), 1, 1 << 16, "from 1 to 65536");
        self.count(&format!("{at}.hosts"), service.hosts.len(), 1, 1 << 16, "from 1 to 65536");
        if number == 0 {
            let sum: f64 = service.endpoints.iter().map(|endpoint| endpoint.share).sum();
            self.that(
                sum > 0.0,
                format!("{at}.endpoints[..].share"),
                sum,
                "above 0 in all, as traffic enters here",
            );
        }
        for (place, endpoint) in service.endpoints.iter().enumerate() {
            self.endpoint(&format!("{at}.endpoints[{place}]"), endpoint);
        }
        for (place, host) in service.hosts.iter().enumerate() {
            self.host(&format!("{at}.hosts[{place}]"), host, service);
        }
        let server = &service.server;
        self.at_least_one(format!("{at}.server.processes"), server.processes);
        self.at_least_one(format!("{at}.server.threads"), server.threads);
        let locked = server.lock.is_none_or(|quantum| !quantum.is_zero());
        self.that(locked, format!("{at}.server.lock"), "0", "above 0, or none");
        if let Accept::Kept { inline, .. } = server.accept {
            self.at_least_one(format!("{at}.server.accept.inline"), inline);
        }
        if let Some(front) = &server.front {
            self.at_least_one(format!("{at}.server.front.workers"), front.workers);
            self.distribution(&format!("{at}.server.front.cpu"), &front.cpu);
            self.distribution(&format!("{at}.server.front.wait"), &front.wait);
        }
        self.admission(&format!("{at}.admission"), &service.admission);
        self.balancing(&at, service);
        self.cloud(&at, service);
        let start = &service.start;
        self.share(format!("{at}.start.boot_cpu"), start.boot_cpu);
        let factor = start.warm_up_factor;
        self.that(
            factor >= 1.0 && factor.is_finite(),
            format!("{at}.start.warm_up_factor"),
            factor,
            "at least 1",
        );
    }

    fn balancing(&mut self, at: &str, service: &Service) {
        let balancing = &service.balancing;
        let nodes = balancing.nodes;
        self.that((1..1 << 16).contains(&nodes), format!("{at}.balancing.nodes"), nodes, "from 1 to 65535");
        let patient = balancing.timeout.is_none_or(|timeout| !timeout.is_zero());
        self.that(patient, format!("{at}.balancing.timeout"), "0", "above 0, or none");
        let separate = service.zones.are_separate() && balancing.is_managed();
        self.that(!separate, format!("{at}.zones.across"), "false", "true with a hash, affinity or ejection");
        let hashed = match balancing.algorithm {
            Algorithm::ConsistentHash { key } => Some(key),
            _ => None,
        };
        hashed.into_iter().for_each(|key| self.key(format!("{at}.balancing.hash"), key));
        balancing.affinity.into_iter().for_each(|key| self.key(format!("{at}.balancing.affinity"), key));
        if let Some(health) = balancing.health {
            let at = format!("{at}.balancing.health");
            self.that(!health.interval.is_zero(), format!("{at}.interval"), "0s", "above 0s");
            self.at_least_one(format!("{at}.healthy_after"), health.healthy_after);
            self.at_least_one(format!("{at}.unhealthy_after"), health.unhealthy_after);
        }
        if let Some(retries) = balancing.retries {
            self.share(format!("{at}.balancing.retries.budget"), retries.budget);
        }
        if let Some(limit) = balancing.instance_limit {
            self.at_least_one(format!("{at}.balancing.instance_limit"), limit);
        }
        let queued = balancing.queue.is_none() || balancing.instance_limit.is_some();
        self.that(queued, format!("{at}.balancing.queue"), "a queue", "none without `instance_limit`");
        if let Connections::Kept { idle_timeout, .. } = balancing.connections {
            let place = format!("{at}.balancing.connections.idle_timeout");
            self.that(
                !idle_timeout.is_zero(),
                place,
                "0",
                "above 0; a connection for each request is `PerCall`",
            );
        }
    }

    fn endpoint(&mut self, at: &str, endpoint: &Endpoint) {
        let share = endpoint.share;
        self.that(share >= 0.0 && share.is_finite(), format!("{at}.share"), share, "at least 0");
        self.share(format!("{at}.errors"), endpoint.errors);
        if let RequestPriority::ByKey { key, .. } = endpoint.priority {
            self.key(format!("{at}.priority"), key);
        }
        for (place, step) in endpoint.steps.iter().enumerate() {
            let at = format!("{at}.steps[{place}]");
            match step {
                Step::Work { cpu, wait, bursts, incidents } => {
                    self.distribution(&format!("{at}.cpu"), cpu);
                    self.distribution(&format!("{at}.wait"), wait);
                    self.that(
                        (1..1 << 16).contains(bursts),
                        format!("{at}.bursts"),
                        bursts,
                        "from 1 to 65535",
                    );
                    if let Some(incidents) = incidents {
                        let busy = incidents.per_hour * incidents.duration.as_secs_f64() / 3600.0;
                        let place = format!("{at}.incidents");
                        self.that(
                            incidents.per_hour > 0.0 && busy < 1.0,
                            &place,
                            format!("{} an hour of {:?}", incidents.per_hour, incidents.duration),
                            "above none, and less than an hour in each hour",
                        );
                        let factor = incidents.factor;
                        self.that(
                            factor >= 0.0 && factor.is_finite(),
                            format!("{place}.factor"),
                            factor,
                            "at least 0",
                        );
                    }
                }
                Step::Hold { pool, time } => {
                    let known = usize::from(pool.0) < self.system.pools.len();
                    self.that(known, format!("{at}.pool"), pool.0, "the place of one of the pools");
                    self.distribution(&format!("{at}.time"), time);
                }
                Step::Calls(calls) => {
                    for call in calls {
                        let called = self.system.services.get(usize::from(call.service.0));
                        let known =
                            called.is_some_and(|called| usize::from(call.endpoint) < called.endpoints.len());
                        let found = format!("endpoint {} of service {}", call.endpoint, call.service.0);
                        self.that(known, at.as_str(), found, "an endpoint that there is");
                    }
                }
            }
        }
    }

    fn host(&mut self, at: &str, host: &Host, service: &Service) {
        self.at_least_one(format!("{at}.cores"), host.cores);
        self.that(host.speed > 0.0 && host.speed.is_finite(), format!("{at}.speed"), host.speed, "above 0");
        let most = host.quota.map_or(f64::from(host.cores), |quota| quota.cores.min(f64::from(host.cores)));
        let background = host.background;
        let fits = background >= 0.0 && background < most;
        self.that(
            fits,
            format!("{at}.background"),
            background,
            "at least 0 and below the cores and the quota",
        );
        if let Some(quota) = host.quota {
            self.that(quota.cores > 0.0, format!("{at}.quota.cores"), quota.cores, "above 0");
            self.that(!quota.period.is_zero(), format!("{at}.quota.period"), "0", "above 0");
        }
        if let Some(steal) = host.steal {
            self.share(format!("{at}.steal.share"), steal.share);
        }
        if let Some(credits) = host.credits {
            self.share(format!("{at}.credits.baseline"), credits.baseline);
        }
        self.credits(at, host);
        if let Some(memory) = host.memory {
            let used =
                u64::from(service.server.processes).saturating_mul(service.server.memory_per_process.get());
            let found = format!("{memory} for {} processes", service.server.processes);
            self.that(
                used <= memory.get(),
                format!("{at}.memory"),
                found,
                "at least what its processes take",
            );
        }
    }

    fn distribution(&mut self, at: &str, distribution: &Distribution) {
        match distribution {
            Distribution::Constant(_) | Distribution::Exponential { .. } => {}
            Distribution::LogNormal { cv, .. } => {
                self.that(*cv > 0.0 && cv.is_finite(), format!("{at}.cv"), cv, "above 0");
            }
            Distribution::HyperExponential { cv, .. } => {
                self.that(*cv > 1.0 && *cv < 1e4, format!("{at}.cv"), cv, "above 1 and below 10000");
            }
            Distribution::Erlang { shape, .. } => self.at_least_one(format!("{at}.shape"), *shape),
            Distribution::Uniform { least, most } => {
                self.that(least <= most, format!("{at}.least"), format!("{least:?}"), "at most the longest");
            }
            Distribution::Empirical(points) => {
                let rises = points.is_sorted_by(|one, next| one.0 <= next.0 && one.1 < next.1);
                let ends = points.last().is_some_and(|&(_, share)| share == 1.0);
                let begins = points.first().is_some_and(|&(_, share)| share >= 0.0);
                let found = format!("{} points", points.len());
                self.that(rises && ends && begins, at, found, "times and shares that rise, the last share 1");
            }
        }
    }

    fn traffic(&mut self, traffic: &Traffic) {
        match traffic {
            Traffic::Open { rates, bin, noise, .. } => {
                self.that(!rates.is_empty(), "traffic.rates", "empty", "a rate for at least one bin");
                self.that(!bin.is_zero(), "traffic.bin", "0", "above 0");
                if let Some(at) = rates.iter().position(|rate| !(rate.is_finite() && *rate >= 0.0)) {
                    self.that(false, format!("traffic.rates[{at}]"), rates[at], "at least 0");
                }
                if let Some(noise) = noise {
                    let sigma = noise.sigma;
                    self.that(sigma >= 0.0 && sigma.is_finite(), "traffic.noise.sigma", sigma, "at least 0");
                    self.share("traffic.noise.phi".into(), noise.phi);
                }
            }
            Traffic::Closed { users, think } => {
                self.that((1..1 << 29).contains(users), "traffic.users", users, "from 1 to half a billion");
                self.distribution("traffic.think", think);
            }
        }
    }

    /// A request that calls itself, directly or not, never ends.
    fn circles(&mut self) {
        let services = &self.system.services;
        let mut seen: Vec<Vec<Seen>> =
            services.iter().map(|one| vec![Seen::Not; one.endpoints.len()]).collect();
        for (service, state) in services.iter().enumerate() {
            for endpoint in 0..state.endpoints.len() {
                if is_in_a_circle(self.system, &mut seen, service, endpoint) {
                    let place = format!("services[{service}].endpoints[{endpoint}].steps");
                    let bound = "free of calls that come back to it";
                    return self.that(false, place, "a circle of calls", bound);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    OnTheWay,
    Done,
}

fn is_in_a_circle(system: &System, seen: &mut [Vec<Seen>], service: usize, endpoint: usize) -> bool {
    let Some(state) = seen.get_mut(service).and_then(|states| states.get_mut(endpoint)) else { return false };
    match std::mem::replace(state, Seen::OnTheWay) {
        Seen::OnTheWay => return true,
        Seen::Done => {
            *state = Seen::Done;
            return false;
        }
        Seen::Not => {}
    }
    for step in &system.services[service].endpoints[endpoint].steps {
        let Step::Calls(calls) = step else { continue };
        for call in calls {
            if is_in_a_circle(system, seen, usize::from(call.service.0), usize::from(call.endpoint)) {
                return true;
            }
        }
    }
    seen[service][endpoint] = Seen::Done;
    false
}
