//! Run-queue locks: what it costs to touch another CPU's queue.
//!
//! Model. A lock's line is where it was last taken. Taking it elsewhere costs its transfer by distance; taking it while
//!        another CPU holds it waits for that.

use fairwind_sched::{CpuId, Nanos};

#[derive(Clone, Copy, Debug)]
struct RqLock {
    last: CpuId,
    free_at: Nanos,
}

/// The locks of all run queues.
#[derive(Clone, Debug)]
pub(crate) struct Locks {
    locks: Vec<RqLock>,
    /// Total time spent waiting.
    pub(crate) contended_ns: Nanos,
}

impl Locks {
    pub(crate) fn new(nr_cpus: usize) -> Self {
        let lock = |cpu| RqLock {
            last: CpuId(cpu),
            free_at: 0,
        };
        Locks {
            locks: (0..nr_cpus as u32).map(lock).collect(),
            contended_ns: 0,
        }
    }

    /// Who took a lock last.
    pub(crate) fn last(&self, rq: CpuId) -> CpuId {
        self.locks[rq.idx()].last
    }

    /// `by` takes `rq`'s lock at `now` for `hold` ns, after its line came over in `transfer` ns: how long until it has it.
    pub(crate) fn acquire(
        &mut self,
        transfer: Nanos,
        rq: CpuId,
        by: CpuId,
        now: Nanos,
        hold: Nanos,
    ) -> Nanos {
        let lock = &mut self.locks[rq.idx()];
        let wait = lock.free_at.saturating_sub(now);
        lock.last = by;
        lock.free_at = now + wait + transfer + hold;
        self.contended_ns += wait;
        wait + transfer
    }
}
