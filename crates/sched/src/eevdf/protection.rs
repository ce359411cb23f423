//! 6.18: for how long a picked entity runs before another is picked, and how far its lag may go.
//!
//! Model.      A pick protects the entity up to a virtual runtime, `vprot`: its deadline, or less if somebody who waits
//!             asks for a shorter slice. Whoever comes to wait later may shorten the protection, and does not end it.
//!             Without RUN_TO_PARITY an entity runs for one base slice, not scaled by the number of CPUs.
//! Invariants. As in the kernel, `vprot` lies where the lag of an entity lies that does not run (`vlag`): what sets the
//!             one overwrites the other. So a running entity whose weight changes loses its protection.
//! Source.     kernel/sched/fair.c `set_protect_slice`, `update_protect_slice`, `protect_slice`,
//!             `cancel_protect_slice`, `update_entity_lag`, `cfs_rq_max_slice` @ 6.18.44.
//! Deviations. The kernel forgets to set a queued entity's own part of the longest slice when it puts it into its
//!             tree, and may find one that is no longer asked for; ours is the longest that is asked for.

use crate::cfs_rq::CfsRq;
use crate::entity::SchedEntity;
use crate::features::Feature;
use crate::sched::Sched;
use crate::units::{CfsRqId, Nanos, SeId};

/// The earlier of two virtual times, which may wrap.
fn min_vruntime(a: u64, b: u64) -> u64 {
    if (b.wrapping_sub(a) as i64) < 0 { b } else { a }
}

impl SchedEntity {
    /// Has it not run up to the end of its protection?
    #[inline(always)]
    pub(super) fn protect_slice_6_18(&self) -> bool {
        (self.vruntime.wrapping_sub(self.vlag as u64) as i64) < 0
    }
}

impl CfsRq {
    /// The longest slice anybody in the queue asks for, `curr` being the running entity if it counts.
    fn max_slice(&self, curr: Option<&SchedEntity>) -> Nanos {
        let waiting = self.timeline.max_slice();
        waiting.unwrap_or(0).max(curr.map_or(0, |curr| curr.slice))
    }

    /// The longest slice in the queue and a tick.
    pub(super) fn lag_limit_6_18(
        &self,
        curr: Option<&SchedEntity>,
        _entity: &SchedEntity,
        tick_nsec: Nanos,
    ) -> Nanos {
        self.max_slice(curr) + tick_nsec
    }
}

impl Sched {
    /// The base slice before it was scaled by the number of CPUs.
    fn normalized_base_slice(&self) -> Nanos {
        self.profile.tunables.base_slice_ns / self.profile.scaling_factor()
    }

    /// `vprot = min(d, v + quantum/w)`, the quantum being the shortest slice that anybody waits for, or its own.
    pub(super) fn set_protect_slice_6_18(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let quantum = if self.profile.features.has(Feature::RUN_TO_PARITY) {
            self.cfs_rq_min_slice(cfs_rq)
        } else {
            self.normalized_base_slice()
        };
        let entity = &mut self.ses[se];
        let mut vprot = entity.deadline;
        if quantum < entity.slice {
            let after = entity.load.calc_delta_fair(quantum);
            vprot = min_vruntime(vprot, entity.vruntime.wrapping_add(after));
        }
        entity.vlag = vprot as i64;
    }

    /// Somebody came to wait who does not preempt: the protection ends one shortest slice from now at the latest.
    pub(super) fn update_protect_slice(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let quantum = self.cfs_rq_min_slice(cfs_rq);
        let entity = &mut self.ses[se];
        let after = entity.load.calc_delta_fair(quantum);
        let vprot = min_vruntime(entity.vlag as u64, entity.vruntime.wrapping_add(after));
        entity.vlag = vprot as i64;
    }

    pub(super) fn cancel_protect_slice_6_18(&mut self, se: SeId) {
        let entity = &mut self.ses[se];
        if entity.protect_slice_6_18() {
            entity.vlag = entity.vruntime as i64;
        }
    }
}
