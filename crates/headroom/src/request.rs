//! What is sent, and how it is spaced: the flags of every command that drives load.

use ::load::{Arrivals, Servers, Target, TargetError};
use clap::ValueEnum;
use std::io::{self, Read};
use thiserror::Error;

/// The request.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub struct RequestArgs {
    /// Request method [default: GET, or POST with --data]
    #[arg(short, long, value_name = "NAME", short_alias = 'X')]
    method: Option<String>,

    /// Request header, as 'Name: value'; can be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    /// Request body: text, @FILE, or @- for standard input
    #[arg(long, value_name = "BODY")]
    data: Option<String>,
}

/// How the requests of the open model are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Spacing {
    /// Equal gaps
    Even,
    /// Exponential gaps (Poisson process), as from many independent users
    Poisson,
}

/// The request cannot be made.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The body is not there.
    #[error("cannot read the body from {from}")]
    Body {
        /// What was given after the `@`.
        from: String,
        /// The system's error.
        source: io::Error,
    },
    /// The URL, the method or a header cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl RequestArgs {
    /// The request, ready to be sent to `url`, whose address is among `servers`.
    ///
    /// # Errors
    /// Where the body cannot be read, or a part of the request cannot be sent.
    pub fn target(&self, url: &str, servers: &mut Servers<'_>) -> Result<Target, RequestError> {
        let body = self.data.as_deref().map(body).transpose()?;
        let method = self.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" });
        Ok(Target::at(servers, url, method, &self.headers, &body.unwrap_or_default())?)
    }

    /// The headers, for requests that come from elsewhere.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }
}

impl Spacing {
    /// The arrivals; `seed` matters only where they are random.
    pub fn seeded(self, seed: u64) -> Arrivals {
        match self {
            Spacing::Even => Arrivals::Even,
            Spacing::Poisson => Arrivals::Poisson { seed },
        }
    }
}

fn body(data: &str) -> Result<Vec<u8>, RequestError> {
    let Some(from) = data.strip_prefix('@') else { return Ok(data.into()) };
    let bytes = if from == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(from)
    };
    bytes.map_err(|source| RequestError::Body { from: from.to_owned(), source })
}
