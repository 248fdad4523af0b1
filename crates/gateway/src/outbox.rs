//! Bytes that wait for space in a socket.
//!
//! A write nearly always takes everything, so the caller's bytes are written directly and only the rest is kept. A
//! caller checks [`Outbox::is_empty`] first and stops reading its source while bytes wait: that bounds the outbox to
//! one read's worth.
//!
//! A response may be held if more follow at once, so that they are sent in one write; the caller sends held responses
//! before it does anything else with the connection.

use http::reactor::Net;
use std::io::{self, ErrorKind};

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Vec<u8>,
    written: usize,
    /// The bytes wait for more bytes, not for space in the socket.
    held: bool,
}

impl Outbox {
    /// No bytes wait for space.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() || self.held
    }

    /// How many bytes wait.
    pub(crate) fn bytes(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Drops the bytes that wait.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.written = 0;
        self.held = false;
    }

    /// Appends bytes and sends as much as fits; keeps the rest.
    pub(crate) fn send<N: Net>(
        &mut self,
        net: &mut N,
        stream: &mut N::Stream,
        mut bytes: &[u8],
    ) -> io::Result<()> {
        if self.held {
            self.waiting.extend_from_slice(bytes);
            return self.let_go(net, stream);
        }
        if self.waiting.is_empty() {
            while !bytes.is_empty() {
                match net.write(stream, bytes) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(count) => bytes = &bytes[count..],
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    /// Keeps bytes for a later write, if none wait for space; sends all if there are many.
    pub(crate) fn hold<N: Net>(
        &mut self,
        net: &mut N,
        stream: &mut N::Stream,
        bytes: &[u8],
    ) -> io::Result<()> {
        if !self.is_empty() || self.waiting.len() + bytes.len() > HELD_BYTES {
            return self.send(net, stream, bytes);
        }
        self.waiting.extend_from_slice(bytes);
        self.held = true;
        Ok(())
    }

    /// Sends the held bytes.
    #[inline]
    pub(crate) fn let_go<N: Net>(&mut self, net: &mut N, stream: &mut N::Stream) -> io::Result<()> {
        if std::mem::take(&mut self.held) { self.flush(net, stream) } else { Ok(()) }
    }

    /// Sends the waiting bytes, as far as they fit.
    pub(crate) fn flush<N: Net>(&mut self, net: &mut N, stream: &mut N::Stream) -> io::Result<()> {
        while self.written < self.waiting.len() {
            match net.write(stream, &self.waiting[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.clear();
        if self.waiting.capacity() > KEPT_BYTES {
            self.waiting = Vec::new();
        }
        Ok(())
    }
}

/// The most memory that an idle connection keeps for its next response.
const KEPT_BYTES: usize = 4 * 1024;

/// The most bytes that are held: some forty refusals.
const HELD_BYTES: usize = 16 * 1024;
