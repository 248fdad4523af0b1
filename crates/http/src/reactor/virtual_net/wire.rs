//! One connection: the bytes that have arrived at the loop under test, and those that wait for its peer.

use crate::reactor::{Ready, Token};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use units::Timestamp;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// In an orderly way.
    Finished,
    /// By a reset.
    Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Pending { succeeds: bool },
    Connected,
    Refused,
}

#[derive(Debug)]
pub(super) struct Wire {
    token: Token,
    pub(super) attempt: Attempt,
    pub(super) last_arrival: Timestamp,
    /// Arrived and not read.
    arrived: VecDeque<u8>,
    arrived_end: Option<End>,
    /// The peer has closed both directions.
    peer_closed: bool,
    /// Written and not read by the peer.
    written: VecDeque<u8>,
    written_end: Option<End>,
    /// A write was refused: the next space is reported.
    wants_room: bool,
    closed: bool,
}

impl Wire {
    pub(super) fn new(token: Token, attempt: Attempt) -> Self {
        Wire {
            token,
            attempt,
            last_arrival: Timestamp::ZERO,
            arrived: VecDeque::new(),
            arrived_end: None,
            peer_closed: false,
            written: VecDeque::new(),
            written_end: None,
            wants_room: false,
            closed: false,
        }
    }

    pub(super) fn is_reset(&self) -> bool {
        self.arrived_end == Some(End::Reset)
    }

    fn said(&self, readable: bool, writable: bool) -> Ready {
        let closed = self.arrived_end.is_some() || self.attempt == Attempt::Refused;
        let broken = self.is_reset();
        Ready { token: self.token, readable, writable, closed, broken }
    }

    /// Watched from now on: the present readiness is reported.
    pub(super) fn watch(&mut self, token: Token) -> Ready {
        self.token = token;
        self.said(!self.arrived.is_empty(), true)
    }

    pub(super) fn attempted(&mut self) -> Option<Ready> {
        let Attempt::Pending { succeeds } = self.attempt else { return None };
        self.attempt = if succeeds { Attempt::Connected } else { Attempt::Refused };
        (!self.closed).then(|| self.said(false, true))
    }

    pub(super) fn arrived(&mut self, bytes: &[u8]) -> Option<Ready> {
        if self.closed {
            self.break_for_peer();
            return None;
        }
        self.arrived.extend(bytes);
        Some(self.said(true, false))
    }

    pub(super) fn ended(&mut self, end: End) -> Option<Ready> {
        if self.arrived_end != Some(End::Reset) {
            self.arrived_end = Some(end);
        }
        (!self.closed).then(|| self.said(true, end == End::Reset))
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.attempt != Attempt::Connected {
            return Err(ErrorKind::NotConnected.into());
        }
        let count = self.arrived.len().min(into.len());
        if count > 0 {
            for (to, byte) in into.iter_mut().zip(self.arrived.drain(..count)) {
                *to = byte;
            }
            return Ok(count);
        }
        match self.arrived_end {
            None => Err(ErrorKind::WouldBlock.into()),
            Some(End::Finished) => Ok(0),
            Some(End::Reset) => Err(ErrorKind::ConnectionReset.into()),
        }
    }

    /// How much a write may take now.
    pub(super) fn room(&self) -> io::Result<usize> {
        if self.attempt != Attempt::Connected {
            return Err(ErrorKind::NotConnected.into());
        }
        if self.arrived_end == Some(End::Reset) || self.written_end.is_some() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        Ok(WINDOW_BYTES.saturating_sub(self.written.len()))
    }

    /// A write was refused. If there `is_room`, returns the readiness to report later.
    pub(super) fn wants_room(&mut self, is_room: bool) -> Option<Ready> {
        self.wants_room = !is_room;
        is_room.then(|| self.said(false, true))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.written.extend(bytes);
    }

    pub(super) fn receive(&mut self, max: usize) -> (Vec<u8>, Option<End>, Option<Ready>) {
        let bytes: Vec<u8> = self.written.drain(..max.min(self.written.len())).collect();
        let end = self.written_end.filter(|_| self.written.is_empty());
        let ready = (self.wants_room && !bytes.is_empty() && !self.closed).then(|| self.said(false, true));
        self.wants_room &= ready.is_none();
        (bytes, end, ready)
    }

    pub(super) fn shut_down(&mut self) {
        self.written_end = self.written_end.or(Some(End::Finished));
    }

    /// The loop under test has dropped its end. Bytes that it has not read make that a reset, as in the kernel.
    pub(super) fn close(&mut self) {
        self.closed = true;
        if self.arrived.is_empty() {
            self.shut_down();
        } else {
            self.break_for_peer();
        }
    }

    pub(super) fn is_closed_here(&self) -> bool {
        self.closed
    }

    /// The peer sees a reset; bytes that it has not read by then are lost.
    pub(super) fn break_for_peer(&mut self) {
        self.written.clear();
        self.written_end = Some(End::Reset);
    }

    /// How the loop under test sees a close of the peer now.
    pub(super) fn peer_closes(&mut self) -> End {
        self.peer_closed = true;
        if self.written.is_empty() { End::Finished } else { End::Reset }
    }

    /// The peer has closed: written bytes cause a reset.
    pub(super) fn peer_gone(&self) -> bool {
        self.peer_closed
    }
}

/// Small, so that most responses meet a full window.
const WINDOW_BYTES: usize = 3_000;
