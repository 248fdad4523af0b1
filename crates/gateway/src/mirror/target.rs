//! The targets of copies, and the routes that use them.
//!
//! A reload keeps every unchanged target, with its breaker, its queue and its connections; the counts of a route and a
//! mirror stay as long as both names do.

use super::{Budget, LinkCounts};
use crate::settings::{Capture, KeyBy, Mirror, Pool, Settings};
use crate::shared::ClassError;
use control::mirror::{BreakerSettings, Methods, MirrorChoice, MirrorSettings};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// A shadow pool or a file.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) choice: MirrorChoice<AtomicU64>,
    pub(crate) key: KeyBy,
    /// The longest body.
    pub(crate) body_max: usize,
    /// Copies that may wait.
    pub(crate) queue: u32,
    /// Copies that wait now.
    pub(crate) queued: AtomicU64,
    pub(crate) sink: Sink,
}

/// The kind of target.
#[derive(Debug, PartialEq)]
pub(crate) enum Sink {
    /// A pool.
    Shadow(Box<Shadow>),
    /// A file.
    Capture(Capture),
}

/// A pool whose responses are discarded.
#[derive(Debug, PartialEq)]
pub(crate) struct Shadow {
    mirror: Mirror,
    pool: Pool,
    instances: Vec<SocketAddr>,
}

impl Shadow {
    fn new(mirror: &Mirror, pool: &Pool) -> Self {
        let taking = pool.instances.iter().filter(|instance| !instance.draining);
        Shadow {
            mirror: Mirror { pool: 0, ..mirror.clone() },
            pool: pool.clone(),
            instances: taking.map(|instance| instance.address).collect(),
        }
    }

    /// The addresses of the instances.
    pub(crate) fn instances(&self) -> &[SocketAddr] {
        &self.instances
    }

    pub(crate) fn credentials(&self) -> bool {
        self.mirror.credentials
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.mirror.deadline
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.mirror.in_flight
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        self.pool.connect_timeout
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        self.pool.idle_timeout
    }

    pub(crate) fn idle_connections(&self) -> usize {
        self.pool.idle_connections as usize
    }
}

/// The copies of one route to one target.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) route: String,
    pub(crate) target: Arc<Target>,
    pub(crate) counts: Arc<LinkCounts>,
    /// Its index among all links of this configuration.
    pub(crate) number: usize,
}

/// All copies of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    pub(crate) targets: Vec<Arc<Target>>,
    /// By route. Few or none.
    pub(crate) routes: Vec<Vec<Link>>,
    pub(crate) links: usize,
    pub(crate) budget: Arc<Budget>,
}

impl Mirrors {
    /// The copies of a configuration; unchanged targets are taken over from the previous one.
    ///
    /// # Errors
    /// An invalid limit or breaker.
    pub(crate) fn new(settings: &Settings, before: Option<&Mirrors>) -> Result<Self, ClassError> {
        let old = before.map_or(&[][..], |before| &before.targets);
        let mut targets = Vec::new();
        for mirror in &settings.mirrors {
            let pool = &settings.pools[mirror.pool];
            // Its index may have changed; its pool is compared as a whole.
            let sink = Sink::Shadow(Box::new(Shadow::new(mirror, pool)));
            targets.push(target(&mirror.name, mirror.choice, &mirror.key, sink, old)?);
        }
        if let Some(capture) = &settings.capture {
            let choice = MirrorSettings {
                fraction: capture.fraction,
                limit: None,
                methods: Methods::All,
                breaker: BreakerSettings::default(),
                salt: 0,
            };
            targets.push(target("capture", choice, &KeyBy::Client, Sink::Capture(capture.clone()), old)?);
        }
        let captured = settings.capture.as_ref().map(|_| settings.mirrors.len());
        let mut links = 0;
        let mut link = |route: &str, target: &Arc<Target>| {
            let same = |link: &&Link| link.route == route && link.target.is(target);
            let known = before.and_then(|before| before.routes.iter().flatten().find(same));
            links += 1;
            Link {
                route: route.to_owned(),
                target: Arc::clone(target),
                counts: known.map_or_else(Arc::default, |known| Arc::clone(&known.counts)),
                number: links - 1,
            }
        };
        let mut routes = Vec::new();
        for route in &settings.routes {
            let chosen = route.mirrors.iter().copied().chain(captured);
            routes.push(chosen.map(|index| link(&route.name, &targets[index])).collect());
        }
        let budget = before.map_or_else(Arc::default, |before| Arc::clone(&before.budget));
        Ok(Mirrors { targets, routes, links, budget })
    }

    /// Whether some copies are sent to a shadow pool.
    pub(crate) fn have_shadows(&self) -> bool {
        self.targets.iter().any(|target| matches!(target.sink, Sink::Shadow(_)))
    }

    /// The capture, if there is one.
    pub(crate) fn capture(&self) -> Option<&Capture> {
        self.targets.iter().find_map(|target| match &target.sink {
            Sink::Capture(capture) => Some(capture),
            Sink::Shadow(_) => None,
        })
    }
}

impl Target {
    /// Whether both have the same name and kind.
    fn is(&self, other: &Target) -> bool {
        let captures = |target: &Target| matches!(target.sink, Sink::Capture(_));
        self.name == other.name && captures(self) == captures(other)
    }
}

fn target(
    name: &str,
    choice: MirrorSettings,
    key: &KeyBy,
    sink: Sink,
    old: &[Arc<Target>],
) -> Result<Arc<Target>, ClassError> {
    if let Some(same) = old.iter().find(|old| old.name == name && old.sink == sink) {
        return Ok(Arc::clone(same));
    }
    let refused = |source| ClassError { kind: "mirror", name: name.to_owned(), source };
    let (body_max, queue) = match &sink {
        Sink::Shadow(shadow) => (shadow.mirror.body_max, shadow.mirror.queue),
        Sink::Capture(capture) => (capture.body_max, Mirror::QUEUE_MAX),
    };
    Ok(Arc::new(Target {
        name: name.to_owned(),
        choice: MirrorChoice::new(choice).map_err(refused)?,
        key: key.clone(),
        body_max: usize::try_from(body_max.get()).unwrap_or(usize::MAX),
        queue,
        queued: AtomicU64::new(0),
        sink,
    }))
}
