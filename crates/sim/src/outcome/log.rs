//! A log of bounded length.

use units::Timestamp;

/// An entry and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Noted<T> {
    /// From the beginning of the simulated time.
    pub at: Timestamp,
    /// The entry.
    pub what: T,
}

/// The first [`Log::MOST`] entries, and the number of later ones.
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
    /// The maximum number of entries.
    pub const MOST: usize = 20_000;

    /// Adds an entry.
    pub fn note(&mut self, at: Timestamp, what: T) {
        self.note_with(at, || what);
    }

    /// Adds an entry that is only created if there is room for it.
    pub fn note_with(&mut self, at: Timestamp, what: impl FnOnce() -> T) {
        if self.notes.len() < Self::MOST {
            self.notes.push(Noted { at, what: what() });
        } else {
            self.left_off += 1;
        }
    }

    /// The entries, in order of time.
    pub fn notes(&self) -> &[Noted<T>] {
        &self.notes
    }

    /// The number of entries that were not kept.
    pub fn left_off(&self) -> u64 {
        self.left_off
    }
}
