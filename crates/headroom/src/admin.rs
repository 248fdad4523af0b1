//! Asks a running gateway or scaler: its status, over its address or its socket.
//!
//! A connection is kept, because `headroom top` asks ten times a second. What answers may be anything that somebody
//! has named by mistake, so time and size are bounded and the answer is read strictly.

use crate::exit::Exit;
use gateway::settings::{Admin, AdminAddress};
use http::codec::Limits;
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo};
use status::Status;
use status::scaler::Scaler;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The admin address, which every command that needs one names alike.
#[derive(Debug, Clone, clap::Args)]
pub struct AdminArgs {
    /// Admin address of the gateway: HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub admin: Option<AdminAddress>,
}

/// The token of a gateway that other machines reach.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TokenArgs {
    /// File with the gateway's admin token
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// Reads where a gateway's operator's side listens; names are looked up.
///
/// # Errors
/// A sentence that says how it is written.
pub fn address(text: &str) -> Result<AdminAddress, String> {
    text.parse::<AdminAddress>().or_else(|wrong| {
        let found = text.to_socket_addrs().map_err(|error| format!("{wrong} ({error})"))?;
        // A name such as localhost has two; `admin` usually listens on 127.0.0.1.
        let found = found.min_by_key(SocketAddr::is_ipv6);
        found.map(AdminAddress::Tcp).ok_or_else(|| "the name has no address".to_owned())
    })
}

/// Why a gateway does not say how it is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody is there.
    #[error(
        "cannot reach a gateway on {address}; is it running, with `admin: {address}` in its file or `--admin {address}`?"
    )]
    Unreachable {
        /// Where it was looked for.
        address: AdminAddress,
        /// The system's error.
        source: io::Error,
    },
    /// No scaler is there.
    #[error(
        "cannot reach a scaler on {address}; is it running, with `serve: {{ listen: '{address}' }}` in `live` of its file?"
    )]
    NoScaler {
        /// Where it was looked for.
        address: AdminAddress,
        /// The system's error.
        source: io::Error,
    },
    /// Somebody is there who does not answer as a gateway does.
    #[error("{address} gave no status: {why}")]
    NoStatus {
        /// Who.
        address: AdminAddress,
        /// What came instead.
        why: String,
    },
    /// The token cannot be read.
    #[error("cannot read the token file {}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file has no operator's side.
    #[error("{} has no `admin`: add `admin: 127.0.0.1:9901` and restart the gateway", path.display())]
    NoAdmin {
        /// The file.
        path: PathBuf,
    },
    /// The file is wrong, as was said.
    #[error("{} is no gateway file that can be used", path.display())]
    File {
        /// The file.
        path: PathBuf,
    },
}

/// What a running program says of itself.
pub enum Look {
    /// A gateway.
    Gateway(Box<Status>),
    /// A live scaler.
    Scaler(Box<Scaler>),
}

/// A running gateway, or a scaler.
pub struct Gateway {
    address: AdminAddress,
    is_scaler: bool,
    token: Option<String>,
    stream: Option<Box<dyn Stream>>,
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Error {
    /// How a command ends with it: wrong usage where what was given cannot be used.
    pub fn exit(&self) -> Exit {
        match self {
            Error::Unreachable { .. } | Error::NoScaler { .. } | Error::NoStatus { .. } => Exit::Failed,
            Error::Token { .. } | Error::NoAdmin { .. } | Error::File { .. } => Exit::Usage,
        }
    }
}

impl TokenArgs {
    /// The gateway at `address`, or the one of a gateway file, or the usual one.
    ///
    /// # Errors
    /// A file that is wrong, names no operator's side, or whose token cannot be read.
    pub fn gateway(&self, address: Option<&AdminAddress>, file: Option<&Path>) -> Result<Gateway, Error> {
        let of_file = match file {
            None => None,
            Some(path) => {
                let (settings, _) = config::read(path).map_err(|problems| {
                    crate::output::refuse(&problems);
                    Error::File { path: path.to_owned() }
                })?;
                Some(settings.admin.ok_or(Error::NoAdmin { path: path.to_owned() })?)
            }
        };
        let usual = || SocketAddr::from((Ipv4Addr::LOCALHOST, USUAL_PORT)).into();
        let Admin { listen, token_file } = of_file.unwrap_or_else(usual);
        let token = match self.token_file.as_ref().or(token_file.as_ref()) {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| Error::Token { path: path.clone(), source })?;
                Some(text.trim().to_owned())
            }
        };
        Ok(Gateway { address: address.cloned().unwrap_or(listen), is_scaler: false, token, stream: None })
    }
}

impl Gateway {
    /// A scaler; to read its status takes no token.
    pub fn scaler(address: &AdminAddress) -> Self {
        Gateway { address: address.clone(), is_scaler: true, token: None, stream: None }
    }

    /// Where it is.
    pub fn address(&self) -> &AdminAddress {
        &self.address
    }

    /// Asks for its status.
    ///
    /// # Errors
    /// Where nobody is there, or somebody else.
    pub fn status(&mut self) -> Result<Status, Error> {
        let text = self.get("/status")?;
        self.read(&text)
    }

    /// Asks for the status of whichever it is.
    ///
    /// # Errors
    /// Where nobody is there, or somebody else.
    pub fn look(&mut self) -> Result<Look, Error> {
        let text = self.get("/status")?;
        self.read_any(&text)
    }

    fn read_any(&self, text: &[u8]) -> Result<Look, Error> {
        if !self.is_scaler {
            return self.read(text).map(|status| Look::Gateway(Box::new(status)));
        }
        let status: Scaler = serde_json::from_slice(text)
            .map_err(|error| self.no_status(format!("its JSON is no status of a scaler ({error})")))?;
        // Another document may have none of the keys.
        if status.service.is_empty() {
            return Err(self.no_status("its JSON is no status of a scaler".to_owned()));
        }
        Ok(Look::Scaler(Box::new(status)))
    }

    /// Asks for its status as it is, also what this version of headroom does not know of.
    ///
    /// # Errors
    /// Where nobody is there, or somebody else.
    pub fn status_text(&mut self) -> Result<String, Error> {
        let text = self.get("/status")?;
        self.read_any(&text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn read(&self, text: &[u8]) -> Result<Status, Error> {
        serde_json::from_slice(text)
            .map_err(|error| self.no_status(format!("its JSON is no status ({error})")))
    }

    fn no_status(&self, why: String) -> Error {
        Error::NoStatus { address: self.address.clone(), why }
    }

    fn get(&mut self, path: &str) -> Result<Vec<u8>, Error> {
        // One that was kept may have been closed meanwhile.
        if let Some(stream) = self.stream.take()
            && let Ok(answer) = self.ask(stream, path)
        {
            return self.judged(answer);
        }
        let unreachable = |source| match self.is_scaler {
            true => Error::NoScaler { address: self.address.clone(), source },
            false => Error::Unreachable { address: self.address.clone(), source },
        };
        let stream = connect(&self.address).map_err(unreachable)?;
        let answer = self.ask(stream, path).map_err(|error| self.no_status(error.to_string()))?;
        self.judged(answer)
    }

    fn judged(&mut self, (status, body): (u16, Vec<u8>)) -> Result<Vec<u8>, Error> {
        if status == 200 {
            return Ok(body);
        }
        let detail = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
        let detail = detail["detail"].as_str().map(|detail| format!(": {detail}")).unwrap_or_default();
        let hint = if status == 401 { "; give --token-file FILE" } else { "" };
        Err(self.no_status(format!("it answered {status}{detail}{hint}")))
    }

    fn ask(&mut self, mut stream: Box<dyn Stream>, path: &str) -> io::Result<(u16, Vec<u8>)> {
        let host = match &self.address {
            AdminAddress::Tcp(address) => address.to_string(),
            AdminAddress::Unix(_) => "localhost".to_owned(),
        };
        let token =
            self.token.as_ref().map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}\r\n").as_bytes())?;
        let mut input = Vec::new();
        let (status, keep_alive, mut body, head_len) = loop {
            read_more(&mut *stream, &mut input)?;
            let mut slots = slots();
            let head = response::parse(&input, AnswerTo::Other, &Limits::default(), &mut slots);
            match head.map_err(|refusal| io::Error::other(refusal.to_string()))? {
                Some(head) => {
                    break (head.status, head.keep_alive, Decoder::new(head.framing), head.head_len);
                }
                None => continue,
            }
        };
        let mut answer = Vec::new();
        let mut used = head_len;
        loop {
            while used < input.len() && !body.is_done() {
                let step =
                    body.decode(&input[used..]).map_err(|refusal| io::Error::other(refusal.to_string()))?;
                answer.extend_from_slice(&input[used..][step.data]);
                used += step.consumed;
            }
            if body.is_done() {
                break;
            }
            if answer.len() > ANSWER_BYTES_MAX {
                return Err(io::Error::other("its answer is too long for a status"));
            }
            input.drain(..used);
            used = 0;
            if let Err(error) = read_more(&mut *stream, &mut input) {
                // Where the end of the connection is the end of the answer.
                body.closed().map_err(|_| error)?;
                return Ok((status, answer));
            }
        }
        if keep_alive {
            self.stream = Some(stream);
        }
        Ok((status, answer))
    }
}

fn read_more(stream: &mut dyn Stream, input: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended before the answer")),
        count => {
            input.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}

fn connect(address: &AdminAddress) -> io::Result<Box<dyn Stream>> {
    match address {
        AdminAddress::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(Box::new(stream))
        }
        AdminAddress::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(Box::new(stream))
        }
    }
}

/// The port that `headroom find` writes into its gateway files.
const USUAL_PORT: u16 = 9901;

/// A gateway answers at once.
const PATIENCE: Duration = Duration::from_secs(3);

/// More than the status of a thousand routes.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
