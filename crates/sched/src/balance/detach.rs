//! Taking tasks off one queue and putting them on another.
//!
//! Model.      Tasks are tried from the least recently run on. One that must stay goes to the other
//!             end of the list, so that the next pass begins elsewhere. What is detached last is
//!             attached first.
//! Invariants. Tasks keep their order of detaching in `env.tasks` until `attach_tasks` empties it.
//! Source.     kernel/sched/fair.c: `task_hot`, `can_migrate_task`, `detach_task`,
//!             `detach_one_task`, `detach_tasks`, `attach_task`, `attach_one_task`, `attach_tasks`
//!             @ 6.1, 6.12, 6.18, with CONFIG_PREEMPTION (a newly idle CPU takes one task at a time).

use super::cpus_in_both;
use super::env::{
    CpuIdleType, LBF_ACTIVE_LB, LBF_ALL_PINNED, LBF_DST_PINNED, LBF_NEED_BREAK, LBF_SOME_PINNED,
    LbEnv, MigrationType, SCHED_NR_MIGRATE_BREAK,
};
use super::report::Verdict;
use crate::domain::flags::SD_SHARE_CPUCAPACITY;
use crate::features::Feature;
use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// Is the task's working set likely to be in the caches of the CPU it would leave?
    fn task_hot(&self, task: TaskId, env: &LbEnv) -> bool {
        let t = &self.tasks[task];
        if t.class != Class::Fair || t.has_idle_policy() {
            return false;
        }
        // Threads of a core share all its caches.
        if self.domains.sd[env.sd].flags & SD_SHARE_CPUCAPACITY != 0 {
            return false;
        }
        let se = &self.ses[t.se];
        if self.profile.features.has(Feature::CACHE_HOT_BUDDY)
            && self.rqs[env.dst_cpu].nr_running != 0
        {
            let cfs = &self.cfs_rqs[se.cfs_rq];
            if cfs.next == t.se || cfs.last == t.se {
                return true;
            }
        }
        match self.profile.tunables.migration_cost_ns {
            -1 => true,
            0 => false,
            cost => (self.rqs[env.src_cpu].clock_task.wrapping_sub(se.exec_start) as i64) < cost,
        }
    }

    /// May the task move to the destination, and should it? Notes in `env` why not.
    fn can_migrate_task(&mut self, task: TaskId, env: &mut LbEnv) -> Verdict {
        self.tasks[task].sched_task_hot = false;
        let t = &self.tasks[task];
        if t.is_per_cpu_kthread || (self.balance_rules.stays)(self, env, task) {
            return Verdict::NotAllowed;
        }
        if !self.cpu_allowed(task, env.dst_cpu) {
            self.task_stats[task].nr_failed_migrations_affine += 1;
            env.flags |= LBF_SOME_PINNED;
            self.note_other_destination(task, env);
            return Verdict::NotAllowed;
        }
        env.flags &= !LBF_ALL_PINNED;
        if self.tasks[task].on_cpu {
            self.task_stats[task].nr_failed_migrations_running += 1;
            return Verdict::Runs;
        }
        if env.flags & LBF_ACTIVE_LB != 0 {
            return Verdict::Moves;
        }
        let hot = self.task_hot(task, env);
        let sd = &self.domains.sd[env.sd];
        if !hot || (sd.nr_balance_failed > sd.cache_nice_tries && !env.cold_only) {
            self.tasks[task].sched_task_hot = hot;
            return Verdict::Moves;
        }
        self.task_stats[task].nr_failed_migrations_hot += 1;
        Verdict::Hot
    }

    /// 6.1, 6.12: its group is throttled here or there.
    pub(super) fn is_throttled_on_either(&self, env: &LbEnv, task: TaskId) -> bool {
        self.throttled_lb_pair(self.sched_group(task), env.src_cpu, env.dst_cpu)
    }

    /// 6.18: it sleeps, and not load is to be moved; its group is throttled there; or it is not eligible, would not be
    /// there, and no pass has failed so far.
    pub(super) fn stays_6_18(&self, env: &LbEnv, task: TaskId) -> bool {
        let se = self.tasks[task].se;
        let entity = &self.ses[se];
        if entity.sched_delayed && env.migration_type != MigrationType::Load {
            return true;
        }
        let dst = self.groups[self.sched_group(task)].cfs_rq[env.dst_cpu.idx()];
        self.throttled_hierarchy(dst)
            || (self.domains.sd[env.sd].nr_balance_failed == 0
                && self.profile.features.has(Feature::PLACE_LAG)
                && self.cfs_rqs[dst].nr_queued != 0
                && !self.entity_eligible(entity.cfs_rq, se))
    }

    /// A pinned task may still fit another CPU of the destination's group.
    fn note_other_destination(&self, task: TaskId, env: &mut LbEnv) {
        if env.idle == CpuIdleType::NewlyIdle || env.flags & (LBF_DST_PINNED | LBF_ACTIVE_LB) != 0 {
            return;
        }
        let siblings = self.domains.group_balance_mask(env.dst_group);
        let other = cpus_in_both(siblings, &env.cpus).find(|&cpu| self.cpu_allowed(task, cpu));
        if let Some(cpu) = other {
            env.flags |= LBF_DST_PINNED;
            env.new_dst_cpu = cpu;
        }
    }

    fn detach_task(&mut self, task: TaskId, env: &LbEnv) {
        if self.tasks[task].sched_task_hot {
            self.tasks[task].sched_task_hot = false;
            self.domain_stats_mut(env.sd).of_mut(env.idle).lb_hot_gained += 1;
            self.task_stats[task].nr_forced_migrations += 1;
        }
        self.deactivate_task(env.src_cpu, task, 0);
        self.set_task_cpu(task, env.dst_cpu);
    }

    /// Detaches the first task that can move, for active balance.
    pub(super) fn detach_one_task(&mut self, env: &mut LbEnv) -> Option<TaskId> {
        let mut task = self.cfs_tasks_before(env.src_cpu, TaskId::NONE);
        while task.is_some() {
            let verdict = self.can_migrate_task(task, env);
            self.report_candidate(task, verdict);
            if verdict == Verdict::Moves {
                self.detach_task(task, env);
                self.domain_stats_mut(env.sd).of_mut(env.idle).lb_gained += 1;
                return Some(task);
            }
            task = self.cfs_tasks_before(env.src_cpu, task);
        }
        None
    }

    /// Detaches tasks until the imbalance is made good; tells how many.
    pub(super) fn detach_tasks(&mut self, env: &mut LbEnv) -> u32 {
        let src_cpu = env.src_cpu;
        // The queue may have emptied since it was chosen.
        if self.rqs[src_cpu].nr_running <= 1 {
            env.flags &= !LBF_ALL_PINNED;
            return 0;
        }
        if env.imbalance <= 0 {
            return 0;
        }
        let mut detached = 0;
        while let Some(task) = self.cfs_tasks_before(src_cpu, TaskId::NONE).get() {
            // One task is no less busy here than there.
            if env.is_idle() && self.rqs[src_cpu].nr_running <= 1 {
                break;
            }
            env.nr_looked_at += 1;
            if env.nr_looked_at > env.loop_max {
                break;
            }
            if env.nr_looked_at > env.loop_break {
                env.loop_break += SCHED_NR_MIGRATE_BREAK;
                env.flags |= LBF_NEED_BREAK;
                break;
            }
            let mut verdict = self.can_migrate_task(task, env);
            if verdict == Verdict::Moves && !self.take_from_imbalance(task, env) {
                verdict = Verdict::TooMuch;
            }
            self.report_candidate(task, verdict);
            if verdict != Verdict::Moves {
                if self.tasks[task].sched_task_hot {
                    self.task_stats[task].nr_failed_migrations_hot += 1;
                }
                self.cfs_tasks_move_front(src_cpu, task);
                continue;
            }
            self.detach_task(task, env);
            env.tasks.push(task);
            detached += 1;
            if env.idle == CpuIdleType::NewlyIdle || env.imbalance <= 0 {
                break;
            }
        }
        self.domain_stats_mut(env.sd).of_mut(env.idle).lb_gained += u64::from(detached);
        detached
    }

    /// Counts the task against the imbalance; false if it is more than that. After failed passes
    /// more and more may be overshot.
    fn take_from_imbalance(&mut self, task: TaskId, env: &mut LbEnv) -> bool {
        let nr_balance_failed = self.domains.sd[env.sd].nr_balance_failed;
        let is_too_much = |value: u64| value >> nr_balance_failed.min(63) > env.imbalance as u64;
        match env.migration_type {
            MigrationType::Load => {
                let load = self.task_h_load(task).max(1);
                let is_small = self.profile.features.has(Feature::LB_MIN)
                    && load < 16
                    && nr_balance_failed == 0;
                if is_small || is_too_much(load) {
                    return false;
                }
                env.imbalance = env.imbalance.wrapping_sub(load as i64);
            }
            MigrationType::Util => {
                let util = self.task_util_est(task);
                if is_too_much(util) {
                    return false;
                }
                env.imbalance = env.imbalance.wrapping_sub(util as i64);
            }
            MigrationType::Task => env.imbalance -= 1,
            MigrationType::Misfit => {
                if self.task_fits_cpu(task, env.src_cpu) {
                    return false;
                }
                env.imbalance = 0;
            }
        }
        true
    }

    fn attach_task(&mut self, cpu: CpuId, task: TaskId) {
        self.activate_task(cpu, task, 0);
        self.wakeup_preempt(cpu, task, 0);
    }

    pub(super) fn attach_one_task(&mut self, cpu: CpuId, task: TaskId) {
        self.update_rq_clock(cpu);
        self.attach_task(cpu, task);
    }

    /// Queues all that was detached on the destination, the last one first.
    pub(super) fn attach_tasks(&mut self, env: &mut LbEnv) {
        self.update_locked_clock(env.dst_cpu);
        while let Some(task) = env.tasks.pop() {
            self.attach_task(env.dst_cpu, task);
        }
    }
}
