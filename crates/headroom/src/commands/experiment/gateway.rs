//! The gateway whose copies are paused, by its admin listener, and the clock.

use crate::commands::counters::{Held, PageTimes, admin, lost, seconds};
use crate::live::Interrupts;
use config::experiment::Mirroring;
use gateway::settings::AdminAddress;
use host::{Disturbance, Quota, Sample, Throttling};
use scaler::{Admin, AdminError};
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, Instant};
use study::experiment::mirroring::{Copied, LEASE, Live, Lost, Processor, Reading};

/// A running gateway.
pub struct Gateway<'a> {
    admin: Admin,
    listen: String,
    holder: String,
    interrupts: &'a Interrupts,
    begun: Instant,
    /// The counters of this machine, if the gateway runs on it, and the quotas of the gateway's process.
    machine: Option<(Sample, Vec<Quota>)>,
    process: Option<u32>,
}

/// `GET /mirroring`.
#[derive(Debug, Deserialize)]
struct Page {
    at_s: f64,
    pid: u32,
    paused: Option<Held>,
    arrived: u64,
    answered: u64,
    errors: u64,
    shed: u64,
    failed: u64,
    response_times: PageTimes,
    processor: Option<Used>,
    copies: Vec<PageCopies>,
}

#[derive(Debug, Deserialize)]
struct Used {
    workers_s: f64,
    copies_s: f64,
}

#[derive(Debug, Deserialize)]
struct PageCopies {
    route: String,
    mirror: Option<String>,
    chosen: u64,
    dropped: u64,
}

impl<'a> Gateway<'a> {
    /// The gateway that the file names; nothing is asked yet.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn new(file: &Mirroring, interrupts: &'a Interrupts) -> Result<Self, AdminError> {
        let is_here = match &file.gateway.listen {
            AdminAddress::Tcp(address) => address.ip().is_loopback(),
            AdminAddress::Unix(_) => true,
        };
        Ok(Gateway {
            admin: admin(&file.gateway, "")?,
            listen: file.gateway.listen.to_string(),
            holder: format!("headroom experiment {} (process {})", file.name, std::process::id()),
            interrupts,
            begun: Instant::now(),
            machine: is_here.then(|| (Sample::now(), Vec::new())),
            process: None,
        })
    }

    fn change(&mut self, method: &str, body: &serde_json::Value) -> Result<(), Lost> {
        self.admin.change(method, "/mirroring/pause", &body.to_string()).map_err(lost)
    }
}

impl Live for Gateway<'_> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.came()
    }

    fn holder(&self) -> &str {
        &self.holder
    }

    fn read(&mut self) -> Result<Reading, Lost> {
        let other = |why: String| {
            let listen = &self.listen;
            Lost::Refused(format!(
                "{listen} does not report its copies; is it the admin listener of a gateway of this version? ({why})"
            ))
        };
        match self.admin.get("/mirroring") {
            Ok(body) => {
                let page: Page = serde_json::from_slice(&body).map_err(|error| other(error.to_string()))?;
                self.process = Some(page.pid);
                Ok(page.reading())
            }
            Err(AdminError::Refused { status: 404, .. }) => {
                Err(other("it has no page /mirroring".to_owned()))
            }
            Err(error) => Err(lost(error)),
        }
    }

    fn pause(&mut self) -> Result<(), Lost> {
        let body = json!({ "holder": self.holder, "seconds": LEASE.as_secs_f64() });
        self.change("PUT", &body)
    }

    fn resume(&mut self) -> Result<(), Lost> {
        let body = json!({ "holder": self.holder });
        self.change("DELETE", &body)
    }

    fn disturbance(&mut self) -> (Disturbance, Throttling) {
        let Some((before, quotas_before)) = &self.machine else { return Default::default() };
        let (now, quotas) = (Sample::now(), self.process.map(Quota::of_process).unwrap_or_default());
        let disturbance = Disturbance::between(before, &now);
        let throttling = Quota::throttling_between(quotas_before, &quotas).unwrap_or_default();
        self.machine = Some((now, quotas));
        (disturbance, throttling)
    }
}

impl Page {
    fn reading(self) -> Reading {
        Reading {
            at: seconds(self.at_s),
            process: self.pid,
            arrived: self.arrived,
            answered: self.answered,
            errors: self.errors,
            shed: self.shed,
            failed: self.failed,
            times: self.response_times.times(),
            processor: self
                .processor
                .map(|used| Processor { workers: seconds(used.workers_s), copies: seconds(used.copies_s) }),
            copies: self.copies.into_iter().map(PageCopies::copied).collect(),
            holder: self.paused.map(|held| held.holder),
        }
    }
}

impl PageCopies {
    fn copied(self) -> Copied {
        let PageCopies { route, mirror, chosen, dropped } = self;
        Copied { route, mirror, chosen, dropped }
    }
}
