//! The service of the demo, the gateway in front of it, and the load.

use super::story::StoryError;
use crate::output;
use ::gateway::{Change, Gateway};
use ::load::{Arrivals, Model, Plan, Progress, Target};
use config::Quick;
use documents::run::Ended;
use gateway::settings::Settings;
use measure::{Measurement, Reason};
use report::quantile;
use std::io::{IsTerminal, stderr};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;
use study::load::{Event, Load, Watching};
use units::{Quantile, Rate, Timestamp};

/// The service with a gateway in front of it.
pub struct Stage {
    service: sample::Running,
    gateway: Gateway,
    target: Target,
    /// Changes of the policies so far.
    changes: Vec<Change>,
    interrupts: crate::live::Interrupts,
}

impl Stage {
    /// Starts the service, and a gateway that only forwards.
    pub fn set() -> Result<Self, StoryError> {
        let service = sample::Service::start(sample::Config::search_cgi())?;
        let gateway = ::gateway::start(settings(service.addr(), None))?;
        let target = Target::new(&format!("http://{}/search.cgi", gateway.address()), "GET", &[], b"")?;
        let interrupts = crate::live::Interrupts::listen().map_err(StoryError::Signals)?;
        Ok(Stage { service, gateway, target, changes: Vec::new(), interrupts })
    }

    /// Where the gateway listens.
    pub fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    /// The time since the start of the demo.
    pub fn now(&self) -> Timestamp {
        self.gateway.clock().now()
    }

    /// Adds the policy, or removes it.
    pub fn protect(&self, policy: Option<Policy>) -> Result<(), StoryError> {
        Ok(self.gateway.reload(settings(self.service.addr(), policy))?)
    }

    /// Changes of the policies since the start of the demo.
    pub fn changes(&mut self) -> &[Change] {
        self.changes.extend(self.gateway.take_changes());
        &self.changes
    }

    /// Sends load for `length`.
    pub fn drive(&self, rate: Rate, length: Duration) -> Result<Measurement, StoryError> {
        let plan = Plan {
            duration: Some(length),
            timeout: PATIENCE,
            good_within: PATIENCE,
            ..Plan::new(self.target.clone(), Model::open(rate, Arrivals::Even, None))
        };
        let load = Load {
            plan,
            thresholds: Vec::new(),
            watching: Watching::default(),
            interrupted: &|| self.interrupts.came(),
        };
        let mut line = LiveLine::default();
        let outcome = study::load::run(&load, &mut |event| {
            if let Event::Runs { now, .. } = event {
                line.show(now);
            }
        })?;
        line.clear();
        match outcome.ended {
            Ended::Interrupted => Err(StoryError::Interrupted),
            Ended::Planned | Ended::Aborted => Ok(outcome.measured),
        }
    }

    /// Waits until no request is in flight at the service, and 500 ms more. Returns when none was.
    pub fn until_calm(&self) -> Result<Timestamp, StoryError> {
        let begin = self.now();
        while self.service.totals().in_flight > 0 {
            if self.interrupts.came() {
                return Err(StoryError::Interrupted);
            }
            let waited = self.now().since(begin);
            if waited > CALM_AT_LAST {
                return Err(StoryError::NeverCalm { waited });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let calm = self.now();
        std::thread::sleep(Duration::from_millis(500));
        Ok(calm)
    }

    /// Stops the gateway and the service.
    pub fn strike(self) -> Result<(), StoryError> {
        self.gateway.drain();
        self.service.stop()?;
        Ok(())
    }
}

/// The policy of the account.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The rate that is admitted while it applies.
    pub limit: Rate,
    /// The most requests in flight while it applies.
    pub concurrency: NonZeroU32,
    /// The time within which a response conforms.
    pub target: Duration,
}

fn settings(service: SocketAddr, policy: Option<Policy>) -> Settings {
    config::quick(Quick {
        to: service,
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        limit: policy.map(|policy| policy.limit),
        target: policy.map(|policy| policy.target),
        concurrency: policy.map(|policy| policy.concurrency),
        admin: None,
    })
}

/// The longest stall of this machine in a phase, which then had another load than intended and does not count.
pub fn stood_still(measured: &Measurement) -> Option<Duration> {
    measured.validity.reasons.iter().find_map(|reason| match reason {
        Reason::Stalled { longest } => Some(*longest),
        _ => None,
    })
}

/// The phase in progress, as a line on a terminal.
#[derive(Debug, Default)]
struct LiveLine {
    before: Progress,
    good: u64,
    recent: measure::Histogram,
    shown: bool,
}

impl LiveLine {
    fn show(&mut self, progress: &Progress) {
        self.good += progress.recent_good;
        self.recent.add(&progress.recent);
        if !stderr().is_terminal() || progress.at.since(self.before.at) < Duration::from_secs(1) {
            return;
        }
        let span = progress.at.since(self.before.at).as_secs_f64();
        let (now, then) = (&progress.accounting, &self.before.accounting);
        let a_second = |now: u64, then: u64| (now.saturating_sub(then)) as f64 / span;
        output::tell_now(&format!(
            "          {:>3.0} s  offered {:>3.0}/s  good {:>3.0}/s  shed {:>3.0}/s  in flight {:>3}  p95 {}",
            progress.at.as_secs_f64(),
            a_second(now.scheduled, then.scheduled),
            self.good as f64 / span,
            a_second(now.shed, then.shed),
            progress.in_flight,
            quantile(&self.recent, Quantile::P95),
        ));
        self.before = progress.clone();
        self.good = 0;
        self.recent.clear();
        self.shown = true;
    }

    fn clear(&self) {
        if self.shown {
            output::tell("\r\x1b[K");
        }
    }
}

/// The time-out of requests.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest wait for a calm service.
const CALM_AT_LAST: Duration = Duration::from_secs(30);
