//! Processor time and memory of instances: of their processes, or as they report it themselves.
//!
//! A page of an instance may hang, so that they are read on a thread of its own. A difference of two readings is
//! divided by the time between them, whenever they were.

use crate::admin::Admin;
use crate::settings::Address;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An instance to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metered {
    pub(crate) id: u64,
    pub(crate) process: Option<u32>,
    pub(crate) port: Option<u16>,
}

/// What an instance has used until a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Used {
    pub(crate) at: Instant,
    /// Processor time.
    pub(crate) seconds: f64,
    /// Memory in use, in bytes, as it was read last.
    pub(crate) memory: Option<u64>,
}

/// Reads the meters of all instances.
#[derive(Debug)]
pub(crate) struct Meters {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    wanted: Mutex<Vec<Metered>>,
    found: Mutex<BTreeMap<u64, Used>>,
}

impl Meters {
    /// Reads pages at `page`, or processes where there is none.
    pub(crate) fn start(page: Option<String>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("meters".to_owned()).spawn(move || {
            let mut clients = BTreeMap::new();
            let mut memory = Memory::default();
            while !of_thread.ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let wanted = lock(&of_thread.wanted).clone();
                let used = match &page {
                    Some(page) => reported(&wanted, page, &mut clients),
                    None => of_processes(&wanted, &mut memory),
                };
                let mut found = lock(&of_thread.found);
                found.retain(|id, _| wanted.iter().any(|one| one.id == *id));
                found.extend(used);
                drop(found);
                std::thread::sleep(EACH.saturating_sub(begun.elapsed()));
            }
        })?;
        Ok(Meters { shared, thread: Some(thread) })
    }

    /// The instances to read from now on, and the last readings.
    pub(crate) fn read(&self, wanted: Vec<Metered>) -> BTreeMap<u64, Used> {
        *lock(&self.shared.wanted) = wanted;
        lock(&self.shared.found).clone()
    }
}

impl Drop for Meters {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Memory of processes by id. The kernel takes milliseconds per GB to report it, so it is read seldom.
#[derive(Debug, Default)]
struct Memory {
    read: Option<Instant>,
    of: BTreeMap<u32, u64>,
}

impl Memory {
    fn of(&mut self, roots: &[u32], now: Instant) -> &BTreeMap<u32, u64> {
        let is_new = roots.iter().any(|root| !self.of.contains_key(root));
        let each = if is_new { MEMORY_OF_NEW } else { MEMORY_EACH };
        if self.read.is_none_or(|read| now.duration_since(read) >= each) {
            self.read = Some(now);
            let read = host::memory_of_trees(roots);
            self.of = read.into_iter().map(|(id, memory)| (id, memory.get())).collect();
        }
        &self.of
    }
}

fn of_processes(wanted: &[Metered], memory: &mut Memory) -> Vec<(u64, Used)> {
    let roots: Vec<u32> = wanted.iter().filter_map(|one| one.process).collect();
    let times = host::cpu_of_trees(&roots);
    let at = Instant::now();
    let memory = memory.of(&roots, at);
    let of = |one: &Metered| {
        let process = one.process?;
        let seconds = times.get(&process)?.as_secs_f64();
        Some((one.id, Used { at, seconds, memory: memory.get(&process).copied() }))
    };
    wanted.iter().filter_map(of).collect()
}

fn reported(wanted: &[Metered], page: &str, clients: &mut BTreeMap<u64, Admin>) -> Vec<(u64, Used)> {
    clients.retain(|id, _| wanted.iter().any(|one| one.id == *id));
    let mut used = Vec::new();
    for one in wanted {
        let Some(port) = one.port else { continue };
        let address = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let client = clients.entry(one.id).or_insert_with(|| Admin::of(address, PATIENCE));
        // Without a response there is no reading, which the scaler sees as a missing one.
        let Ok(body) = client.get(page) else { continue };
        let page = String::from_utf8_lossy(&body);
        if let Some(seconds) = value_of(CPU_SECONDS, &page) {
            let memory =
                value_of(MEMORY_BYTES, &page).filter(|bytes| *bytes >= 0.0).map(|bytes| bytes as u64);
            used.push((one.id, Used { at: Instant::now(), seconds, memory }));
        }
    }
    used
}

/// The value of a metric on a page in the format of Prometheus.
fn value_of(metric: &str, page: &str) -> Option<f64> {
    let line = page.lines().find(|line| line.starts_with(metric))?;
    let value = line.split_whitespace().nth(1)?.parse::<f64>().ok()?;
    value.is_finite().then_some(value)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The metrics of Prometheus' client libraries.
const CPU_SECONDS: &str = "process_cpu_seconds_total";
const MEMORY_BYTES: &str = "process_resident_memory_bytes";

/// Often enough for a step of a second.
const EACH: Duration = Duration::from_millis(250);

/// Often enough for memory,
const MEMORY_EACH: Duration = Duration::from_secs(5);
/// and where a process has just started.
const MEMORY_OF_NEW: Duration = Duration::from_secs(1);

/// A page of an instance on this machine comes at once.
const PATIENCE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_usual_metric() {
        let page = "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 12.5\nother 1\n";
        assert_eq!(value_of(CPU_SECONDS, page), Some(12.5));
        assert_eq!(value_of(CPU_SECONDS, "process_cpu_seconds_total NaN"), None);
        assert_eq!(value_of(CPU_SECONDS, "other 1\n"), None);
        assert_eq!(value_of(MEMORY_BYTES, "process_resident_memory_bytes 1.5e+06\n"), Some(1_500_000.0));
    }

    #[test]
    fn a_process_has_used_time_and_memory() {
        let own = Metered { id: 7, process: Some(std::process::id()), port: None };
        let other = Metered { id: 8, process: Some(5_000_000), port: None };
        let found = of_processes(&[own, other], &mut Memory::default());
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == 7 && found[0].1.seconds > 0.0);
        assert!(found[0].1.memory.is_some_and(|bytes| bytes > 100_000), "{found:?}");
    }
}
