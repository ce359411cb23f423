//! Which groups of CPUs count as imbalanced: not recorded, and so inferred from what a pass does.
//!
//! Model.   A pass that is kept by affinity from moving tasks makes the group that it was for imbalanced in the domain above, until
//!          one finds nothing that keeps it. Both may move nothing, and at other times than ours. Where a pass of the kernel is
//!          ours once one more group is imbalanced, in which a task may not use all CPUs, or one less, ours goes on from that.
//! Source.  kernel/sched/fair.c `load_balance` @ 6.1, `sched_balance_rq` @ 6.12 (`sgc->imbalance`).

use super::Follower;
use super::passes::{Answer, Asked};
use crate::judge::Class;
use fairwind_sched::domain::SgcId;
use fairwind_sched::{CpuMask, Sched, TaskId};

pub(super) const NOT_IMBALANCED: Class = Class::NotRecorded("which groups were imbalanced");

impl Follower<'_> {
    /// The group of the pass's domain that has to be imbalanced, or not, for ours to do what the kernel did, if there is one.
    pub(super) fn imbalanced_otherwise(
        &self,
        asked: &Asked,
        same: impl Fn(&Answer) -> bool,
    ) -> Option<(SgcId, bool)> {
        asked.pass.passes().iter().find_map(|&(_, sd)| {
            let domains = &asked.before.domains;
            let mut groups = domains.for_each_group(sd);
            groups.find_map(|group| {
                let sgc = domains.sg[group].sgc;
                let imbalance = !domains.sgc[sgc].imbalance;
                if imbalance && !has_pinned(&asked.before, domains.sched_group_span(group)) {
                    return None;
                }
                let mut base = asked.before.clone();
                base.domains.sgc[sgc].imbalance = imbalance;
                same(&self.ask_pass(&base, asked, None)).then_some((sgc, imbalance))
            })
        })
    }
}

/// Is a task on one of some CPUs that may not use all of them?
fn has_pinned(sched: &Sched, cpus: &CpuMask) -> bool {
    let some = |task: TaskId| task.is_some().then_some(task);
    let mut tasks = cpus.iter().flat_map(|cpu| {
        let first = some(sched.rqs[cpu].cfs_tasks_first);
        std::iter::successors(first, |&task| some(sched.tasks[task].cfs_tasks_next))
    });
    tasks.any(|task| {
        let is_bound = cpus.iter().any(|cpu| !sched.cpu_allowed(task, cpu));
        is_bound && !sched.tasks[task].is_per_cpu_kthread
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::{CpuId, KernelProfile, Release, Topology};

    #[test]
    fn a_group_has_pinned_tasks_if_some_may_not_use_all_of_it() {
        let profile = KernelProfile::new(Release::V6_1, 4);
        let mut sched = Sched::new(profile, Topology::regular(2, 2, 1));
        let task = sched.spawn(CpuId(1), 0);
        sched.wake_up_new_task(CpuId(1), task, 0);
        let of = |cpus: &[u32]| CpuMask::of(4, cpus.iter().map(|&cpu| CpuId(cpu)));
        let (own, other) = (of(&[0, 1]), of(&[2, 3]));
        assert!(!has_pinned(&sched, &own), "it may go anywhere");
        sched.follow_cpus_allowed(task, &own);
        assert!(!has_pinned(&sched, &own), "anywhere in there");
        sched.follow_cpus_allowed(task, &of(&[1, 2]));
        assert!(has_pinned(&sched, &own));
        assert!(!has_pinned(&sched, &other), "it is not there");
        sched.tasks[task].is_per_cpu_kthread = true;
        assert!(!has_pinned(&sched, &own), "passes leave those out");
    }
}
