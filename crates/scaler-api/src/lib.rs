//! Serves what a live scaler wants, so that others can act on it: gauges for Prometheus, status as JSON, KEDA's external
//! scaler protocol; and takes requests to pause, stop and continue.
//!
//! ```text
//! the scaler's loop --publish--> a shared cell <--read-- one thread: HTTP/1.1 and HTTP/2 on one address
//! ```
//!
//! ## Why a cell
//! The loop decides on time, whoever asks and however slowly: it replaces the last status and never waits for a socket.
//! What is served is the last status, with its age; one that is too old is no longer served as an opinion.
#![warn(missing_docs)]

mod gauges;
#[cfg(feature = "keda")]
mod keda;
mod pages;

use listener::{Access, Address, Guard, Listener, Token, guarded};
use status::scaler::{Scaler, Switch};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Carries out a request to stop changes or to let them continue.
pub type Switches = Arc<dyn Fn(Switch) -> io::Result<()> + Send + Sync>;

/// A listener with the last status of a scaler.
#[derive(Debug)]
pub struct Server {
    address: Address,
    cell: watch::Sender<Option<Arc<Published>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A status, and when it was published.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) status: Scaler,
    pub(crate) at: Instant,
}

impl Published {
    /// Whether the scaler still decides, as far as is known.
    pub(crate) fn is_current(&self) -> bool {
        self.at.elapsed() < OUTDATED
    }
}

/// The cell, as those who serve read it.
pub(crate) type Cell = watch::Receiver<Option<Arc<Published>>>;

/// The state of the pages.
#[derive(Clone)]
pub(crate) struct Room {
    pub(crate) cell: Cell,
    pub(crate) switches: Switches,
}

impl Server {
    /// Listens, and serves on a thread of its own. With a file, its token is needed for changes.
    ///
    /// # Errors
    /// The token cannot be read, the address cannot be bound, or no thread is left.
    pub fn start(listen: &Address, token_file: Option<&Path>, switches: Switches) -> io::Result<Self> {
        let token = token_file.map(Token::read).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _entered = runtime.enter();
            Listener::bind(listen)?
        };
        let address = listener.address().clone();
        let (cell, seen) = watch::channel(None);
        let router = pages::router();
        #[cfg(feature = "keda")]
        let router = keda::add_to(router, seen.clone());
        let guard = Arc::new(Guard::new(&address, Access::Reads { calls: CALLS }, token));
        let app = guarded(router, &guard).with_state(Room { cell: seen, switches });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("scaler-api".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    // If it ends, the scaler itself continues.
                    _ = listener.serve(app) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Server { address, cell, stop: Some(stop), thread: Some(thread) })
    }

    /// The address; with the assigned port if 0 was asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Replaces the status that is served.
    pub fn publish(&self, status: Scaler) {
        self.cell.send_replace(Some(Arc::new(Published { status, at: Instant::now() })));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The path of KEDA's calls.
const CALLS: &str = "/externalscaler.ExternalScaler/";

/// A scaler has a step at least every ten seconds.
const OUTDATED: Duration = Duration::from_secs(60);
