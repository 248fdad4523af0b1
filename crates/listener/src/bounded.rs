//! A listener with a bound on its connections, each of which has to send a request in time.
//!
//! Its descriptors are shared with the data path, and connecting needs no token: clients that stay silent or send half
//! a request would take them all. At the bound, the connection whose last response is the longest ago is closed for a
//! new one. So a probe is always accepted: an orchestrator that is refused would restart a healthy program. A
//! connection is also closed if it does not send a complete request in time, however slowly its bytes arrive.

use crate::lock;
use axum::serve::Listener;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// A listener with a bound on its connections.
pub(crate) struct Bounded<L> {
    listener: L,
    places: Arc<Semaphore>,
    clients: Arc<Mutex<Clients>>,
}

/// The open connections.
#[derive(Debug, Default)]
struct Clients {
    accepted: u64,
    open: HashMap<u64, Known>,
}

#[derive(Debug)]
struct Known {
    /// When it last sent part of a response, or was accepted.
    answered: Instant,
    /// It is to be closed.
    given_up: bool,
    /// Wakes its task.
    waker: Option<Waker>,
}

impl Clients {
    fn accept(&mut self) -> u64 {
        self.accepted += 1;
        self.open.insert(self.accepted, Known { answered: Instant::now(), given_up: false, waker: None });
        self.accepted
    }

    /// Closes the connection whose last response is the longest ago.
    fn give_up_one(&mut self) {
        let open = self.open.iter_mut().filter(|(_, known)| !known.given_up);
        let Some((_, oldest)) = open.min_by_key(|(number, known)| (known.answered, **number)) else { return };
        oldest.given_up = true;
        if let Some(waker) = oldest.waker.take() {
            waker.wake();
        }
    }
}

/// A connection that has a place.
pub(crate) struct Client<S> {
    stream: S,
    until: Pin<Box<Sleep>>,
    /// It waits for a complete request or its response.
    asks: bool,
    number: u64,
    clients: Arc<Mutex<Clients>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl<L> Bounded<L> {
    pub(crate) fn new(listener: L) -> Self {
        Bounded { listener, places: Arc::new(Semaphore::new(CLIENTS_MAX)), clients: Arc::default() }
    }
}

impl<L: Listener> Listener for Bounded<L> {
    type Io = Client<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = self.listener.accept().await;
        if self.places.available_permits() == 0 {
            lock(&self.clients).give_up_one();
        }
        // It is never closed, so a place becomes free in the end.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let number = lock(&self.clients).accept();
        let (until, clients) = (Box::pin(sleep(REQUEST_MAX)), Arc::clone(&self.clients));
        (Client { stream, until, asks: true, number, clients, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl<S> Client<S> {
    /// Bytes arrived. The first ones of a request start its deadline; further ones do not extend it.
    fn heard(&mut self) {
        if !std::mem::replace(&mut self.asks, true) {
            self.until.as_mut().reset(Instant::now() + REQUEST_MAX);
        }
    }

    /// A part of a response was sent.
    fn answered(&mut self) {
        let now = Instant::now();
        self.asks = false;
        self.until.as_mut().reset(now + SILENCE_MAX);
        if let Some(known) = lock(&self.clients).open.get_mut(&self.number) {
            known.answered = now;
        }
    }

    /// No progress now: fails if its time is over, or if another client needs the place.
    fn waits<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if let Some(known) = lock(&self.clients).open.get_mut(&self.number) {
            if known.given_up {
                return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
            }
            known.waker = Some(context.waker().clone());
        }
        match self.until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S> Drop for Client<S> {
    fn drop(&mut self) {
        lock(&self.clients).open.remove(&self.number);
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
                self.answered();
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

/// From the first byte of a request, or from the connection, to the response. A reload takes seconds at most.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// Between two requests: longer than the time between two scrapes.
const SILENCE_MAX: Duration = Duration::from_secs(75);

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    /// Connections, with the clients' ends.
    struct Duplex(Vec<DuplexStream>);

    impl Listener for Duplex {
        type Io = DuplexStream;
        type Addr = SocketAddr;

        async fn accept(&mut self) -> (DuplexStream, SocketAddr) {
            let (ours, theirs) = tokio::io::duplex(16);
            self.0.push(theirs);
            (ours, SocketAddr::from(([127, 0, 0, 1], 1)))
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
        }
    }

    fn virtually(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    /// Whether a connection waits for further bytes, or why not.
    async fn read(client: &mut Client<DuplexStream>) -> Result<(), ErrorKind> {
        let mut buffer = [0; 8];
        let mut into = ReadBuf::new(&mut buffer);
        poll_fn(|context| match Pin::new(&mut *client).poll_read(context, &mut into) {
            Poll::Pending => Poll::Ready(Ok(())),
            Poll::Ready(read) => Poll::Ready(read.map_err(|error| error.kind())),
        })
        .await
    }

    #[test]
    fn a_new_client_gets_the_place_of_the_one_whose_answer_is_longest_ago() {
        virtually(async {
            let mut listener = Bounded::new(Duplex(Vec::new()));
            let mut clients = Vec::new();
            for _ in 0..CLIENTS_MAX {
                clients.push(listener.accept().await.0);
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            // The first connection has had a response since.
            clients[0].write_all(b"HTTP/1.1").await.unwrap();
            for client in &mut clients {
                assert_eq!(read(client).await, Ok(()));
            }
            let serving = async {
                sleep(Duration::from_millis(1)).await;
                let mut given_up = Vec::new();
                for (index, client) in clients.iter_mut().enumerate() {
                    if read(client).await == Err(ErrorKind::ConnectionAborted) {
                        given_up.push(index);
                    }
                }
                given_up.iter().for_each(|&index| drop(clients.remove(index)));
                given_up
            };
            let (_new, given_up) = tokio::join!(listener.accept(), serving);
            assert_eq!(given_up, [1]);
        });
    }

    #[test]
    fn a_request_has_to_be_whole_in_time_however_its_bytes_come() {
        virtually(async {
            let mut listener = Bounded::new(Duplex(Vec::new()));
            let (mut client, _) = listener.accept().await;
            let begun = Instant::now();
            let mut outcome = Ok(());
            while outcome.is_ok() && begun.elapsed() < 2 * REQUEST_MAX {
                listener.listener.0[0].write_all(b"G").await.unwrap();
                let mut byte = [0];
                client.read_exact(&mut byte).await.unwrap();
                sleep(Duration::from_secs(1)).await;
                outcome = read(&mut client).await;
            }
            assert_eq!(outcome, Err(ErrorKind::TimedOut));
            assert!(begun.elapsed() >= REQUEST_MAX, "{:?}", begun.elapsed());
        });
    }

    #[test]
    fn who_was_answered_may_stay_for_a_while() {
        virtually(async {
            let mut listener = Bounded::new(Duplex(Vec::new()));
            let (mut client, _) = listener.accept().await;
            client.write_all(b"HTTP/1.1").await.unwrap();
            sleep(SILENCE_MAX - Duration::from_secs(1)).await;
            assert_eq!(read(&mut client).await, Ok(()));
            sleep(Duration::from_secs(2)).await;
            assert_eq!(read(&mut client).await, Err(ErrorKind::TimedOut));
        });
    }
}
