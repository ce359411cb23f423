//! SIS_CACHE: a CPU whose task sleeps for a moment only is left to that task.
//!
//! Model.
//!
//! ```text
//!   enqueue after a sleep:   avg_hot_dur += (sleep − avg_hot_dur) / 8    if sleep < migration_cost_ns
//!                            avg_hot_dur /= 2                            else
//!   dequeue to sleep:        cache_hot_timeout = max(cache_hot_timeout, now + avg_hot_dur)
//!                            if avg_hot_dur is not 0 and nothing else wants to run there
//! ```
//!
//! Until its timeout a CPU is cache hot for others. A scan for an idle CPU or core passes over such, at most
//! half as many as it may look at (`sis_cache_hot_pct`), and only where SIS_UTIL bounds it; the first of them is taken if the scan
//! comes round without another. The sleeper itself still finds its previous CPU idle before any scan.
//!
//! Source.     "sched/fair: do not scribble cache-hot CPU in select_idle_cpu()", v2 3/3, posted to LKML on
//!             21 November 2023 for 6.7, and what its two predecessors record.
//!             To the letter: a scan whose depth is used up returns nothing, not the CPU it remembered; of an idle
//!             core each thread is asked for itself, so that the second thread of a core whose first is hot is taken.
//! Deviations. SIS_CACHE is older than delayed dequeue: a delayed task sleeps from when it asked to, and tasks that are
//!             delayed do not want to run. In 6.12's clusters the cluster and the rest of the cache count as one scan.

use crate::features::Feature;
use crate::flags::{DEQUEUE_DELAYED, DEQUEUE_SLEEP};
use crate::idle_scan::IdleScan;
use crate::sched::Sched;
use crate::ttwu::update_avg;
use crate::units::{CpuId, Nanos, TaskId};

impl Sched {
    /// A fair task is queued: if it slept, for how long do its caches stay hot?
    #[inline(always)]
    pub(crate) fn update_avg_hot_dur(&mut self, task: TaskId) {
        if self.profile.features.has(Feature::SIS_CACHE) {
            self.average_hot_dur(task);
        }
    }

    #[inline(never)]
    fn average_hot_dur(&mut self, task: TaskId) {
        // The tunable is an unsigned number in the kernel: −1 is the largest.
        let migration_cost = Nanos::from(self.profile.tunables.migration_cost_ns as u32);
        let now = self.now;
        let t = &mut self.tasks[task];
        let Some(since) = t.asleep_since.take() else {
            return;
        };
        let sleep = now - since;
        if sleep < migration_cost {
            update_avg(&mut t.avg_hot_dur, sleep);
        } else {
            t.avg_hot_dur /= 2;
        }
    }

    /// A fair task was taken off its CPU's queue, or stays there delayed.
    #[inline(always)]
    pub(crate) fn update_cache_hot_timeout(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        if self.profile.features.has(Feature::SIS_CACHE) && flags & DEQUEUE_DELAYED == 0 {
            self.move_cache_hot_timeout(cpu, task, flags);
        }
    }

    #[inline(never)]
    fn move_cache_hot_timeout(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        if flags & DEQUEUE_SLEEP == 0 {
            self.tasks[task].asleep_since = None;
            return;
        }
        let now = self.now;
        self.tasks[task].asleep_since = Some(now);
        let avg = self.tasks[task].avg_hot_dur;
        let rq = &mut self.rqs[cpu];
        let cfs = &self.cfs_rqs[rq.cfs];
        if avg != 0 && rq.nr_running == cfs.h_nr_queued - cfs.h_nr_runnable {
            rq.cache_hot_timeout = rq.cache_hot_timeout.max(now + avg);
        }
    }

    /// Is an idle CPU to be left to the task that sleeps there?
    pub(crate) fn passes_over_cache_hot(&self, cpu: CpuId, scan: &mut IdleScan) -> bool {
        if scan.nr_hot == 0 {
            return false;
        }
        scan.nr_hot -= 1;
        let hot = self.now < self.rqs[cpu].cache_hot_timeout;
        if hot {
            scan.hot_cpu.get_or_insert(cpu);
            scan.passed_over += 1;
        }
        hot
    }
}
