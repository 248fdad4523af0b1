//! The kernel's sockets, through mio, with a wait that is accurate to microseconds.
//!
//! ## Two ways to end a wait
//! An exact wait, for a loop that measures times ([`KernelNet::new`]): the kernel may end a wait late by the thread's
//! slack (50 µs), and older kernels count its time-out in whole milliseconds. A wait of less than a few milliseconds
//! therefore ends by a timer descriptor in the same epoll set; longer ones use epoll's own time-out for all but their
//! last milliseconds, so that a busy loop makes no extra system call.
//!
//! A lenient wait, for a loop that should do less work ([`KernelNet::lenient`]): epoll's own time-out in nanoseconds
//! (`epoll_pwait2`, Linux 5.11). No system call sets it, and it is late by the slack. A loop that repeatedly waits
//! until the same instant, such as a tick, sets the timer descriptor once instead: each time-out costs the kernel
//! setting and removing a timer. If the system does not have or allow such time-outs, waits are exact.

use super::stream::KernelStream;
use super::{Net, Ready, Token};
use crate::dial::Address;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Waker};
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Timestamp;

/// The origin of a run's time; copies agree, so that workers can compare their times.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn starting_now() -> Self {
        Clock { origin: Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        let nanos = self.origin.elapsed().as_nanos();
        Timestamp::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The kernel behind the I/O seam.
pub struct KernelNet {
    clock: Clock,
    poll: Poll,
    events: Events,
    timer: OwnedFd,
    timer_armed: Timestamp,
    /// The end of the last lenient wait.
    last_until: Timestamp,
    exact: bool,
}

const TIMER: mio::Token = mio::Token(usize::MAX);
const WAKER: mio::Token = mio::Token(usize::MAX - 1);

/// The most events of one wait; the next returns the rest.
const EVENTS: usize = 1024;

/// Below this, the timer descriptor ends an exact wait.
const EXACT: Duration = Duration::from_millis(5);

impl KernelNet {
    /// A new epoll set with its timer. Its waits end at their instant, as near as the system can.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        let mut source = mio::unix::SourceFd(&timer.as_raw_fd());
        poll.registry().register(&mut source, TIMER, Interest::READABLE)?;
        let events = Events::with_capacity(EVENTS);
        Ok(KernelNet {
            clock,
            poll,
            events,
            timer,
            timer_armed: Timestamp::NEVER,
            last_until: Timestamp::NEVER,
            exact: true,
        })
    }

    /// Like [`KernelNet::new`], with waits that cost no system call of their own and may end 50 µs after their instant.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn lenient(clock: Clock) -> io::Result<Self> {
        Ok(KernelNet { exact: false, ..KernelNet::new(clock)? })
    }

    /// A waker that ends this loop's wait from another thread.
    ///
    /// # Errors
    /// No descriptor is left, or there is already a waker.
    pub fn waker(&self) -> io::Result<Arc<Waker>> {
        Ok(Arc::new(Waker::new(self.poll.registry(), WAKER)?))
    }

    /// Watches a listening socket.
    ///
    /// # Errors
    /// The system's error.
    pub fn listen(&mut self, listener: std::net::TcpListener, token: Token) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        let mut listener = TcpListener::from_std(listener);
        self.poll.registry().register(&mut listener, mio::Token(token.0), Interest::READABLE)?;
        Ok(listener)
    }

    fn watch(&self, mut stream: KernelStream, token: Token) -> io::Result<KernelStream> {
        stream.set_nodelay()?;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(stream.source(), mio::Token(token.0), both)?;
        Ok(stream)
    }

    fn arm_timer(&mut self, until: Timestamp, now: Timestamp) -> rustix::io::Result<()> {
        if self.timer_armed == until {
            return Ok(());
        }
        // A value of zero would disarm it.
        let value = timespec(until.since(now).max(Duration::from_nanos(1)));
        let once = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.timer_armed = until;
        Ok(())
    }

    /// Waits until `until` or a little longer.
    fn wait_leniently(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> rustix::io::Result<()> {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let again = until == std::mem::replace(&mut self.last_until, until);
        let timeout = if until == self.timer_armed {
            None
        } else {
            let now = self.clock.now();
            let repeated = again && until > now && until != Timestamp::NEVER;
            if repeated {
                self.arm_timer(until, now)?;
            }
            (!repeated).then(|| timespec(until.since(now)))
        };
        let (found, _) = epoll::wait(self.poll.registry(), &mut room, timeout.as_ref())?;
        for event in found {
            // Copies, as the struct is packed. mio keeps its token in `data`.
            let (data, flags) = (event.data, event.flags);
            let hint = Ready {
                token: Token(data.u64() as usize),
                readable: flags.intersects(EventFlags::IN | EventFlags::PRI),
                writable: flags.contains(EventFlags::OUT),
                closed: flags.intersects(EventFlags::HUP | EventFlags::ERR)
                    || flags.contains(EventFlags::IN | EventFlags::RDHUP),
                broken: flags.intersects(EventFlags::HUP | EventFlags::ERR),
            };
            match mio::Token(hint.token.0) {
                TIMER => self.timer_armed = Timestamp::NEVER,
                WAKER => {}
                _ => ready.push(hint),
            }
        }
        Ok(())
    }
}

fn timespec(span: Duration) -> Timespec {
    Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) }
}

impl Net for KernelNet {
    type Stream = KernelStream;
    type Listener = TcpListener;

    fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    fn connect(&mut self, to: SocketAddr, token: Token) -> io::Result<KernelStream> {
        self.connect_to(&Address::Tcp(to), None, token)
    }

    fn connect_to(&mut self, to: &Address, from: Option<IpAddr>, token: Token) -> io::Result<KernelStream> {
        let stream = KernelStream::connect(to, from)?;
        self.watch(stream, token)
    }

    fn connected(&mut self, stream: &KernelStream) -> io::Result<bool> {
        stream.connected()
    }

    fn accept(&mut self, listener: &TcpListener, token: Token) -> io::Result<(KernelStream, SocketAddr)> {
        let (stream, from) = listener.accept()?;
        Ok((self.watch(KernelStream::Tcp(stream), token)?, from))
    }

    fn stop_listening(&mut self, mut listener: TcpListener) {
        // It is closed in either case; the error can be ignored.
        let _ = self.poll.registry().deregister(&mut listener);
    }

    #[inline]
    fn read(&mut self, stream: &mut KernelStream, into: &mut [u8]) -> io::Result<usize> {
        stream.read(into)
    }

    #[inline]
    fn write(&mut self, stream: &mut KernelStream, bytes: &[u8]) -> io::Result<usize> {
        stream.write(bytes)
    }

    fn reset(&mut self, stream: KernelStream) {
        stream.reset();
    }

    fn shut_down(&mut self, stream: &mut KernelStream) {
        stream.shut_down();
    }

    fn nap(&mut self, until: Timestamp) {
        let span = until.since(self.clock.now());
        if !span.is_zero() {
            std::thread::sleep(span);
        }
    }

    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()> {
        if !self.exact {
            match self.wait_leniently(until, ready) {
                Err(Errno::INTR) => return Ok(()),
                // System call filters refuse unknown calls with different errors.
                Err(Errno::NOSYS | Errno::PERM) => self.exact = true,
                other => return Ok(other?),
            }
        }
        let timeout = if until == Timestamp::NEVER {
            None
        } else {
            let now = self.clock.now();
            let span = until.since(now);
            if span.is_zero() {
                Some(Duration::ZERO)
            } else if span < EXACT {
                self.arm_timer(until, now)?;
                None
            } else {
                Some(Duration::from_millis(span.as_millis() as u64 - 1))
            }
        };
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        for event in &self.events {
            match event.token() {
                TIMER => self.timer_armed = Timestamp::NEVER,
                WAKER => {}
                token => ready.push(Ready {
                    token: Token(token.0),
                    readable: event.is_readable(),
                    writable: event.is_writable(),
                    closed: event.is_read_closed() || event.is_error(),
                    broken: event.is_error() || (event.is_read_closed() && event.is_write_closed()),
                }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Waits until an instant, and returns how late it was then.
    fn late_at(net: &mut KernelNet, until: Timestamp) -> Duration {
        let mut ready = Vec::new();
        while net.now() < until {
            net.wait(until, &mut ready).unwrap();
        }
        assert!(ready.is_empty());
        net.now().since(until)
    }

    /// A busy machine is late at times. One that counts milliseconds always is.
    fn assert_on_time(late: &[Duration]) {
        assert!(*late.iter().min().unwrap() < Duration::from_micros(400), "{late:?}");
    }

    #[test]
    fn a_wait_ends_at_its_instant() {
        for make in [KernelNet::new, KernelNet::lenient] {
            let mut net = make(Clock::starting_now()).unwrap();
            let mut late = Vec::new();
            for micros in [200, 200, 200, 200, 200, 1_000, 7_300, 12_000] {
                let until = net.now() + Duration::from_micros(micros);
                late.push(late_at(&mut net, until));
            }
            assert_on_time(&late);
        }
    }

    #[test]
    fn a_wait_until_the_same_instant_again_ends_there_too() {
        let mut net = KernelNet::lenient(Clock::starting_now()).unwrap();
        let waker = net.waker().unwrap();
        let (mut ready, mut late) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let begun = net.now();
            let (near, far) = (begun + Duration::from_millis(4), begun + Duration::from_millis(9));
            for _ in 0..3 {
                waker.wake().unwrap();
                net.wait(far, &mut ready).unwrap();
            }
            assert!(ready.is_empty());
            // An earlier instant comes in between.
            late.extend([near, far].map(|until| late_at(&mut net, until)));
        }
        assert_on_time(&late);
    }

    /// Sends `hello` from the client to the stream that `accept` returns, and returns what arrived there.
    fn hello(
        net: &mut KernelNet,
        mut client: KernelStream,
        mut accept: impl FnMut(&mut KernelNet) -> io::Result<KernelStream>,
    ) -> Vec<u8> {
        let mut server = None;
        let (mut buffer, mut got, mut ready) = ([0_u8; 64], Vec::new(), Vec::new());
        let end = net.now() + Duration::from_secs(5);
        let mut sent = false;
        while got != b"hello" && net.now() < end {
            ready.clear();
            net.wait(end, &mut ready).unwrap();
            for event in &ready {
                match event.token {
                    Token(0) => server = accept(net).ok(),
                    Token(1) if event.writable && !sent && net.connected(&client).unwrap() => {
                        assert_eq!(net.write(&mut client, b"hello").unwrap(), 5);
                        sent = true;
                    }
                    Token(2) if event.readable => match net.read(server.as_mut().unwrap(), &mut buffer) {
                        Ok(n) => got.extend_from_slice(&buffer[..n]),
                        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                    },
                    _ => {}
                }
            }
        }
        got
    }

    #[test]
    fn bytes_go_from_the_local_address_that_was_asked_for() {
        let mut net = KernelNet::new(Clock::starting_now()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Address::Tcp(listener.local_addr().unwrap());
        let listener = net.listen(listener, Token(0)).unwrap();
        for local in [None, Some("127.0.0.1"), Some("127.0.0.2"), Some("127.0.0.77")] {
            let local = local.map(|local| local.parse::<IpAddr>().unwrap());
            let client = net.connect_to(&to, local, Token(1)).unwrap();
            let mut peer = None;
            let got = hello(&mut net, client, |net| {
                let (stream, from) = net.accept(&listener, Token(2))?;
                peer = Some(from.ip());
                Ok(stream)
            });
            assert_eq!(got, b"hello");
            assert_eq!(peer, local.or("127.0.0.1".parse().ok()));
        }
    }

    #[test]
    fn connections_of_several_local_addresses_stand_side_by_side() {
        let mut net = KernelNet::new(Clock::starting_now()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Address::Tcp(listener.local_addr().unwrap());
        let connect = |number: u8| {
            let from = IpAddr::from([127, 0, 1, number % 4]);
            net.connect_to(&to, Some(from), Token(usize::from(number))).unwrap()
        };
        let streams: Vec<KernelStream> = (0..100).map(connect).collect();
        let peers: BTreeSet<SocketAddr> = streams.iter().map(|_| listener.accept().unwrap().1).collect();
        assert_eq!(peers.len(), 100);
        assert_eq!(peers.iter().map(SocketAddr::ip).collect::<BTreeSet<_>>().len(), 4);
    }

    #[test]
    fn a_unix_socket_is_an_address_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("service.sock");
        let mut net = KernelNet::new(Clock::starting_now()).unwrap();
        let to = Address::Unix(path.clone());
        assert_eq!(net.connect_to(&to, None, Token(1)).unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut client = net.connect_to(&to, None, Token(1)).unwrap();
        let mut server = listener.accept().unwrap().0;
        assert!(net.connected(&client).unwrap());
        assert_eq!(net.write(&mut client, b"hello").unwrap(), 5);
        let mut buffer = [0; 5];
        io::Read::read_exact(&mut server, &mut buffer).unwrap();
        io::Write::write_all(&mut server, &buffer).unwrap();
        let end = net.now() + Duration::from_secs(5);
        let mut ready = Vec::new();
        while !ready.iter().any(|event: &Ready| event.readable) && net.now() < end {
            net.wait(end, &mut ready).unwrap();
        }
        assert!(ready.iter().all(|event| event.token == Token(1)));
        assert_eq!(net.read(&mut client, &mut buffer).unwrap(), 5);
        assert_eq!(&buffer, b"hello");
        net.shut_down(&mut client);
        assert_eq!(io::Read::read(&mut server, &mut buffer).unwrap(), 0);
        net.reset(client);
        // The address has no listener any more.
        drop(listener);
        let error = net.connect_to(&to, None, Token(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_full_backlog_of_a_unix_socket_is_a_refusal() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("service.sock");
        let mut net = KernelNet::new(Clock::starting_now()).unwrap();
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        socket.bind(&socket2::SockAddr::unix(&path).unwrap()).unwrap();
        socket.listen(1).unwrap();
        let to = Address::Unix(path);
        let mut held = Vec::new();
        let error = loop {
            match net.connect_to(&to, None, Token(held.len())) {
                Ok(stream) => held.push(stream),
                Err(error) => break error,
            }
            assert!(held.len() < 100, "the backlog has no end");
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    }
}
