//! The operator's side: metrics and health, on a listener of its own that only this machine reaches.

mod instances;

use crate::control_room::ControlRoom;
use crate::metrics;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::routing::get;
use http::reactor::Clock;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The admin listener, served by a thread of its own.
#[derive(Debug)]
pub(crate) struct Admin {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    /// Begins to serve.
    ///
    /// # Errors
    /// Where the address cannot be had, or no thread is left.
    pub(crate) fn start(address: SocketAddr, room: Arc<ControlRoom>, clock: Clock) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (stop, stopped) = oneshot::channel();
        let app = Router::new()
            .route("/metrics", get(page))
            .route("/livez", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .merge(instances::routes())
            .with_state((room, clock));
        let thread = std::thread::Builder::new().name("gateway-admin".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let serve = axum::serve(listener, app);
                tokio::select! {
                    // Whatever ends it, the gateway itself goes on.
                    _ = serve => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Admin { address, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Room = State<(Arc<ControlRoom>, Clock)>;

async fn page(State((room, clock)): Room) -> ([(header::HeaderName, &'static str); 1], String) {
    let (_, shared) = room.current();
    let page = metrics::page(&room.counts(), &shared, clock.now());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page)
}

async fn ready(State((room, _)): Room) -> (StatusCode, &'static str) {
    if room.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ok\n")
    }
}
