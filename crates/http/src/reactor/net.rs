//! What an event loop needs of the world.

use crate::dial::Address;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use units::Timestamp;

/// The owner's name for a connection or a listener, returned with its readiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub usize);

/// A hint that an operation may now succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Whose readiness.
    pub token: Token,
    /// A read or an accept may succeed.
    pub readable: bool,
    /// A write may succeed, or a connection attempt has ended.
    pub writable: bool,
    /// The other side will send no more, or the connection is broken: reading on will say which.
    pub closed: bool,
    /// The connection is broken, so that nothing that is written arrives; [`Net::connected`] confirms it. What has arrived
    /// before may still be read.
    pub broken: bool,
}

/// The I/O seam: a clock, sockets that never block, and a wait with an end.
///
/// Readiness is edge-triggered: it is said once when it begins. A read that fills less than the buffer has taken
/// everything, unless [`Ready::closed`] was said.
pub trait Net {
    /// A connection; closed when dropped.
    type Stream;
    /// A listening socket.
    type Listener;

    /// The time now; it never goes back.
    fn now(&mut self) -> Timestamp;

    /// Begins to connect. The end of the attempt is said as writable; [`Net::connected`] tells how it ended.
    ///
    /// # Errors
    /// Whatever the system refuses at once: no descriptor, no port, no route.
    fn connect(&mut self, to: SocketAddr, token: Token) -> io::Result<Self::Stream>;

    /// Like [`Net::connect`], also to unix sockets, and from a local address that is chosen. Worlds that have neither
    /// need not say so.
    ///
    /// # Errors
    /// Whatever the system refuses at once; `Unsupported` where this world has no such thing.
    fn connect_to(&mut self, to: &Address, from: Option<IpAddr>, token: Token) -> io::Result<Self::Stream> {
        match (to, from) {
            (Address::Tcp(to), None) => self.connect(*to, token),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// How a connection attempt stands: `Ok(true)` connected, `Ok(false)` not yet.
    ///
    /// # Errors
    /// Why the attempt failed.
    fn connected(&mut self, stream: &Self::Stream) -> io::Result<bool>;

    /// Takes a waiting connection and watches it under the token that `token` gives.
    ///
    /// # Errors
    /// `WouldBlock` where none waits; otherwise what the system refused.
    fn accept(&mut self, listener: &Self::Listener, token: Token) -> io::Result<(Self::Stream, SocketAddr)>;

    /// Closes a listening socket: nobody else can connect.
    fn stop_listening(&mut self, listener: Self::Listener);

    /// Reads what has arrived; zero means that the other side will send no more.
    ///
    /// # Errors
    /// `WouldBlock` where nothing has arrived; otherwise why the connection is broken.
    fn read(&mut self, stream: &mut Self::Stream, into: &mut [u8]) -> io::Result<usize>;

    /// Writes as much as fits now.
    ///
    /// # Errors
    /// `WouldBlock` where nothing fits; otherwise why the connection is broken.
    fn write(&mut self, stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<usize>;

    /// Breaks a connection, so that the other side cannot take its end for the end of what was sent. Bytes that are
    /// still on their way are lost.
    fn reset(&mut self, stream: Self::Stream);

    /// Says that we will send no more.
    fn shut_down(&mut self, stream: &mut Self::Stream);

    /// Sleeps until an instant, whatever becomes ready meanwhile. Worlds without a sleep of their own wait.
    fn nap(&mut self, until: Timestamp) {
        let _ = until;
    }

    /// Waits until something is ready or `until` has come, and says what is ready. May return early with nothing.
    ///
    /// # Errors
    /// Only what makes the loop itself impossible.
    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()>;
}
