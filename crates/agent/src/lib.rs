//! Serves what `headroom doctor` sees of services on this machine, so that another machine can ask: read-only, over a socket in the
//! file system, or over loopback with a token. From elsewhere, an ssh tunnel reaches it.
//!
//! ```text
//! GET /doctor?pid=4711&seconds=10    the document of headroom doctor --json
//! GET /livez                         200
//! ```
//!
//! ## Why so few at once
//! An examination reads a service several times a second. Four at a time bound what a client can make this machine do.
#![warn(missing_docs)]

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use host::{NoService, Service};
use listener::{Access, Address, Guard, Listener, Token, guarded, problem};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use study::doctor::examine;
use thiserror::Error;
use tokio::sync::Semaphore;

/// An agent that listens.
#[derive(Debug)]
pub struct Agent {
    runtime: tokio::runtime::Runtime,
    listener: Listener,
    guard: Guard,
}

/// Why an agent does not listen.
#[derive(Debug, Error)]
pub enum AgentError {
    /// Other machines would reach it.
    #[error(
        "{0} can be reached by other machines; listen on 127.0.0.1 or unix:PATH, and reach it through an ssh tunnel"
    )]
    Public(Address),
    /// Every user and every web page of this machine would reach it.
    #[error(
        "{0} can be reached by every user of this machine; give a file with a token (--token-file), or listen on unix:PATH"
    )]
    NoToken(Address),
    /// The system does not let it.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: Address,
        /// The system's error.
        source: io::Error,
    },
    /// The token cannot be read, or is none.
    #[error(transparent)]
    Token(io::Error),
}

/// The query of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    pid: Option<u32>,
    cgroup: Option<PathBuf>,
    #[serde(default = "usual")]
    seconds: u64,
}

impl Agent {
    /// Listens.
    ///
    /// # Errors
    /// Where others could reach it without a token, and where the system does not let it.
    pub fn listen(address: &Address, token_file: Option<&Path>) -> Result<Self, AgentError> {
        if address.is_public() {
            return Err(AgentError::Public(address.clone()));
        }
        if matches!(address, Address::Tcp(_)) && token_file.is_none() {
            return Err(AgentError::NoToken(address.clone()));
        }
        let token = token_file.map(Token::read).transpose().map_err(AgentError::Token)?;
        let no = |source| AgentError::Listen { address: address.clone(), source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no)?;
        let listener = {
            let _entered = runtime.enter();
            Listener::bind(address).map_err(no)?
        };
        let guard = Guard::new(listener.address(), Access::Probes, token);
        Ok(Agent { runtime, listener, guard })
    }

    /// The address; with the assigned port if 0 was asked for.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// Serves until `stop` says so, which is asked several times a second.
    ///
    /// # Errors
    /// The socket fails.
    pub fn serve(self, stop: impl Fn() -> bool) -> io::Result<()> {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let router = Router::new()
            .route("/doctor", get(doctor))
            .route("/livez", get(|| async { StatusCode::OK }))
            .with_state(room);
        let app = guarded(router, &Arc::new(self.guard));
        let stopped = async move {
            while !stop() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let served = self.runtime.block_on(async move {
            tokio::select! {
                result = self.listener.serve(app) => result,
                () = stopped => Ok(()),
            }
        });
        // An examination that still runs ends with the process.
        self.runtime.shutdown_background();
        served
    }
}

async fn doctor(State(room): State<Arc<Semaphore>>, Query(asked): Query<Asked>) -> Response {
    if !(LEAST..=MOST).contains(&asked.seconds) {
        let said = format!("seconds is {}; it has to be {LEAST} to {MOST}", asked.seconds);
        return problem(StatusCode::BAD_REQUEST, &said);
    }
    let Ok(_slot) = room.try_acquire() else {
        return problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "four examinations are running; ask again when one has ended",
        );
    };
    let service = match (asked.pid, &asked.cgroup) {
        (Some(id), None) => Service::of_process(id),
        (None, Some(folder)) => Service::of_group(folder),
        _ => {
            return problem(StatusCode::BAD_REQUEST, "name a service: /doctor?pid=PID or /doctor?cgroup=DIR");
        }
    };
    let lasts = Duration::from_secs(asked.seconds);
    let examined = match service {
        Ok(service) => tokio::task::spawn_blocking(move || examine(service, lasts, &|| false)).await,
        Err(error) => Ok(Err(error)),
    };
    match examined {
        Ok(Ok(examined)) => {
            ([(CONTENT_TYPE, "application/json")], format!("{:#}\n", examined.json())).into_response()
        }
        Ok(Err(error @ (NoService::NoProcess(_) | NoService::NoGroup(_)))) => {
            problem(StatusCode::NOT_FOUND, &error.to_string())
        }
        Ok(Err(error)) => problem(StatusCode::GONE, &error.to_string()),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn usual() -> u64 {
    10
}

const AT_ONCE: usize = 4;
const LEAST: u64 = 2;
const MOST: u64 = 60;
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_do_not_reach_it_without_a_token() {
        let refused =
            |address: &str| Agent::listen(&address.parse().unwrap(), None).map(drop).unwrap_err().to_string();
        assert!(refused("0.0.0.0:0").starts_with("0.0.0.0:0 can be reached by other machines"));
        assert!(refused("127.0.0.1:0").starts_with("127.0.0.1:0 can be reached by every user"));
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
        let agent = Agent::listen(&"127.0.0.1:0".parse().unwrap(), Some(&token)).unwrap();
        assert!(!agent.address().to_string().ends_with(":0"));
        let unix = format!("unix:{}", folder.path().join("agent.sock").display());
        assert!(Agent::listen(&unix.parse().unwrap(), None).is_ok());
    }
}
