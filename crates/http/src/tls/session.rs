//! One connection's TLS: bytes of the socket on one side, plain bytes on the other.

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
/// The owner reads and writes the socket. After each call, what [`Session::flush`] gives goes to the socket before
/// anything else; [`Session::send`] has it in front of the request already. After a failure, too: the other side is
/// told why.
pub struct Session {
    connection: UnbufferedClientConnection,
    /// The beginning of a record that waits for its end.
    incomplete: Vec<u8>,
    /// What the handshake wants to say.
    outgoing: Vec<u8>,
    /// What was to be sent before the handshake had ended.
    early: Vec<u8>,
    peer_closed: bool,
    failed: Option<(TlsFailure, Error)>,
}

/// What to do once application data may be sent.
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

    /// Takes what arrived at the socket, all of it, and appends what it says to `plain`. `input` is decrypted where
    /// it stands: its contents are used up. There may be something to [`flush`](Session::flush) afterwards.
    ///
    /// # Errors
    /// Why the connection cannot go on. What was decrypted before that is in `plain`.
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

    /// Appends to `out` what the socket is to carry so that `plain` arrives at the other side. During the handshake
    /// `plain` is kept, and goes out when the handshake ends.
    ///
    /// # Errors
    /// Why the connection cannot go on.
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.then(Then::Send(plain), out)
    }

    /// Appends to `out` what the handshake wants to say; nothing, most of the time.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.outgoing);
    }

    /// Says goodbye: appends to `out` that nothing more will be sent. During the handshake there is nothing to say.
    ///
    /// # Errors
    /// Where the connection had failed already.
    pub fn close_notify(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.then(Then::CloseNotify, out)
    }

    /// Whether the handshake is still under way.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The application protocol that both sides agreed on.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The version that both sides agreed on; `None` until they have.
    pub fn version(&self) -> Option<Version> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(Version::Tls12),
            ProtocolVersion::TLSv1_3 => Some(Version::Tls13),
            _ => None,
        }
    }

    /// The cipher that both sides agreed on, by its name in IANA's registry; `None` until they have.
    pub fn cipher(&self) -> Option<&'static str> {
        self.connection.negotiated_cipher_suite().map(|suite| iana_name(&suite))
    }

    /// Whether an earlier session was taken up, which saves most of the handshake's work; `false` until known.
    pub fn resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether the other side said that it will send no more. A connection that ends without that may have been
    /// cut off by anyone.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// What exactly failed, in rustls's words, such as the names for which the certificate is.
    pub fn detail(&self) -> Option<String> {
        self.failed.as_ref().map(|(_, error)| error.to_string())
    }

    fn then(&mut self, then: Then<'_>, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        self.intact()?;
        self.flush(out);
        let mut bytes = mem::take(&mut self.incomplete);
        // Whatever was whole has been decrypted when it arrived.
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

    /// Lets rustls go on until it needs something: how much of `bytes` is used up, and whether the handshake has
    /// come so far that `then` was done.
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
                // After a goodbye on both sides there is nobody to send to; for clients there is no early data.
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

    /// The alert that tells the other side why we leave. rustls must not be asked once more than it has chunks to
    /// say: it would read on behind the error, and panics where that makes for a second alert.
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

/// Lets `write` fill the end of `out`, which has room for `room` bytes; `write` says how many it wrote, or how many
/// it needs.
fn append(out: &mut Vec<u8>, room: usize, mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>) {
    let start = out.len();
    let mut room = room;
    loop {
        out.resize(start + room, 0);
        match write(&mut out[start..]) {
            Ok(count) => return out.truncate(start + count),
            Err(needed) if needed > room => room = needed,
            // It has what it asked for: it will not get further.
            Err(_) => return out.truncate(start),
        }
    }
}

/// A buffer for incomplete records above this is given back: among 50,000 connections it would be most of the memory.
const KEPT_BYTES: usize = 2048;

/// The most that one record carries (RFC 8446, 5.1).
const RECORD_BYTES: usize = 16 * 1024;

/// A header of 5 bytes, and at most 8 of nonce, 1 of type and 16 of tag; more where a key is renewed.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// Enough for most of what a client's handshake says at once.
const HANDSHAKE_BYTES: usize = 512;
