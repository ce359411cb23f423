//! What balancing adds up of each CPU, side by side.
//!
//! Model.      A new task's placement and a balancing pass look at every CPU of a domain, of which little has changed since
//!             the last time. So what they add up is kept in one table. Whatever is about to change a CPU marks it, and
//!             whoever adds up first brings the marked rows up to date. On 4096 CPUs, 100 000 tasks start in 6 to 8 s; where the
//!             same numbers are gathered from the queues for each, they have not all started after 40 s.
//! Invariants. A row that is not marked is what [`Sched::gather_cpu_sums`] gives; builds with debug assertions check this
//!             wherever rows are used.
//! Not here.   What the sums are for: see `dst_group` and `group_stats`.

use crate::cpumask::CpuMask;
use crate::sched::Sched;
use crate::table::Table;
use crate::units::CpuId;

/// A CPU's part of the sums.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CpuSums {
    /// [`Sched::cpu_load`].
    pub(crate) load: u64,
    /// [`Sched::cpu_util_cfs`].
    pub(crate) util: u64,
    /// [`Sched::cpu_runnable`].
    pub(crate) runnable: u64,
    /// Fair tasks.
    pub(crate) h_nr_queued: u32,
    /// Tasks of all classes.
    pub(crate) nr_running: u32,
    /// [`Sched::idle_cpu`].
    pub(crate) idle: bool,
}

/// All CPUs' parts.
#[derive(Clone, Debug)]
pub(crate) struct CpuSumsTable {
    rows: Table<CpuId, CpuSums>,
    stale: CpuMask,
}

impl CpuSumsTable {
    /// Nothing gathered yet.
    pub(crate) fn new(nr_cpus: usize) -> Self {
        let mut rows = Table::new();
        for _ in 0..nr_cpus {
            rows.push(CpuSums::default());
        }
        CpuSumsTable {
            rows,
            stale: CpuMask::all(nr_cpus),
        }
    }

    /// A CPU is about to change, or has.
    #[inline(always)]
    pub(crate) fn mark(&mut self, cpu: CpuId) {
        self.stale.set(cpu);
    }

    /// Anything may have changed.
    pub(crate) fn mark_all(&mut self) {
        self.stale = CpuMask::all(self.rows.len());
    }
}

impl Sched {
    fn gather_cpu_sums(&self, cpu: CpuId) -> CpuSums {
        let rq = &self.rqs[cpu];
        CpuSums {
            load: self.cpu_load(cpu),
            util: self.cpu_util_cfs(cpu),
            runnable: self.cpu_runnable(cpu),
            h_nr_queued: self.cfs_rqs[rq.cfs].h_nr_queued,
            nr_running: rq.nr_running,
            idle: self.idle_cpu(cpu),
        }
    }

    /// Brings the rows up to date, before [`Self::cpu_sums`] is asked.
    pub(crate) fn refresh_cpu_sums(&mut self) {
        let mut from = 0;
        while let Some(cpu) = self.cpu_sums.stale.next_from(from) {
            self.cpu_sums.rows[cpu] = self.gather_cpu_sums(cpu);
            from = cpu.idx() + 1;
        }
        self.cpu_sums.stale.clear_all();
    }

    /// A CPU's row.
    #[inline(always)]
    pub(crate) fn cpu_sums(&self, cpu: CpuId) -> &CpuSums {
        let row = &self.cpu_sums.rows[cpu];
        debug_assert_eq!(
            *row,
            self.gather_cpu_sums(cpu),
            "cpu {} was not marked",
            cpu.0
        );
        row
    }
}
