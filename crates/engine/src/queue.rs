//! A priority queue of timed events.
//!
//! Model. Two parts with one order: a heap for events of which any number may wait, and a tournament of slots for sources
//!        that have one at most. The key is time and sequence number in one 128-bit word, so that one comparison orders
//!        and no two keys are equal. A slot holds a time alone: whose slot it is says what comes.

use crate::heap::{Entry, Heap};
use crate::winner_tree::{NEVER, WinnerTree, key, time};
/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due<E> {
    /// What a slot stands for.
    Slot(usize),
    /// An event that was pushed.
    Event(E),
}

/// Events waiting for their time.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Heap<E>,
    tree: WinnerTree,
    sequence: u64,
    now: u64,
}

impl<E: Copy> EventQueue<E> {
    /// No events and no slots, at time 0.
    pub fn new() -> Self {
        Self::with_slots(0)
    }

    /// No events, at time 0, and slots `0..slots`.
    pub fn with_slots(slots: usize) -> Self {
        EventQueue {
            heap: Heap::new(),
            tree: WinnerTree::new(slots),
            sequence: 0,
            now: 0,
        }
    }

    /// Time of the event last popped.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len() + self.tree.len()
    }

    /// No events?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event at a time.
    ///
    /// # Panics
    /// If the time has passed.
    #[inline]
    pub fn push(&mut self, time: u64, event: E) {
        let key = self.next_key(time);
        self.heap.push(Entry { key, event });
    }

    /// Sets when a slot's event comes, in the place of the time that waits there. It is in line as one that is pushed now.
    ///
    /// # Panics
    /// If the time has passed, or there is no such slot.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, time: u64) {
        let key = self.next_key(time);
        self.tree.set(slot, key);
    }

    #[inline(always)]
    fn next_key(&mut self, time: u64) -> u128 {
        assert!(
            time >= self.now,
            "event at {time}, but it is {} already",
            self.now
        );
        let key = key(time, self.sequence);
        self.sequence += 1;
        key
    }

    /// Time of the next event.
    #[inline]
    pub fn peek_time(&mut self) -> Option<u64> {
        let first = self.heap.first().min(self.tree.first());
        (first != NEVER).then(|| time(first))
    }

    /// Takes the next event with its time, if that is not later than `until`.
    #[inline(always)]
    pub fn pop_until(&mut self, until: u64) -> Option<(u64, Due<E>)> {
        let (in_heap, in_slot) = (self.heap.first(), self.tree.first());
        let from_slot = in_slot < in_heap;
        let first = if from_slot { in_slot } else { in_heap };
        let at = time(first);
        if at > until || first == NEVER {
            return None;
        }
        self.now = at;
        let due = if from_slot {
            let slot = WinnerTree::slot(in_slot);
            self.tree.clear(slot);
            Due::Slot(slot)
        } else {
            Due::Event(self.heap.pop()?.event)
        };
        Some((at, due))
    }

    /// Takes the next event with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Due<E>)> {
        self.pop_until(u64::MAX)
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn equal_times_come_in_the_order_of_pushing() {
        let mut queue = EventQueue::with_slots(2);
        for (time, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (0, 'e')] {
            queue.push(time, name);
            match name {
                'b' => queue.set(1, 5),
                'd' => queue.set(0, 3),
                _ => {}
            }
        }
        let order: Vec<_> = core::iter::from_fn(|| queue.pop()).collect();
        let expected = [
            (0, Due::Event('e')),
            (3, Due::Event('b')),
            (3, Due::Event('d')),
            (3, Due::Slot(0)),
            (5, Due::Event('a')),
            (5, Due::Slot(1)),
            (5, Due::Event('c')),
        ];
        assert_eq!(order, expected);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_slot_holds_what_was_put_there_last() {
        let mut queue = EventQueue::<()>::with_slots(3);
        queue.set(2, 10);
        queue.set(0, 20);
        queue.set(2, 30);
        assert_eq!((queue.len(), queue.pop()), (2, Some((20, Due::Slot(0)))));
        assert_eq!((queue.len(), queue.pop_until(29)), (1, None));
        queue.set(0, 25);
        assert_eq!(queue.pop(), Some((25, Due::Slot(0))));
        assert_eq!((queue.pop(), queue.pop()), (Some((30, Due::Slot(2))), None));
    }

    #[test]
    fn agrees_with_a_sorted_list_under_a_long_mixed_run() {
        const SLOTS: u64 = 5;
        let mut queue = EventQueue::with_slots(SLOTS as usize);
        // Time, sequence number, and in which slot.
        let mut model: Vec<(u64, u64, Option<usize>)> = Vec::new();
        let mut state = 1u64;
        for sequence in 0..20_000u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let time = queue.now() + (state >> 33) % 50;
            let slot = ((state >> 20) % (2 * SLOTS)).checked_sub(SLOTS);
            let slot = slot.map(|slot| slot as usize);
            if let Some(slot) = slot {
                queue.set(slot, time);
                model.retain(|event| event.2 != Some(slot));
            } else {
                queue.push(time, sequence);
            }
            model.push((time, sequence, slot));
            assert_eq!(queue.len(), model.len());
            if state >> 60 < 11 {
                let least = model
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, e)| **e)
                    .map(|(i, _)| i)
                    .unwrap();
                let (time, sequence, slot) = model.swap_remove(least);
                let due = slot.map_or(Due::Event(sequence), Due::Slot);
                assert_eq!(queue.pop(), Some((time, due)));
            }
        }
    }

    #[test]
    #[should_panic(expected = "already")]
    fn the_past_is_closed() {
        let mut queue = EventQueue::new();
        queue.push(10, ());
        queue.pop();
        queue.push(9, ());
    }
}
