//! The running service: starts the threads, counts, stops.

use crate::allotment::VirtualProcessor;
use crate::config::Config;
use crate::error::Error;
use crate::gate::Gate;
use crate::handler::Shared;
use crate::pace::sharpen_sleeps;
use crate::poller::Poller;
use crate::record::Record;
use rustix::net::listen;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

/// The built-in service.
#[derive(Debug)]
pub struct Service;

/// A running service; it stops when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The counts of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were served.
    pub served: u64,
    /// Requests that were refused because they could not be read, or were too large.
    pub refused: u64,
    /// Requests that found the accept queue full.
    pub turned_away: u64,
    /// Requests in the service now: in the accept queue or with a thread.
    pub in_flight: usize,
}

impl Service {
    /// Listens, starts the threads, and returns.
    ///
    /// # Errors
    /// The address is in use, a count is out of its bounds, the system refuses a thread, or the record cannot be
    /// created.
    pub fn start(config: Config) -> Result<Running, Error> {
        config.check()?;
        let address = config.listen;
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => Error::AddressInUse { address },
            _ => Error::Listen { address, source },
        };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        // The accept queue is the intended bound, not the 128 of the standard library.
        listen(&listener, BACKLOG).map_err(|errno| refused(errno.into()))?;
        let address = listener.local_addr().map_err(refused)?;
        let record = config
            .record
            .as_ref()
            .map(|path| Record::create(path).map_err(|source| Error::Record { path: path.clone(), source }));
        let poller = Poller::new(&config).map_err(|source| Error::Poller { source })?;
        let shared = Arc::new(Shared::new(config, poller, record.transpose()?));
        let mut running = Running { address, shared, threads: Vec::new() };
        running.spawn(listener)?;
        Ok(running)
    }
}

impl Running {
    /// Its address, with the assigned port.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The counts so far.
    pub fn totals(&self) -> Totals {
        Totals {
            served: self.shared.served.load(Ordering::Relaxed),
            refused: self.shared.refused.load(Ordering::Relaxed),
            turned_away: self.shared.poller.turned_away.load(Ordering::Relaxed),
            in_flight: self.shared.poller.in_flight.load(Ordering::Relaxed),
        }
    }

    /// Closes all connections, ends all threads (within about 0.1 s), and finishes the record.
    ///
    /// # Errors
    /// The record could not be written in full.
    pub fn stop(mut self) -> Result<Totals, Error> {
        self.end();
        if let (Some(record), Some(path)) = (&self.shared.record, &self.shared.config.record) {
            record.finish().map_err(|source| Error::Record { path: path.clone(), source })?;
        }
        Ok(self.totals())
    }

    fn spawn(&mut self, listener: TcpListener) -> Result<(), Error> {
        let (workers, threads) = (self.shared.config.workers, self.shared.config.threads);
        let asked = workers * threads + 1 + usize::from(self.shared.processor.is_some());
        let mut start = |name: String, work: Box<dyn FnOnce() + Send>| {
            let started = self.threads.len() + 1;
            let thread = thread::Builder::new().name(name).stack_size(STACK).spawn(work);
            self.threads.push(thread.map_err(|source| Error::Thread { started, asked, source })?);
            Ok(())
        };
        for worker in 0..workers {
            let lock = self.shared.config.global_lock.then(|| Arc::new(Gate::new(1)));
            for thread in 0..threads {
                let (shared, lock) = (Arc::clone(&self.shared), lock.clone());
                start(format!("sample-{worker}-{thread}"), Box::new(move || shared.handle(lock.as_deref())))?;
            }
        }
        if self.shared.processor.is_some() {
            let shared = Arc::clone(&self.shared);
            start(
                "sample-processor".to_string(),
                Box::new(move || {
                    sharpen_sleeps();
                    shared.processor.iter().for_each(VirtualProcessor::run);
                }),
            )?;
        }
        let shared = Arc::clone(&self.shared);
        start(
            "sample-poller".to_string(),
            Box::new(move || {
                shared.poller.run(&listener, &shared.queue, shared.record.as_ref(), &shared.stop);
            }),
        )
    }

    fn end(&mut self) {
        self.shared.stop.now();
        self.shared.queue.close();
        self.shared.pool.close();
        self.shared.processor.iter().for_each(VirtualProcessor::close);
        for thread in self.threads.drain(..) {
            // A handler does not panic; if one did, it has printed why.
            let _ = thread.join();
        }
        if let Some(record) = &self.shared.record {
            record.flush();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Handlers keep nothing large on the stack except a read of 16 KiB.
const STACK: usize = 256 << 10;
/// The system's queue of connections that are not accepted yet.
const BACKLOG: i32 = 4_096;
