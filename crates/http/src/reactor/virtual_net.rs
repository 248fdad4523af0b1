//! A network in memory and in virtual time for event loops: seeded, with all faults that a network may have.
//!
//! The loop under test holds a [`VirtualNet`]; the test holds the [`World`] behind it and uses [`Peer`]s. Bytes arrive
//! in pieces of any size at any time, writes take any part, sockets return "would block" for no reason, connection
//! attempts are refused or never end, and readiness is reported too often and too late. What the kernel never does does
//! *not* happen: loss, reordering, a missing edge.
//!
//! ## Time
//! It advances only in [`Net::wait`], to the next event: an arrival, the end of the wait, or the
//! [alarm](World::wake_at) that the test has set. The same seed and the same calls give the same run.

mod wire;

use super::{Net, Ready, Token};
use stats::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use units::Timestamp;
use wire::{Attempt, Wire};

pub use wire::End;

/// The I/O seam over a [`World`].
#[derive(Debug)]
pub struct VirtualNet {
    world: World,
}

/// A connection of the loop under test; dropping it closes it.
#[derive(Debug)]
pub struct VirtualStream {
    wire: usize,
    world: World,
}

/// The listening socket of the loop under test.
#[derive(Debug)]
pub struct VirtualListener(());

/// The test's view of the network.
#[derive(Debug, Clone)]
pub struct World(Rc<RefCell<State>>);

/// The other end of one connection. Dropping it leaves the connection unchanged.
#[derive(Debug)]
pub struct Peer {
    wire: usize,
    world: World,
}

/// The outcome of attempts to connect to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// They succeed after a while.
    Accepts,
    /// They are refused after a while.
    Refuses,
    /// There is no reply.
    Ignores,
    /// They fail in the call itself, as without a free descriptor.
    Fails,
}

#[derive(Debug)]
struct State {
    now: Timestamp,
    rng: Rng,
    /// Nothing is delayed, split, refused or reported twice.
    exact: bool,
    wires: Vec<Wire>,
    /// The planned events by time, in the order in which they were planned.
    planned: BTreeMap<(Timestamp, u64), Event>,
    plans: u64,
    ready: Vec<Ready>,
    listener: Option<Token>,
    backlog: VecDeque<(usize, SocketAddr)>,
    reach: BTreeMap<SocketAddr, Reach>,
    /// Connections that the loop under test has opened and the test has not accepted yet.
    incoming: BTreeMap<SocketAddr, VecDeque<usize>>,
    alarm: Timestamp,
}

#[derive(Debug)]
enum Event {
    Bytes(usize, Vec<u8>),
    Ended(usize, End),
    Attempted(usize),
    /// Readiness that is spurious or late.
    Said(Ready),
}

impl World {
    /// A new network.
    pub fn new(seed: u64) -> Self {
        World::with(seed, false)
    }

    /// A new network that takes no time and splits nothing.
    pub fn exact() -> Self {
        World::with(0, true)
    }

    fn with(seed: u64, exact: bool) -> Self {
        World(Rc::new(RefCell::new(State {
            now: Timestamp::ZERO,
            rng: Rng::new(seed, "virtual net"),
            exact,
            wires: Vec::new(),
            planned: BTreeMap::new(),
            plans: 0,
            ready: Vec::new(),
            listener: None,
            backlog: VecDeque::new(),
            reach: BTreeMap::new(),
            incoming: BTreeMap::new(),
            alarm: Timestamp::NEVER,
        })))
    }

    /// The seam for the loop under test.
    pub fn net(&self) -> VirtualNet {
        VirtualNet { world: self.clone() }
    }

    /// The listening socket for the loop under test, watched under `token`.
    pub fn listen(&self, token: Token) -> VirtualListener {
        self.0.borrow_mut().listener = Some(token);
        VirtualListener(())
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.0.borrow().now
    }

    /// Ends a wait at this instant, so that the test can act.
    pub fn wake_at(&self, at: Timestamp) {
        self.0.borrow_mut().alarm = at;
    }

    /// Sets the outcome of attempts to connect to an address; by default [`Reach::Refuses`].
    pub fn set_reach(&self, address: SocketAddr, reach: Reach) {
        self.0.borrow_mut().reach.insert(address, reach);
    }

    /// Connects to the loop under test; `None` if it does not listen.
    pub fn connect(&self, from: SocketAddr) -> Option<Peer> {
        let mut state = self.0.borrow_mut();
        let token = state.listener?;
        let wire = state.wires.len();
        state.wires.push(Wire::new(token, Attempt::Connected));
        state.backlog.push_back((wire, from));
        state.ready.push(Ready { token, readable: true, writable: false, closed: false, broken: false });
        Some(Peer { wire, world: self.clone() })
    }

    /// The next connection that the loop under test has opened to this address.
    pub fn accept(&self, address: SocketAddr) -> Option<Peer> {
        let wire = self.0.borrow_mut().incoming.get_mut(&address)?.pop_front()?;
        Some(Peer { wire, world: self.clone() })
    }
}

impl Peer {
    /// Sends bytes; they arrive in order, in pieces, after a while.
    pub fn send(&self, bytes: &[u8]) {
        self.world.0.borrow_mut().send(self.wire, bytes);
    }

    /// Closes the sending half.
    pub fn finish(&self) {
        self.world.0.borrow_mut().end(self.wire, End::Finished);
    }

    /// Closes the connection: bytes that it has not read, or that still arrive, make that a reset.
    pub fn close(&self) {
        let mut state = self.world.0.borrow_mut();
        let end = state.wires[self.wire].peer_closes();
        state.end(self.wire, end);
    }

    /// Resets the connection.
    pub fn reset(&self) {
        self.world.0.borrow_mut().end(self.wire, End::Reset);
    }

    /// Reads at most `max` bytes, and returns whether the stream has ended after them.
    pub fn receive(&self, max: usize) -> (Vec<u8>, Option<End>) {
        let mut state = self.world.0.borrow_mut();
        let (bytes, end, ready) = state.wires[self.wire].receive(max);
        state.ready.extend(ready);
        (bytes, end)
    }
}

impl State {
    fn plan(&mut self, at: Timestamp, event: Event) {
        self.plans += 1;
        self.planned.insert((at, self.plans), event);
    }

    /// Mostly none, sometimes up to a millisecond, rarely a stall.
    fn delay(&mut self) -> Duration {
        if self.exact {
            return Duration::ZERO;
        }
        match self.rng.below(20) {
            0 => Duration::from_micros(self.rng.below(60_000) as u64),
            1..=6 => Duration::from_micros(self.rng.below(1_000) as u64),
            _ => Duration::ZERO,
        }
    }

    /// When the next item arrives on a wire: never before the items sent earlier.
    fn arrival(&mut self, wire: usize) -> Timestamp {
        let at = self.wires[wire].last_arrival.max(self.now) + self.delay();
        self.wires[wire].last_arrival = at;
        at
    }

    fn send(&mut self, wire: usize, bytes: &[u8]) {
        if self.wires[wire].is_closed_here() {
            // That end is closed: the bytes cause a reset.
            self.wires[wire].break_for_peer();
            return;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let most = rest.len();
            let size = match self.rng.below(6) {
                _ if self.exact => most,
                0 => 1,
                1 => 1 + self.rng.below(most.min(8)),
                2 => 1 + self.rng.below(most),
                _ => most,
            };
            let (piece, behind) = rest.split_at(size);
            let at = self.arrival(wire);
            self.plan(at, Event::Bytes(wire, piece.to_vec()));
            rest = behind;
        }
    }

    fn end(&mut self, wire: usize, end: End) {
        let at = self.arrival(wire);
        self.plan(at, Event::Ended(wire, end));
    }

    fn happen(&mut self, event: Event) {
        let said = match event {
            Event::Bytes(wire, bytes) => self.wires[wire].arrived(&bytes),
            Event::Ended(wire, end) => self.wires[wire].ended(end),
            Event::Attempted(wire) => self.wires[wire].attempted(),
            Event::Said(ready) => Some(ready),
        };
        self.ready.extend(said);
        if let Some(ready) = said.filter(|_| !self.exact && self.rng.below(10) == 0) {
            // Reported once more, later: its connection may be gone by then and its token have another owner.
            let at = self.now + self.delay();
            let flags = self.rng.bits();
            let again =
                Ready { readable: flags & 1 == 0, writable: flags & 2 == 0, closed: ready.closed, ..ready };
            self.plan(at, Event::Said(again));
        }
    }

    /// How much of what fits a write takes; zero means "would block".
    fn some_of(&mut self, fits: usize) -> usize {
        match self.rng.below(8) {
            _ if self.exact => fits,
            0 => 0,
            1 => 1,
            2 => 1 + self.rng.below(fits),
            _ => fits,
        }
    }
}

impl Net for VirtualNet {
    type Stream = VirtualStream;
    type Listener = VirtualListener;

    fn now(&mut self) -> Timestamp {
        self.world.now()
    }

    fn connect(&mut self, to: SocketAddr, token: Token) -> io::Result<VirtualStream> {
        let mut state = self.world.0.borrow_mut();
        let reach = state.reach.get(&to).copied().unwrap_or(Reach::Refuses);
        if reach == Reach::Fails {
            return Err(io::Error::other("no descriptor is left"));
        }
        let wire = state.wires.len();
        state.wires.push(Wire::new(token, Attempt::Pending { succeeds: reach == Reach::Accepts }));
        if reach != Reach::Ignores {
            let at = state.arrival(wire);
            state.plan(at, Event::Attempted(wire));
        }
        if reach == Reach::Accepts {
            state.incoming.entry(to).or_default().push_back(wire);
        }
        Ok(VirtualStream { wire, world: self.world.clone() })
    }

    fn connected(&mut self, stream: &VirtualStream) -> io::Result<bool> {
        let state = self.world.0.borrow();
        let wire = &state.wires[stream.wire];
        match wire.attempt {
            Attempt::Connected if wire.is_reset() => Err(ErrorKind::ConnectionReset.into()),
            Attempt::Connected => Ok(true),
            Attempt::Pending { .. } => Ok(false),
            Attempt::Refused => Err(ErrorKind::ConnectionRefused.into()),
        }
    }

    fn accept(
        &mut self,
        _listener: &VirtualListener,
        token: Token,
    ) -> io::Result<(VirtualStream, SocketAddr)> {
        let mut state = self.world.0.borrow_mut();
        if state.backlog.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        if !state.exact && state.rng.below(50) == 0 {
            return Err(io::Error::other("no descriptor is left"));
        }
        let Some((wire, from)) = state.backlog.pop_front() else {
            return Err(ErrorKind::WouldBlock.into());
        };
        let said = state.wires[wire].watch(token);
        state.ready.push(said);
        Ok((VirtualStream { wire, world: self.world.clone() }, from))
    }

    fn stop_listening(&mut self, _listener: VirtualListener) {
        let mut state = self.world.0.borrow_mut();
        state.listener = None;
        while let Some((wire, _)) = state.backlog.pop_front() {
            state.wires[wire].break_for_peer();
        }
    }

    fn read(&mut self, stream: &mut VirtualStream, into: &mut [u8]) -> io::Result<usize> {
        self.world.0.borrow_mut().wires[stream.wire].read(into)
    }

    fn write(&mut self, stream: &mut VirtualStream, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.world.0.borrow_mut();
        let fits = state.wires[stream.wire].room()?.min(bytes.len());
        let takes = if fits == 0 { 0 } else { state.some_of(fits) };
        if takes == 0 {
            let refused = state.wires[stream.wire].wants_room(fits > 0);
            if let Some(ready) = refused {
                // There is space, only not now.
                let at = state.now + Duration::from_micros(1 + state.rng.below(500) as u64);
                state.plan(at, Event::Said(ready));
            }
            return Err(ErrorKind::WouldBlock.into());
        }
        state.wires[stream.wire].write(&bytes[..takes]);
        if state.wires[stream.wire].peer_gone() {
            // The peer is gone, which the writer learns later.
            let at = state.arrival(stream.wire);
            state.plan(at, Event::Ended(stream.wire, End::Reset));
        }
        Ok(takes)
    }

    fn reset(&mut self, stream: VirtualStream) {
        self.world.0.borrow_mut().wires[stream.wire].break_for_peer();
    }

    fn shut_down(&mut self, stream: &mut VirtualStream) {
        self.world.0.borrow_mut().wires[stream.wire].shut_down();
    }

    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()> {
        let mut state = self.world.0.borrow_mut();
        if state.ready.is_empty() {
            let next = state.planned.first_key_value().map_or(Timestamp::NEVER, |(&(at, _), _)| at);
            let at = until.min(next).min(state.alarm);
            assert!(at != Timestamp::NEVER, "nothing will ever happen again");
            state.now = state.now.max(at);
        }
        let now = state.now;
        while let Some(entry) = state.planned.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let event = entry.remove();
            state.happen(event);
        }
        // The order within a batch has no meaning.
        let mut batch = std::mem::take(&mut state.ready);
        for place in (1..batch.len()).rev() {
            let other = state.rng.below(place + 1);
            batch.swap(place, other);
        }
        ready.append(&mut batch);
        Ok(())
    }
}

impl Drop for VirtualStream {
    fn drop(&mut self) {
        self.world.0.borrow_mut().wires[self.wire].close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], 80))
    }

    /// Echoes everything, as carefully as a loop has to.
    fn echo(seed: u64, sent: &[u8]) -> (Vec<u8>, Option<End>) {
        let world = World::new(seed);
        let (mut net, listener) = (world.net(), world.listen(Token(9)));
        let peer = world.connect(address()).unwrap();
        peer.send(sent);
        peer.finish();
        let (mut stream, mut out, mut ready) = (None, Vec::new(), Vec::new());
        let (mut got, mut ended, mut over) = (Vec::new(), false, None);
        while over.is_none() {
            assert!(world.now() < Timestamp::from_secs(600), "seed {seed}: it hangs");
            world.wake_at(world.now() + Duration::from_millis(1));
            net.wait(Timestamp::NEVER, &mut ready).unwrap();
            ready.clear();
            if stream.is_none() {
                stream = net.accept(&listener, Token(1)).ok().map(|(stream, _)| stream);
            }
            let mut buffer = [0; 100];
            if let Some(open) = &mut stream {
                while let Ok(count) = net.read(open, &mut buffer) {
                    if count == 0 {
                        ended = true;
                        break;
                    }
                    out.extend_from_slice(&buffer[..count]);
                }
                while let Ok(count) = net.write(open, &out) {
                    if count == 0 {
                        break;
                    }
                    out.drain(..count);
                }
                if ended && out.is_empty() {
                    stream = None;
                }
            }
            let (bytes, end) = peer.receive(7);
            got.extend(bytes);
            over = end;
        }
        (got, over)
    }

    #[test]
    fn nothing_is_lost_or_changed_and_a_seed_gives_its_run() {
        let sent: Vec<u8> = (0..2_000_u32).map(|at| (at % 251) as u8).collect();
        for seed in 0..50 {
            let (got, end) = echo(seed, &sent);
            assert!(got == sent, "seed {seed}: {} of {} bytes", got.len(), sent.len());
            assert_eq!(end, Some(End::Finished), "seed {seed}");
        }
    }

    #[test]
    fn an_edge_is_said_for_room_and_for_bytes() {
        let world = World::new(1);
        let (mut net, listener) = (world.net(), world.listen(Token(9)));
        let peer = world.connect(address()).unwrap();
        let mut stream = loop {
            if let Ok((stream, _)) = net.accept(&listener, Token(1)) {
                break stream;
            }
        };
        let mut ready = Vec::new();
        let mut blocked = 0;
        let mut written = 0;
        while written < 500_000 {
            match net.write(&mut stream, &[7; 4_096]) {
                Ok(count) => written += count,
                Err(_) => {
                    blocked += 1;
                    // There is no space, or there was none for a moment.
                    ready.clear();
                    while !ready.iter().any(|event: &Ready| event.writable) {
                        peer.receive(10_000);
                        ready.clear();
                        world.wake_at(world.now() + Duration::from_millis(1));
                        net.wait(Timestamp::NEVER, &mut ready).unwrap();
                    }
                }
            }
        }
        assert!(blocked > 10);
    }

    #[test]
    fn attempts_end_as_they_were_set_to() {
        let world = World::new(3);
        let mut net = world.net();
        for (reach, expected) in
            [(Reach::Accepts, Some(true)), (Reach::Refuses, None), (Reach::Ignores, Some(false))]
        {
            world.set_reach(address(), reach);
            let stream = net.connect(address(), Token(1)).unwrap();
            for _ in 0..10 {
                net.wait(world.now() + Duration::from_millis(100), &mut Vec::new()).unwrap();
            }
            assert_eq!(net.connected(&stream).ok(), expected, "{reach:?}");
            assert_eq!(world.accept(address()).is_some(), reach == Reach::Accepts);
        }
        world.set_reach(address(), Reach::Fails);
        assert!(net.connect(address(), Token(1)).is_err());
    }
}
