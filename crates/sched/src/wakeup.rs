//! Where a waking task goes: select_task_rq_fair and the search for an idle CPU.
//!
//! Model. First the choice between the waker's CPU and the task's previous one (wake_affine; not when waker and wakee
//!        form a wide fan, wake_wide), then near the chosen *target*: the target itself, the previous CPU, the one
//!        before that, an idle sibling thread, and at last a bounded scan of the target's last-level cache.
//!        fork and exec take the slow path over all domains instead (see `balance`). The scan is in `idle_scan`.
//! Source. kernel/sched/fair.c from `record_wakee` to `select_task_rq_fair` @ 6.1, 6.12, without `select_idle_cpu`.
//! Not here.   Energy-aware placement; core scheduling.

use crate::domain::SdId;
use crate::domain::flags::SD_WAKE_AFFINE;
use crate::features::Feature;
use crate::flags::{WF_FROM_IRQ, WF_SYNC, WF_TTWU};
use crate::sched::Sched;
use crate::search_stats::PlacementRule;
use crate::units::{CpuId, TaskId};

/// The utilisation a CPU must fit and the clamps on it, for machines with CPUs of different sizes.
#[derive(Clone, Copy)]
struct Fit {
    util: u64,
    min: u64,
    max: u64,
}

impl Sched {
    /// Notes that `waker` wakes `wakee`: a task that keeps waking different ones is a master.
    pub fn record_wakee(&mut self, waker: TaskId, wakee: TaskId) {
        let jiffies = self.jiffies;
        let hz = u64::from(self.profile.hz);
        let t = &mut self.tasks[waker];
        if jiffies > t.wakee_flip_decay_ts + hz {
            t.wakee_flips >>= 1;
            t.wakee_flip_decay_ts = jiffies;
        }
        if t.last_wakee != wakee {
            t.last_wakee = wakee;
            t.wakee_flips += 1;
        }
    }

    /// Is this one of so many wakees that they should not be drawn to the waker's cache?
    pub fn wake_wide(&self, this_cpu: CpuId, waker: TaskId, wakee: TaskId) -> bool {
        let factor = self.domains.sd_llc_size[this_cpu.idx()];
        let (a, b) = (self.tasks[waker].wakee_flips, self.tasks[wakee].wakee_flips);
        let (master, slave) = (a.max(b), a.min(b));
        slave >= factor && master >= slave.wrapping_mul(factor)
    }

    fn wake_affine_idle(&self, this_cpu: CpuId, prev_cpu: CpuId, sync: bool) -> Option<CpuId> {
        if self.idle_cpu(this_cpu) && self.cpus_share_cache(this_cpu, prev_cpu) {
            return Some(if self.idle_cpu(prev_cpu) {
                prev_cpu
            } else {
                this_cpu
            });
        }
        if sync {
            let rq = &self.rqs[this_cpu];
            let cfs = &self.cfs_rqs[rq.cfs];
            let delayed = cfs.h_nr_queued - cfs.h_nr_runnable;
            if rq.nr_running.wrapping_sub(delayed) == 1 {
                return Some(this_cpu);
            }
        }
        self.idle_cpu(prev_cpu).then_some(prev_cpu)
    }

    /// Compares what the loads would be with the task here and there, each against the other CPU's capacity.
    fn wake_affine_weight(
        &mut self,
        sd: SdId,
        task: TaskId,
        this_cpu: CpuId,
        prev_cpu: CpuId,
        sync: bool,
    ) -> Option<CpuId> {
        let features = self.profile.features;
        let mut this_load = self.cpu_load(this_cpu) as i64;
        if sync {
            let current_load = self.task_h_load(self.rqs[this_cpu].curr) as i64;
            if current_load > this_load {
                return Some(this_cpu);
            }
            this_load -= current_load;
        }
        let task_load = self.task_h_load(task) as i64;
        this_load += task_load;
        if features.has(Feature::WA_BIAS) {
            this_load *= 100;
        }
        this_load = this_load.wrapping_mul(self.capacity_of(prev_cpu) as i64);
        let mut prev_load = self.cpu_load(prev_cpu) as i64 - task_load;
        if features.has(Feature::WA_BIAS) {
            prev_load *= 100 + (i64::from(self.domains.sd[sd].imbalance_pct) - 100) / 2;
        }
        prev_load = prev_load.wrapping_mul(self.capacity_of(this_cpu) as i64);
        // A sync waker makes room: ties go to it.
        prev_load += i64::from(sync);
        (this_load < prev_load).then_some(this_cpu)
    }

    fn wake_affine(
        &mut self,
        sd: SdId,
        task: TaskId,
        this_cpu: CpuId,
        prev_cpu: CpuId,
        sync: bool,
    ) -> CpuId {
        let features = self.profile.features;
        let mut target = None;
        if features.has(Feature::WA_IDLE) {
            target = self.wake_affine_idle(this_cpu, prev_cpu, sync);
        }
        if target.is_none() && features.has(Feature::WA_QUEUED_WEIGHT) {
            target = self.wake_affine_queued(sd, task, this_cpu, prev_cpu, sync);
        }
        if target.is_none() && features.has(Feature::WA_WEIGHT) {
            target = self.wake_affine_weight(sd, task, this_cpu, prev_cpu, sync);
        }
        let stats = &mut self.task_stats[task];
        stats.nr_wakeups_affine_attempts += 1;
        if target != Some(this_cpu) {
            return prev_cpu;
        }
        stats.nr_wakeups_affine += 1;
        self.domain_stats_mut(sd).ttwu_move_affine += 1;
        this_cpu
    }

    // ---- CPUs of different sizes -------------------------------------------------------------------------------

    fn fit_of(&mut self, task: TaskId) -> Option<Fit> {
        if !self.domains.sched_asym_cpucap_active {
            return None;
        }
        self.sync_entity_load_avg(self.tasks[task].se);
        let (min, max) = self.uclamp_eff(task);
        Some(Fit {
            util: self.task_util_est(task),
            min,
            max,
        })
    }

    #[inline]
    fn asym_fits_cpu(&self, fit: Option<Fit>, cpu: CpuId) -> bool {
        fit.is_none_or(|fit| self.util_fits_cpu(fit.util, fit.min, fit.max, cpu) > 0)
    }

    fn select_idle_capacity(
        &mut self,
        task: TaskId,
        sd: SdId,
        target: CpuId,
        fit: Fit,
    ) -> Option<CpuId> {
        let mut best: Option<CpuId> = None;
        let (mut best_fits, mut best_cap) = (0, 0);
        for cpu in self.domains.sched_domain_span(sd).iter_wrap(target.idx()) {
            if !self.cpu_allowed(task, cpu) || !self.idle_enough(cpu) {
                continue;
            }
            let mut cap = self.capacity_of(cpu);
            let fits = self.util_fits_cpu(fit.util, fit.min, fit.max, cpu);
            if fits > 0 {
                return Some(cpu);
            }
            if fits < 0 {
                cap = self.rqs[cpu].cpu_capacity_orig;
            }
            if fits < best_fits || (fits == best_fits && cap > best_cap) {
                (best, best_fits, best_cap) = (Some(cpu), fits, cap);
            }
        }
        best
    }

    // ---- putting it together -----------------------------------------------------------------------------------

    fn select_idle_sibling(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        prev: CpuId,
        target: CpuId,
        wake_flags: u32,
    ) -> CpuId {
        self.search.target = Some(target);
        let fit = self.fit_of(task);
        let cluster = self.fair.cluster_aware && self.domains.sched_cluster_active;
        if self.idle_enough(target) && self.asym_fits_cpu(fit, target) {
            self.search.fast_hits += 1;
            self.search.rule = PlacementRule::IdleTarget;
            return target;
        }
        let mut prev_aff = None;
        if prev != target
            && self.cpus_share_cache(prev, target)
            && self.idle_enough(prev)
            && self.asym_fits_cpu(fit, prev)
        {
            if !cluster || self.domains.cpus_share_resources(prev, target) {
                self.search.fast_hits += 1;
                self.search.rule = PlacementRule::IdlePrev;
                return prev;
            }
            prev_aff = Some(prev);
        }
        let waker = self.rqs[this_cpu].curr;
        if self.tasks[waker].is_per_cpu_kthread
            && wake_flags & WF_FROM_IRQ == 0
            && prev == this_cpu
            && self.rqs[this_cpu].nr_running <= 1
            && self.asym_fits_cpu(fit, prev)
        {
            // The kthread is about to sleep: the task that waits for it can stay.
            self.search.rule = PlacementRule::PerCpuKthread;
            return prev;
        }
        let recent = core::mem::replace(&mut self.tasks[task].recent_used_cpu, prev);
        let mut recent_aff = None;
        if recent != prev
            && recent != target
            && self.cpus_share_cache(recent, target)
            && self.idle_enough(recent)
            && self.cpu_allowed(task, recent)
            && self.asym_fits_cpu(fit, recent)
        {
            if !cluster || self.domains.cpus_share_resources(recent, target) {
                self.search.fast_hits += 1;
                self.search.rule = PlacementRule::IdleRecent;
                return recent;
            }
            recent_aff = Some(recent);
        }
        if let Some(fit) = fit {
            let sd = self.domains.sd_asym_cpucapacity[target.idx()];
            if sd.is_some() {
                self.search.rule = PlacementRule::Capacity;
                return self
                    .select_idle_capacity(task, sd, target, fit)
                    .unwrap_or_else(|| self.select_empty_cfs_rq(task, target));
            }
        }
        self.search.rule = PlacementRule::Target;
        let sd = self.domains.sd_llc[target.idx()];
        if sd.is_none() {
            return target;
        }
        let mut has_idle_core = false;
        if self.domains.sched_smt_present {
            has_idle_core = self.test_idle_cores(target);
            if !has_idle_core
                && self.cpus_share_cache(prev, target)
                && let Some(cpu) = self.select_idle_smt(task, sd, prev)
            {
                self.search.rule = PlacementRule::IdleSibling;
                return cpu;
            }
        }
        let found = self.select_idle_cpu(this_cpu, task, sd, has_idle_core, target);
        if let Some(cpu) = found.or(prev_aff).or(recent_aff) {
            self.search.rule = PlacementRule::Scan;
            return cpu;
        }
        self.select_empty_cfs_rq(task, target)
    }

    /// Chooses a CPU for a fair task that wakes (`WF_TTWU`), is forked (`WF_FORK`) or execs (`WF_EXEC`);
    /// `this_cpu` is where that happens.
    pub(crate) fn select_task_rq_fair(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        prev_cpu: CpuId,
        wake_flags: u32,
    ) -> CpuId {
        let waker = self.rqs[this_cpu].curr;
        let sync = wake_flags & WF_SYNC != 0 && !self.tasks[waker].exiting;
        let sd_flag = wake_flags & 0xf;
        let mut new_cpu = prev_cpu;
        let mut want_affine = false;
        if wake_flags & WF_TTWU != 0 {
            self.record_wakee(waker, task);
            want_affine =
                !self.wake_wide(this_cpu, waker, task) && self.cpu_allowed(task, this_cpu);
        }
        let mut slow = SdId::NONE;
        let mut sd = self.domains.base[this_cpu.idx()];
        while sd.is_some() {
            let domain = &self.domains.sd[sd];
            let (flags, parent) = (domain.flags, domain.parent);
            if want_affine
                && flags & SD_WAKE_AFFINE != 0
                && (this_cpu == prev_cpu || self.domains.sched_domain_span(sd).test(prev_cpu))
            {
                if this_cpu != prev_cpu {
                    new_cpu = self.wake_affine(sd, task, this_cpu, prev_cpu, sync);
                }
                slow = SdId::NONE;
                break;
            }
            if flags & sd_flag != 0 {
                slow = sd;
            } else if !want_affine {
                break;
            }
            sd = parent;
        }
        if slow.is_some() {
            self.search.slow_path += 1;
            self.search.rule = PlacementRule::SlowPath;
            return self.sched_balance_find_dst_cpu(slow, task, this_cpu, prev_cpu, sd_flag);
        }
        if wake_flags & WF_TTWU != 0 {
            new_cpu = self.select_idle_sibling(this_cpu, task, prev_cpu, new_cpu, wake_flags);
            self.search.wakeups += 1;
            self.search.prev_cpu += u64::from(new_cpu == prev_cpu);
            self.search.this_cpu += u64::from(new_cpu == this_cpu);
        }
        new_cpu
    }
}
