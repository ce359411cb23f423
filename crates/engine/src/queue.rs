//! A priority queue of timed events.
//!
//! Model. A four-way heap in one array; the key is time and sequence number in one 128-bit word, so that one comparison
//!        orders and no two keys are equal.

use alloc::vec::Vec;

const ARITY: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Slot<E> {
    key: u128,
    event: E,
}

/// Events waiting for their time.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Slot<E>>,
    sequence: u64,
    now: u64,
}

impl<E: Copy> EventQueue<E> {
    /// No events, at time 0.
    pub const fn new() -> Self {
        EventQueue {
            heap: Vec::new(),
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
        self.heap.len()
    }

    /// No events?
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds an event at a time.
    ///
    /// # Panics
    /// If the time has passed.
    #[inline]
    pub fn push(&mut self, time: u64, event: E) {
        assert!(
            time >= self.now,
            "event at {time}, but it is {} already",
            self.now
        );
        let key = (u128::from(time) << 64) | u128::from(self.sequence);
        self.sequence += 1;
        let mut hole = self.heap.len();
        self.heap.push(Slot { key, event });
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent].key <= key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = Slot { key, event };
    }

    /// Time of the next event.
    #[inline]
    pub fn peek_time(&self) -> Option<u64> {
        self.heap.first().map(|slot| (slot.key >> 64) as u64)
    }

    /// Takes the next event with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        let len = self.heap.len();
        if len > 0 {
            let mut hole = 0;
            loop {
                let child = hole * ARITY + 1;
                if child >= len {
                    break;
                }
                let end = (child + ARITY).min(len);
                let mut least = child;
                for at in child + 1..end {
                    if self.heap[at].key < self.heap[least].key {
                        least = at;
                    }
                }
                if last.key <= self.heap[least].key {
                    break;
                }
                self.heap[hole] = self.heap[least];
                hole = least;
            }
            self.heap[hole] = last;
        }
        self.now = (first.key >> 64) as u64;
        Some((self.now, first.event))
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
        let mut queue = EventQueue::new();
        for (time, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (0, 'e')] {
            queue.push(time, name);
        }
        let order: Vec<_> = core::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(0, 'e'), (3, 'b'), (3, 'd'), (5, 'a'), (5, 'c')]);
    }

    #[test]
    fn agrees_with_a_sorted_list_under_a_long_mixed_run() {
        let mut queue = EventQueue::new();
        let mut model: Vec<(u64, u64)> = Vec::new();
        let mut state = 1u64;
        for sequence in 0..20_000u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let time = queue.now() + (state >> 33) % 50;
            queue.push(time, sequence);
            model.push((time, sequence));
            if state >> 60 < 9 {
                let least = model
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, e)| **e)
                    .map(|(i, _)| i)
                    .unwrap();
                assert_eq!(queue.pop(), Some(model.swap_remove(least)));
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
