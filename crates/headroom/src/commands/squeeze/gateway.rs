//! The gateway of a squeeze, by its admin listener, and the clock.

use crate::commands::counters::{Held, PageTimes, admin, lost, seconds};
use crate::live::Interrupts;
use config::squeeze::Squeeze as File;
use control::diagnosis::Seen as Second;
use host::{Service, Ticks};
use scaler::{Admin, AdminError, pool_path};
use serde::Deserialize;
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use study::doctor::Attendance;
use study::squeeze::{LEASE, Live, Lost, Pool, Seen};
use units::Ratio;

/// A gateway with a pool that is squeezed.
pub struct Gateway<'a> {
    admin: Admin,
    path: String,
    holder: String,
    interrupts: &'a Interrupts,
    begun: Instant,
    ticks: Option<Ticks>,
    attendance: Option<Attendance>,
}

/// `GET /pools/POOL`.
#[derive(Debug, Deserialize)]
struct Page {
    at_s: f64,
    arrived: u64,
    answered: u64,
    errors: u64,
    shed: u64,
    failed: u64,
    response_times: PageTimes,
    squeeze: Option<Held>,
    squeezed: PageSeen,
    instances: Vec<Instance>,
}

#[derive(Debug, Deserialize)]
struct PageSeen {
    sent: u64,
    answered: u64,
    failed: u64,
    timed_out: u64,
    response_times: PageTimes,
}

#[derive(Debug, Deserialize)]
struct Instance {
    address: SocketAddr,
    takes_requests: bool,
    state: String,
}

impl<'a> Gateway<'a> {
    /// The gateway that the file names; nothing is asked yet.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn new(file: &File, interrupts: &'a Interrupts) -> Result<Self, AdminError> {
        Ok(Gateway {
            admin: admin(&file.gateway, &file.pool)?,
            path: pool_path(&file.pool),
            holder: format!("headroom squeeze {} (process {})", file.name, std::process::id()),
            interrupts,
            begun: Instant::now(),
            ticks: None,
            attendance: None,
        })
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

    fn read(&mut self) -> Result<Pool, Lost> {
        let body = self.admin.get(&self.path).map_err(lost)?;
        let page: Page = serde_json::from_slice(&body).map_err(|error| {
            Lost::Refused(format!(
                "the gateway does not report what a squeeze needs; is it of this version? ({error})"
            ))
        })?;
        Ok(page.pool())
    }

    fn hold(&mut self, instances: &[SocketAddr], share: Ratio) -> Result<(), Lost> {
        let body = json!({
            "holder": self.holder, "instances": instances, "share": share.get(), "seconds": LEASE.as_secs_f64(),
        });
        self.admin.change("PUT", &format!("{}/squeeze", self.path), &body.to_string()).map_err(lost)
    }

    fn release(&mut self) -> Result<(), Lost> {
        let body = json!({ "holder": self.holder });
        self.admin.change("DELETE", &format!("{}/squeeze", self.path), &body.to_string()).map_err(lost)
    }

    fn processor(&mut self) -> Option<Ratio> {
        let now = Ticks::now()?;
        let spent = now.since(self.ticks.replace(now)?);
        Ratio::of(spent.total().saturating_sub(spent.idle), spent.total())
    }

    fn attend(&mut self, instance: SocketAddr) {
        self.attendance = Some(Attendance::begin(move || Service::listening_at(instance)));
    }

    fn seen(&mut self) -> Vec<Second> {
        let examined = self.attendance.take().and_then(|attendance| attendance.end(None));
        examined.map_or_else(Vec::new, |examined| examined.seen)
    }
}

impl Page {
    fn pool(self) -> Pool {
        let PageSeen { sent, answered, failed, timed_out, response_times } = self.squeezed;
        let instances = self.instances.into_iter();
        Pool {
            at: seconds(self.at_s),
            arrived: self.arrived,
            answered: self.answered,
            errors: self.errors,
            shed: self.shed,
            failed: self.failed,
            times: self.response_times.times(),
            instances: instances.map(|one| (one.address, one.takes_requests, one.state)).collect(),
            holder: self.squeeze.map(|held| held.holder),
            squeezed: Seen { sent, answered, failed, timed_out, times: response_times.times() },
        }
    }
}
