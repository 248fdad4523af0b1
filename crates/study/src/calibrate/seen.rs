//! What the processes of a service show of how it serves requests.

use super::Lock;
use host::{ApplicationServer, Layout, Service};
use std::time::Duration;

/// What the processes of a service show.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Cores that it may use; `None` if neither affinity nor quota is known.
    pub cores: Option<f64>,
    /// Its application server, with processes and threads; `None` if the server is not recognised.
    pub layout: Option<Layout>,
}

impl Seen {
    /// Nothing where there is no service, or where it has ended.
    pub fn of(service: Option<&Service>) -> Self {
        let Some(service) = service else { return Seen::default() };
        let layout = service.running().ok().and_then(|running| Layout::of(&running));
        // A calibration is checked with the built-in service: what that shows of itself has to be found by measurement.
        let layout = layout.filter(|layout| layout.server != ApplicationServer::Sample);
        Seen { cores: service.cores().ok().flatten(), layout }
    }
}

/// The global lock of the runtimes whose servers are recognised (docs/simulate.md, *Server*).
pub fn lock_of(server: ApplicationServer) -> Option<Lock> {
    match server {
        ApplicationServer::GunicornSync
        | ApplicationServer::Java
        | ApplicationServer::Unicorn
        | ApplicationServer::PhpFpm => Some(Lock::Free),
        ApplicationServer::GunicornThreads => Some(Lock::After(Duration::from_millis(5))),
        ApplicationServer::Puma => Some(Lock::After(Duration::from_millis(100))),
        ApplicationServer::Node | ApplicationServer::PythonEventLoop => Some(Lock::Held),
        // uWSGI serves several languages.
        ApplicationServer::Sample | ApplicationServer::Uwsgi => None,
    }
}
