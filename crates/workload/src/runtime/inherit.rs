//! Mutexes with priority inheritance.
//!
//! Model.       A task that waits lends its priority to the owner, to whomever the owner waits for,
//!              and so on; tasks that wait for the waiter lend theirs along the same way. The owner
//!              hands the mutex over to the first waiter. Each pair of owner and donor is reported
//!              when it begins and when it ends, chains included, so that an owner's priority is
//!              the best of its own and of its present donors'.
//! Invariants.  Who waits for whom is a forest: a wait that would close a circle gets no place in
//!              it, and never ends.
//! Source.      kernel/futex/pi.c `futex_lock_pi`, `futex_unlock_pi`, `wake_futex_pi`;
//!              kernel/locking/rtmutex.c `rt_mutex_adjust_prio_chain` @ 6.12.
//! Deviations.  A mutex is never stolen on its way to the first waiter.

use super::program::NONE;
use super::queue::{Link, Queue};
use super::{Effect, Effects};
use crate::spec::MutexId;

/// A mutex with priority inheritance.
#[derive(Clone, Copy, Debug)]
struct PiMutex {
    owner: u32,
    waiters: Queue,
    /// The next mutex of the same owner.
    next_held: u32,
}

/// What a task holds and waits for.
#[derive(Clone, Copy, Debug)]
struct PiTask {
    /// The mutex it took last.
    held: u32,
    /// The mutex it waits for.
    waits_for: u32,
}

/// All mutexes and what tasks have to do with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PiMutexes {
    mutexes: Vec<PiMutex>,
    tasks: Vec<PiTask>,
}

impl PiMutexes {
    pub(crate) fn new(nr_mutexes: usize) -> Self {
        let free = PiMutex {
            owner: NONE,
            waiters: Queue::EMPTY,
            next_held: NONE,
        };
        PiMutexes {
            mutexes: vec![free; nr_mutexes],
            tasks: Vec::new(),
        }
    }

    /// Makes room for one more task.
    pub(crate) fn add_task(&mut self) {
        self.tasks.push(PiTask {
            held: NONE,
            waits_for: NONE,
        });
    }

    /// Takes a mutex or waits for it; false: the task waits, and owns the mutex when it is woken.
    pub(crate) fn lock(
        &mut self,
        task: u32,
        mutex: MutexId,
        links: &mut [Link],
        out: &mut Effects,
    ) -> bool {
        let owner = self.mutexes[mutex.idx()].owner;
        if owner == NONE {
            self.own(task, mutex.0);
            return true;
        }
        let mut end = owner;
        loop {
            if end == task {
                // The wait would be for itself. The kernel says EDEADLK and glibc then waits for
                // ever, in no queue.
                return false;
            }
            match self.blocker(end) {
                Some(next) => end = next,
                None => break,
            }
        }
        let mut above = Some(owner);
        while let Some(owner) = above {
            self.lend(task, owner, links, &mut |owner, donor| {
                out.list.push(Effect::Boost { owner, donor });
            });
            above = self.blocker(owner);
        }
        self.tasks[task as usize].waits_for = mutex.0;
        self.mutexes[mutex.idx()].waiters.push(task, links);
        false
    }

    /// Hands a mutex to its first waiter, if there is one; nothing if the task does not own it.
    pub(crate) fn unlock(
        &mut self,
        task: u32,
        mutex: MutexId,
        links: &mut [Link],
        out: &mut Effects,
    ) {
        if self.mutexes[mutex.idx()].owner != task {
            return;
        }
        self.disown(task, mutex.0);
        let mut waiter = self.mutexes[mutex.idx()].waiters.first();
        while let Some(donor) = waiter {
            self.lend(donor, task, links, &mut |owner, donor| {
                out.list.push(Effect::Unboost { owner, donor });
            });
            waiter = Queue::after(donor, links);
        }
        let Some(owner) = self.mutexes[mutex.idx()].waiters.pop(links) else {
            return;
        };
        self.tasks[owner as usize].waits_for = NONE;
        self.own(owner, mutex.0);
        let mut waiter = self.mutexes[mutex.idx()].waiters.first();
        while let Some(donor) = waiter {
            self.lend(donor, owner, links, &mut |owner, donor| {
                out.list.push(Effect::Boost { owner, donor });
            });
            waiter = Queue::after(donor, links);
        }
        out.list.push(Effect::Wake {
            task: owner as usize,
            sync: false,
        });
    }

    /// The owner of what a task waits for.
    fn blocker(&self, task: u32) -> Option<u32> {
        let mutex = self.tasks[task as usize].waits_for;
        (mutex != NONE).then(|| self.mutexes[mutex as usize].owner)
    }

    /// Names to `report` the owner with the donor and all that wait for the donor.
    fn lend(&self, donor: u32, owner: u32, links: &[Link], report: &mut impl FnMut(usize, usize)) {
        // Depth first by hand, down the mutexes a task holds and along their queues, because a
        // chain may be as long as there are tasks.
        let mut at = donor;
        loop {
            report(owner as usize, at as usize);
            let mut next = self.first_below(self.tasks[at as usize].held);
            while next.is_none() && at != donor {
                let mutex = self.tasks[at as usize].waits_for;
                next = Queue::after(at, links)
                    .or_else(|| self.first_below(self.mutexes[mutex as usize].next_held));
                if next.is_none() {
                    at = self.mutexes[mutex as usize].owner;
                }
            }
            match next {
                Some(task) => at = task,
                None => return,
            }
        }
    }

    /// The first waiter of a mutex or of those behind it in its owner's list.
    fn first_below(&self, mut mutex: u32) -> Option<u32> {
        while mutex != NONE {
            let held = &self.mutexes[mutex as usize];
            if let Some(task) = held.waiters.first() {
                return Some(task);
            }
            mutex = held.next_held;
        }
        None
    }

    fn own(&mut self, task: u32, mutex: u32) {
        let held = std::mem::replace(&mut self.tasks[task as usize].held, mutex);
        let state = &mut self.mutexes[mutex as usize];
        state.owner = task;
        state.next_held = held;
    }

    fn disown(&mut self, task: u32, mutex: u32) {
        let next = std::mem::replace(&mut self.mutexes[mutex as usize].next_held, NONE);
        self.mutexes[mutex as usize].owner = NONE;
        let mut at = self.tasks[task as usize].held;
        if at == mutex {
            self.tasks[task as usize].held = next;
            return;
        }
        while self.mutexes[at as usize].next_held != mutex {
            at = self.mutexes[at as usize].next_held;
        }
        self.mutexes[at as usize].next_held = next;
    }
}
