//! Queues linked through the slots of a slab: joining and leaving allocate nothing.

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// An element of a [`Queue`].
pub(super) trait Next {
    fn next(&mut self) -> &mut u32;
}

/// First in, first out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { head: NONE, tail: NONE, len: 0 }
    }
}

impl Queue {
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(super) fn push<T: Next>(&mut self, slots: &mut [T], slot: u32) {
        *slots[slot as usize].next() = NONE;
        if self.len == 0 {
            self.head = slot;
        } else {
            *slots[self.tail as usize].next() = slot;
        }
        self.tail = slot;
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop<T: Next>(&mut self, slots: &mut [T]) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let slot = self.head;
        self.head = *slots[slot as usize].next();
        self.len -= 1;
        Some(slot)
    }
}

/// An element of a [`List`].
pub(super) trait Links {
    /// Before and after.
    fn links(&mut self) -> &mut [u32; 2];
}

/// As a queue, but any element can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    ends: [u32; 2],
}

impl Default for List {
    fn default() -> Self {
        List { ends: [NONE; 2] }
    }
}

impl List {
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.ends[0] != NONE).then_some(self.ends[0])
    }

    #[inline]
    pub(super) fn push<T: Links>(&mut self, slots: &mut [T], slot: u32) {
        let last = self.ends[1];
        *slots[slot as usize].links() = [last, NONE];
        match last {
            NONE => self.ends[0] = slot,
            last => slots[last as usize].links()[1] = slot,
        }
        self.ends[1] = slot;
    }

    #[inline]
    pub(super) fn remove<T: Links>(&mut self, slots: &mut [T], slot: u32) {
        let [before, after] = *slots[slot as usize].links();
        match before {
            NONE => self.ends[0] = after,
            before => slots[before as usize].links()[1] = after,
        }
        match after {
            NONE => self.ends[1] = before,
            after => slots[after as usize].links()[0] = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Slot(u32, [u32; 2]);
    impl Next for Slot {
        fn next(&mut self) -> &mut u32 {
            &mut self.0
        }
    }
    impl Links for Slot {
        fn links(&mut self) -> &mut [u32; 2] {
            &mut self.1
        }
    }

    #[test]
    fn a_queue_keeps_the_order() {
        let mut slots = [Slot(0, [0; 2]); 4];
        let mut queue = Queue::default();
        for slot in [2, 0, 3] {
            queue.push(&mut slots, slot);
        }
        assert_eq!(queue.pop(&mut slots), Some(2));
        queue.push(&mut slots, 2);
        assert_eq!(queue.len(), 3);
        assert_eq!(std::array::from_fn(|_| queue.pop(&mut slots)), [Some(0), Some(3), Some(2), None]);
    }

    #[test]
    fn anything_can_be_taken_out_of_a_list() {
        let mut slots = [Slot(0, [0; 2]); 4];
        let mut list = List::default();
        (0..4).for_each(|slot| list.push(&mut slots, slot));
        for (gone, first) in [(2, Some(0)), (0, Some(1)), (3, Some(1)), (1, None)] {
            list.remove(&mut slots, gone);
            assert_eq!(list.first(), first);
        }
        list.push(&mut slots, 3);
        assert_eq!(list.first(), Some(3));
    }
}
