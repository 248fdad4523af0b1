//! The admin listener: metrics, health, status and a few changes, on an address of its own.
//!
//! It runs on a thread of its own and only reads what the workers publish; a change is passed to them as a new
//! configuration. The crate `listener` decides which requests are allowed.

mod api;
mod flows;
mod instances;
mod lease;
mod mirroring;
mod processor;
pub mod status;

pub(crate) use flows::Flows;

use crate::control_room::ControlRoom;
use crate::settings::{Admin as Settings, AdminAddress};
use http::reactor::Clock;
use listener::{Access, Guard, Listener, Token, guarded};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The admin listener, served by a thread of its own.
#[derive(Debug)]
pub(crate) struct Admin {
    address: AdminAddress,
    guard: Arc<Guard>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The state of the handlers.
type Room = (Arc<ControlRoom>, Clock);

impl Admin {
    /// Starts to serve.
    ///
    /// # Errors
    /// The address cannot be bound, or no thread is left.
    pub(crate) fn start(
        settings: &Settings,
        token: Option<Token>,
        room: Arc<ControlRoom>,
        clock: Clock,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _entered = runtime.enter();
            Listener::bind(&settings.listen)?
        };
        let address = listener.address().clone();
        let guard = Arc::new(Guard::new(&address, Access::Probes, token));
        let (stop, stopped) = oneshot::channel();
        let app = guarded(api::router().merge(instances::routes()).merge(mirroring::routes()), &guard)
            .with_state((Arc::clone(&room), clock));
        let thread = std::thread::Builder::new().name("gateway-admin".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    // If it ends, the gateway itself continues.
                    _ = listener.serve(app) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Admin { address, guard, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> &AdminAddress {
        &self.address
    }

    /// Takes over the current token of the file.
    ///
    /// # Errors
    /// The file cannot be read, or has no token; the old token stays valid.
    pub(crate) fn read_token(&self, settings: &Settings) -> io::Result<()> {
        self.guard.set_token(token(settings)?);
        Ok(())
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

/// The token of the operator's side.
///
/// # Errors
/// Where it cannot be read, or is none; or where other machines reach the address and there is no token.
pub(crate) fn token(settings: &Settings) -> io::Result<Option<Token>> {
    let token = settings.token_file.as_deref().map(Token::read).transpose()?;
    if settings.is_public() && token.is_none() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, PUBLIC_WITHOUT_TOKEN));
    }
    Ok(token)
}

const PUBLIC_WITHOUT_TOKEN: &str =
    "other machines reach this address: give a token with `token_file`, or listen on a loopback address";
