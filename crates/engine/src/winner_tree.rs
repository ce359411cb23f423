//! Slots that each hold at most one event, and which of them is first.
//!
//! Model. A tournament of four a match: the lowest nodes hold the slots' keys, each node above the smallest key of each of
//!        its four children, and the smallest in the root is the first event. The slot's number is part of its key, so that
//!        the key tells where it comes from. Setting a slot again replaces what it held, so that events that were overtaken
//!        do not stay behind.
//! Cost.  A set slot changes its ancestors, and only up to the first that stays the same. A node is one line of the cache.
//!        The smallest of four is found without jumps, as which it is cannot be predicted: the bare queue of
//!        `fairwind bench` does 2 to 3 times as many steps a second as with two a match, and jumps.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Bits of a key that hold the slot.
const SLOT_BITS: u32 = 20;
/// The key of an empty slot.
pub(crate) const NEVER: u128 = u128::MAX;
/// Keys of a node.
const WIDTH: usize = 4;

/// The key of an event in line: time, then sequence number.
#[inline(always)]
pub(crate) fn key(time: u64, sequence: u64) -> u128 {
    u128::from(time) << 64 | u128::from(sequence << SLOT_BITS)
}

/// The time in a key.
#[inline(always)]
pub(crate) fn time(key: u128) -> u64 {
    (key >> 64) as u64
}

#[inline(always)]
fn less(a: u128, b: u128) -> u128 {
    select_unpredictable(b < a, b, a)
}

/// A line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Node([u128; WIDTH]);

/// Slots with the keys of their events.
#[derive(Clone, Debug)]
pub(crate) struct WinnerTree {
    /// Node 0 is the root, the children of node n are 4n + 1 to 4n + 4.
    nodes: Vec<Node>,
    /// The first node that holds slots; they follow one another to the last.
    lowest: usize,
    first: u128,
    set: usize,
}

impl WinnerTree {
    /// So many empty slots.
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots < 1 << SLOT_BITS, "more slots than a key can name");
        let holding = slots.div_ceil(WIDTH).max(1);
        let lowest = (holding - 1).div_ceil(WIDTH - 1);
        WinnerTree {
            nodes: vec![Node([NEVER; WIDTH]); lowest + holding],
            lowest,
            first: NEVER,
            set: 0,
        }
    }

    /// How many slots hold an event.
    pub(crate) fn len(&self) -> usize {
        self.set
    }

    /// The first event's key, larger than any if there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> u128 {
        self.first
    }

    /// The slot that a key came from.
    #[inline(always)]
    pub(crate) fn slot(key: u128) -> usize {
        (key as usize) & ((1 << SLOT_BITS) - 1)
    }

    /// Puts an event into a slot, in the place of what it held.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: u128) {
        let before = self.replace(slot, key | slot as u128);
        self.set += usize::from(before == NEVER);
    }

    /// Empties a slot that holds an event.
    #[inline]
    pub(crate) fn clear(&mut self, slot: usize) {
        self.replace(slot, NEVER);
        self.set -= 1;
    }

    #[inline]
    fn replace(&mut self, slot: usize, mut key: u128) -> u128 {
        let mut node = self.lowest + slot / WIDTH;
        let mut child = slot % WIDTH;
        let before = self.nodes[node].0[child];
        loop {
            let keys = &mut self.nodes[node].0;
            if keys[child] == key {
                return before;
            }
            keys[child] = key;
            key = less(less(keys[0], keys[1]), less(keys[2], keys[3]));
            if node == 0 {
                self.first = key;
                return before;
            }
            child = (node - 1) % WIDTH;
            node = (node - 1) / WIDTH;
        }
    }
}
