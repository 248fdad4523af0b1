//! The poller: accepts connections, watches the idle ones, and puts those with a request into the accept queue.
//!
//! One thread. Each connection is armed for one event at a time, so that it belongs either to the poller or to one
//! handler thread, and a handler returns it by arming it again.

use crate::connection::{Connection, Counted, Gone};
use crate::pace::{Stop, sharpen_sleeps};
use crate::queue::AcceptQueue;
use crate::record::{Line, Record};
use crate::request::Refusal;
use crate::{Config, WhenFull};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    /// The connections that no thread has, by their number.
    watched: Mutex<HashMap<u64, Connection>>,
    /// Open connections.
    open: Arc<AtomicUsize>,
    /// Requests in the accept queue or with a thread.
    pub(crate) in_flight: Arc<AtomicUsize>,
    /// Requests that found the accept queue full.
    pub(crate) turned_away: AtomicU64,
    keep_alive: Duration,
    read_timeout: Duration,
    when_full: WhenFull,
}

impl Poller {
    pub(crate) fn new(config: &Config) -> io::Result<Self> {
        Ok(Poller {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            watched: Mutex::default(),
            open: Arc::default(),
            in_flight: Arc::default(),
            turned_away: AtomicU64::new(0),
            keep_alive: config.keep_alive.min(LONGEST),
            read_timeout: config.read_timeout.min(LONGEST),
            when_full: config.when_full,
        })
    }

    /// Takes a connection until it has data to read or its time is over.
    pub(crate) fn watch(&self, mut connection: Connection) {
        connection.presence = None;
        if connection.is_between_requests() {
            connection.deadline = Instant::now() + self.keep_alive;
        } else if !connection.is_closing() {
            connection.deadline = connection.arrival + self.read_timeout;
        }
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        let token = epoll::EventData::new_u64(connection.number);
        // The lock is held while arming, so that the event cannot come before the connection is stored.
        let mut watched = self.watched();
        let armed = if connection.registered {
            epoll::modify(&self.epoll, &connection.stream, token, flags)
        } else {
            epoll::add(&self.epoll, &connection.stream, token, flags)
        };
        // A connection that cannot be watched (the system is out of memory) is closed.
        if armed.is_ok() {
            connection.registered = true;
            watched.insert(connection.number, connection);
        }
    }

    /// Accepts and polls until the service stops.
    pub(crate) fn run(
        &self,
        listener: &TcpListener,
        queue: &AcceptQueue,
        record: Option<&Record>,
        stop: &Stop,
    ) {
        sharpen_sleeps();
        let token = epoll::EventData::new_u64(LISTENER);
        if epoll::add(&self.epoll, listener, token, epoll::EventFlags::IN).is_err() {
            return;
        }
        let mut accepted = LISTENER;
        let mut events = Vec::with_capacity(EVENTS);
        let (mut swept, mut flushed) = (Instant::now(), Instant::now());
        while !stop.is_asked() {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&TICK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => self.accept(listener, &mut accepted),
                    number => {
                        let found = self.watched().remove(&number);
                        if let Some(connection) = found {
                            self.readable(connection, queue, record);
                        }
                    }
                }
            }
            let now = Instant::now();
            if now - swept >= SWEEP {
                swept = now;
                self.watched().retain(|_, connection| connection.deadline > now);
            }
            if now - flushed >= FLUSH {
                flushed = now;
                if let Some(record) = record {
                    record.flush();
                }
            }
        }
    }

    fn accept(&self, listener: &TcpListener, accepted: &mut u64) {
        for _ in 0..ACCEPTS {
            match listener.accept() {
                Ok((stream, _)) => {
                    let (open, count) = Counted::new(&self.open);
                    if count > MOST_CONNECTIONS || stream.set_nodelay(true).is_err() {
                        continue;
                    }
                    *accepted += 1;
                    self.watch(Connection::new(stream, *accepted, open));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    // Out of descriptors: the connection stays in the system's backlog until others have closed.
                    thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }

    fn readable(&self, mut connection: Connection, queue: &AcceptQueue, record: Option<&Record>) {
        if connection.is_closing() {
            if connection.discard().is_ok() {
                self.watch(connection);
            }
            return;
        }
        match connection.peek() {
            Err(Gone) => return,
            Ok(false) => return self.watch(connection),
            Ok(true) => {}
        }
        let (presence, in_flight) = Counted::new(&self.in_flight);
        connection.presence = Some(presence);
        if connection.is_between_requests() {
            connection.arrival = Instant::now();
            connection.in_flight = in_flight;
        }
        if let Err(connection) = queue.offer(connection) {
            self.turn_away(*connection, record);
        }
    }

    fn turn_away(&self, mut connection: Connection, record: Option<&Record>) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        let status = match self.when_full {
            WhenFull::Close => 0,
            WhenFull::Unavailable => Refusal::Busy.status(),
        };
        if let Some(record) = record {
            record.write(&Line {
                arrival: connection.arrival,
                departure: Instant::now(),
                connection: connection.number,
                path: "",
                status,
                in_flight: connection.in_flight,
                generator: "",
            });
        }
        if self.when_full == WhenFull::Unavailable && connection.discard().is_ok() {
            // The poller never waits: a client whose socket buffer is full gets no response.
            let _ =
                send(&connection.stream, &Refusal::Busy.answer(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            connection.close_gently();
            self.watch(connection);
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<u64, Connection>> {
        self.watched.lock().expect("nothing panics while it holds the watched connections")
    }
}

/// The token of the listener; connections count from the next number on.
const LISTENER: u64 = 0;
const EVENTS: usize = 256;
/// Connections accepted before others are served.
const ACCEPTS: usize = 256;
/// More are closed at once; it keeps buffers below 600 MB in the worst case.
const MOST_CONNECTIONS: usize = 16_384;
/// Longer time-outs are reduced to this one, so that deadlines stay in the range of the clock.
const LONGEST: Duration = Duration::from_secs(86_400);
const PAUSE: Duration = Duration::from_millis(10);
/// How soon the poller detects that the service stops.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const SWEEP: Duration = Duration::from_millis(250);
const FLUSH: Duration = Duration::from_secs(1);
