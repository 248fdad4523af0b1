//! The interface between an event loop and the outside world.

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
    /// The token of the connection or listener.
    pub token: Token,
    /// A read or an accept may succeed.
    pub readable: bool,
    /// A write may succeed, or a connection attempt has ended.
    pub writable: bool,
    /// The other side will send no more, or the connection is broken: reading shows which.
    pub closed: bool,
    /// The connection is broken, so that written bytes do not arrive; [`Net::connected`] confirms it. Data that has
    /// arrived before may still be read.
    pub broken: bool,
}

/// The I/O seam: a clock, sockets that never block, and a wait with an end.
///
/// Readiness is edge-triggered: it is reported once when it begins. A read that fills less than the buffer has taken
/// everything, unless [`Ready::closed`] was set.
pub trait Net {
    /// A connection; closed when dropped.
    type Stream;
    /// A listening socket.
    type Listener;

    /// The time now; it never goes back.
    fn now(&mut self) -> Timestamp;

    /// Begins to connect. The end of the attempt is reported as writable; [`Net::connected`] returns its outcome.
    ///
    /// # Errors
    /// The system's immediate error: no descriptor, no port, no route.
    fn connect(&mut self, to: SocketAddr, token: Token) -> io::Result<Self::Stream>;

    /// Like [`Net::connect`], also to unix sockets, and from a chosen local address. The default supports neither.
    ///
    /// # Errors
    /// The system's immediate error; `Unsupported` if this implementation does not support it.
    fn connect_to(&mut self, to: &Address, from: Option<IpAddr>, token: Token) -> io::Result<Self::Stream> {
        match (to, from) {
            (Address::Tcp(to), None) => self.connect(*to, token),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// The state of a connection attempt: `Ok(true)` connected, `Ok(false)` not yet.
    ///
    /// # Errors
    /// Why the attempt failed.
    fn connected(&mut self, stream: &Self::Stream) -> io::Result<bool>;

    /// Accepts a waiting connection and watches it under `token`.
    ///
    /// # Errors
    /// `WouldBlock` if none waits; otherwise the system's error.
    fn accept(&mut self, listener: &Self::Listener, token: Token) -> io::Result<(Self::Stream, SocketAddr)>;

    /// Closes a listening socket: no more connections are accepted.
    fn stop_listening(&mut self, listener: Self::Listener);

    /// Reads what has arrived; zero means that the other side will send no more.
    ///
    /// # Errors
    /// `WouldBlock` if nothing has arrived; otherwise why the connection is broken.
    fn read(&mut self, stream: &mut Self::Stream, into: &mut [u8]) -> io::Result<usize>;

    /// Writes as much as fits now.
    ///
    /// # Errors
    /// `WouldBlock` if nothing fits; otherwise why the connection is broken.
    fn write(&mut self, stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<usize>;

    /// Resets a connection, so that the other side cannot take its end for the end of the message. Bytes in transit are
    /// lost.
    fn reset(&mut self, stream: Self::Stream);

    /// Closes the sending half.
    fn shut_down(&mut self, stream: &mut Self::Stream);

    /// Sleeps until an instant, whatever becomes ready meanwhile. The default waits.
    fn nap(&mut self, until: Timestamp) {
        let _ = until;
    }

    /// Waits until something is ready or until `until`, and lists what is ready. May return early with nothing.
    ///
    /// # Errors
    /// Only errors that stop the loop itself.
    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()>;
}
