//! The least busy CPU for a task that forks, execs, or wakes by balancing: the slow path of
//! placement.
//!
//! Model.      From a domain down: the least busy group, the least busy CPU in it, and on from that
//!             CPU's domain below.
//! Source.     kernel/sched/fair.c: `sched_balance_find_dst_group_cpu`,
//!             `sched_balance_find_dst_cpu` (6.1: `find_idlest_group_cpu`, `find_idlest_cpu`) @
//!             6.1, 6.12.

use super::next_in_both;
use crate::domain::flags::SD_BALANCE_FORK;
use crate::domain::{SdId, SgId};
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// The CPU of a group that is out of the lightest sleep, of equals the last to go idle, or the
    /// least loaded.
    fn sched_balance_find_dst_group_cpu(
        &self,
        group: SgId,
        task: TaskId,
        this_cpu: CpuId,
    ) -> CpuId {
        let span = self.domains.sched_group_span(group);
        if self.domains.sg[group].group_weight == 1 {
            return span.first().expect("a group has a CPU");
        }
        let allowed = self.mask(self.tasks[task].cpus);
        let mut min_load = u64::MAX;
        let mut min_exit_latency = u64::from(u32::MAX);
        let mut latest_idle_timestamp = 0;
        let mut least_loaded_cpu = this_cpu;
        let mut shallowest_idle_cpu = None;
        let mut from = 0;
        while let Some(cpu) = next_in_both(span, allowed, from) {
            from = cpu.idx() + 1;
            if self.sched_idle_cpu(cpu) {
                return cpu;
            }
            if self.idle_cpu(cpu) {
                let rq = &self.rqs[cpu];
                let latency = rq.idle_exit_latency;
                if let Some(latency) = latency
                    && latency < min_exit_latency
                {
                    min_exit_latency = latency;
                    latest_idle_timestamp = rq.idle_stamp;
                    shallowest_idle_cpu = Some(cpu);
                } else if latency.is_none_or(|latency| latency == min_exit_latency)
                    && rq.idle_stamp > latest_idle_timestamp
                {
                    latest_idle_timestamp = rq.idle_stamp;
                    shallowest_idle_cpu = Some(cpu);
                }
            } else if shallowest_idle_cpu.is_none() {
                let load = self.cpu_load(cpu);
                if load < min_load {
                    min_load = load;
                    least_loaded_cpu = cpu;
                }
            }
        }
        shallowest_idle_cpu.unwrap_or(least_loaded_cpu)
    }

    /// The CPU for a task, from the domain `sd` of `cpu` down through the domains that balance for
    /// `sd_flag` (`SD_BALANCE_FORK`, `_EXEC` or `_WAKE`).
    pub(crate) fn sched_balance_find_dst_cpu(
        &mut self,
        sd: SdId,
        task: TaskId,
        mut cpu: CpuId,
        prev_cpu: CpuId,
        sd_flag: u32,
    ) -> CpuId {
        let mut new_cpu = cpu;
        let allowed = self.mask(self.tasks[task].cpus);
        if !self.domains.sched_domain_span(sd).intersects(allowed) {
            return prev_cpu;
        }
        // A new task's averages have no past to decay.
        if sd_flag & SD_BALANCE_FORK == 0 {
            self.sync_entity_load_avg(self.tasks[task].se);
        }
        let mut at = sd;
        while let Some(sd) = at.get() {
            at = self.domains.sd[sd].child;
            if self.domains.sd[sd].flags & sd_flag == 0 {
                continue;
            }
            let Some(group) = self.sched_balance_find_dst_group(sd, task, cpu) else {
                continue;
            };
            new_cpu = self.sched_balance_find_dst_group_cpu(group, task, cpu);
            if new_cpu == cpu {
                continue;
            }
            // On from the highest smaller domain of the new CPU.
            cpu = new_cpu;
            let weight = self.domains.sd[sd].span_weight;
            at = SdId::NONE;
            for below in self.domains.for_each_domain(cpu) {
                if weight <= self.domains.sd[below].span_weight {
                    break;
                }
                if self.domains.sd[below].flags & sd_flag != 0 {
                    at = below;
                }
            }
        }
        new_cpu
    }
}
