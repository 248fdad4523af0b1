//! Why the sample service cannot start, or could not write its record.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The error, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is in use.
    #[error(
        "cannot listen on {address}: the address is in use; stop the other service, or choose another port \
         (port 0 takes a free one)"
    )]
    AddressInUse {
        /// The requested address.
        address: SocketAddr,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}; choose an address of this machine and a port above 1023")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A count that must be at least one is zero.
    #[error("`{field}` is 0; it must be at least 1")]
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
    /// An allotment of the virtual processor that is out of its bounds.
    #[error("`cores` is {found}; it must be from {least} to {most}")]
    Cores {
        /// The requested cores.
        found: f64,
        /// The fewest.
        least: f64,
        /// The most.
        most: f64,
    },
    /// A setting that needs the virtual processor.
    #[error("`{field}` needs a virtual processor; set `cores`, such as 0.5")]
    NeedsCores {
        /// The field of the configuration.
        field: &'static str,
    },
    /// A global lock with a virtual processor.
    #[error(
        "`global-lock` cannot be combined with `cores`: the virtual processor has no turns; leave one of them out"
    )]
    LockedCores,
    /// More handler threads than the service supports.
    #[error(
        "{workers} workers × {threads} threads are {} threads; the bound is {bound}, take fewer of either",
        .workers.saturating_mul(*.threads)
    )]
    TooManyThreads {
        /// The requested workers.
        workers: usize,
        /// Threads in each.
        threads: usize,
        /// The most threads in all.
        bound: usize,
    },
    /// The system refused a thread.
    #[error("cannot start thread {started} of {asked}; take fewer, or raise the limit (`ulimit -u`)")]
    Thread {
        /// The number of the thread that could not start.
        started: usize,
        /// The requested number of threads.
        asked: usize,
        /// The system's error.
        source: io::Error,
    },
    /// A response body that is larger than the bound.
    #[error("`body` is {found} bytes; the bound is {bound}")]
    BodyTooLarge {
        /// The requested size.
        found: u64,
        /// The largest size.
        bound: u64,
    },
    /// A text that is not a distribution of durations.
    #[error(
        "`{found}` is no distribution: {problem}; write 20ms, exp(20ms), lognormal(20ms,0.5) (median and sigma), \
         lognormal(20ms,cv=0.5) (mean and variation) or uniform(10ms,30ms)"
    )]
    Distribution {
        /// The text as it was found.
        found: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A text that is not a route.
    #[error("`{found}` is no route: {problem}; write for example '/search.cgi hold=18.6ms body=2KiB'")]
    Route {
        /// The text as it was found.
        found: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A stall that cannot be read.
    #[error("`{found}` is no stall: {problem}; write the length and how often, such as 1s/5s")]
    Stall {
        /// The text as it was found.
        found: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The record cannot be written.
    #[error("cannot write the record {}; choose a path that is writable and has room", .path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused the poller.
    #[error("cannot watch connections; the process may be out of descriptors (`ulimit -n`)")]
    Poller {
        /// The system's error.
        source: io::Error,
    },
}
