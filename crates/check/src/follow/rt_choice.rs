//! Where a CPU puts the real-time tasks that it wakes or forks, if several others would do: told by where the kernel puts them.
//!
//! Model.      Each CPU goes on from where its last such choice fell, so that they spread evenly: that of a wakeup or a fork,
//!             of where to push a task (see `moves`), or in which it changed somebody's allowed CPUs, which no event tells. Where
//!             ours and the kernel choose differently, and the kernel's choice follows from another last one, ours goes on
//!             from the kernel's.
//! Invariants. A placement is answered by what earlier ones told, never by itself or later ones.
//! Deviations. Where a CPU's last choice fell is not recorded: ours needs a disagreement to learn of it.
//! Source.     lib/cpumask.c `cpumask_any_and_distribute`; kernel/sched/rt.c `find_lowest_rq`, core.c
//!             `__set_cpus_allowed_ptr_locked` @ 6.1, 6.12.

use super::Follower;
use crate::judge::Class;
use fairwind_sched::replay::BeforePlacement;
use fairwind_sched::{CpuId, Sched};

pub(super) const NOT_SPREAD: Class = Class::NotRecorded("where a CPU last put a real-time task");

impl Follower<'_> {
    /// Learns from the placement of a real-time task by a CPU. True if another last choice explains the kernel's.
    pub(super) fn learn_rt_choice(
        &mut self,
        here: CpuId,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) -> bool {
        let mut lasts = (0..self.sched.nr_cpus() as u32).map(CpuId);
        let mut follows = |last: CpuId| {
            let asked = self.sched.ask_otherwise(before, |sched| {
                sched.set_rt_choice(here, last);
                ask(sched)
            });
            asked == kernel
        };
        let explained = ours != kernel && lasts.any(&mut follows);
        if explained {
            self.sched.set_rt_choice(here, kernel);
        }
        explained
    }
}
