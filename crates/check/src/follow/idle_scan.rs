//! How far the search for an idle CPU may look, and whether a cache is known to have an idle core: told by where the kernel
//! puts tasks.
//!
//! Model.      Each pass of the periodic balancing over a cache sets how many CPUs a search may look at, from what they were
//!             used then. No event tells of passes that move nothing. Nor does one tell of searches that found no idle core,
//!             after which the cache is known to have none until a CPU goes idle beside an idle sibling. Where ours and the
//!             kernel choose differently, and the kernel's choice is that of another limit, ours goes on from that limit until
//!             its next pass: the nearest to its own. If it is that of the contrary of what ours knows of idle cores, ours
//!             goes on from there.
//! Invariants. A placement is answered by what earlier ones told, never by itself or later ones.
//! Deviations. When passes that move nothing were, and so how far idle CPUs are searched, is not recorded: ours needs a
//!             disagreement to learn of it. So it is with idle cores.
//! Source.     kernel/sched/fair.c `update_idle_cpu_scan`, `select_idle_cpu`, `__update_idle_core` @ 6.1, 6.12.

use super::Follower;
use fairwind_sched::replay::BeforePlacement;
use fairwind_sched::{CpuId, Sched, TaskId};

impl Follower<'_> {
    /// Learns from a placement that ours has answered otherwise, near a target. True if another limit explains the kernel's
    /// answer; then ours goes on from that.
    pub(super) fn learn_idle_scan(
        &mut self,
        target: CpuId,
        kernel: CpuId,
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) -> bool {
        let domains = &self.sched.domains;
        let shared = domains.sd_llc_shared[target.idx()];
        if shared.is_none() {
            return false;
        }
        let held = domains.sds[shared].nr_idle_scan;
        let most = domains.sd_llc_size[target.idx()] as i32;
        let mut others: Vec<i32> = (0..=most).filter(|&limit| limit != held).collect();
        others.sort_by_key(|limit| (limit - held).abs());
        let fits = others.into_iter().find(|&limit| {
            self.sched.domains.sds[shared].nr_idle_scan = limit;
            self.sched.ask_otherwise(before, &ask) == kernel
        });
        self.sched.domains.sds[shared].nr_idle_scan = fits.unwrap_or(held);
        fits.is_some()
    }

    /// The same of whether the target's cache is known to have an idle core; `here` the waker is.
    pub(super) fn learn_idle_cores(
        &mut self,
        target: CpuId,
        kernel: CpuId,
        before: &BeforePlacement,
        (here, task): (CpuId, TaskId),
        ask: impl Fn(&mut Sched) -> CpuId,
    ) -> bool {
        let after = self.sched.before_placement(here, task);
        self.sched.take_back(before);
        let known = self.sched.test_idle_cores(target);
        self.sched.set_idle_cores(target, !known);
        let fits = ask(&mut self.sched) == kernel;
        if !fits {
            self.sched.take_back(&after);
        }
        fits
    }
}
