//! Slots that each hold at most one event, and which of them is first.
//!
//! Model. A tournament of four a match: the lowest nodes hold the slots' keys, each node above the smallest key of each of
//!        its four children, and the smallest in the root is the first event. The slot's number is part of its key, so that
//!        the key tells where it comes from. Setting a slot again replaces what it held, so that events that were overtaken
//!        do not stay behind. Of one lowest node, the open one, the nodes above do not know yet what it holds: events are
//!        handled one after the other, and what one sets is mostly in the node that it was taken from.
//! Cost.  When the open node is closed its ancestors change, and only up to the first that stays the same. A node is one
//!        line of the cache. The smallest of four is found without jumps, as which it is cannot be predicted: the bare
//!        queue of `fairwind bench` does 2 to 3 times as many steps a second as with two a match, and jumps.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Bits of a key that hold the slot.
const SLOT_BITS: u32 = 20;
/// The key of an empty slot.
pub(crate) const NEVER: u128 = u128::MAX;
/// Keys of a node.
const WIDTH: usize = 4;
/// No node is open.
const CLOSED: usize = usize::MAX;

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

impl Node {
    #[inline(always)]
    fn least(&self) -> u128 {
        let [a, b, c, d] = self.0;
        less(less(a, b), less(c, d))
    }
}

/// Slots with the keys of their events.
#[derive(Clone, Debug)]
pub(crate) struct WinnerTree {
    /// Node 0 is the root, the children of node n are 4n + 1 to 4n + 4.
    nodes: Vec<Node>,
    /// The first node that holds slots; they follow one another to the last.
    lowest: usize,
    /// The node whose least key those above do not know, or [`CLOSED`].
    open: usize,
    /// The least key of the root.
    first: u128,
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
            open: CLOSED,
            first: NEVER,
        }
    }

    /// How many slots hold an event.
    pub(crate) fn len(&self) -> usize {
        let keys = self.nodes[self.lowest..].iter().flat_map(|node| node.0);
        keys.filter(|&key| key != NEVER).count()
    }

    /// The first event's key, larger than any if there is none.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> u128 {
        if self.open != CLOSED {
            self.close();
        }
        self.first
    }

    /// The slot that a key came from.
    #[inline(always)]
    pub(crate) fn slot(key: u128) -> usize {
        (key as usize) & ((1 << SLOT_BITS) - 1)
    }

    /// Puts an event into a slot, in the place of what it held.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, key: u128) {
        self.replace(slot, key | slot as u128);
    }

    /// Empties a slot.
    #[inline(always)]
    pub(crate) fn clear(&mut self, slot: usize) {
        self.replace(slot, NEVER);
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, key: u128) {
        let node = self.lowest + slot / WIDTH;
        if self.open != node {
            if self.open != CLOSED {
                self.close();
            }
            self.open = node;
        }
        self.nodes[node].0[slot % WIDTH] = key;
    }

    /// Tells the nodes above of the open one's least key.
    fn close(&mut self) {
        let mut at = core::mem::replace(&mut self.open, CLOSED);
        let mut key = self.nodes[at].least();
        while at != 0 {
            let child = (at - 1) % WIDTH;
            at = (at - 1) / WIDTH;
            let node = &mut self.nodes[at];
            if node.0[child] == key {
                return;
            }
            node.0[child] = key;
            key = node.least();
        }
        self.first = key;
    }
}
