//! What runs on a host: processes, threads, and how requests reach them.

use super::Distribution;
use std::time::Duration;
use units::Bytes;

/// The application server of an instance.
///
/// | model | processes | threads | lock |
/// |---|---|---|---|
/// | worker processes (gunicorn sync, Passenger) | n | 1 | none |
/// | threads under a global lock (Puma, gunicorn gthread) | n | m | its quantum |
/// | event loop (Node.js) | n | as many as may be open at once | [`Duration::MAX`]: never taken away |
/// | worker pool (Go, Java) | 1 | n | none |
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Processes, at least 1.
    pub processes: u32,
    /// Requests that a process has in hand at once, at least 1.
    pub threads: u32,
    /// Where the runtime lets one thread of a process run at a time: for how long it may keep the lock while another
    /// waits, in processor time. It looks whether another waits each time that it has run for so long.
    pub lock: Option<Duration>,
    /// Where requests wait for a thread.
    pub accept: Accept,
    /// Workers in front of the processes on the same host, such as nginx.
    pub front: Option<Front>,
    /// Memory of a process; zero where it does not matter.
    pub memory_per_process: Bytes,
}

impl Server {
    /// Processes of so many threads without a lock, and one queue without bound.
    pub fn new(processes: u32, threads: u32) -> Self {
        Server {
            processes,
            threads,
            lock: None,
            accept: Accept::Shared { bound: u32::MAX },
            front: None,
            memory_per_process: Bytes::new(0),
        }
    }
}

/// Where requests wait for a thread. Each queue has a bound; a request that finds it full is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accept {
    /// One queue: any free thread takes the next request, each with the same chance.
    Shared {
        /// Most requests that wait.
        bound: u32,
    },
    /// A queue for each process; which one a request joins is chance (`SO_REUSEPORT`).
    PerProcess {
        /// Most requests that wait at one process.
        bound: u32,
    },
    /// The balancer keeps connections alive, and a connection belongs to the process that accepted it. A new
    /// connection is accepted by a process that has a free thread, or waits until one has; every later request on it
    /// waits for that process, even if all others are idle. After a response the thread waits on the connection for
    /// its next request (Puma's fast track). A thread that becomes free takes what waits for its process first, then
    /// what waits to be accepted. Front workers, and balancers without kept connections, open one for each request.
    Kept {
        /// Most connections that wait to be accepted, and most requests that wait at one process.
        bound: u32,
        /// For how long a thread waits on a connection after a response.
        linger: Duration,
        /// After so many requests in a row on one connection the thread does not wait any more.
        inline: u32,
    },
}

/// Single-threaded workers that pass requests on to the processes, on the same processors. A worker is busy for the
/// processor time and for the wait (blocking disk and log writes) of each request.
#[derive(Debug, Clone, PartialEq)]
pub struct Front {
    /// How many.
    pub workers: u32,
    /// Processor time for each request.
    pub cpu: Distribution,
    /// Wait for each request, during which the worker does nothing else.
    pub wait: Distribution,
    /// Most requests that wait for a worker.
    pub bound: u32,
}
