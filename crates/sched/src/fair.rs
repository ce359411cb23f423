//! What the fair classes of all releases share: accounting of queued entities, waiting times, buddies,
//! utilisation estimates, and the task-level entry points.
//!
//! Source. kernel/sched/fair.c, stats.c @ 6.1, 6.12.

use crate::effects::Effect;
use crate::features::Feature;
use crate::pelt::{SchedAvg, UTIL_AVG_UNCHANGED};
use crate::sched::Sched;
use crate::task::{Class, OnRq};
use crate::units::{CfsRqId, CpuId, GroupId, SeId, TaskId};

/// A change of utilisation smaller than this is noise: 1 % of full capacity.
pub(crate) const UTIL_EST_MARGIN: u64 = 1024 / 100;
/// The estimate moves by a quarter of the difference.
pub(crate) const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

impl Sched {
    /// The queue a task is on or would be.
    #[inline]
    pub(crate) fn task_cfs_rq(&self, task: TaskId) -> CfsRqId {
        self.ses[self.tasks[task].se].cfs_rq
    }

    /// The group whose queues a task is on: its own, or the root where groups do not compete.
    #[inline]
    pub fn sched_group(&self, task: TaskId) -> GroupId {
        if self.profile.features.has(Feature::FAIR_GROUP_SCHED) {
            self.tasks[task].group
        } else {
            GroupId::ROOT
        }
    }

    /// Points a task at its group's queue on a CPU.
    pub(crate) fn set_task_rq(&mut self, task: TaskId, cpu: CpuId) {
        let (se, group) = (self.tasks[task].se, self.sched_group(task));
        let next = self.groups[group].cfs_rq[cpu.idx()];
        self.set_task_rq_fair(se, next);
        let parent = self.cfs_rqs[next].se;
        let depth = if parent.is_some() {
            self.ses[parent].depth + 1
        } else {
            0
        };
        let entity = &mut self.ses[se];
        entity.cfs_rq = next;
        entity.parent = parent;
        entity.depth = depth;
    }

    /// Charges the running entity for the time since it was last charged; how much that was.
    #[inline(always)]
    pub(crate) fn charge_curr(&mut self, cpu: CpuId, curr: SeId) -> u64 {
        let now = self.rqs[cpu].clock_task;
        let entity = &mut self.ses[curr];
        let delta = now.wrapping_sub(entity.exec_start) as i64;
        if delta <= 0 {
            return 0;
        }
        if let Some(probes) = &self.probes
            && entity.is_task()
            && probes.is_early(cpu, now)
        {
            return 0;
        }
        entity.exec_start = now;
        entity.sum_exec_runtime += delta as u64;
        if self.notice_runtime && entity.is_task() {
            self.effects.push(Effect::StatRuntime {
                task: entity.task,
                runtime: delta as u64,
            });
        }
        delta as u64
    }

    /// Counts an entity in.
    #[inline(always)]
    pub(crate) fn account_entity_enqueue(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let entity = &self.ses[se];
        let idle = u32::from(self.is_entity_idle(entity));
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.load.add(entity.load.weight);
        cfs.nr_queued += 1;
        cfs.idle_nr_queued += idle;
        if entity.is_task() {
            let (cpu, task) = (cfs.cpu, entity.task);
            self.cfs_tasks_push_front(cpu, task);
        }
    }

    /// Counts an entity out.
    #[inline(always)]
    pub(crate) fn account_entity_dequeue(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let entity = &self.ses[se];
        let idle = u32::from(self.is_entity_idle(entity));
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.load.sub(entity.load.weight);
        cfs.nr_queued -= 1;
        cfs.idle_nr_queued -= idle;
        if entity.is_task() {
            let (cpu, task) = (cfs.cpu, entity.task);
            self.cfs_tasks_remove(cpu, task);
        }
    }

    // ---- waiting times -----------------------------------------------------------------------------------------

    /// The entity begins to wait. A migrating task brings the time it has already waited.
    #[inline]
    pub(crate) fn update_stats_wait_start(&mut self, cpu: CpuId, se: SeId) {
        self.ses[se].wait_starts(self.rqs[cpu].clock);
    }

    /// The entity stops waiting: it runs, sleeps or migrates.
    #[inline]
    pub(crate) fn update_stats_wait_end(&mut self, cpu: CpuId, se: SeId) {
        let entity = &mut self.ses[se];
        let migrating = entity.is_task() && self.tasks[entity.task].on_rq == OnRq::Migrating;
        entity.wait_ends(self.rqs[cpu].clock, migrating);
    }

    // ---- buddies -----------------------------------------------------------------------------------------------

    /// Makes an entity and its ancestors the next to run, as far as none is idle.
    pub(crate) fn set_next_buddy(&mut self, mut se: SeId) {
        while se.is_some() {
            if !self.ses[se].on_rq || self.se_is_idle(se) {
                return;
            }
            let cfs_rq = self.ses[se].cfs_rq;
            self.cfs_rqs[cfs_rq].next = se;
            se = self.ses[se].parent;
        }
    }

    /// An entity stops being the next to run.
    pub(crate) fn clear_buddies_next(&mut self, mut se: SeId) {
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            if self.cfs_rqs[cfs_rq].next != se {
                break;
            }
            self.cfs_rqs[cfs_rq].next = SeId::NONE;
            se = self.ses[se].parent;
        }
    }

    // ---- utilisation -------------------------------------------------------------------------------------------

    /// A new entity counts as fully loaded until it has a history.
    pub(crate) fn init_entity_runnable_average(&mut self, se: SeId) {
        let entity = &mut self.ses[se];
        entity.avg = SchedAvg::default();
        if entity.is_task() {
            entity.avg.load_avg = entity.weight();
        }
    }

    /// A new task's utilisation is guessed from its queue: at most half of what is left of the CPU.
    pub(crate) fn post_init_entity_util_avg(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        let cfs_rq = self.ses[se].cfs_rq;
        if self.tasks[task].class != Class::Fair {
            self.ses[se].avg.last_update_time = self.cfs_rq_clock_pelt(cfs_rq);
            return;
        }
        let cfs = &self.cfs_rqs[cfs_rq];
        let cpu_scale = self.rqs[cfs.cpu].cpu_capacity_orig as i64;
        let cap = (cpu_scale - cfs.avg.util_avg as i64) / 2;
        if cap > 0 {
            let cap = cap as u64;
            let weight = (self.fair.util_init_weight)(&self.ses[se]);
            let guess = if cfs.avg.util_avg != 0 {
                (cfs.avg.util_avg * weight / (cfs.avg.load_avg + 1)).min(cap)
            } else {
                cap
            };
            self.ses[se].avg.util_avg = guess;
        }
        let avg = &mut self.ses[se].avg;
        avg.runnable_avg = avg.util_avg;
    }

    /// Utilisation of a task.
    #[inline]
    pub(crate) fn task_util(&self, task: TaskId) -> u64 {
        self.ses[self.tasks[task].se].avg.util_avg
    }

    /// The estimate a sleeping task left behind.
    #[inline]
    pub(crate) fn task_util_est_only(&self, task: TaskId) -> u64 {
        let avg = &self.ses[self.tasks[task].se].avg;
        u64::from(avg.util_est_ewma.max(avg.util_est & !UTIL_AVG_UNCHANGED))
    }

    /// The larger of a task's utilisation and its estimate.
    #[inline]
    pub(crate) fn task_util_est(&self, task: TaskId) -> u64 {
        self.task_util(task).max(self.task_util_est_only(task))
    }

    #[inline]
    pub(crate) fn util_est_enqueue(&mut self, cpu: CpuId, task: TaskId) {
        if self.profile.features.has(Feature::UTIL_EST) {
            let est = self.task_util_est_only(task) as u32;
            let cfs = self.rqs[cpu].cfs;
            self.cfs_rqs[cfs].avg.util_est += est;
        }
    }

    #[inline]
    pub(crate) fn util_est_dequeue(&mut self, cpu: CpuId, task: TaskId) {
        if self.profile.features.has(Feature::UTIL_EST) {
            let est = self.task_util_est_only(task) as u32;
            let cfs = self.rqs[cpu].cfs;
            let total = &mut self.cfs_rqs[cfs].avg.util_est;
            *total = total.saturating_sub(est);
        }
    }

    // ---- the class's entry points ------------------------------------------------------------------------------

    /// A fair task stops running; it and its groups go back in line.
    pub(crate) fn put_prev_task_fair(&mut self, task: TaskId) {
        let mut se = self.tasks[task].se;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            (self.fair.put_prev_entity)(self, cfs_rq, se);
            se = self.ses[se].parent;
        }
    }

    /// A fair task becomes the running one without having been picked (a change of attributes).
    pub(crate) fn set_next_task_fair(&mut self, task: TaskId, first: bool) {
        let cpu = self.tasks[task].cpu;
        let mut se = self.tasks[task].se;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            (self.fair.set_next_entity)(self, cfs_rq, se, first);
            self.account_cfs_rq_runtime(cfs_rq, 0);
            se = self.ses[se].parent;
        }
        if self.tasks[task].is_queued() {
            self.cfs_tasks_picked(cpu, task);
        }
        if first {
            self.fair_task_starts(cpu, task);
        }
    }

    /// What follows every pick of a fair task.
    #[inline(always)]
    pub(crate) fn fair_task_starts(&mut self, cpu: CpuId, task: TaskId) {
        if self.hrtick_enabled_fair() {
            self.hrtick_start_fair(cpu, task);
        }
        self.update_misfit_status(cpu, Some(task));
    }

    /// Switches from one picked task to another, changing only the levels in which they differ. The release's
    /// `put_prev_entity` and `set_next_entity` are passed, so that they are inlined.
    #[inline(always)]
    pub(crate) fn switch_fair(
        &mut self,
        prev: TaskId,
        next: TaskId,
        put_prev_entity: impl Fn(&mut Sched, CfsRqId, SeId),
        set_next_entity: impl Fn(&mut Sched, CfsRqId, SeId, bool),
    ) {
        let (mut se, mut pse) = (self.tasks[next].se, self.tasks[prev].se);
        let cfs_rq = loop {
            let (of_next, of_prev) = (&self.ses[se], &self.ses[pse]);
            let (cfs_rq, p_cfs_rq) = (of_next.cfs_rq, of_prev.cfs_rq);
            if cfs_rq == p_cfs_rq {
                break cfs_rq;
            }
            let (se_depth, pse_depth) = (of_next.depth, of_prev.depth);
            let (parent, p_parent) = (of_next.parent, of_prev.parent);
            if se_depth <= pse_depth {
                (self.fair.put_prev_entity)(self, p_cfs_rq, pse);
                pse = p_parent;
            }
            if se_depth >= pse_depth {
                (self.fair.set_next_entity)(self, cfs_rq, se, true);
                se = parent;
            }
        };
        put_prev_entity(self, cfs_rq, pse);
        set_next_entity(self, cfs_rq, se, true);
    }

    /// The tick of a running fair task, level by level. With SPARSE_GROUP_TICK the level `n` above the task has its part
    /// at every 2ⁿ-th tick only; an hrtick (`queued`) is for all.
    pub(crate) fn task_tick_fair(&mut self, cpu: CpuId, task: TaskId, queued: bool) {
        let sparse = !queued && self.profile.features.has(Feature::SPARSE_GROUP_TICK);
        let due_below = if sparse {
            self.jiffies.trailing_zeros()
        } else {
            u32::MAX
        };
        let mut height = 0;
        let mut se = self.tasks[task].se;
        while se.is_some() && height <= due_below {
            let (cfs_rq, parent) = (self.ses[se].cfs_rq, self.ses[se].parent);
            (self.fair.entity_tick)(self, cfs_rq, se, queued);
            se = parent;
            height += 1;
        }
        self.refresh_flat_weights(cpu);
        self.update_misfit_status(cpu, Some(task));
    }

    /// The priority of a queued fair task changed.
    pub(crate) fn prio_changed_fair(&mut self, cpu: CpuId, task: TaskId, old_prio: i32) {
        if !self.tasks[task].is_queued() || self.cfs_rqs[self.rqs[cpu].cfs].nr_queued == 1 {
            return;
        }
        if self.rqs[cpu].curr == task {
            if self.tasks[task].prio > old_prio {
                self.resched_curr(cpu);
            }
        } else {
            self.wakeup_preempt(cpu, task, 0);
        }
    }

    /// A task joined the fair class.
    pub(crate) fn switched_to_fair(&mut self, cpu: CpuId, task: TaskId) {
        (self.fair.attach_task)(self, task);
        if self.tasks[task].is_queued() {
            if self.rqs[cpu].curr == task {
                self.resched_curr(cpu);
            } else {
                self.wakeup_preempt(cpu, task, 0);
            }
        }
    }

    // ---- hrtick ------------------------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn hrtick_enabled_fair(&self) -> bool {
        self.profile.features.has(Feature::HRTICK)
    }

    #[inline(never)]
    fn hrtick_start_fair(&mut self, cpu: CpuId, task: TaskId) {
        let cfs = self.rqs[cpu].cfs;
        if self.cfs_rqs[cfs].h_nr_queued <= 1 {
            return;
        }
        let se = self.tasks[task].se;
        let slice = (self.fair.hrtick_slice)(self, se);
        let ran = self.ses[se].sum_exec_runtime - self.ses[se].prev_sum_exec_runtime;
        let left = slice.wrapping_sub(ran) as i64;
        if left < 0 {
            if self.rqs[cpu].curr == task {
                self.resched_curr(cpu);
            }
            return;
        }
        // Below 10 µs the timer would cost more than it brings.
        let expires = self.now + (left as u64).max(10_000);
        self.effects.push(Effect::StartHrtick { cpu, expires });
    }

    /// The number of runnable tasks changed: the slice may end earlier or later.
    #[inline(always)]
    pub(crate) fn hrtick_update(&mut self, cpu: CpuId) {
        if self.hrtick_enabled_fair() {
            self.restart_hrtick_fair(cpu);
        }
    }

    #[inline(never)]
    fn restart_hrtick_fair(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if self.tasks[curr].class != Class::Fair {
            return;
        }
        let cfs_rq = self.task_cfs_rq(curr);
        let depth = self.ses[self.tasks[curr].se].depth;
        if !self.fair.hrtick_by_nr_latency
            || u64::from(self.cfs_rqs[cfs_rq].nr_queued) < self.profile.sched_nr_latency(depth)
        {
            self.hrtick_start_fair(cpu, curr);
        }
    }
}
