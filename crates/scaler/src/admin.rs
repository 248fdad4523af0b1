//! A client of a gateway's admin interface, and of the small pages of instances: one request at a time.
//!
//! A connection is kept. What responds may be anything that somebody has named by mistake, so time and size are
//! bounded and the response is read strictly.

use crate::settings::{Address, Gateway};
use http::codec::Limits;
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Why a gateway does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Nobody is there.
    #[error("cannot reach a gateway on {address}; is it running, with `admin: {address}` in its file?")]
    Unreachable {
        /// Where it was looked for.
        address: Address,
        /// The system's error.
        source: io::Error,
    },
    /// The gateway refuses.
    #[error("{address} responded {status}: {detail}")]
    Refused {
        /// Its address.
        address: Address,
        /// The status.
        status: u16,
        /// The reason, as the gateway gives it.
        detail: String,
    },
    /// Somebody is there who does not respond as a gateway does.
    #[error("{address} gave no valid response: {why}")]
    NotValid {
        /// Its address.
        address: Address,
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
}

/// A gateway, or anything else with small pages.
pub struct Admin {
    address: Address,
    token: Option<String>,
    patience: Duration,
    stream: Option<Box<dyn Stream>>,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").field("address", &self.address).finish_non_exhaustive()
    }
}

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

impl Admin {
    /// A client; the token is read now, nothing is connected yet.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn new(gateway: &Gateway) -> Result<Self, AdminError> {
        let token = match &gateway.token_file {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| AdminError::Token { path: path.clone(), source })?;
                Some(text.trim().to_owned())
            }
        };
        Ok(Admin { address: gateway.admin.clone(), token, patience: PATIENCE, stream: None })
    }

    /// A client of another program.
    pub(crate) fn of(address: Address, patience: Duration) -> Self {
        Admin { address, token: None, patience, stream: None }
    }

    /// The body of a page.
    ///
    /// # Errors
    /// Nobody responds, or not with 200.
    pub fn get(&mut self, path: &str) -> Result<Vec<u8>, AdminError> {
        self.request("GET", path, "")
    }

    /// A change.
    ///
    /// # Errors
    /// As [`Admin::get`].
    pub fn change(&mut self, method: &str, path: &str, body: &str) -> Result<(), AdminError> {
        self.request(method, path, body).map(|_| ())
    }

    fn request(&mut self, method: &str, path: &str, body: &str) -> Result<Vec<u8>, AdminError> {
        // One that was kept may have been closed meanwhile.
        if let Some(stream) = self.stream.take()
            && let Ok(answer) = self.ask(stream, method, path, body)
        {
            return self.judged(answer);
        }
        let unreachable = |source| AdminError::Unreachable { address: self.address.clone(), source };
        let stream = connect(&self.address, self.patience).map_err(unreachable)?;
        let answer =
            self.ask(stream, method, path, body).map_err(|error| self.not_valid(error.to_string()))?;
        self.judged(answer)
    }

    pub(crate) fn not_valid(&self, why: String) -> AdminError {
        AdminError::NotValid { address: self.address.clone(), why }
    }

    fn judged(&self, (status, body): (u16, Vec<u8>)) -> Result<Vec<u8>, AdminError> {
        if status == 200 {
            return Ok(body);
        }
        let detail = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
        let mut detail = detail["detail"].as_str().unwrap_or("no details").to_owned();
        if status == 401 {
            detail += "; give its token with `token_file`";
        }
        Err(AdminError::Refused { address: self.address.clone(), status, detail })
    }

    fn ask(
        &mut self,
        mut stream: Box<dyn Stream>,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<(u16, Vec<u8>)> {
        let host = match &self.address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let token =
            self.token.as_ref().map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let length = match method {
            "GET" => String::new(),
            _ => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
        };
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{token}{length}\r\n{body}");
        stream.write_all(request.as_bytes())?;
        let mut input = Vec::new();
        let (status, keep_alive, mut decoder, head_len) = loop {
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
            while used < input.len() && !decoder.is_done() {
                let step = decoder
                    .decode(&input[used..])
                    .map_err(|refusal| io::Error::other(refusal.to_string()))?;
                answer.extend_from_slice(&input[used..][step.data]);
                used += step.consumed;
            }
            if decoder.is_done() {
                break;
            }
            if answer.len() > ANSWER_BYTES_MAX {
                return Err(io::Error::other("its response is too long"));
            }
            input.drain(..used);
            used = 0;
            if let Err(error) = read_more(&mut *stream, &mut input) {
                // Where the end of the connection is the end of the response.
                decoder.closed().map_err(|_| error)?;
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
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended before the response")),
        count => {
            input.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}

fn connect(address: &Address, patience: Duration) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, patience)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(patience))?;
            Ok(Box::new(stream))
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(patience))?;
            Ok(Box::new(stream))
        }
    }
}

/// A gateway answers at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than the page of a thousand instances.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
