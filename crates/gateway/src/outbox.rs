//! Bytes that wait for room in a socket.
//!
//! A write nearly always takes everything, so the bytes of the caller are written straight away and only what did
//! not fit is kept. Whoever fills an outbox looks at [`Outbox::is_empty`] first and stops reading its source while
//! something waits: that bounds it to one read's worth.
//!
//! Answers of which more follow at once may be held, so that they leave in one write; whoever holds them lets them go
//! before it does anything else with the connection.

use http::reactor::Net;
use std::io::{self, ErrorKind};

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Vec<u8>,
    written: usize,
    /// What waits does so for more, not for room.
    held: bool,
}

impl Outbox {
    /// Nothing waits for room.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() || self.held
    }

    /// How many bytes wait.
    pub(crate) fn bytes(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.written = 0;
        self.held = false;
    }

    /// Sends bytes behind those that wait, as far as they fit; keeps the rest.
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

    /// Keeps bytes for the next ones, where nothing waits for room; with many of them, sends all.
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

    /// Sends what is held.
    #[inline]
    pub(crate) fn let_go<N: Net>(&mut self, net: &mut N, stream: &mut N::Stream) -> io::Result<()> {
        if std::mem::take(&mut self.held) { self.flush(net, stream) } else { Ok(()) }
    }

    /// Sends what waits, as far as it fits.
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

/// An idle connection keeps at most this much memory for its next answer.
const KEPT_BYTES: usize = 4 * 1024;

/// The most that is held: some forty refusals.
const HELD_BYTES: usize = 16 * 1024;
