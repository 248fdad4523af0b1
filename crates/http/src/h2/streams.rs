//! The streams of a connection: a table indexed by stream number.
//!
//! ## Why numbers are skipped
//! A client numbers its streams itself: odd, rising, and gaps are allowed (RFC 9113, section 5.1.1). The index of a
//! stream is its number modulo the size of the table. If an old stream still occupies the index of the next number,
//! that number is skipped. So there is nothing to hash, nothing to search and nothing to allocate, and the table is
//! never larger than four times the number of streams that may be open.
//!
//! A closed stream keeps its index until another one needs it, which distinguishes late frames from invalid ones.

use super::frame::WINDOW_MAX;

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The request is sent, at least in part; the head of the response is awaited.
    Head,
    /// The head was received; data or a trailer follow.
    Body,
    /// Closed by the client, by a GOAWAY, or never opened: frames that still arrive are ignored.
    Left,
    /// Closed by the peer: no more of the response may arrive.
    Ended,
}

/// One request and its response.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) key: u32,
    pub(super) state: State,
    /// Whether the response has no body whatever length it states.
    pub(super) is_head_request: bool,
    /// Bytes of the body that are still to come, if the response stated a length.
    pub(super) body_left: Option<u64>,
    /// Bytes that the peer may still send.
    pub(super) receive_window: u32,
    /// Bytes that the client may still send; below 0 when the peer reduced the window.
    pub(super) send_window: i64,
    /// The part of the request's body that had to wait, and how much of it was sent.
    pub(super) unsent: Vec<u8>,
    pub(super) unsent_from: usize,
}

impl Stream {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Head | State::Body)
    }

    /// Whether a part of the request's body still waits.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent_from < self.unsent.len()
    }

    fn close(&mut self, state: State) -> bool {
        let had_unsent = self.has_unsent();
        self.state = state;
        if self.unsent.capacity() > UNSENT_KEPT_BYTES {
            self.unsent = Vec::new();
        }
        self.unsent.clear();
        self.unsent_from = 0;
        had_unsent
    }
}

/// All streams of a connection.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// A power of two.
    places: Box<[Stream]>,
    next_id: u32,
    open: u32,
}

impl Streams {
    /// A table for up to `open_max` open streams.
    pub(super) fn new(open_max: u32) -> Streams {
        let free = Stream {
            id: 0,
            key: 0,
            state: State::Left,
            is_head_request: false,
            body_left: None,
            receive_window: 0,
            send_window: 0,
            unsent: Vec::new(),
            unsent_from: 0,
        };
        // Half of the table stays free, so that long streams rarely block a number.
        let places = vec![free; (open_max as usize * 2).next_power_of_two()];
        Streams { places: places.into_boxed_slice(), next_id: 1, open: 0 }
    }

    /// Open streams.
    pub(super) fn open_count(&self) -> u32 {
        self.open
    }

    /// Whether numbers are left, even if as many must be skipped as the table is long.
    pub(super) fn has_numbers(&self) -> bool {
        self.next_id < WINDOW_MAX - 2 * self.places.len() as u32
    }

    /// Opens a stream at the next free index. The caller has checked that another one may be opened.
    #[inline]
    pub(super) fn open(&mut self, key: u32, is_head_request: bool) -> &mut Stream {
        while self.places[self.place(self.next_id)].is_open() {
            self.next_id += 2;
        }
        let place = self.place(self.next_id);
        let stream = &mut self.places[place];
        stream.id = self.next_id;
        stream.key = key;
        stream.state = State::Head;
        stream.is_head_request = is_head_request;
        stream.body_left = None;
        self.next_id += 2;
        self.open += 1;
        stream
    }

    /// Whether no request has had this number yet, so that no frame may have it either.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id >= self.next_id
    }

    /// The stream with this number, even if it is closed, while its index was not reused.
    #[inline]
    pub(super) fn find(&mut self, id: u32) -> Option<&mut Stream> {
        let place = self.place(id);
        Some(&mut self.places[place]).filter(|stream| stream.id == id)
    }

    /// The stream with this number if it is open.
    #[inline]
    pub(super) fn find_open(&mut self, id: u32) -> Option<&mut Stream> {
        self.find(id).filter(|stream| stream.is_open())
    }

    /// All open streams.
    pub(super) fn iter_open(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.places.iter_mut().filter(|stream| stream.is_open())
    }

    /// Closes an open stream. Returns whether a part of its request's body had not been sent.
    #[inline]
    pub(super) fn close(&mut self, id: u32, state: State) -> bool {
        let Some(stream) = self.find_open(id) else { return false };
        let had_unsent = stream.close(state);
        self.open -= 1;
        had_unsent
    }

    /// Leaves all open streams above `last`, and calls `left` with the key of each.
    pub(super) fn leave_above(&mut self, last: u32, mut left: impl FnMut(u32)) {
        for stream in self.places.iter_mut().filter(|stream| stream.is_open() && stream.id > last) {
            stream.close(State::Left);
            self.open -= 1;
            left(stream.key);
        }
    }

    #[inline]
    fn place(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.places.len() - 1)
    }

    #[cfg(test)]
    pub(super) fn skip_to(&mut self, id: u32) {
        self.next_id = id;
    }
}

/// The largest memory for a waiting body that is kept for the next one, in bytes.
const UNSENT_KEPT_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_keeps_its_place_and_others_go_round_it() {
        let mut streams = Streams::new(3);
        let long = streams.open(7, false).id;
        let mut ids = Vec::new();
        for key in 0..30 {
            let id = streams.open(key, false).id;
            ids.push(id);
            assert_eq!(streams.find_open(long).map(|stream| stream.key), Some(7));
            assert_eq!(streams.find_open(id).map(|stream| stream.key), Some(key));
            streams.close(id, State::Ended);
            assert_eq!(streams.open_count(), 1);
        }
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(!ids.contains(&(long + 16)), "its place is taken");
        assert!(streams.find(ids[0]).is_none(), "forgotten");
        assert!(!streams.is_idle(ids[0]) && streams.is_idle(2) && streams.is_idle(ids[29] + 2));
    }

    #[test]
    fn numbers_run_out_before_they_overflow() {
        let mut streams = Streams::new(4);
        streams.skip_to(WINDOW_MAX - 18);
        assert!(streams.has_numbers());
        (0..4).for_each(|key| assert!(streams.open(key, false).id < WINDOW_MAX));
        assert!(!streams.has_numbers());
    }
}
