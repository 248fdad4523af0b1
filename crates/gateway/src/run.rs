//! Starts a gateway on the kernel's sockets, reloads its configuration, and stops it.

use crate::access_log::Log;
use crate::admin::{Admin, token};
use crate::control_room::{Change, ControlRoom, LimitChange, MalformedAnswer, Reload};
use crate::mirror::End;
use crate::mirror::threads::{self, StartError};
use crate::pool::{HealthChecks, InstanceChange, InstanceChangeError};
use crate::settings::{AccessLog, AdminAddress, Capture, Settings};
use crate::shared::{Shared, SharedError, lock};
use crate::worker::{Ends, LISTENER, Worker};
use http::reactor::{Clock, KernelNet, Waker};
use listener::Token;
use rule::RuleError;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;
use units::Timestamp;

/// Why a gateway cannot start or reload.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// An invalid class, limit or rule.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// The address is in use, or not an address of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The admin listener cannot be served.
    #[error("cannot serve the operator's side on {address}")]
    Admin {
        /// Its address.
        address: AdminAddress,
        /// The system's error.
        source: io::Error,
    },
    /// The token of the operator's side cannot be used.
    #[error("cannot serve the operator's side on {address}")]
    Token {
        /// Where.
        address: AdminAddress,
        /// The system's error, or what is wrong with the token.
        source: io::Error,
    },
    /// The access log cannot be written.
    #[error("cannot open the access log {log}")]
    AccessLog {
        /// Its destination.
        log: String,
        /// The system's error.
        source: io::Error,
    },
    /// The capture cannot be written.
    #[error("cannot write the capture {}", file.display())]
    Capture {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No thread or descriptor is left for copies.
    #[error("cannot set up the mirror's thread; see `ulimit -n` and `ulimit -u`")]
    Mirror(#[source] io::Error),
    /// No thread or descriptor is left.
    #[error("cannot set up worker {worker}; see `ulimit -n` and `ulimit -u`")]
    Worker {
        /// Which one.
        worker: u32,
        /// The system's error.
        source: io::Error,
    },
    /// No thread or descriptor is left for the active checks.
    #[error("cannot begin with the active checks; see `ulimit -n` and `ulimit -u`")]
    HealthChecks {
        /// The system's error.
        source: io::Error,
    },
    /// A setting that can change only with a restart.
    #[error(
        "`{setting}` cannot change while the gateway runs: {old} now, {new} in the file; restart it for that"
    )]
    NeedsRestart {
        /// The setting.
        setting: &'static str,
        /// Its value in force.
        old: String,
        /// Its value in the file.
        new: String,
    },
}

/// A running gateway. After it is dropped, the requests in flight end in the background.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    admin: Option<Admin>,
    room: Arc<ControlRoom>,
    clock: Clock,
    /// Started with the first pool that needs it.
    health: Mutex<Option<HealthChecks>>,
    workers: Vec<(Arc<Waker>, JoinHandle<io::Result<()>>)>,
    /// The threads that process copies.
    helpers: Mutex<Vec<JoinHandle<()>>>,
}

impl GatewayError {
    /// Whether the settings are the reason, and not what else the machine does.
    pub fn is_of_settings(&self) -> bool {
        matches!(self, GatewayError::Shared(_) | GatewayError::Token { .. })
    }
}

impl From<StartError> for GatewayError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::File { file, source } => GatewayError::Capture { file, source },
            StartError::Thread(source) => GatewayError::Mirror(source),
        }
    }
}

/// What [`start`] refuses of the settings themselves, without a socket, a log or a thread.
///
/// # Errors
/// Limits that cannot be, rules that cannot run, a token that cannot be read.
pub fn check(settings: &Settings) -> Result<(), GatewayError> {
    admin_token(settings)?;
    Shared::new(settings.clone(), None, Timestamp::ZERO)?;
    Ok(())
}

fn admin_token(settings: &Settings) -> Result<Option<Token>, GatewayError> {
    let Some(admin) = &settings.admin else { return Ok(None) };
    let refused = |source| GatewayError::Token { address: admin.listen.clone(), source };
    token(admin).map_err(refused)
}

/// Starts a gateway.
///
/// # Errors
/// Addresses are in use, a log cannot be written, or no threads or descriptors are left.
pub fn start(settings: Settings) -> Result<Gateway, GatewayError> {
    let clock = Clock::starting_now();
    let workers = settings.workers.get();
    let (listen, admin) = (settings.listen, settings.admin.clone());
    let (log, form) = (settings.access_log.clone(), settings.log_form);
    let token = admin_token(&settings)?;
    let room = Arc::new(ControlRoom::new(Shared::new(settings, None, clock.now())?, workers as usize));
    let mut address = listen;
    let mut prepared = Vec::new();
    for worker in 0..workers {
        let listener =
            bind(address, worker, workers).map_err(|source| GatewayError::Listen { address, source })?;
        // With port 0, the first socket determines the port that the others share.
        address = listener.local_addr().map_err(|source| GatewayError::Listen { address, source })?;
        let refused = |source| GatewayError::Worker { worker, source };
        let mut net = KernelNet::lenient(clock).map_err(refused)?;
        let waker = net.waker().map_err(refused)?;
        let listener = net.listen(listener, LISTENER).map_err(refused)?;
        let log = Log::with_form(&log, form)
            .map_err(|source| GatewayError::AccessLog { log: name(&log), source })?;
        prepared
            .push((Ends { net, listener, log, wall_clock, seed: wall_clock() ^ u64::from(worker) }, waker));
    }
    let admin = match admin {
        None => None,
        Some(admin) => {
            let refused = |source| GatewayError::Admin { address: admin.listen.clone(), source };
            Some(Admin::start(&admin, token, Arc::clone(&room), clock).map_err(refused)?)
        }
    };
    let mut helpers = Vec::new();
    threads::start(&room.current().1.mirrors, &room.mirror, clock, &mut helpers)?;
    let helpers = Mutex::new(helpers);
    let mut gateway =
        Gateway { address, admin, room, clock, health: Mutex::new(None), workers: Vec::new(), helpers };
    let wakers = prepared.iter().map(|(_, waker)| Arc::clone(waker)).collect();
    // No other code sets them.
    let _ = gateway.room.wakers.set(wakers);
    for (worker, (ends, waker)) in (0..).zip(prepared) {
        let room = Arc::clone(&gateway.room);
        let handle = std::thread::Builder::new()
            .name(format!("gateway-{worker}"))
            .spawn(move || Worker::new(ends, worker as usize, room).map_err(io::Error::other)?.run())
            .map_err(|source| GatewayError::Worker { worker, source })?;
        gateway.workers.push((waker, handle));
    }
    gateway.check_health(&gateway.room.current().1.settings)?;
    Ok(gateway)
}

impl Gateway {
    /// The address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the admin listener.
    pub fn admin(&self) -> Option<&AdminAddress> {
        self.admin.as_ref().map(Admin::address)
    }

    /// The address of the admin listener, if it is an IP address and port.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        match self.admin()? {
            AdminAddress::Tcp(address) => Some(*address),
            AdminAddress::Unix(_) => None,
        }
    }

    /// Reopens the access log, as after a rotation.
    pub fn reopen_logs(&self) {
        self.room.reopen_logs();
    }

    /// A request of the admin listener to reload the configuration.
    pub fn take_reload(&self) -> Option<Reload> {
        self.room.free_replaced();
        self.room.take_reload()
    }

    /// Puts another configuration in force for requests from now on. Classes that did not change keep their state.
    ///
    /// # Errors
    /// The configuration is invalid, or needs a restart; the old one stays in force.
    pub fn reload(&self, settings: Settings) -> Result<(), GatewayError> {
        let _alone = self.room.alone();
        let (_, old) = self.room.current();
        let changed =
            |setting, old: String, new: String| Err(GatewayError::NeedsRestart { setting, old, new });
        if old.settings.listen != settings.listen {
            return changed("listen", old.settings.listen.to_string(), settings.listen.to_string());
        }
        if old.settings.workers != settings.workers {
            return changed("workers", old.settings.workers.to_string(), settings.workers.to_string());
        }
        if old.settings.admin != settings.admin {
            let show = |settings: &Settings| {
                settings.admin.as_ref().map_or("none".to_owned(), |admin| admin.to_string())
            };
            return changed("admin", show(&old.settings), show(&settings));
        }
        if let (Some(admin), Some(settings)) = (&self.admin, &settings.admin) {
            let refused = |source| GatewayError::Token { address: admin.address().clone(), source };
            admin.read_token(settings).map_err(refused)?;
        }
        if old.settings.access_log != settings.access_log {
            let log = &settings.access_log;
            Log::open(log).map_err(|source| GatewayError::AccessLog { log: name(log), source })?;
        }
        if old.settings.capture != settings.capture {
            let show = |capture: &Option<Capture>| {
                capture.as_ref().map_or("none".to_owned(), |capture| capture.file.display().to_string())
            };
            return changed("capture", show(&old.settings.capture), show(&settings.capture));
        }
        self.check_health(&settings)?;
        let shared = Shared::new(settings, Some(&old), self.clock.now())?;
        threads::start(&shared.mirrors, &self.room.mirror, self.clock, &mut lock(&self.helpers))?;
        self.room.replace(shared);
        self.room.free_replaced();
        Ok(())
    }

    /// Adds, drains or removes an instance: a reload of the settings in force with this change. The next reload of a
    /// file restores the file's instances. Each worker begins to take it over at its next tick, within a tenth of a
    /// second, and uses it once it has loaded the rules.
    ///
    /// # Errors
    /// The pool or instance does not exist, or exists already; or it is the last instance that takes requests.
    pub fn change_instances(&self, pool: &str, change: InstanceChange) -> Result<(), InstanceChangeError> {
        self.room.change_instances(pool, change, self.clock.now())
    }

    /// Starts the active checks if a pool needs them.
    fn check_health(&self, settings: &Settings) -> Result<(), GatewayError> {
        let mut health = lock(&self.health);
        if health.is_none() && HealthChecks::are_wanted(settings) {
            let checks = HealthChecks::start(Arc::clone(&self.room), self.clock);
            *health = Some(checks.map_err(|source| GatewayError::HealthChecks { source })?);
        }
        Ok(())
    }

    /// The changes of policies since the last call.
    pub fn take_changes(&self) -> Vec<Change> {
        self.room.take_changes()
    }

    /// The changes of adaptive concurrency limits since the last call.
    pub fn take_limit_changes(&self) -> Vec<LimitChange> {
        self.room.take_limit_changes()
    }

    /// The last error of a rule since the last call. Each is also counted in the metrics.
    pub fn take_rule_error(&self) -> Option<RuleError> {
        self.room.take_rule_error()
    }

    /// Lines that rules have logged since the last call, as many as fit. Each is also counted in the metrics.
    pub fn take_rule_lines(&self) -> Vec<String> {
        self.room.take_rule_lines()
    }

    /// The last response of an instance that violated HTTP, since the last call. Each has its line in the access log.
    pub fn take_malformed_answer(&self) -> Option<MalformedAnswer> {
        self.room.take_malformed()
    }

    /// The clock of the changes' times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Accepts no more clients, lets the requests in flight end within the drain time-out, and stops.
    pub fn drain(mut self) {
        self.end();
        for (_, handle) in self.workers.drain(..) {
            // A thread that has already ended has nothing to drain.
            let _ = handle.join();
        }
        // Their live requests are over: what is captured can be written now, and shadows are not waited for.
        [&self.room.mirror.shadows, &self.room.mirror.capture]
            .into_iter()
            .flat_map(|end| end.get())
            .for_each(End::end);
        for helper in lock(&self.helpers).drain(..) {
            let _ = helper.join();
        }
    }

    fn end(&self) {
        self.room.drain();
        for (waker, _) in &self.workers {
            // A worker that cannot be woken looks at its next tick.
            let _ = waker.wake();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.end();
    }
}

/// The listening socket of one worker. Each of several workers has one, and the kernel distributes the clients over
/// them.
fn bind(address: SocketAddr, worker: u32, workers: u32) -> io::Result<TcpListener> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = |shared: bool| {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(shared)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        io::Result::Ok(socket)
    };
    if worker == 0 && workers > 1 {
        // Sockets that share a port share it with those of a second gateway too, which would silently get half of the
        // clients. A socket that does not share detects this.
        drop(socket(false)?);
    }
    Ok(socket(workers > 1)?.into())
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1_024;

fn name(log: &AccessLog) -> String {
    match log {
        AccessLog::Off => "off".to_owned(),
        AccessLog::Stdout => "standard output".to_owned(),
        AccessLog::File(path) => path.display().to_string(),
    }
}

/// The wall clock, in µs since 1970.
fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
