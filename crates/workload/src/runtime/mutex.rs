//! Plain mutexes.
//!
//! Model.       The word of glibc's low-level lock: free, taken, or taken with waiters supposed.
//!              Unlocking frees the mutex and, if waiters are supposed, wakes the first, which
//!              tries again: whoever comes first takes it, and the woken one may queue anew, at the
//!              end. Nobody checks that the owner unlocks.
//! Source.      glibc 2.36 nptl/lowlevellock.h `__lll_lock`, `__lll_cond_lock`, `__lll_unlock`;
//!              nptl/lowlevellock.c `__lll_lock_wait`.

use super::queue::{Link, Queue};
use super::{Effect, Effects};
use crate::spec::MutexId;

/// The lock's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Free,
    Taken,
    /// Somebody waits or may wait: unlocking must wake.
    Contended,
}

#[derive(Clone, Copy, Debug)]
struct Mutex {
    word: Word,
    waiters: Queue,
}

/// All plain mutexes.
#[derive(Clone, Debug)]
pub(crate) struct Mutexes {
    mutexes: Vec<Mutex>,
}

impl Mutexes {
    pub(crate) fn new(nr_mutexes: usize) -> Self {
        Mutexes {
            mutexes: vec![
                Mutex {
                    word: Word::Free,
                    waiters: Queue::EMPTY
                };
                nr_mutexes
            ],
        }
    }

    /// Takes a mutex, or queues for it; false: the task sleeps, and tries again when it is woken.
    /// A task that waited before (`contended`) cannot tell whether others still wait.
    pub(crate) fn lock(
        &mut self,
        task: u32,
        mutex: MutexId,
        contended: bool,
        links: &mut [Link],
    ) -> bool {
        let mutex = &mut self.mutexes[mutex.idx()];
        if mutex.word == Word::Free {
            mutex.word = if contended {
                Word::Contended
            } else {
                Word::Taken
            };
            return true;
        }
        mutex.word = Word::Contended;
        mutex.waiters.push(task, links);
        false
    }

    /// Frees a mutex and wakes the first waiter.
    pub(crate) fn unlock(&mut self, mutex: MutexId, links: &mut [Link], out: &mut Effects) {
        let mutex = &mut self.mutexes[mutex.idx()];
        let word = std::mem::replace(&mut mutex.word, Word::Free);
        if word == Word::Contended
            && let Some(task) = mutex.waiters.pop(links)
        {
            out.list.push(Effect::Wake {
                task: task as usize,
                sync: false,
            });
        }
    }
}
