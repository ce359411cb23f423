//! Active balance: the stopper of a busy CPU pushes the task that ran there.
//!
//! Source. kernel/sched/fair.c: `active_load_balance_cpu_stop` @ 6.1, 6.12.

use super::env::{CpuIdleType, LBF_ACTIVE_LB, LbEnv};
use crate::domain::SdId;
use crate::sched::Sched;
use crate::units::{CpuId, Nanos, TaskId};

impl Sched {
    /// Pushes a task to the CPU that asked for it; true if one could go. To be called while the
    /// stopper of `cpu` runs there, as
    /// [`Effect::StopActiveBalance`](crate::effects::Effect::StopActiveBalance) asked for.
    pub fn active_load_balance_cpu_stop(&mut self, cpu: CpuId, now: Nanos) -> bool {
        self.set_time(now);
        let request = core::mem::take(&mut self.rqs[cpu].active_balance);
        let target = CpuId(request.push_cpu);
        if !request.pending || !self.active.test(cpu) || !self.active.test(target) {
            return false;
        }
        // Only the stopper is left: the task has gone in the meantime.
        if self.rqs[cpu].nr_running <= 1 {
            return false;
        }
        let sd = self
            .domains
            .for_each_domain(target)
            .find(|&sd| self.domains.sched_domain_span(sd).test(cpu));
        let Some(task) = sd.and_then(|sd| self.detach_for_push(sd, cpu, target)) else {
            return false;
        };
        self.attach_one_task(target, task);
        true
    }

    fn detach_for_push(&mut self, sd: SdId, cpu: CpuId, target: CpuId) -> Option<TaskId> {
        let group = self.domains.sd[sd].groups;
        let mut env = LbEnv::new(sd, group, target, CpuIdleType::Idle);
        env.src_cpu = cpu;
        env.flags = LBF_ACTIVE_LB;
        self.domain_stats_mut(sd).alb_count += 1;
        self.update_rq_clock(cpu);
        let task = self.detach_one_task(&mut env);
        let stats = self.domain_stats_mut(sd);
        if task.is_some() {
            stats.alb_pushed += 1;
            self.domains.sd[sd].nr_balance_failed = 0;
        } else {
            stats.alb_failed += 1;
        }
        task
    }
}
