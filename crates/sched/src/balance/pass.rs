//! One balancing pass over one domain.
//!
//! Model.  Several CPUs share a group; one of them balances for it, and what it pulls others pull
//!         on. A pass ends balanced (nothing to do: the interval doubles), moved (the interval goes
//!         back to its minimum), or failed: then `nr_balance_failed` grows, which in turn moves hot
//!         and big tasks, and at last the running one.
//!         With LB_COLD_FIRST a pass that may move hot tasks goes over the queue twice, first for the cold ones.
//! Source. kernel/sched/fair.c: `should_we_balance`, `need_active_balance`, `sched_balance_rq`
//!         (6.1: `load_balance`) @ 6.1, 6.12.

use super::cpus_in_both;
use super::env::{
    CpuIdleType, LBF_ALL_PINNED, LBF_DST_PINNED, LBF_NEED_BREAK, LBF_SOME_PINNED, LbEnv,
    MigrationType,
};
use super::replay::Found;
use crate::cpumask::CpuMask;
use crate::domain::SdId;
use crate::domain::flags::SD_SHARE_CPUCAPACITY;
use crate::effects::Effect;
use crate::features::Feature;
use crate::rq::ActiveBalance;
use crate::sched::Sched;
use crate::units::CpuId;

/// Up to this interval in ms, a pass that found only pinned tasks doubles it whatever the domain's
/// maximum.
const MAX_PINNED_INTERVAL: u32 = 512;

/// How a pass ended.
enum Outcome {
    /// So many tasks moved; or none, and the running one may be pushed.
    Done(u32),
    /// Nothing to do.
    Balanced,
    /// No task may run here.
    AllPinned,
    /// The running task, the only one left, may not run here.
    OnePinned,
}

impl Sched {
    /// Is the destination the CPU that balances for its group?
    fn should_we_balance(&self, env: &LbEnv) -> bool {
        if !env.cpus.test(env.dst_cpu) {
            return false;
        }
        if env.idle == CpuIdleType::NewlyIdle {
            let rq = &self.rqs[env.dst_cpu];
            return rq.nr_running == 0 && !rq.ttwu_pending;
        }
        self.balancing_cpu(env.sd, &env.cpus) == env.dst_cpu
    }

    /// The CPU that balances for the group of a domain, of these: the first idle one, from 6.12 on if it can be one whose core is
    /// idle, or else that of the group.
    pub fn balancing_cpu(&self, sd: SdId, cpus: &CpuMask) -> CpuId {
        let group = self.domains.sd[sd].groups;
        let mask = self.domains.group_balance_mask(group);
        let mut idle = cpus_in_both(mask, cpus).filter(|&cpu| self.idle_cpu(cpu));
        let first = if self.balance_rules.idle_core_balances
            && self.domains.sd[sd].flags & SD_SHARE_CPUCAPACITY == 0
        {
            let mut idle = idle.peekable();
            let first = idle.peek().copied();
            idle.find(|&cpu| self.is_core_idle(cpu)).or(first)
        } else {
            idle.next()
        };
        first.unwrap_or_else(|| self.domains.group_balance_cpu(group))
    }

    /// Is it time to push the running task of the source away?
    fn need_active_balance(&self, env: &LbEnv) -> bool {
        let sd = &self.domains.sd[env.sd];
        if env.migration_type == MigrationType::Task
            && sd.nr_balance_failed > sd.cache_nice_tries + 2
        {
            return true;
        }
        // A single task on a CPU that has lost capacity is better off on one that has not.
        let src = env.src_cpu;
        if env.is_idle()
            && self.nr_to_balance(src) == 1
            && self.check_cpu_capacity(src, env.sd)
            && self.capacity_of(src) * u64::from(sd.imbalance_pct)
                < self.capacity_of(env.dst_cpu) * 100
        {
            return true;
        }
        env.migration_type == MigrationType::Misfit
    }

    /// Pulls tasks towards `this_cpu` within a domain; tells how many. `continue_balancing` becomes
    /// false if another CPU is to balance here and above.
    pub(super) fn sched_balance_rq(
        &mut self,
        this_cpu: CpuId,
        sd: SdId,
        idle: CpuIdleType,
        continue_balancing: &mut bool,
    ) -> u32 {
        if self.lb().only_look {
            return 0;
        }
        let mut env = LbEnv::new(sd, self.domains.sd[sd].groups, this_cpu, idle);
        env.cpus = core::mem::take(&mut self.lb_mut().cpus);
        env.tasks = core::mem::take(&mut self.lb_mut().tasks);
        env.cpus
            .assign_and(self.domains.sched_domain_span(sd), &self.active);
        let cost = self.pass_cost(sd);
        self.lb_mut().time_spent += cost;
        self.domain_stats_mut(sd).of_mut(idle).lb_count += 1;
        self.report_pass(this_cpu, sd, idle);

        let outcome = self.balance_pass(&mut env, this_cpu, continue_balancing);
        let moved = self.settle(&env, outcome);
        if let Some(report) = self.pass_report() {
            report.moved = moved;
        }
        self.lb_mut().cpus = env.cpus;
        self.lb_mut().tasks = env.tasks;
        moved
    }

    /// What a pass over the domain costs.
    pub(super) fn pass_cost(&self, sd: SdId) -> u64 {
        self.lb().cost.per_cpu_ns * u64::from(self.domains.sd[sd].span_weight)
    }

    fn balance_pass(
        &mut self,
        env: &mut LbEnv,
        this_cpu: CpuId,
        continue_balancing: &mut bool,
    ) -> Outcome {
        let (sd, idle) = (env.sd, env.idle);
        let mut moved;
        loop {
            let Some(found) = self.find_source(env, continue_balancing) else {
                return Outcome::Balanced;
            };
            let busiest = found.src_cpu;
            let imbalance = env.imbalance as u64;
            let stats = self.domain_stats_mut(sd).of_mut(idle);
            let sum = &mut stats.lb_imbalance[env.migration_type as usize];
            *sum = sum.wrapping_add(imbalance);

            env.src_cpu = busiest;
            if let Some(report) = self.pass_report() {
                report.src_cpu = Some(busiest);
            }
            env.flags |= LBF_ALL_PINNED;
            moved = 0;
            if found.nr_running <= 1 {
                break;
            }
            env.loop_max = self.profile.tunables.nr_migrate.min(found.nr_running);
            moved = self.move_tasks(env);
            if let Some(parent) = self.domains.sd[sd].parent.get()
                && env.flags & LBF_SOME_PINNED != 0
                && env.imbalance > 0
            {
                self.set_group_imbalance(parent, true);
            }
            if env.flags & LBF_ALL_PINNED == 0 {
                break;
            }
            // Nothing there may come here: try the next busiest queue.
            env.cpus.clear(busiest);
            if env
                .cpus
                .is_subset(self.domains.group_balance_mask(env.dst_group))
            {
                return Outcome::AllPinned;
            }
            env.restart_loop();
        }
        self.after_moving(env, this_cpu, moved)
    }

    /// The busiest queue and how much is to be moved from there; none if this CPU is not the one to balance, or if
    /// there is nothing to do.
    fn find_source(&mut self, env: &mut LbEnv, continue_balancing: &mut bool) -> Option<Found> {
        if let Some(found) = self.lb_mut().found.take() {
            env.imbalance = found.imbalance;
            env.migration_type = found.migration_type;
            self.report_found(&found);
            return Some(found);
        }
        if !self.should_we_balance(env) {
            *continue_balancing = false;
            return None;
        }
        let Some(group) = self.sched_balance_find_src_group(env) else {
            self.domain_stats_mut(env.sd).of_mut(env.idle).lb_nobusyg += 1;
            return None;
        };
        let Some(src_cpu) = self.sched_balance_find_src_rq(env, group) else {
            self.domain_stats_mut(env.sd).of_mut(env.idle).lb_nobusyq += 1;
            return None;
        };
        Some(Found {
            src_cpu,
            nr_running: self.rqs[src_cpu].nr_running,
            imbalance: env.imbalance,
            migration_type: env.migration_type,
        })
    }

    /// Moves tasks from the source to the destination, and to its siblings those that may not run
    /// there.
    fn move_tasks(&mut self, env: &mut LbEnv) -> u32 {
        let sd = &self.domains.sd[env.sd];
        env.cold_only = self.profile.features.has(Feature::LB_COLD_FIRST)
            && sd.nr_balance_failed > sd.cache_nice_tries;
        let mut moved = 0;
        loop {
            self.update_locked_clock(env.src_cpu);
            let detached = self.detach_tasks(env);
            if detached != 0 {
                self.attach_tasks(env);
                moved += detached;
            }
            if env.flags & LBF_NEED_BREAK != 0 {
                env.flags &= !LBF_NEED_BREAK;
                continue;
            }
            if env.cold_only {
                env.cold_only = false;
                if detached == 0 || (env.idle != CpuIdleType::NewlyIdle && env.imbalance > 0) {
                    // The cold ones do not make up the imbalance: now the hot ones, too.
                    env.restart_loop();
                    continue;
                }
            }
            if env.flags & LBF_DST_PINNED == 0 || env.imbalance <= 0 {
                return moved;
            }
            env.cpus.clear(env.dst_cpu);
            env.dst_cpu = env.new_dst_cpu;
            env.flags &= !LBF_DST_PINNED;
            env.restart_loop();
        }
    }

    /// The parent's own group is (no longer) kept from balancing by affinity.
    fn set_group_imbalance(&mut self, parent: SdId, imbalance: bool) {
        let group = self.domains.sd[parent].groups;
        let sgc = self.domains.sg[group].sgc;
        self.domains.sgc[sgc].imbalance = imbalance;
    }

    fn after_moving(&mut self, env: &mut LbEnv, this_cpu: CpuId, moved: u32) -> Outcome {
        let sd = env.sd;
        let mut active_balance = false;
        if moved != 0 {
            self.domains.sd[sd].nr_balance_failed = 0;
        } else {
            self.domain_stats_mut(sd).of_mut(env.idle).lb_failed += 1;
            // A newly idle pass is short of time, and a misfit task cannot be helped: neither shows
            // that stronger measures are needed.
            if env.idle != CpuIdleType::NewlyIdle
                && (self.balance_rules.misfit_counts_as_failure
                    || env.migration_type != MigrationType::Misfit)
            {
                self.domains.sd[sd].nr_balance_failed += 1;
            }
            if self.need_active_balance(env) {
                let busiest = env.src_cpu;
                let curr = self.rqs[busiest].curr;
                // The idle task is bound to its CPU.
                if self.is_idle(busiest) || !self.cpu_allowed(curr, this_cpu) {
                    return Outcome::OnePinned;
                }
                env.flags &= !LBF_ALL_PINNED;
                if !self.rqs[busiest].active_balance.pending {
                    self.rqs[busiest].active_balance = ActiveBalance {
                        pending: true,
                        push_cpu: this_cpu.0,
                    };
                    active_balance = true;
                    if let Some(report) = self.pass_report() {
                        report.active = true;
                    }
                    self.effects
                        .push(Effect::StopActiveBalance { cpu: busiest });
                }
            }
        }
        if !active_balance || self.need_active_balance(env) {
            let sd = &mut self.domains.sd[sd];
            sd.balance_interval = sd.min_interval as u32;
        }
        Outcome::Done(moved)
    }

    /// Keeps the domain's books by the outcome of a pass; tells how many tasks moved.
    fn settle(&mut self, env: &LbEnv, outcome: Outcome) -> u32 {
        if let Outcome::Done(moved) = outcome {
            return moved;
        }
        if let Outcome::Balanced = outcome
            && let Some(parent) = self.domains.sd[env.sd].parent.get()
            && env.flags & LBF_ALL_PINNED == 0
        {
            self.set_group_imbalance(parent, false);
        }
        if !matches!(outcome, Outcome::OnePinned) {
            self.domain_stats_mut(env.sd).of_mut(env.idle).lb_balanced += 1;
            self.domains.sd[env.sd].nr_balance_failed = 0;
        }
        // A newly idle pass says nothing about how often to balance.
        if env.idle == CpuIdleType::NewlyIdle
            || (!self.balance_rules.misfit_counts_as_failure
                && env.migration_type == MigrationType::Misfit)
        {
            return 0;
        }
        let sd = &mut self.domains.sd[env.sd];
        let all_pinned = env.flags & LBF_ALL_PINNED != 0;
        if (all_pinned && sd.balance_interval < MAX_PINNED_INTERVAL)
            || u64::from(sd.balance_interval) < sd.max_interval
        {
            sd.balance_interval *= 2;
        }
        0
    }
}
