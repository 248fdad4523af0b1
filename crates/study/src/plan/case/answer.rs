//! The answer of a plan: the trusted number, why it is trusted, and what was left out.

use super::methods::{CAPACITY, LAW};
use super::{SIMULATION, Study};
use crate::plan::{Load, REPLICAS_MAX};
use documents::plan::{Answer, Bottleneck, Kind, Method, per_second, time};
use sim::settings::Traffic;

impl Study<'_> {
    pub(super) fn answer(&self, methods: &[Method], bottleneck: &Bottleneck) -> Answer {
        let simulated = &methods[0];
        let disagree: Vec<&Method> =
            methods[1..].iter().filter(|method| !overlap(simulated, method)).collect();
        let agree = disagree.is_empty();
        let mut why = if agree {
            "the methods agree within their intervals; the simulation is the closest to the case".to_owned()
        } else {
            let reasons = disagree.iter().map(|method| format!("{}: {}", method.name, self.left_out(method)));
            format!(
                "trusted: the simulation. Outside its interval: {}",
                reasons.collect::<Vec<_>>().join("; ")
            )
        };
        if simulated.replicas.is_none() {
            why = match self.parts(REPLICAS_MAX).tightest(Some(Kind::Shared)) {
                Some(part) if part.limit() <= self.load.per_second(self.parts(1).alone.0) => format!(
                    "{}, which all replicas share, carries at most {}; raise that limit first",
                    part.name,
                    per_second(part.limit())
                ),
                _ => format!(
                    "{}; without other requests a response takes {} on average: change the goal or the service",
                    simulated.remark.rsplit(": ").next().unwrap_or_default(),
                    time(1e3 * self.parts(1).alone.0)
                ),
            };
        } else if bottleneck.kind == Kind::Load && simulated.replicas < Some(self.now) {
            why += "; fewer replicas than now carry the load";
        }
        Answer {
            replicas: simulated.replicas,
            low: simulated.low,
            high: simulated.high,
            trusted: Some(SIMULATION),
            agree,
            why,
        }
    }

    /// What another method leaves out in this case.
    fn left_out(&self, method: &Method) -> String {
        let service = &self.system.services[self.service];
        if method.name == LAW {
            return "it knows no response times, and a part that is shared has a corner that the law lacks"
                .to_owned();
        }
        if method.name == CAPACITY {
            return "a replica carries another rate than the model of the case says".to_owned();
        }
        let mut left = Vec::new();
        if service.hosts.iter().any(|host| host.quota.is_some()) {
            left.push("they spread a processor limit evenly over its periods");
        }
        if service.server.lock.is_some() {
            left.push("they do not know how threads exchange a lock");
        }
        if service.hosts.len() > 1 {
            left.push("they take all replicas as equal");
        }
        left.push(
            "they know the means of the times, and neither their distributions nor how they are balanced",
        );
        left.join(", ")
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.asked.load.is_none() {
            notes.push(match self.system.traffic {
                Traffic::Open { .. } => "the load is the highest rate of the case's traffic".to_owned(),
                Traffic::Closed { .. } => "the load is that of the case".to_owned(),
            });
        }
        if let Load::Users { think, .. } = self.load
            && !think.is_zero()
        {
            notes.push("think times are exponential".to_owned());
        }
        let service = &self.system.services[self.service];
        if service.hosts.iter().any(|host| host.credits.is_some_and(|credits| !credits.unlimited)) {
            notes.push("processor credits are taken as spent".to_owned());
        }
        if service.hosts.len() > 1 {
            let names: Vec<&str> = service.hosts.iter().map(|host| host.name.as_str()).collect();
            notes.push(format!("replicas are placed on {} in turn", names.join(", ")));
        }
        notes.push(
            "each replica has a host of its own; policies, deployments and failures are left out".to_owned(),
        );
        notes
    }
}

fn overlap(a: &Method, b: &Method) -> bool {
    if b.replicas.is_none() {
        // A method that does not apply contradicts nothing; one that finds no number where there is one does.
        let applies = b.per_second.is_some();
        return a.replicas.is_none() || !applies;
    }
    if a.replicas.is_none() {
        return false;
    }
    let ends = |method: &Method| (method.low.unwrap_or(1), method.high.unwrap_or(u32::MAX));
    let ((a_low, a_high), (b_low, b_high)) = (ends(a), ends(b));
    a_low <= b_high && b_low <= a_high
}
