//! Opens a connection for a request that has none.

use super::{RETRY_AFTER, Worker};
use crate::connection::{Connection, Job, State};
use crate::streams::Streams;
use http::dial::dns::Lookup;
use http::dial::{Address, Scheme};
use http::reactor::{Deadline, Net, Token};
use http::tls::TlsFailure;
use measure::Failure;
use slab::Slab;
use std::io::{self, ErrorKind};
use std::time::Duration;
use units::Timestamp;

/// Requests whose server's address is being resolved.
#[derive(Debug)]
pub(super) struct Resolving {
    lookup: Option<Lookup>,
    jobs: Slab<(Job, usize, Timestamp)>,
}

impl Resolving {
    pub(super) fn new(lookup: Option<Lookup>) -> Self {
        Resolving { lookup, jobs: Slab::new() }
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        self.jobs.iter().map(|(_, &(job, ..))| job)
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether a connection to this server will be opened once its address is resolved.
    pub(super) fn asks_for(&self, server: usize) -> bool {
        self.jobs.iter().any(|(_, &(_, asked, _))| asked == server)
    }
}

impl<N: Net> Worker<'_, N> {
    /// Opens a connection for a request.
    pub(super) fn open(&mut self, job: Job, server: usize) {
        let upstream = &self.upstreams[server];
        if let Some(lookup) = &self.resolving.lookup {
            let key = self.resolving.jobs.vacant_key();
            if lookup.ask(key as u64, upstream.server.origin.clone()).is_ok() {
                self.resolving.jobs.insert((job, server, job.started));
                self.busy += 1;
            } else {
                self.failed(job, Failure::NameNotResolved, job.started);
            }
            return;
        }
        let place = upstream.current;
        let address = upstream.server.addresses[place].clone();
        self.connect(job, server, (place, &address), job.started);
    }

    /// Takes the resolved addresses.
    pub(super) fn resolved(&mut self) {
        while let Some(answer) = self.resolving.lookup.as_ref().and_then(Lookup::poll) {
            let Some((job, server, since)) = self.resolving.jobs.try_remove(answer.id as usize) else {
                continue;
            };
            self.busy -= 1;
            match answer.addresses.as_deref() {
                Ok(addresses) if !addresses.is_empty() => {
                    let place = self.upstreams[server].current % addresses.len();
                    self.connect(job, server, (place, &addresses[place]), since);
                }
                Ok(_) | Err(_) => {
                    if let Err(error) = &answer.addresses {
                        self.recorder.first_failure(Failure::NameNotResolved, || error.to_string());
                    }
                    let now = self.now();
                    self.failed(job, Failure::NameNotResolved, now);
                }
            }
        }
    }

    fn connect(&mut self, job: Job, server: usize, (place, address): (usize, &Address), since: Timestamp) {
        self.generation = self.generation.wrapping_add(1);
        let entry = self.connections.vacant_entry();
        let index = entry.key();
        let from = match self.plan.connecting.local_addresses.as_slice() {
            [] => None,
            addresses => Some(addresses[self.opened % addresses.len()]),
        };
        self.opened += 1;
        match self.net.connect_to(address, from, Token(index)) {
            Ok(stream) => {
                let mut connection = Connection {
                    stream,
                    server: server as u32,
                    address: place,
                    state: State::Connecting(job),
                    generation: self.generation,
                    deadline: Deadline::default(),
                    since,
                    tls: None,
                    clear: Vec::new(),
                    out: Vec::new(),
                    written: 0,
                    pending: Vec::new(),
                    reused: false,
                    took: Duration::ZERO,
                };
                let owner = (index, self.generation);
                self.timers.set(owner, &mut connection.deadline, job.started + self.plan.timeout);
                entry.insert(connection);
                self.busy += 1;
                self.upstreams[server].opening += 1;
            }
            Err(error) => self.connect_failed(job, server, place, &error),
        }
    }

    /// The attempt at the server's address at `place` failed.
    pub(super) fn connect_failed(&mut self, job: Job, server: usize, place: usize, error: &io::Error) {
        let now = self.now();
        let upstream = &mut self.upstreams[server];
        // A name often has an address without a listener, such as ::1 for localhost.
        let is_last = upstream.proven || upstream.current + 1 >= upstream.server.addresses.len();
        if place == upstream.current && !is_last {
            upstream.current += 1;
        }
        // Other attempts may already have moved on to the next address.
        if place < upstream.current {
            return self.open(Job { started: now, ..job }, server);
        }
        self.agenda.hold_until(now + RETRY_AFTER);
        let failure = failure_of(error);
        self.recorder.first_failure(failure, || error.to_string());
        self.failed(job, failure, now);
    }

    /// The socket of a connection is connected.
    pub(super) fn connected(&mut self, index: usize, job: Job) {
        let now = self.now();
        let connection = &mut self.connections[index];
        let server = connection.server as usize;
        self.recorder.connections += 1;
        connection.took = now.since(connection.since);
        self.recorder.connect.record(connection.took);
        connection.since = now;
        self.upstreams[server].proven = true;
        let origin = self.upstreams[server].server.origin.clone();
        if origin.scheme == Scheme::Http {
            return self.established(index, job, None, false);
        }
        let session = self.plan.connecting.tls.as_ref().and_then(|client| client.session(&origin.host).ok());
        let Some(mut session) = session else {
            self.remove(index);
            self.agenda.hold_until(now + RETRY_AFTER);
            self.recorder
                .first_failure(Failure::Tls, || format!("no TLS can be spoken with `{}`", origin.host));
            return self.failed(job, Failure::Tls, now);
        };
        session.flush(&mut connection.out);
        connection.tls = Some(Box::new(session));
        connection.state = State::Handshaking(job);
        self.write(index);
    }

    /// Continues a handshake with the bytes that have arrived.
    pub(super) fn shaken(&mut self, index: usize) {
        let now = self.now();
        let connection = &mut self.connections[index];
        let State::Handshaking(job) = connection.state else { return };
        let Some(session) = connection.tls.as_ref().filter(|session| !session.is_handshaking()) else {
            return;
        };
        self.recorder.tls.record(now.since(connection.since));
        let agreed = session.alpn().map(<[u8]>::to_vec);
        self.established(index, job, agreed.as_deref(), true);
    }

    /// The connection is open: sends the request that it was opened for.
    fn established(&mut self, index: usize, job: Job, agreed: Option<&[u8]>, secure: bool) {
        let h2 = self.speaks_h2(agreed, secure);
        let connection = &mut self.connections[index];
        let upstream = &mut self.upstreams[connection.server as usize];
        upstream.opening -= 1;
        upstream.single = !h2;
        self.busy -= 1;
        connection.state = State::Idle;
        if h2 {
            let out = if secure { &mut connection.clear } else { &mut connection.out };
            let connecting = &self.plan.connecting;
            let mut streams = Streams::new(connecting.protocol.streams(), connecting.answer_list_max, out);
            streams.listed = self.plan.keep_alive;
            connection.state = State::Many(Box::new(streams));
            upstream.unsettled += 1;
            let patience = SETTINGS_PATIENCE.max(connection.took * SETTINGS_ROUND_TRIPS);
            let late = self.net.now() + patience;
            self.timers.set((index, connection.generation), &mut connection.deadline, late);
            if self.plan.keep_alive {
                upstream.idle.push_back(index);
            }
        }
        self.send(index, job);
    }

    /// TLS failed; sends the alert to the other side, if possible.
    pub(super) fn tls_failed(&mut self, index: usize, failure: TlsFailure) {
        let connection = &mut self.connections[index];
        if let Some(session) = &mut connection.tls {
            session.flush(&mut connection.out);
        }
        let why = match failure {
            // The names in the certificate.
            TlsFailure::NameMismatch => connection.tls.as_ref().and_then(|session| session.detail()),
            _ => None,
        };
        let why = why.map_or_else(|| failure.to_string(), |names| format!("{failure}: {names}"));
        // The alert is sent as far as it fits; nothing waits for it.
        if connection.written < connection.out.len() {
            let _ = self.net.write(&mut connection.stream, &connection.out[connection.written..]);
        }
        let failure = match failure {
            TlsFailure::CertificateExpired => Failure::CertificateExpired,
            TlsFailure::CertificateNotYetValid
            | TlsFailure::UnknownIssuer
            | TlsFailure::NameMismatch
            | TlsFailure::BadCertificate => Failure::Certificate,
            TlsFailure::ClientCertificateRefused
            | TlsFailure::NothingInCommon
            | TlsFailure::Alert
            | TlsFailure::Protocol => Failure::Tls,
        };
        self.recorder.first_failure(failure, || why);
        self.broken(index, failure);
    }

    pub(super) fn now(&mut self) -> Timestamp {
        self.net.now()
    }
}

/// The least time to wait for an HTTP/2 server's stream limit: it is the first thing that it sends.
const SETTINGS_PATIENCE: Duration = Duration::from_millis(100);

/// And at least this multiple of the time that connecting took, which is a round trip.
const SETTINGS_ROUND_TRIPS: u32 = 4;

pub(super) fn failure_of(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => Failure::ConnectionRefused,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Failure::Reset,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::TimedOut => {
            Failure::Unreachable
        }
        ErrorKind::AddrNotAvailable => Failure::NoPorts,
        ErrorKind::OutOfMemory => Failure::OutOfResources,
        _ => {
            use rustix::io::Errno;
            match Errno::from_io_error(error) {
                Some(Errno::MFILE | Errno::NFILE) => Failure::NoDescriptors,
                Some(Errno::NOBUFS) => Failure::OutOfResources,
                _ => Failure::Other,
            }
        }
    }
}
