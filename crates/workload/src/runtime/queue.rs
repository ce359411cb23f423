//! Queues of waiting tasks.
//!
//! Model.       As futexes have it: real-time waiters first, by priority; all others after them, in
//!              the order they came. A task waits in one queue at most, so that the links lie in
//!              the tasks and nothing is allocated.
//! Source.      kernel/futex/core.c `__futex_queue`, kernel/locking/rtmutex.c `waiter_update_prio`
//!              @ 6.12.

use super::program::NONE;

/// First and last of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

/// A task's part of the queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(super) next: u32,
    /// 0..=99, less is earlier; 100 for tasks that are not real-time.
    pub(crate) priority: u8,
    pub(crate) queued: bool,
    /// In a wait queue: it is woken instead of those behind it.
    pub(super) exclusive: bool,
}

/// Queue priority of tasks that are not real-time.
pub(crate) const NOT_RT: u8 = 100;

impl Link {
    pub(crate) fn new() -> Link {
        Link {
            next: NONE,
            priority: NOT_RT,
            queued: false,
            exclusive: false,
        }
    }
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue {
        head: NONE,
        tail: NONE,
    };

    /// Puts a task behind all of its priority or a better one.
    pub(crate) fn push(&mut self, task: u32, links: &mut [Link]) {
        let priority = links[task as usize].priority;
        assert!(!links[task as usize].queued, "task {task} waits twice");
        links[task as usize].queued = true;
        let mut before = self.tail;
        if before != NONE && links[before as usize].priority > priority {
            before = NONE;
            let mut at = self.head;
            while links[at as usize].priority <= priority {
                before = at;
                at = links[at as usize].next;
            }
        }
        let next = if before == NONE {
            std::mem::replace(&mut self.head, task)
        } else {
            std::mem::replace(&mut links[before as usize].next, task)
        };
        links[task as usize].next = next;
        if next == NONE {
            self.tail = task;
        }
    }

    /// Takes the first task out.
    pub(crate) fn pop(&mut self, links: &mut [Link]) -> Option<u32> {
        let task = self.head;
        if task == NONE {
            return None;
        }
        let link = &mut links[task as usize];
        self.head = link.next;
        link.next = NONE;
        link.queued = false;
        if self.head == NONE {
            self.tail = NONE;
        }
        Some(task)
    }

    /// The first task.
    pub(crate) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The task behind another one.
    pub(crate) fn after(task: u32, links: &[Link]) -> Option<u32> {
        let next = links[task as usize].next;
        (next != NONE).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifo_within_a_priority_and_real_time_first() {
        let mut links = vec![Link::new(); 6];
        links[2].priority = 49;
        links[3].priority = 9;
        links[5].priority = 49;
        let mut queue = Queue::EMPTY;
        for task in 0..6 {
            queue.push(task, &mut links);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(&mut links)).collect();
        assert_eq!(order, [3, 2, 5, 0, 1, 4]);
        assert!(queue.first().is_none());
        queue.push(4, &mut links);
        assert_eq!(queue.pop(&mut links), Some(4));
    }
}
