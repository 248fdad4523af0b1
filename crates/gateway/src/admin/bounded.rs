//! A listener with a bound on its connections, each of which has to say something now and then.
//!
//! Its descriptors are those of the data path too. Clients that connect and stay silent would take them all, and
//! nobody needs a token to connect. Those above the bound wait to be accepted.

use axum::serve::Listener;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// A listener with a bound on its connections.
pub(super) struct Bounded<L> {
    listener: L,
    places: Arc<Semaphore>,
}

/// A connection that has a place.
pub(super) struct Client<S> {
    stream: S,
    silent_until: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl<L> Bounded<L> {
    pub(super) fn new(listener: L) -> Self {
        Bounded { listener, places: Arc::new(Semaphore::new(CLIENTS_MAX)) }
    }
}

impl<L: Listener> Listener for Bounded<L> {
    type Io = Client<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // It is never closed, so there is always a place in the end.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, address) = self.listener.accept().await;
        (Client { stream, silent_until: Box::pin(sleep(SILENCE_MAX)), _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl<S> Client<S> {
    fn heard(&mut self) {
        self.silent_until.as_mut().reset(Instant::now() + SILENCE_MAX);
    }

    /// Nothing can be done now: too late where nothing could be done for too long.
    fn waits<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        match self.silent_until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Client<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(context, into) {
            Poll::Pending => self.waits(context),
            ready => {
                self.heard();
                ready
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Client<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => self.waits(context),
            ready => {
                self.heard();
                ready
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Operators, scrapers and probes; each may keep a connection.
const CLIENTS_MAX: usize = 64;

/// Longer than the time between two scrapes.
const SILENCE_MAX: Duration = Duration::from_secs(75);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::DuplexStream;

    /// Connections whose clients say nothing.
    struct Silent(AtomicUsize, Vec<DuplexStream>);

    impl Listener for Silent {
        type Io = DuplexStream;
        type Addr = SocketAddr;

        async fn accept(&mut self) -> (DuplexStream, SocketAddr) {
            self.0.fetch_add(1, Ordering::Relaxed);
            let (ours, theirs) = tokio::io::duplex(16);
            self.1.push(theirs);
            (ours, SocketAddr::from(([127, 0, 0, 1], 1)))
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
        }
    }

    #[test]
    fn silent_clients_have_a_bound_and_an_end() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
            let mut listener = Bounded::new(Silent(AtomicUsize::new(0), Vec::new()));
            let mut clients = Vec::new();
            for _ in 0..CLIENTS_MAX {
                clients.push(listener.accept().await.0);
            }
            let one_more = tokio::time::timeout(Duration::from_secs(1), listener.accept()).await;
            assert!(one_more.is_err(), "there is no place left");
            let begun = Instant::now();
            let mut buffer = [0; 8];
            let mut into = ReadBuf::new(&mut buffer);
            let first = &mut clients[0];
            let read =
                std::future::poll_fn(|context| Pin::new(&mut *first).poll_read(context, &mut into)).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::TimedOut);
            assert!(begun.elapsed() >= SILENCE_MAX - Duration::from_secs(2));
            clients.remove(0);
            let one_more = tokio::time::timeout(Duration::from_secs(1), listener.accept()).await;
            assert!(one_more.is_ok(), "its place is free");
        });
    }
}
