//! The TCP sockets of a network namespace, as sock_diag(7) reports them.
//!
//! ## Why not `/proc/net/tcp`
//! It has neither the limit of an accept queue nor when a connection last sent and received. The last two show, without a
//! look into the application, whether a connection waits for an answer: it has received since it sent, or the reverse.
//!
//! Formats: sock_diag(7), netlink(7); `struct tcp_info` of `linux/tcp.h`, which only grows at its end.

use crate::sockets::PortRange;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cmp::Ordering;
use std::fs::{File, read_link};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

/// A way to the sockets of one network namespace.
#[derive(Debug)]
pub struct TcpSockets {
    socket: OwnedFd,
    ports: Option<PortRange>,
}

/// A TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// Its state.
    pub state: TcpState,
    /// The local address.
    pub local: SocketAddr,
    /// The remote address; port 0 while it listens.
    pub remote: SocketAddr,
    /// The inode of its descriptor; 0 where no process holds one, as before it is accepted and in TIME_WAIT.
    pub inode: u32,
    /// Received bytes that were not read yet; connections that wait to be accepted while it listens.
    pub unread: u32,
    /// The longest accept queue while it listens; else bytes that were not acknowledged yet.
    pub unsent: u32,
    /// What the connection has carried; `None` in other states.
    pub carried: Option<Carried>,
}

/// What a connection has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Since it last sent data, in ticks of the kernel's clock, 1 to 10 ms; since it was opened where it never did.
    pub since_sent: Duration,
    /// Since it last received data; likewise.
    pub since_received: Duration,
    /// Whether it has sent data; `None` on kernels before 4.19.
    pub has_sent: Option<bool>,
    /// Whether it has received data.
    pub has_received: Option<bool>,
    /// Segments with data that it received.
    pub segments_received: u32,
    /// Segments with data that it sent.
    pub segments_sent: u32,
    /// Segments that it sent again.
    pub sent_again: u32,
}

/// The states that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpState {
    /// ESTABLISHED, or CLOSE_WAIT: the other side has said that it sends no more.
    Open,
    /// SYN_SENT: connecting.
    Connecting,
    /// TIME_WAIT: closed by this side, its port held.
    TimeWait,
    /// LISTEN.
    Listening,
}

/// What a connection did last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Sent,
    Received,
    /// Both, within the same tick of the kernel's clock.
    Both,
}

impl TcpSocket {
    /// Whether the last data were received: a server that has not answered yet.
    ///
    /// A client that asks again within the tick in which it was answered leaves no order. Then segments decide, if each request
    /// was one and each answer the same number of them.
    pub fn owes_an_answer(&self) -> bool {
        match self.last() {
            Last::Received => true,
            Last::Both => self.unread > 0 || self.carried.is_some_and(Carried::is_one_answer_short),
            Last::Nothing | Last::Sent => self.state == TcpState::Open && self.unread > 0,
        }
    }

    /// Whether the last data were sent: a client that waits for the answer. `None` where it sent and received within one tick.
    pub fn awaits_an_answer(&self) -> Option<bool> {
        match self.last() {
            Last::Sent => Some(self.unread == 0),
            Last::Both if self.unread == 0 => None,
            _ => Some(false),
        }
    }

    fn last(&self) -> Last {
        let Some(carried) = self.carried else { return Last::Nothing };
        match (carried.has_received, carried.has_sent) {
            (Some(false), Some(false)) => Last::Nothing,
            (Some(true), Some(false)) => Last::Received,
            (Some(false), Some(true)) => Last::Sent,
            _ => match carried.since_received.cmp(&carried.since_sent) {
                Ordering::Less => Last::Received,
                Ordering::Greater => Last::Sent,
                Ordering::Equal => Last::Both,
            },
        }
    }
}

impl Carried {
    fn is_one_answer_short(self) -> bool {
        let (requests, sent) = (u64::from(self.segments_received), u64::from(self.segments_sent));
        let each = ((2 * sent + requests) / (2 * requests.max(1))).max(1);
        requests * each == sent + each
    }
}

impl TcpSockets {
    /// The sockets of the network namespace of a process; `None` where this process may not see them, or the kernel has no
    /// sock_diag.
    pub fn of_process(id: u32) -> Option<Self> {
        let link = format!("/proc/{id}/ns/net");
        if read_link(&link).ok()? == read_link("/proc/self/ns/net").ok()? {
            return TcpSockets::open();
        }
        // A socket stays in the namespace in which it was opened, so a thread that ends goes there for it.
        let link = File::open(link).ok()?;
        let there = move || {
            move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network)).ok()?;
            TcpSockets::open()
        };
        thread::spawn(there).join().ok()?
    }

    fn open() -> Option<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(SOCK_DIAG)).ok()?;
        Some(TcpSockets { socket, ports: PortRange::now() })
    }

    /// The ports from which the namespace takes those of new connections.
    pub fn ports(&self) -> Option<PortRange> {
        self.ports
    }

    /// The sockets now, of both families.
    ///
    /// # Errors
    /// The kernel's.
    pub fn now(&self) -> io::Result<Vec<TcpSocket>> {
        let mut found = Vec::new();
        for family in [AF_INET, AF_INET6] {
            self.dump(family, &mut found)?;
        }
        Ok(found)
    }

    fn dump(&self, family: u8, into: &mut Vec<TcpSocket>) -> io::Result<()> {
        sendto(&self.socket, &request(family), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let (read, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for (kind, message) in messages(&buffer[..read]) {
                match kind {
                    DONE => return Ok(()),
                    ERROR => {
                        let error = number(message, 0).map_or(0, u32::cast_signed);
                        return Err(io::Error::from_raw_os_error(-error));
                    }
                    _ => into.extend(socket(message)),
                }
            }
        }
    }
}

/// A dump of the sockets of a family, with `struct tcp_info`.
fn request(family: u8) -> Vec<u8> {
    let mut request = Vec::with_capacity(REQUEST);
    request.extend((REQUEST as u32).to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_A_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([family, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0]);
    request.extend(STATES.to_ne_bytes());
    request.resize(REQUEST, 0);
    request
}

/// The messages of a datagram: kind and content.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = number(bytes, 0)? as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let content = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, content))
    })
}

/// From a `struct inet_diag_msg` with its attributes.
fn socket(message: &[u8]) -> Option<TcpSocket> {
    let &[family, state, ..] = message else { return None };
    let state = match state {
        1 | 8 => TcpState::Open,
        2 => TcpState::Connecting,
        6 => TcpState::TimeWait,
        10 => TcpState::Listening,
        _ => return None,
    };
    let address = |port: usize, address: usize| {
        let port = u16::from_be_bytes(message.get(port..port + 2)?.try_into().ok()?);
        let bytes = message.get(address..address + 16)?;
        let address = match family {
            AF_INET => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?)),
            _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
        };
        Some(SocketAddr::new(address, port))
    };
    Some(TcpSocket {
        state,
        local: address(4, 8)?,
        remote: address(6, 24)?,
        unread: number(message, 56)?,
        unsent: number(message, 60)?,
        inode: number(message, 68)?,
        carried: (state == TcpState::Open).then(|| carried(message.get(MESSAGE..)?)).flatten(),
    })
}

/// From the attributes: a length, a type and the content each.
fn carried(mut attributes: &[u8]) -> Option<Carried> {
    loop {
        let half = |at: usize| Some(u16::from_ne_bytes(attributes.get(at..at + 2)?.try_into().ok()?));
        let (length, kind) = (usize::from(half(0)?), half(2)?);
        if kind == u16::from(INET_DIAG_INFO) {
            return tcp_info(attributes.get(4..length)?);
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

/// From `struct tcp_info`.
fn tcp_info(info: &[u8]) -> Option<Carried> {
    let milliseconds = |at| Some(Duration::from_millis(u64::from(number(info, at)?)));
    let any = |at: usize| Some(number(info, at)? > 0 || number(info, at + 4)? > 0);
    Some(Carried {
        since_sent: milliseconds(44)?,
        since_received: milliseconds(52)?,
        has_sent: any(200),
        has_received: any(128),
        segments_received: number(info, 152).unwrap_or(0),
        segments_sent: number(info, 156).unwrap_or(0),
        sent_again: number(info, 100)?,
    })
}

/// In the byte order of the machine.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

// linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_A_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const INET_DIAG_INFO: u8 = 2;
/// `struct nlmsghdr`.
const HEADER: usize = 16;
/// With `struct inet_diag_req_v2`.
const REQUEST: usize = HEADER + 56;
/// `struct inet_diag_msg`.
const MESSAGE: usize = 72;
/// ESTABLISHED, SYN_SENT, TIME_WAIT, CLOSE_WAIT, LISTEN.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 8 | 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn find(local: SocketAddr, remote: Option<SocketAddr>) -> Option<TcpSocket> {
        let all = TcpSockets::of_process(std::process::id()).unwrap().now().unwrap();
        all.into_iter().find(|one| one.local == local && remote.is_none_or(|remote| one.remote == remote))
    }

    #[test]
    fn tells_which_side_owes_an_answer() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let here = listener.local_addr().unwrap();
            let mut client = TcpStream::connect(here).unwrap();
            let (mine, waits) = (client.local_addr().unwrap(), find(here, None).unwrap());
            assert_eq!((waits.state, waits.unread, waits.unsent), (TcpState::Listening, 1, 128), "{address}");
            assert_eq!(find(here, Some(mine)).unwrap().inode, 0, "not accepted yet");
            let (mut server, _) = listener.accept().unwrap();
            let sides = || (find(here, Some(mine)).unwrap(), find(mine, Some(here)).unwrap());
            let (one, other) = sides();
            assert!(
                !one.owes_an_answer() && other.awaits_an_answer() == Some(false),
                "nothing was asked: {one:?} {other:?}"
            );
            for _ in 0..2 {
                client.write_all(b"question").unwrap();
                thread::sleep(Duration::from_millis(20));
                let (one, other) = sides();
                assert!(one.owes_an_answer() && other.awaits_an_answer() == Some(true), "{one:?} {other:?}");
                assert_eq!(one.unread, 8);
                thread::sleep(Duration::from_millis(20));
                server.read_exact(&mut [0; 8]).unwrap();
                server.write_all(b"answer").unwrap();
                client.read_exact(&mut [0; 6]).unwrap();
                let (one, other) = sides();
                assert!(!one.owes_an_answer() && other.awaits_an_answer() != Some(true), "{one:?} {other:?}");
                thread::sleep(Duration::from_millis(20));
            }
            drop(client);
            drop(server);
            assert_eq!(
                find(mine, Some(here)).map(|socket| socket.state),
                Some(TcpState::TimeWait),
                "{address}"
            );
        }
    }

    #[test]
    fn a_client_that_asks_at_once_is_told_by_segments() {
        let short = |segments_received, segments_sent| {
            Carried { segments_received, segments_sent, ..Carried::default() }.is_one_answer_short()
        };
        for (received, sent, expected) in [(2, 1, true), (10, 9, true), (10, 27, true), (50, 98, true)] {
            assert_eq!(short(received, sent), expected, "{received} {sent}");
        }
        for (received, sent) in [(0, 0), (1, 1), (10, 10), (10, 30), (10, 25), (20, 10)] {
            assert!(!short(received, sent), "{received} {sent}");
        }
    }

    #[test]
    fn a_message_that_was_cut_is_no_socket() {
        let whole = [[2, 1, 0, 0].as_slice(), &[0; 68]].concat();
        assert!(socket(&whole).is_some_and(|socket| socket.carried.is_none()));
        for length in 0..whole.len() {
            assert_eq!(socket(&whole[..length]), None, "{length}");
        }
        assert_eq!(messages(&[9, 0, 0, 0, 1, 0]).count(), 0);
        assert_eq!(carried(&[0; 8]), None);
    }
}
