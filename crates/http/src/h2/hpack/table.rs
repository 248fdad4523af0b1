//! The dynamic table: the fields that the peer has indexed, newest first.
//!
//! ## Why one buffer
//! A field may be added per request for as long as the connection exists. All names and values are in one buffer, the
//! newest at its end; when the unused part in front is as large as the largest table, the rest moves to the front. So
//! nothing is allocated for a field, and a byte moves at most once.
//!
//! Source: RFC 7541, sections 2.3.2 and 4.

use std::collections::VecDeque;

/// Fields; the oldest are evicted when they exceed the table size.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Names and values of the entries in order of age, after the evicted ones.
    bytes: Vec<u8>,
    /// The newest entry first.
    entries: VecDeque<Entry>,
    /// The size of all entries as the RFC counts it, in bytes.
    size: u32,
    size_max: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The offset of the name in `bytes`; the value follows.
    at: usize,
    name_len: u32,
    value_len: u32,
}

impl Table {
    /// An empty table of at most `size_max` bytes.
    pub(super) fn new(size_max: u32) -> Table {
        Table { bytes: Vec::new(), entries: VecDeque::new(), size: 0, size_max }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The size as the RFC counts it, in bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// The field at `index`, from 0 for the newest.
    #[inline]
    pub(super) fn field(&self, index: u32) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(index as usize)?;
        let (name, rest) = self.bytes[entry.at..].split_at(entry.name_len as usize);
        Some((name, &rest[..entry.value_len as usize]))
    }

    /// Adds a field and evicts those that no longer fit. One that is larger than the table empties it.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        let size = entry_size(name.len() as u32, value.len() as u32);
        self.evict(self.size_max.saturating_sub(size));
        if size > self.size_max {
            return;
        }
        self.forget_evicted();
        let at = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_front(Entry { at, name_len: name.len() as u32, value_len: value.len() as u32 });
        self.size += size;
    }

    /// Changes the bound, in bytes.
    pub(super) fn set_size_max(&mut self, size_max: u32) {
        self.size_max = size_max;
        self.evict(size_max);
    }

    #[cfg(any(test, feature = "laws"))]
    pub(super) fn kept_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    fn evict(&mut self, size_max: u32) {
        while self.size > size_max
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry_size(entry.name_len, entry.value_len);
        }
    }

    fn forget_evicted(&mut self) {
        let front = self.entries.back().map_or(self.bytes.len(), |oldest| oldest.at);
        if front > 0 && front >= self.size_max as usize {
            self.bytes.drain(..front);
            self.entries.iter_mut().for_each(|entry| entry.at -= front);
        }
    }
}

/// RFC 7541, section 4.1.
fn entry_size(name_len: u32, value_len: u32) -> u32 {
    name_len.saturating_add(value_len).saturating_add(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_that_fit_in_bounded_memory() {
        let mut table = Table::new(200);
        for number in 0..10_000_u32 {
            let value = number.to_string();
            table.add(b"name", value.as_bytes());
            assert_eq!(table.field(0), Some((&b"name"[..], value.as_bytes())));
            assert_eq!(table.len(), if number < 4 { number + 1 } else { 5 - u32::from(value.len() > 4) });
            assert!(table.bytes.len() <= 400);
        }
        assert_eq!(table.field(3), Some((&b"name"[..], &b"9996"[..])));
        assert_eq!(table.field(5), None);
        table.add(&[b'x'; 300], b"");
        assert_eq!((table.len(), table.size()), (0, 0));
    }

    #[test]
    fn a_smaller_bound_evicts() {
        let mut table = Table::new(100);
        table.add(b"a", b"b");
        table.add(b"c", b"d");
        table.set_size_max(40);
        assert_eq!((table.len(), table.size()), (1, 34));
        assert_eq!(table.field(0), Some((&b"c"[..], &b"d"[..])));
        table.set_size_max(0);
        table.add(b"a", b"b");
        assert_eq!(table.len(), 0);
    }
}
