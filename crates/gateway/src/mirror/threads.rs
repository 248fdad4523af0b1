//! The threads that process copies. Each starts with the first configuration that needs it, and ends with the gateway.

use super::capture::Writer;
use super::engine::Engine;
use super::{Ends, Mirrors, queue};
use http::reactor::{Clock, KernelNet};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread::{Builder, JoinHandle};
use thiserror::Error;

/// Why copies cannot be processed.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    /// The capture file cannot be written.
    #[error("cannot write the capture {}", file.display())]
    File { file: PathBuf, source: io::Error },
    /// No thread or descriptor is left.
    #[error("cannot set up the mirror's thread; see `ulimit -n` and `ulimit -u`")]
    Thread(#[from] io::Error),
}

/// Starts the threads that this configuration needs and that are not running yet.
pub(crate) fn start(
    mirrors: &Mirrors,
    ends: &Ends,
    clock: Clock,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<(), StartError> {
    if mirrors.have_shadows() && ends.shadows.get().is_none() {
        let net = KernelNet::lenient(clock)?;
        let (end, copies, bell) = queue(Some(net.waker()?));
        threads.push(Builder::new().name("mirror".to_owned()).spawn(move || {
            give_way();
            // If it ends, live requests continue, and copies are dropped.
            let _ = Engine::new(net, copies, bell).run();
        })?);
        // One caller at a time sets this.
        let _ = ends.shadows.set(end);
    }
    if let Some(capture) = mirrors.capture().filter(|_| ends.capture.get().is_none()) {
        let refused = |source| StartError::File { file: capture.file.clone(), source };
        // The captured data is private to the owner.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&capture.file);
        let (file, (end, copies, bell)) = (file.map_err(refused)?, queue(None));
        let writer = Writer::new(file, capture, copies, bell);
        threads.push(Builder::new().name("capture".to_owned()).spawn(move || {
            give_way();
            writer.run();
        })?);
        let _ = ends.capture.set(end);
    }
    Ok(())
}

/// Lowers the priority of this thread, so that a worker on the same core goes first. If that is refused, the thread
/// runs at normal priority.
fn give_way() {
    let _ = rustix::process::setpriority_process(None, PRIORITY);
}

/// A nice value below the priority of workers.
const PRIORITY: i32 = 10;
