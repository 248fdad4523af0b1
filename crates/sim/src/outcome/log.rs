//! A record of bounded length.

use units::Timestamp;

/// What was noted, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Noted<T> {
    /// From the beginning of the simulated time.
    pub at: Timestamp,
    /// What.
    pub what: T,
}

/// The first [`Log::MOST`] notes, and how many came after them.
#[derive(Debug, Clone, PartialEq)]
pub struct Log<T> {
    notes: Vec<Noted<T>>,
    left_off: u64,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log { notes: Vec::new(), left_off: 0 }
    }
}

impl<T> Log<T> {
    /// The most that is kept.
    pub const MOST: usize = 20_000;

    /// Notes something.
    pub fn note(&mut self, at: Timestamp, what: T) {
        self.note_with(at, || what);
    }

    /// Notes something that is only put together where there is room for it.
    pub fn note_with(&mut self, at: Timestamp, what: impl FnOnce() -> T) {
        if self.notes.len() < Self::MOST {
            self.notes.push(Noted { at, what: what() });
        } else {
            self.left_off += 1;
        }
    }

    /// What was noted, in order of time.
    pub fn notes(&self) -> &[Noted<T>] {
        &self.notes
    }

    /// How many more there were than are kept.
    pub fn left_off(&self) -> u64 {
        self.left_off
    }
}
