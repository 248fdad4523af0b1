//! The kernel's sockets, through mio, with a wait that is exact to microseconds.
//!
//! ## Why a timer descriptor
//! epoll's time-out counts whole milliseconds, which is ten requests at 10,000 a second. A wait of less than a few
//! milliseconds therefore ends by a timer descriptor that stands in the same epoll set; longer ones use epoll's own
//! time-out for all but their last milliseconds, so that a busy loop makes no extra system call.

use super::{Net, Ready, Token};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Waker};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Timestamp;

/// Where the clock of a run begins; copies agree, so that workers can compare their times.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that begins now.
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
    registry: Registry,
    events: Events,
    timer: OwnedFd,
    timer_armed: Timestamp,
}

const TIMER: mio::Token = mio::Token(usize::MAX);
const WAKER: mio::Token = mio::Token(usize::MAX - 1);

/// Below this, a wait ends by the timer descriptor.
const EXACT: Duration = Duration::from_millis(5);

impl KernelNet {
    /// A new epoll set with its timer.
    ///
    /// # Errors
    /// Where no descriptor is left.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        registry.register(&mut mio::unix::SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        Ok(KernelNet {
            clock,
            poll,
            registry,
            events: Events::with_capacity(1024),
            timer,
            timer_armed: Timestamp::NEVER,
        })
    }

    /// Something that ends this loop's wait from another thread.
    ///
    /// # Errors
    /// Where no descriptor is left, or where there is a waker already.
    pub fn waker(&self) -> io::Result<Arc<Waker>> {
        Ok(Arc::new(Waker::new(&self.registry, WAKER)?))
    }

    /// Watches a listening socket.
    ///
    /// # Errors
    /// What the system refused.
    pub fn listen(&mut self, listener: std::net::TcpListener, token: Token) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        let mut listener = TcpListener::from_std(listener);
        self.registry.register(&mut listener, mio::Token(token.0), Interest::READABLE)?;
        Ok(listener)
    }

    fn arm_timer(&mut self, until: Timestamp, now: Timestamp) -> io::Result<()> {
        if self.timer_armed == until {
            return Ok(());
        }
        // A value of zero would disarm it.
        let span = until.since(now).max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.timer_armed = until;
        Ok(())
    }
}

impl Net for KernelNet {
    type Stream = TcpStream;
    type Listener = TcpListener;

    fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    fn connect(&mut self, to: SocketAddr, token: Token) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        self.registry.register(&mut stream, mio::Token(token.0), Interest::READABLE | Interest::WRITABLE)?;
        Ok(stream)
    }

    fn connected(&mut self, stream: &TcpStream) -> io::Result<bool> {
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        match stream.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn accept(&mut self, listener: &TcpListener, token: Token) -> io::Result<(TcpStream, SocketAddr)> {
        let (mut stream, from) = listener.accept()?;
        stream.set_nodelay(true)?;
        self.registry.register(&mut stream, mio::Token(token.0), Interest::READABLE | Interest::WRITABLE)?;
        Ok((stream, from))
    }

    fn stop_listening(&mut self, mut listener: TcpListener) {
        // It is closed either way; an error here leaves nothing to do.
        let _ = self.registry.deregister(&mut listener);
    }

    fn read(&mut self, stream: &mut TcpStream, into: &mut [u8]) -> io::Result<usize> {
        stream.read(into)
    }

    fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        stream.write(bytes)
    }

    fn reset(&mut self, stream: TcpStream) {
        // Closing without patience is a reset; where the system refuses that, the connection ends all the same.
        let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    }

    fn shut_down(&mut self, stream: &mut TcpStream) {
        // A connection that is gone already needs no farewell.
        let _ = stream.shutdown(Shutdown::Write);
    }

    fn wait(&mut self, until: Timestamp, ready: &mut Vec<Ready>) -> io::Result<()> {
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
                }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_instant() {
        let mut net = KernelNet::new(Clock::starting_now()).unwrap();
        let mut ready = Vec::new();
        for micros in [200, 1_000, 7_300, 12_000] {
            let until = net.now() + Duration::from_micros(micros);
            while net.now() < until {
                net.wait(until, &mut ready).unwrap();
            }
            assert!(ready.is_empty());
        }
    }

    #[test]
    fn bytes_go_both_ways() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut net = KernelNet::new(Clock::starting_now()).unwrap();
        let listener = net.listen(listener, Token(0)).unwrap();
        let mut client = net.connect(address, Token(1)).unwrap();
        let mut server = None;
        let (mut buffer, mut got, mut ready) = ([0_u8; 64], Vec::new(), Vec::new());
        let end = net.now() + Duration::from_secs(5);
        while got != b"hello" && net.now() < end {
            ready.clear();
            net.wait(end, &mut ready).unwrap();
            for event in &ready {
                match event.token {
                    Token(0) => server = net.accept(&listener, Token(2)).ok(),
                    Token(1) if event.writable && net.connected(&client).unwrap() => {
                        assert_eq!(net.write(&mut client, b"hello").unwrap(), 5);
                    }
                    Token(2) if event.readable => {
                        let (stream, _) = server.as_mut().unwrap();
                        match net.read(stream, &mut buffer) {
                            Ok(n) => got.extend_from_slice(&buffer[..n]),
                            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                        }
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(got, b"hello");
    }
}
