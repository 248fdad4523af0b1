//! A connection of the kernel: TCP, or a unix socket.
//!
//! ## Why an enum
//! The kind is known when a run begins, so the branch is always predicted: its cost is not measurable beside the system
//! call. A type parameter would appear in every loop.
//!
//! ## Why reads and writes bypass the C library
//! In a process with several threads each of its calls is a cancellation point, which it sets up and tears down each
//! time. Threads are never cancelled here.

use crate::dial::Address;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// A connection of the kernel; closed when dropped.
#[derive(Debug)]
pub enum KernelStream {
    /// To an address and a port.
    Tcp(TcpStream),
    /// To a socket in the file system.
    Unix(UnixStream),
}

impl KernelStream {
    pub(super) fn connect(to: &Address, from: Option<IpAddr>) -> io::Result<Self> {
        match (to, from) {
            (Address::Tcp(to), None) => Ok(KernelStream::Tcp(TcpStream::connect(*to)?)),
            (Address::Tcp(to), Some(from)) => connect_from(from, *to).map(KernelStream::Tcp),
            // A local address has no meaning there.
            (Address::Unix(path), _) => match UnixStream::connect(path) {
                // The kernel's error if the listener's backlog is full. It would be mistaken for "not yet".
                Err(error) if error.kind() == ErrorKind::WouldBlock => Err(io::Error::new(
                    ErrorKind::ConnectionRefused,
                    "the backlog of the unix socket is full",
                )),
                other => Ok(KernelStream::Unix(other?)),
            },
        }
    }

    /// The object that mio registers.
    pub(super) fn source(&mut self) -> &mut dyn Source {
        match self {
            KernelStream::Tcp(stream) => stream,
            KernelStream::Unix(stream) => stream,
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            KernelStream::Tcp(stream) => stream.as_fd(),
            KernelStream::Unix(stream) => stream.as_fd(),
        }
    }

    pub(super) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            KernelStream::Tcp(stream) => stream.set_nodelay(true),
            KernelStream::Unix(_) => Ok(()),
        }
    }

    pub(super) fn connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            KernelStream::Tcp(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
            KernelStream::Unix(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
        };
        match (error, peer) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(true),
            (None, Err(error)) if error.kind() == ErrorKind::NotConnected => Ok(false),
            (None, Err(error)) => Err(error),
        }
    }

    #[inline]
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self.descriptor(), into, RecvFlags::empty())?.0)
    }

    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.descriptor(), bytes, SendFlags::NOSIGNAL)?)
    }

    /// Closing with a linger time of zero is a reset; unix sockets have none.
    pub(super) fn reset(self) {
        if let KernelStream::Tcp(stream) = self {
            // If the system refuses that, the connection still ends.
            let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
        }
    }

    pub(super) fn shut_down(&self) {
        // The connection may be gone already.
        let _ = match self {
            KernelStream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            KernelStream::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

fn connect_from(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = bound(from, to)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => {
            return Err(error);
        }
        _ => {}
    }
    Ok(TcpStream::from_std(socket.into()))
}

/// A socket with a local address and no port yet.
///
/// Binding would choose a port that no other connection of this address uses, whatever the destination; with the
/// option, the port is chosen when connecting, and only the pair of both ends must be free (`ip(7)`).
fn bound(from: IpAddr, to: SocketAddr) -> io::Result<Socket> {
    if from.is_ipv4() != to.is_ipv4() {
        let why = format!(
            "no way from {from} to {to}: one is IPv4, the other IPv6; choose a local address like it"
        );
        return Err(io::Error::new(ErrorKind::AddrNotAvailable, why));
    }
    let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    match setsockopt(&socket, IpBindAddressNoPort, &true) {
        // A system that imitates Linux may not have it; then the port is chosen at once.
        Ok(()) | Err(Errno::ENOPROTOOPT) => {}
        Err(error) => return Err(error.into()),
    }
    socket.bind(&SocketAddr::new(from, 0).into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_takes_no_port() {
        for (from, to) in [("127.0.0.5", "127.0.0.1:80"), ("::1", "[::1]:80")] {
            let socket = match bound(from.parse().unwrap(), to.parse().unwrap()) {
                // A machine may not have IPv6.
                Err(_) if from.contains(':') => continue,
                other => other.unwrap(),
            };
            let local = socket.local_addr().unwrap().as_socket().unwrap();
            assert_eq!(local, SocketAddr::new(from.parse().unwrap(), 0));
        }
    }

    #[test]
    fn a_local_address_must_fit() {
        let error = bound("::1".parse().unwrap(), "127.0.0.1:80".parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        // No machine has an address of the documentation network (RFC 5737).
        assert!(bound("192.0.2.1".parse().unwrap(), "127.0.0.1:80".parse().unwrap()).is_err());
    }
}
