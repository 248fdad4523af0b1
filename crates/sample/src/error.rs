//! Why the sample service cannot start, or could not keep its record.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What went wrong, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else listens there.
    #[error(
        "cannot listen on {address}: the address is in use; stop the other service, or choose another port \
         (port 0 takes a free one)"
    )]
    AddressInUse {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}; choose an address of this machine and a port above 1023")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A count that must be at least one is zero.
    #[error("`{field}` is 0; it must be at least 1")]
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
    /// More handler threads than this service is made for.
    #[error(
        "{workers} workers × {threads} threads are {} threads; the bound is {bound}, take fewer of either",
        .workers.saturating_mul(*.threads)
    )]
    TooManyThreads {
        /// Workers that were asked for.
        workers: usize,
        /// Threads in each.
        threads: usize,
        /// The most that there may be in all.
        bound: usize,
    },
    /// The system refused a thread.
    #[error("cannot start thread {started} of {asked}; take fewer, or raise the limit (`ulimit -u`)")]
    Thread {
        /// The number of the thread that could not start.
        started: usize,
        /// How many were asked for.
        asked: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A response body that is larger than the bound.
    #[error("`body` is {found} bytes; the bound is {bound}")]
    BodyTooLarge {
        /// The size that was asked for.
        found: u64,
        /// The largest size.
        bound: u64,
    },
    /// A text that is no distribution of spans.
    #[error(
        "`{found}` is no distribution: {problem}; write 20ms, exp(20ms), lognormal(20ms,0.5) (median and sigma) \
         or uniform(10ms,30ms)"
    )]
    Distribution {
        /// The text as it was found.
        found: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A text that is no route.
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
        /// What the system said.
        source: io::Error,
    },
    /// The system refused the poller.
    #[error("cannot watch connections; the process may be out of descriptors (`ulimit -n`)")]
    Poller {
        /// What the system said.
        source: io::Error,
    },
}
