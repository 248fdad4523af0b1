//! The application server on a host: processes, threads, and how they get requests.

use super::Distribution;
use std::time::Duration;
use units::Bytes;

/// The application server of an instance.
///
/// | model | processes | threads | lock |
/// |---|---|---|---|
/// | worker processes (gunicorn sync, Passenger) | n | 1 | none |
/// | threads under a global lock (Puma, gunicorn gthread) | n | m | its quantum |
/// | event loop (Node.js) | n | the maximum of open requests | [`Duration::MAX`]: never taken away |
/// | worker pool (Go, Java) | 1 | n | none |
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Processes, at least 1.
    pub processes: u32,
    /// Requests that a process handles at once, at least 1.
    pub threads: u32,
    /// For runtimes that run one thread of a process at a time: how long a thread may keep the lock while another
    /// waits, in processor time. It checks for waiting threads each time that it has run for this long.
    pub lock: Option<Duration>,
    /// Where requests wait for a thread.
    pub accept: Accept,
    /// Workers in front of the processes on the same host, such as nginx.
    pub front: Option<Front>,
    /// Memory of a process; zero if it does not matter.
    pub memory_per_process: Bytes,
}

impl Server {
    /// Processes with this many threads, without a lock, and one unbounded queue.
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
    /// One queue: any free thread takes the next request, with equal probability.
    Shared {
        /// Maximum of waiting requests.
        bound: u32,
    },
    /// A queue for each process, which is chosen at random for each request (`SO_REUSEPORT`).
    PerProcess {
        /// Maximum of requests that wait at one process.
        bound: u32,
    },
    /// The balancer keeps connections alive, and a connection belongs to the process that accepted it. A new connection
    /// is accepted by a process with a free thread, or waits until there is one; every later request on it waits for
    /// that process, even if all others are idle. After a response the thread waits on the connection for its next
    /// request (Puma's fast track). A thread that becomes free first takes a request that waits for its process, then a
    /// connection that waits to be accepted. Front workers, and balancers without kept connections, open a connection
    /// for each request.
    Kept {
        /// Maximum of connections that wait to be accepted, and of requests that wait at one process.
        bound: u32,
        /// How long a thread waits on a connection after a response.
        linger: Duration,
        /// After this many requests in a row on one connection the thread no longer waits.
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
    /// Maximum of requests that wait for a worker.
    pub bound: u32,
}
