//! Takes clients in.

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
            // First, so that what others were promised is not taken from who comes now.
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

    /// Takes a client in, within the bounds. Its token is that of the next vacant index.
    fn take_in(&mut self, stream: N::Stream, client: SocketAddr) {
        self.counts.connections_accepted += 1;
        // A listener for both kinds of addresses gives those of IPv4 in their IPv6 form.
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
        // Afterwards, since giving up others changes which index is vacant.
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
        // Its first head has to be whole by then. One that it sends at once is read later, at its own event.
        let owner = (downstream_token(index), generation);
        let until = self.now + limits.head_timeout;
        self.timers.set(owner, &mut self.downstreams[index].deadline, until);
    }
}

/// Clients that are taken in before others have their turn.
const ACCEPTED_MAX: usize = 64;
