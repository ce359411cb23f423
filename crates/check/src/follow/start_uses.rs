//! What CPUs had used before the recording, out of where the kernel starts new tasks.
//!
//! Model.      The debug file shows the utilisation of CPUs some time before the recording, and who starts it changes that. It
//!             decays. Of groups with as many idle CPUs a new task goes to the one that is used least:
//!             if that is another one than ours, what is left of the time before the recording was less there, and so was
//!             its load: what a new task begins with follows from both.
//! Source.     kernel/sched/fair.c `find_idlest_group` @ 6.1, `sched_balance_find_dst_group` @ 6.12,
//!             `post_init_entity_util_avg` @ 6.1, 6.12.

use super::Follower;
use fairwind_sched::pelt::decay_load;
use fairwind_sched::{CpuId, CpuMask};

impl Follower<'_> {
    /// Notes what CPUs are taken to have used when the recording begins.
    pub(super) fn note_start_uses(&mut self) {
        let uses = self.sched.rqs.ids().map(|cpu| self.used(cpu));
        self.start_uses = uses.collect();
    }

    /// The load and the utilisation of a CPU.
    fn used(&self, cpu: CpuId) -> [u64; 2] {
        let avg = &self.sched.cfs_rqs[self.sched.rqs[cpu].cfs].avg;
        [avg.load_avg, avg.util_avg]
    }

    fn util(&self, cpu: CpuId) -> u64 {
        self.used(cpu)[1]
    }

    /// What is left by now of those at the beginning.
    fn left_of_start(&self, cpu: CpuId, now: u64) -> [u64; 2] {
        let start = self.records.first().map_or(now, |r| r.ts);
        let periods = now.saturating_sub(start) >> 20;
        let [load, util] = self.start_uses[cpu.idx()].map(|used| decay_load(used, periods));
        let used = self.used(cpu);
        [load.min(used[0]), util.min(used[1])]
    }

    /// The kernel starts a task on an idle CPU, ours would on another one.
    pub(super) fn learn_start_uses(&mut self, here: CpuId, [kernel, ours]: [CpuId; 2], now: u64) {
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
        let left: Vec<(CpuId, [u64; 2])> = of_kernel
            .iter()
            .map(|cpu| (cpu, self.left_of_start(cpu, now)))
            .collect();
        let all: u64 = left.iter().map(|(_, [_, util])| util).sum();
        let less = (more + 1).min(all);
        for (cpu, left) in left.into_iter().filter(|(_, [_, util])| *util != 0) {
            self.lower_start_use(cpu, left, less.saturating_mul(left[1]).div_ceil(all));
        }
    }

    /// Of the utilisation that is left on a CPU so much was not there.
    fn lower_start_use(&mut self, cpu: CpuId, left: [u64; 2], by: u64) {
        let used = lowered(self.used(cpu), left, by);
        self.sched.follow_use(cpu, used);
        let start = self.start_uses[cpu.idx()];
        let by = start[1].saturating_mul(by) / left[1];
        self.start_uses[cpu.idx()] = lowered(start, start, by);
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

/// Load and utilisation without so much of the part of the utilisation that is `left`, and as large a part of its load.
fn lowered(used: [u64; 2], left: [u64; 2], by: u64) -> [u64; 2] {
    let of_load = left[0].saturating_mul(by) / left[1].max(1);
    [used[0].saturating_sub(of_load), used[1].saturating_sub(by)]
}

#[cfg(test)]
mod tests {
    use super::lowered;

    #[test]
    fn the_load_of_before_goes_with_the_utilisation_of_before() {
        assert_eq!(lowered([100, 50], [100, 50], 20), [60, 30]);
        let of_now = [300, 250];
        assert_eq!(lowered(of_now, [100, 50], 20), [260, 230]);
        assert_eq!(lowered(of_now, [100, 50], 50), [200, 200]);
        assert_eq!(lowered([7, 0], [7, 0], 0), [7, 0]);
    }
}
