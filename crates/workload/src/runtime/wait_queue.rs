//! The kernel's wait queues, on which tasks sleep inside a system call.
//!
//! Model.       A task that waits for itself alone (exclusive) queues at the end; one that others must not be kept from
//!              by (a poller) goes to the front. A wakeup takes everybody from the front on up to the first exclusive one.
//! Source.      kernel/sched/wait.c `prepare_to_wait`, `prepare_to_wait_event`, `__wake_up_common`,
//!              `autoremove_wake_function` @ 6.1, 6.12.

use super::Effects;
use super::effect::Effect;
use super::program::NONE;
use super::queue::Link;

/// First and last of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitQueue {
    head: u32,
    tail: u32,
}

impl WaitQueue {
    pub(crate) const EMPTY: WaitQueue = WaitQueue {
        head: NONE,
        tail: NONE,
    };

    /// Puts a task at the end, if exclusive, or in front.
    pub(crate) fn wait(&mut self, task: u32, exclusive: bool, links: &mut [Link]) {
        let link = &mut links[task as usize];
        assert!(!link.queued, "task {task} waits twice");
        link.queued = true;
        link.exclusive = exclusive;
        if self.head == NONE {
            link.next = NONE;
            (self.head, self.tail) = (task, task);
        } else if exclusive {
            link.next = NONE;
            links[self.tail as usize].next = task;
            self.tail = task;
        } else {
            link.next = self.head;
            self.head = task;
        }
    }

    /// Wakes everybody up to the first exclusive task, as a waker that will sleep soon.
    pub(crate) fn wake(&mut self, links: &mut [Link], out: &mut Effects) {
        while self.head != NONE {
            let task = self.head;
            let link = &mut links[task as usize];
            self.head = std::mem::replace(&mut link.next, NONE);
            link.queued = false;
            out.list.push(Effect::WakeFromCall {
                task: task as usize,
                sync: true,
            });
            if link.exclusive {
                break;
            }
        }
        if self.head == NONE {
            self.tail = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woken(queue: &mut WaitQueue, links: &mut [Link]) -> Vec<usize> {
        let mut out = Effects::default();
        queue.wake(links, &mut out);
        let task = |effect: &Effect| match effect {
            Effect::WakeFromCall { task, sync: true } => *task,
            other => panic!("{other:?}"),
        };
        out.list.iter().map(task).collect()
    }

    #[test]
    fn pollers_are_woken_last_come_first_and_then_one_exclusive_waiter() {
        let mut links = vec![Link::new(); 6];
        let mut queue = WaitQueue::EMPTY;
        queue.wait(0, true, &mut links);
        queue.wait(1, false, &mut links);
        queue.wait(2, true, &mut links);
        queue.wait(3, false, &mut links);
        assert_eq!(woken(&mut queue, &mut links), [3, 1, 0]);
        queue.wait(4, true, &mut links);
        assert_eq!(woken(&mut queue, &mut links), [2]);
        assert_eq!(woken(&mut queue, &mut links), [4]);
        assert_eq!(woken(&mut queue, &mut links), [0; 0]);
        queue.wait(5, false, &mut links);
        queue.wait(0, false, &mut links);
        assert_eq!(woken(&mut queue, &mut links), [0, 5]);
    }
}
