//! The runnable entities of one fair run queue, in order of the key they are picked by.
//!
//! Model.      A sorted array: 6.1 orders by `vruntime`, later ones by `deadline`. Entities with equal keys keep the
//!             order in which they came, as in the kernel's tree, where a tie goes to the right. The order is all
//!             that picking depends on: `pick_eevdf` takes the first eligible entity in it.
//! Invariants. Keys are compared as signed differences, so they may wrap; the running entity is not in it; an
//!             entity's `key`, `vruntime` and `slice` do not change while it is.
//! Cost.       One contiguous scan. Queues are short (tens of entities), where this beats a balanced tree by the
//!             cache misses it does not take; insertion moves up to n × 32 bytes.
//! Source.     kernel/sched/fair.c `__enqueue_entity`, `__dequeue_entity`, `pick_eevdf` @ 6.1, 6.12.

use crate::units::SeId;
use alloc::vec::Vec;

/// An entity in line, with what picking looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the line is ordered by.
    pub key: u64,
    /// Virtual runtime, for eligibility.
    pub vruntime: u64,
    /// Slice, for the group's own slice.
    pub slice: u64,
    /// Whose place this is.
    pub se: SeId,
}

/// Entities in order of their key.
#[derive(Clone, Default, Debug)]
pub struct Timeline {
    entries: Vec<Entry>,
}

impl Timeline {
    /// Nobody in line.
    pub const fn new() -> Self {
        Timeline {
            entries: Vec::new(),
        }
    }

    /// How many are in line.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nobody in line?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts an entity in its place, behind those with an equal key.
    #[inline]
    pub fn insert(&mut self, entry: Entry) {
        if self.entries.capacity() == 0 {
            // Most queues of a machine with many groups never hold more than one.
            self.entries.reserve_exact(1);
        }
        // From the back: an entity that ran has moved away from the front.
        let mut at = self.entries.len();
        while at > 0 && (entry.key.wrapping_sub(self.entries[at - 1].key) as i64) < 0 {
            at -= 1;
        }
        self.entries.insert(at, entry);
    }

    /// Takes an entity out.
    ///
    /// # Panics
    /// If it is not in line.
    #[inline]
    pub fn remove(&mut self, se: SeId) -> Entry {
        let at = self.position(se);
        self.entries.remove(at)
    }

    /// Gives an entity in line another place, behind those with an equal key.
    pub fn replace(&mut self, entry: Entry) {
        let at = self.position(entry.se);
        let after = |e: &Entry| (entry.key.wrapping_sub(e.key) as i64) >= 0;
        let stays = (at == 0 || after(&self.entries[at - 1]))
            && self.entries.get(at + 1).is_none_or(|next| !after(next));
        if stays {
            self.entries[at] = entry;
        } else {
            self.entries.remove(at);
            self.insert(entry);
        }
    }

    fn position(&self, se: SeId) -> usize {
        match self.entries.iter().position(|e| e.se == se) {
            Some(at) => at,
            None => panic!("{se:?} is not in the timeline"),
        }
    }

    /// The first in line.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.entries.first()
    }

    /// The one behind `se`.
    pub fn after(&self, se: SeId) -> Option<&Entry> {
        self.entries.get(self.position(se) + 1)
    }

    /// All in order.
    pub fn iter(&self) -> core::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The smallest slice in line.
    #[inline]
    pub fn min_slice(&self) -> Option<u64> {
        self.entries.iter().map(|e| e.slice).min()
    }

    /// The largest slice in line.
    #[inline]
    pub fn max_slice(&self) -> Option<u64> {
        self.entries.iter().map(|e| e.slice).max()
    }

    /// Changes the slice of an entity in line.
    pub fn set_slice(&mut self, se: SeId, slice: u64) {
        let at = self.position(se);
        self.entries[at].slice = slice;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: u64, se: u32) -> Entry {
        Entry {
            key,
            vruntime: key,
            slice: 10,
            se: SeId(se),
        }
    }

    #[test]
    fn equal_keys_keep_their_order_and_keys_may_wrap() {
        let mut line = Timeline::new();
        for (key, se) in [(5, 0), (u64::MAX - 1, 1), (5, 2), (3, 3)] {
            line.insert(entry(key, se));
        }
        let order: Vec<u32> = line.iter().map(|e| e.se.0).collect();
        assert_eq!(order, [1, 3, 0, 2]);
        assert_eq!(line.after(SeId(3)).map(|e| e.se), Some(SeId(0)));
        line.remove(SeId(3));
        assert_eq!(line.len(), 3);
    }

    #[test]
    fn another_place_is_the_one_behind_all_equal_keys() {
        for key in [1, 3, 4, 5, 6, 9] {
            let mut moved = Timeline::new();
            for (key, se) in [(3, 0), (5, 1), (5, 2), (7, 3)] {
                moved.insert(entry(key, se));
            }
            let mut anew = moved.clone();
            moved.replace(entry(key, 1));
            anew.remove(SeId(1));
            anew.insert(entry(key, 1));
            assert!(moved.iter().eq(anew.iter()), "{key}");
        }
    }
}
