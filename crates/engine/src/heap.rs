//! A four-way heap in one array.

use crate::winner_tree::NEVER;
use alloc::vec::Vec;

const ARITY: usize = 4;

/// An event and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<E> {
    pub(crate) key: u128,
    pub(crate) event: E,
}

/// Events in order of their keys, which differ.
#[derive(Clone, Debug)]
pub(crate) struct Heap<E> {
    entries: Vec<Entry<E>>,
}

impl<E: Copy> Heap<E> {
    /// No events.
    pub(crate) const fn new() -> Self {
        Heap {
            entries: Vec::new(),
        }
    }

    /// How many events wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The first event's key, larger than any if there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> u128 {
        self.entries.first().map_or(NEVER, |entry| entry.key)
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry<E>) {
        let mut hole = self.entries.len();
        self.entries.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.entries[parent].key <= entry.key {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry<E>> {
        let last = self.entries.pop()?;
        let Some(&first) = self.entries.first() else {
            return Some(last);
        };
        let len = self.entries.len();
        let mut hole = 0;
        loop {
            let child = hole * ARITY + 1;
            if child >= len {
                break;
            }
            let end = (child + ARITY).min(len);
            let mut least = child;
            for at in child + 1..end {
                if self.entries[at].key < self.entries[least].key {
                    least = at;
                }
            }
            if last.key <= self.entries[least].key {
                break;
            }
            self.entries[hole] = self.entries[least];
            hole = least;
        }
        self.entries[hole] = last;
        Some(first)
    }
}
