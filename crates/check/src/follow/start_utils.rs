//! What CPUs had used before the recording, out of where the kernel starts new tasks.
//!
//! Model.      The debug file shows the utilisation of CPUs some time before the recording, and who starts it changes that. It
//!             decays. Of groups with as many idle CPUs a new task goes to the one that is used least:
//!             if that is another one than ours, what is left of the time before the recording was less there.
//! Source.     kernel/sched/fair.c `find_idlest_group` @ 6.1, `sched_balance_find_dst_group` @ 6.12.

use super::Follower;
use fairwind_sched::pelt::decay_load;
use fairwind_sched::{CpuId, CpuMask};

impl Follower<'_> {
    /// Notes what CPUs are taken to have used when the recording begins.
    pub(super) fn note_start_utils(&mut self) {
        let utils = self.sched.rqs.ids().map(|cpu| self.util(cpu));
        self.start_utils = utils.collect();
    }

    fn util(&self, cpu: CpuId) -> u64 {
        self.sched.cfs_rqs[self.sched.rqs[cpu].cfs].avg.util_avg
    }

    /// What is left of that on a CPU by now.
    fn left_of_start(&self, cpu: CpuId, now: u64) -> u64 {
        let start = self.records.first().map_or(now, |r| r.ts);
        decay_load(self.start_utils[cpu.idx()], now.saturating_sub(start) >> 20)
    }

    /// The kernel starts a task on an idle CPU, ours would on another one.
    pub(super) fn learn_start_utils(&mut self, here: CpuId, [kernel, ours]: [CpuId; 2], now: u64) {
        let Some([of_kernel, of_ours]) = self.groups_apart(here, [kernel, ours]) else {
            return;
        };
        let idle = |cpus: &CpuMask| cpus.iter().filter(|&cpu| self.sched.idle_cpu(cpu)).count();
        if idle(&of_kernel) != idle(&of_ours) {
            return;
        }
        let used = |cpus: &CpuMask| cpus.iter().map(|cpu| self.util(cpu)).sum::<u64>();
        let Some(more) = used(&of_kernel).checked_sub(used(&of_ours)) else {
            return;
        };
        let left: Vec<(CpuId, u64)> = of_kernel
            .iter()
            .map(|cpu| (cpu, self.left_of_start(cpu, now).min(self.util(cpu))))
            .collect();
        let all: u64 = left.iter().map(|(_, left)| left).sum();
        let less = (more + 1).min(all);
        for (cpu, left) in left.into_iter().filter(|(_, left)| *left != 0) {
            self.lower_start_util(cpu, left, less.saturating_mul(left).div_ceil(all));
        }
    }

    /// Of what is left on a CPU so much was not there.
    fn lower_start_util(&mut self, cpu: CpuId, left: u64, by: u64) {
        self.sched.follow_util(cpu, self.util(cpu) - by);
        let start = &mut self.start_utils[cpu.idx()];
        *start -= (start.saturating_mul(by) / left).min(*start);
    }

    /// The groups of two CPUs where domains tell them apart, if `here` is in neither.
    fn groups_apart(&self, here: CpuId, [a, b]: [CpuId; 2]) -> Option<[CpuMask; 2]> {
        let domains = &self.sched.domains;
        let mut sds = domains.for_each_domain(a);
        let sd = sds.find(|&sd| domains.sched_domain_span(sd).test(b))?;
        let group = |cpu: CpuId| {
            let mut groups = domains
                .for_each_group(sd)
                .map(|sg| domains.sched_group_span(sg));
            groups.find(|span| span.test(cpu)).cloned()
        };
        let groups = [group(a)?, group(b)?];
        let apart = !groups[0].test(b) && groups.iter().all(|span| !span.test(here));
        apart.then_some(groups)
    }
}
