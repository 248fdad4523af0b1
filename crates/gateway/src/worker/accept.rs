//! Accepts clients.

use super::connection::{Downstream, Phase, Readable};
use super::crowd::Whom;
use super::{Worker, downstream_token};
use http::reactor::{Deadline, Net, Token};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::net::SocketAddr;

impl<N: Net> Worker<N> {
    /// Accepts waiting connections.
    pub(super) fn accept(&mut self) {
        self.more_clients = false;
        if self.room.crowds[self.index].is_asked() {
            // Done first, so that places promised to other workers are not given to new clients.
            self.give_places();
        }
        for _ in 0..ACCEPTED_MAX {
            let Some(listener) = &self.listener else { return };
            let index = self.downstreams.vacant_key();
            match self.net.accept(listener, Token(downstream_token(index))) {
                Ok((stream, client)) => self.take_in(stream, client),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client left before it was accepted.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    let no_descriptor =
                        matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE));
                    if !(no_descriptor && self.give_up(Whom::Any)) {
                        // The next tick tries again.
                        self.counts.connections_refused += 1;
                        return;
                    }
                }
            }
        }
        self.more_clients = true;
    }

    /// Registers a new client, within the bounds. Its token is that of the next vacant index.
    fn take_in(&mut self, stream: N::Stream, client: SocketAddr) {
        self.counts.connections_accepted += 1;
        // A dual-stack listener reports IPv4 addresses in their IPv6-mapped form.
        let client = SocketAddr::new(client.ip().to_canonical(), client.port());
        let settings = &self.local.shared.settings;
        let limits = settings.limits;
        let each = limits
            .connections_per_client
            .filter(|_| !settings.trusted_hops.iter().any(|range| range.contains(client.ip())));
        if each.is_some_and(|most| !self.room.clients.enter(client.ip(), most)) {
            self.counts.connections_refused += 1;
            self.counts.connections.refused_for_client();
            return;
        }
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let index = self.downstreams.insert(Downstream {
            stream,
            client,
            generation,
            deadline: Deadline::default(),
            readable: Readable::default(),
            input: Vec::new(),
            trailers: Vec::new(),
            outbox: Default::default(),
            phase: Phase::Head,
            ended: false,
            head_since: None,
            accepted: self.now,
            idle_since: self.now,
            silent: true,
            counted: each.is_some(),
            requests: 0,
            pace: Default::default(),
            gathering: None,
            exchange: Default::default(),
        });
        // Done after `find_place`, which may change the vacant index by closing other connections.
        if !self.room.connection_opened(limits.connections) && !self.find_place(limits.connections) {
            self.counts.connections_refused += 1;
            self.downstreams.remove(index);
            if each.is_some() {
                self.room.clients.leave(client.ip());
            }
            return;
        }
        self.counts.connections_open += 1;
        self.fell_silent(index, generation);
        // The deadline of its first head. A head that arrives at once is read later, at its own event.
        let owner = (downstream_token(index), generation);
        let until = self.now + limits.head_timeout;
        self.timers.set(owner, &mut self.downstreams[index].deadline, until);
    }
}

/// Clients that are accepted before other connections are served.
const ACCEPTED_MAX: usize = 64;
