//! A four-way heap in one array.

use crate::winner_tree::NEVER;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

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

/// Which of a node's children comes first, and its key. Without jumps, as which it is cannot be predicted.
#[inline(always)]
fn least<E>([a, b, c, d]: &[Entry<E>; ARITY]) -> (usize, u128) {
    let earlier = |a: (usize, u128), b: (usize, u128)| select_unpredictable(b.1 < a.1, b, a);
    earlier(
        earlier((0, a.key), (1, b.key)),
        earlier((2, c.key), (3, d.key)),
    )
}

/// The same of the last node, which may have fewer children.
fn least_of_few<E>(children: &[Entry<E>]) -> Option<(usize, u128)> {
    let keys = children.iter().map(|child| child.key).enumerate();
    keys.min_by_key(|&(_, key)| key)
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
        let entries = &mut self.entries[..];
        let mut hole = 0;
        loop {
            let child = hole * ARITY + 1;
            let (least, key) = match entries.get(child..).and_then(|c| c.first_chunk::<ARITY>()) {
                Some(children) => least(children),
                None => match entries.get(child..).and_then(least_of_few) {
                    Some(least) => least,
                    None => break,
                },
            };
            if last.key <= key {
                break;
            }
            entries[hole] = entries[child + least];
            hole = child + least;
        }
        entries[hole] = last;
        Some(first)
    }
}
