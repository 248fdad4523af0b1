//! TLS of one connection: socket bytes on one side, plain bytes on the other.

use super::client::iana_name;
use super::{TlsFailure, Version};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic,
};
use rustls::{ClientConfig, Error, HandshakeKind, ProtocolVersion};
use rustls_pki_types::ServerName;
use std::fmt;
use std::mem;
use std::sync::Arc;

/// The client's side of one TLS connection.
///
/// The owner reads and writes the socket. After each call, the output of [`Session::flush`] goes to the socket before
/// anything else; [`Session::send`] already puts it before the request. This also applies after a failure: it sends the
/// alert to the other side.
pub struct Session {
    connection: UnbufferedClientConnection,
    /// The beginning of an incomplete record.
    incomplete: Vec<u8>,
    /// Pending output of the handshake.
    outgoing: Vec<u8>,
    /// Bytes to be sent after the handshake.
    early: Vec<u8>,
    peer_closed: bool,
    failed: Option<(TlsFailure, Error)>,
}

/// The action once application data may be sent.
#[derive(Clone, Copy)]
enum Then<'a> {
    Nothing,
    Send(&'a [u8]),
    CloseNotify,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("handshaking", &self.is_handshaking())
            .field("version", &self.version())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let mut session = Session {
            connection: UnbufferedClientConnection::new(config, name)?,
            incomplete: Vec::new(),
            outgoing: Vec::new(),
            early: Vec::new(),
            peer_closed: false,
            failed: None,
        };
        let mut out = Vec::new();
        session.drive(&mut [], &mut Vec::new(), Then::Nothing, &mut out).1?;
        session.outgoing = out;
        Ok(session)
    }

    /// Takes all bytes that arrived at the socket, and appends the decrypted data to `plain`. `input` is decrypted in
    /// place: its contents are used up. There may be output to [`flush`](Session::flush) afterwards.
    ///
    /// # Errors
    /// Why the connection cannot continue. Data decrypted before that is in `plain`.
    pub fn received(&mut self, input: &mut [u8], plain: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.intact()?;
        let mut out = mem::take(&mut self.outgoing);
        let early = mem::take(&mut self.early);
        let then = if early.is_empty() { Then::Nothing } else { Then::Send(&early) };
        let result = if self.incomplete.is_empty() {
            let (used, result) = self.drive(input, plain, then, &mut out);
            self.incomplete.extend_from_slice(&input[used..]);
            result
        } else {
            let mut bytes = mem::take(&mut self.incomplete);
            bytes.extend_from_slice(input);
            let (used, result) = self.drive(&mut bytes, plain, then, &mut out);
            if used < bytes.len() {
                bytes.drain(..used);
                self.incomplete = bytes;
            } else if bytes.capacity() <= KEPT_BYTES {
                bytes.clear();
                self.incomplete = bytes;
            }
            result
        };
        self.outgoing = out;
        match result {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.early = early;
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Appends to `out` the bytes that carry `plain` to the other side. During the handshake `plain` is kept, and sent
    /// when the handshake ends.
    ///
    /// # Errors
    /// Why the connection cannot continue.
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.then(Then::Send(plain), out)
    }

    /// Appends the output of the handshake to `out`; mostly nothing.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.outgoing);
    }

    /// Appends a close_notify to `out`. During the handshake there is nothing to send.
    ///
    /// # Errors
    /// The connection had failed already.
    pub fn close_notify(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.then(Then::CloseNotify, out)
    }

    /// Whether the handshake is still in progress.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The negotiated application protocol.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The negotiated version; `None` until then.
    pub fn version(&self) -> Option<Version> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(Version::Tls12),
            ProtocolVersion::TLSv1_3 => Some(Version::Tls13),
            _ => None,
        }
    }

    /// The negotiated cipher, by its name in IANA's registry; `None` until then.
    pub fn cipher(&self) -> Option<&'static str> {
        self.connection.negotiated_cipher_suite().map(|suite| iana_name(&suite))
    }

    /// Whether an earlier session was resumed, which saves most of the handshake's work; `false` until known.
    pub fn resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether the other side has sent close_notify. A connection that ends without it may have been cut off by an
    /// attacker.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// The details of a failure, in rustls's words, such as the names in the certificate.
    pub fn detail(&self) -> Option<String> {
        self.failed.as_ref().map(|(_, error)| error.to_string())
    }

    fn then(&mut self, then: Then<'_>, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.intact()?;
        self.flush(out);
        let mut bytes = mem::take(&mut self.incomplete);
        // Complete records were decrypted when they arrived.
        let mut nothing = Vec::new();
        let (used, result) = self.drive(&mut bytes, &mut nothing, then, out);
        bytes.drain(..used);
        self.incomplete = bytes;
        match (result, then) {
            (Ok(false), Then::Send(plain)) => {
                self.early.extend_from_slice(plain);
                Ok(())
            }
            (Ok(_), _) => Ok(()),
            (Err(error), _) => Err(self.fail(error)),
        }
    }

    /// Lets rustls continue until it needs input or output: how much of `bytes` is used up, and whether the handshake
    /// has progressed so far that `then` was done.
    fn drive(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        then: Then<'_>,
        out: &mut Vec<u8>,
    ) -> (usize, Result<bool, Error>) {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut bytes[used..]);
            let done = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
                    match traffic.next_record() {
                        Some(Ok(record)) => {
                            plain.extend_from_slice(record.payload);
                            discard += record.discard;
                        }
                        Some(Err(error)) => break Some(Err(error)),
                        None => break None,
                    }
                },
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    encode(data, out);
                    None
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    None
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.peer_closed = true;
                    None
                }
                Ok(ConnectionState::WriteTraffic(traffic)) => Some(act(traffic, then, out).map(|()| true)),
                // After a close_notify on both sides nothing can be sent; clients have no early data.
                Ok(ConnectionState::Closed) => Some(Ok(true)),
                Ok(_) => Some(Ok(false)),
                Err(error) => Some(Err(error)),
            };
            used += discard;
            match done {
                None => {}
                Some(Err(error)) => {
                    self.last_words(&mut bytes[used..], out);
                    return (used, Err(error));
                }
                Some(result) => return (used, result),
            }
        }
    }

    /// The alert that reports the failure to the other side. rustls must be called exactly once per pending chunk:
    /// another call would continue to read after the error, and panics if that causes a second alert.
    fn last_words(&mut self, bytes: &mut [u8], out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            let Ok(ConnectionState::EncodeTlsData(data)) = self.connection.process_tls_records(bytes).state
            else {
                return;
            };
            encode(data, out);
        }
    }

    fn intact(&self) -> Result<(), TlsFailure> {
        self.failed.as_ref().map_or(Ok(()), |&(failure, _)| Err(failure))
    }

    fn fail(&mut self, error: Error) -> TlsFailure {
        let failure = TlsFailure::of(&error);
        self.failed = Some((failure, error));
        failure
    }
}

fn encode(mut data: EncodeTlsData<'_, ClientConnectionData>, out: &mut Vec<u8>) {
    append(out, HANDSHAKE_BYTES, |into| match data.encode(into) {
        Err(EncodeError::InsufficientSize(error)) => Err(error.required_size),
        other => Ok(other.unwrap_or(0)),
    });
}

fn act(
    mut traffic: WriteTraffic<'_, ClientConnectionData>,
    then: Then<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut exhausted = false;
    let mut fit = |result| match result {
        Err(EncryptError::InsufficientSize(error)) => Err(error.required_size),
        Err(EncryptError::EncryptExhausted) => {
            exhausted = true;
            Ok(0)
        }
        Ok(count) => Ok(count),
    };
    match then {
        Then::Nothing => {}
        Then::Send(plain) => {
            let room = plain.len() + (plain.len() / RECORD_BYTES + 1) * RECORD_OVERHEAD_BYTES;
            append(out, room, |into| fit(traffic.encrypt(plain, into)));
        }
        Then::CloseNotify => append(out, HANDSHAKE_BYTES, |into| fit(traffic.queue_close_notify(into))),
    }
    if exhausted { Err(Error::EncryptError) } else { Ok(()) }
}

/// Lets `write` fill the end of `out`, which has space for `room` bytes; `write` returns how many it wrote, or how many
/// it needs.
fn append(out: &mut Vec<u8>, room: usize, mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>) {
    let start = out.len();
    let mut room = room;
    loop {
        out.resize(start + room, 0);
        match write(&mut out[start..]) {
            Ok(count) => return out.truncate(start + count),
            Err(needed) if needed > room => room = needed,
            // It has the size that it asked for: another try cannot succeed.
            Err(_) => return out.truncate(start),
        }
    }
}

/// A larger buffer for incomplete records is freed: with 50,000 connections it would be most of the memory.
const KEPT_BYTES: usize = 2048;

/// The most that one record carries (RFC 8446, 5.1).
const RECORD_BYTES: usize = 16 * 1024;

/// A header of 5 bytes, and at most 8 of nonce, 1 of type and 16 of tag; more where a key is renewed.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// Enough for most output of a client's handshake at once.
const HANDSHAKE_BYTES: usize = 512;
