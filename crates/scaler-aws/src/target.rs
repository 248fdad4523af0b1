//! The size of a fleet on AWS: read every few seconds, written when another size is wanted.
//!
//! ## A write
//! AWS has no version that a write could name. So the size is read just before: one that somebody else set meanwhile is told and
//! not overwritten, and the guard respects it. Between the two calls it may change all the same.
//!
//! ## The lead
//! AWS has no lease either, so one scaler of a fleet is to run, and it says so.

use crate::client::{Client, Refused};
use crate::metrics::Metrics;
use crate::{ecs, groups};
use aws_config::SdkConfig;
use scaler::settings::{Aws, AwsFleet};
use scaler::{Event, Phase, RemoteTarget, Snapshot, TargetError};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A fleet on AWS.
pub struct AwsTarget {
    client: Client,
    settings: Aws,
    /// The bounds of the guard.
    bounds: (u32, u32),
    numbers: Numbers,
    /// Processor use; none: no policy needs it.
    metrics: Option<Metrics>,
    /// A size whose writing had no answer: it may have been set.
    sent: Option<u32>,
    /// Why the processor use is not known, so that it is told once.
    unmeasured: Option<String>,
    events: Vec<Event>,
}

/// A fleet as AWS describes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Described {
    pub(crate) size: u32,
    /// The least and the greatest size that AWS takes; none: no bound.
    pub(crate) bounds: Option<(u32, u32)>,
    /// Each instance with its name. They have none in ECS, where only their number is told.
    pub(crate) instances: Vec<(String, Phase)>,
}

impl AwsTarget {
    /// A target that was not looked at yet; the scaler sets sizes within `bounds`. With `usage` its processor use is read.
    ///
    /// # Errors
    /// There is no region.
    pub fn new(settings: &Aws, bounds: (u32, u32), usage: bool) -> Result<Self, TargetError> {
        Ok(AwsTarget::of(settings, Client::of_environment(settings)?, bounds, usage))
    }

    /// The same with a configuration of the caller's in place of that of the environment.
    ///
    /// # Errors
    /// The client cannot be started.
    pub fn with_config(
        settings: &Aws,
        config: &SdkConfig,
        bounds: (u32, u32),
        usage: bool,
    ) -> Result<Self, TargetError> {
        Ok(AwsTarget::of(settings, Client::with_config(config)?, bounds, usage))
    }

    fn of(settings: &Aws, client: Client, bounds: (u32, u32), usage: bool) -> Self {
        AwsTarget {
            client,
            settings: settings.clone(),
            bounds,
            numbers: Numbers::default(),
            metrics: usage.then(Metrics::default),
            sent: None,
            unmeasured: None,
            events: Vec::new(),
        }
    }

    fn read(&self) -> Result<Described, TargetError> {
        match &self.settings.fleet {
            AwsFleet::Ecs { cluster, service } => ecs::read(&self.client, &self.settings, cluster, service),
            AwsFleet::Group { name } => groups::read(&self.client, &self.settings, name),
        }
    }

    fn write(&self, size: u32) -> Result<(), Refused> {
        match &self.settings.fleet {
            AwsFleet::Ecs { cluster, service } => {
                ecs::write(&self.client, &self.settings, cluster, service, size)
            }
            AwsFleet::Group { name } => groups::write(&self.client, &self.settings, name, size),
        }
    }

    /// The state. Without its processor use it is stale, so that nothing is removed.
    fn snapshot(&mut self, found: &Described, last: Option<&Snapshot>) -> Snapshot {
        let mut instances = self.numbers.instances(found, last.is_none());
        let mut why = None;
        if let Some(metrics) = &mut self.metrics {
            why = match metrics.read(&self.client, &self.settings.fleet) {
                Ok(true) => None,
                Ok(false) => Some(Metrics::missing(&self.settings.fleet)),
                Err(refused) => Some(refused.words),
            };
            metrics.divide(&mut instances, self.settings.cores);
        }
        let stale = why.is_some();
        if let Some(text) = why.clone().filter(|_| why != self.unmeasured) {
            self.events.push(Event(text));
        }
        self.unmeasured = why;
        Snapshot { size: found.size, instances, withdrawn: false, stale }
    }

    /// What is wrong with the bounds of the guard, where AWS has its own.
    fn check_bounds(&self, found: &Described) -> Result<(), TargetError> {
        let (Some((least, most)), (min, max)) = (found.bounds, self.bounds) else { return Ok(()) };
        let target = &self.settings;
        let beyond = match () {
            () if min > most => Some(("minimum", min, "maximum", most)),
            () if max > most => Some(("maximum", max, "maximum", most)),
            () if min < least => Some(("minimum", min, "minimum", least)),
            () => None,
        };
        match beyond {
            None => Ok(()),
            Some((own, is, bound, of_group)) => Err(TargetError(format!(
                "the {own} is {is}, but `{target}` has the {bound} {of_group} and takes no size beyond it; change the group \
                 (`aws autoscaling update-auto-scaling-group`), or `live.guard`"
            ))),
        }
    }
}

impl RemoteTarget for AwsTarget {
    fn name(&self) -> String {
        self.settings.to_string()
    }

    fn each(&self) -> Duration {
        EACH
    }

    fn check(&mut self, apply: bool) -> Result<(), TargetError> {
        let found = self.read()?;
        self.check_bounds(&found)?;
        if let Some(metrics) = &mut self.metrics
            && !metrics.read(&self.client, &self.settings.fleet)?
        {
            self.events.push(Event(Metrics::missing(&self.settings.fleet)));
        }
        let others = match &self.settings.fleet {
            AwsFleet::Ecs { cluster, service } => ecs::others(&self.client, cluster, service)?,
            AwsFleet::Group { name } => groups::others(&self.client, &self.settings, name)?,
        };
        let Some(other) = others.first() else { return Ok(()) };
        if apply {
            return Err(TargetError(format!(
                "{other} of AWS sets the size of `{}` too; delete or suspend it, or leave --apply out",
                self.settings
            )));
        }
        self.events.push(Event(format!("{other} of AWS sets the size now")));
        Ok(())
    }

    fn lead(&mut self) -> Result<Option<String>, TargetError> {
        let text = format!("AWS has no lease: run no other scaler of `{}` beside this one", self.settings);
        self.events.push(Event(text));
        Ok(None)
    }

    fn attempt(&mut self, set: Option<u32>, last: Option<&Snapshot>) -> Result<Snapshot, TargetError> {
        let mut found = self.read()?;
        let Some(size) = set else { return Ok(self.snapshot(&found, last)) };
        let by_others = last.is_some_and(|last| last.size != found.size) && self.sent != Some(found.size);
        if found.size != size && !by_others {
            self.sent = Some(size);
            if let Err(refused) = self.write(size) {
                // Without an answer, the next reading tells.
                self.sent = self.sent.filter(|_| !refused.answered);
                return Err(refused.into());
            }
            found.size = size;
        }
        self.sent = None;
        Ok(self.snapshot(&found, last))
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn lost_lead(&self) -> bool {
        false
    }
}

/// Numbers of instances that AWS knows by name, and since when they are seen.
#[derive(Debug, Default)]
struct Numbers {
    known: BTreeMap<String, Known>,
    next: u64,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    number: u64,
    phase: Phase,
    /// None: before the first reading.
    started: Option<Instant>,
    ready: Option<Instant>,
}

impl Numbers {
    fn instances(&mut self, found: &Described, first: bool) -> Vec<scaler::Instance> {
        let now = (!first).then(Instant::now);
        let mut before = std::mem::take(&mut self.known);
        let mut all = Vec::with_capacity(found.instances.len());
        for (name, phase) in &found.instances {
            let old = before.remove(name);
            let number = old.map_or(self.next, |old| old.number);
            self.next = self.next.max(number + 1);
            let was_ready = old.is_some_and(|old| old.phase == Phase::Ready);
            let known = Known {
                number,
                phase: *phase,
                started: old.map_or(now, |old| old.started),
                ready: if was_ready { old.and_then(|old| old.ready) } else { now },
            };
            self.known.insert(name.clone(), known);
            all.push(scaler::Instance {
                id: number,
                process: None,
                port: None,
                phase: *phase,
                started: known.started,
                ready: if *phase == Phase::Ready { known.ready } else { None },
                usage: None,
            });
        }
        all
    }
}

/// How often the size is read: AWS bounds the calls of an account.
const EACH: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_keeps_its_number() {
        let mut numbers = Numbers::default();
        let described = |names: &[(&str, Phase)]| Described {
            instances: names.iter().map(|(name, phase)| ((*name).to_owned(), *phase)).collect(),
            ..Described::default()
        };
        let first = numbers.instances(&described(&[("i-1", Phase::Ready), ("i-2", Phase::Starting)]), true);
        assert_eq!(first.iter().map(|one| one.id).collect::<Vec<_>>(), [0, 1]);
        assert!(first[0].started.is_none() && first[0].ready.is_none(), "it was there before");
        let next = numbers.instances(
            &described(&[("i-2", Phase::Ready), ("i-3", Phase::Starting), ("i-1", Phase::Ending)]),
            false,
        );
        assert_eq!(next.iter().map(|one| one.id).collect::<Vec<_>>(), [1, 2, 0]);
        assert!(next[0].ready.is_some() && next[1].ready.is_none() && next[2].ready.is_none());
        let last = numbers.instances(&described(&[("i-4", Phase::Ready)]), false);
        assert_eq!(last[0].id, 3, "no number is used again");
    }
}
