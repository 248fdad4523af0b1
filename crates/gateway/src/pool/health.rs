//! Active checks: sends requests to each instance of the pools that need it, on a thread of their own, independent of
//! client requests.
//!
//! The thread reports the verdicts to `process`; the workers see them at their next tick. A check uses a connection of
//! its own, so that it also shows whether the instance accepts new ones, and one that hangs delays no other.

use super::ProcessPool;
use crate::control_room::ControlRoom;
use crate::settings::{Health, Settings};
use crate::shared::Shared;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo};
use http::codec::{Body, Limits};
use http::reactor::Clock;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle as Task;
use units::Timestamp;

/// The thread that checks; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct HealthChecks {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HealthChecks {
    /// Whether any pool has checks.
    pub(crate) fn are_wanted(settings: &Settings) -> bool {
        settings.pools.iter().any(|pool| pool.health.is_some())
    }

    /// Starts the checks of the configuration in force.
    ///
    /// # Errors
    /// No thread or descriptor is left.
    pub(crate) fn start(room: Arc<ControlRoom>, clock: Clock) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("gateway-health".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let (mut checks, mut known) = (Checks::new(), None);
                while !stopped.load(Ordering::Relaxed) {
                    let (version, shared) = room.current();
                    if known.replace(version) != Some(version) {
                        end_others(&shared, &mut checks);
                    }
                    begin_due(&shared, &mut checks, clock.now());
                    tokio::time::sleep(LOOK).await;
                }
            });
        })?;
        Ok(HealthChecks { stop, thread: Some(thread) })
    }
}

impl Drop for HealthChecks {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The checks of one instance.
struct Check {
    next: Timestamp,
    /// The last check; only one runs at a time.
    running: Task<()>,
}

/// By the pool's name and the instance's address.
type Checks = HashMap<String, HashMap<SocketAddr, Check>>;

/// Starts the checks that are due.
fn begin_due(shared: &Shared, checks: &mut Checks, now: Timestamp) {
    for (pool, process) in shared.settings.pools.iter().zip(&shared.pools) {
        let Some(health) = &pool.health else { continue };
        let known = checks.entry(pool.name.clone()).or_default();
        for instance in &pool.instances {
            let last = known.get(&instance.address);
            if last.is_some_and(|check| now < check.next || !check.running.is_finished()) {
                continue;
            }
            // After a stall, one check runs at once, not all that were missed.
            let running = tokio::spawn(check(Arc::clone(process), instance.address, health.clone()));
            known.insert(instance.address, Check { next: now + health.interval, running });
        }
    }
}

/// Ends the checks of instances that were removed.
fn end_others(shared: &Shared, checks: &mut Checks) {
    checks.retain(|name, known| {
        let pool = shared.settings.pools.iter().find(|pool| pool.name == *name && pool.health.is_some());
        let wanted: HashSet<SocketAddr> =
            pool.into_iter().flat_map(|pool| &pool.instances).map(|instance| instance.address).collect();
        known.retain(|address, check| {
            let stays = wanted.contains(address);
            if !stays {
                check.running.abort();
            }
            stays
        });
        pool.is_some()
    });
}

async fn check(pool: Arc<ProcessPool>, address: SocketAddr, health: Health) {
    let passed = match tokio::time::timeout(health.timeout, ask(address, &health.path)).await {
        Ok(Ok(Some(status))) => health.status.contains(&status),
        Ok(Ok(None) | Err(_)) | Err(_) => false,
    };
    pool.checked(address, passed);
}

/// The status of a response; `None` if the bytes are not a response.
async fn ask(address: SocketAddr, path: &str) -> io::Result<Option<u16>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nuser-agent: headroom-health\r\naccept: */*\r\nconnection: \
         close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut input = Vec::new();
    loop {
        if stream.read_buf(&mut input).await? == 0 || input.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
        if let Some(status) = status(&input) {
            return Ok(status);
        }
    }
}

/// `None` if more bytes are needed; `Some(None)` if they are not a response.
fn status(input: &[u8]) -> Option<Option<u16>> {
    let mut used = 0;
    loop {
        let mut slots = slots();
        match response::parse(&input[used..], AnswerTo::Other, &Limits::WIDEST, &mut slots) {
            Ok(None) => return None,
            Err(_) => return Some(None),
            Ok(Some(head)) if head.status < 200 && head.framing == Body::None => used += head.head_len,
            Ok(Some(head)) => return Some(Some(head.status)),
        }
    }
}

/// How often the thread looks for checks that are due.
const LOOK: Duration = Duration::from_millis(20);

/// A longer head is not a response to a check.
const HEAD_BYTES_MAX: usize = Limits::WIDEST.head_bytes_max;
