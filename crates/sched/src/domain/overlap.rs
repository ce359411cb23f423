//! The groups of NUMA domains, which may overlap.
//!
//! Model.      A group is what a CPU not yet covered has as its child domain. Not every CPU of such a group
//!             climbs through it: in the drawing, nodes 1 and 3 are in the group {0 1 3} but reach the top
//!             through {0 1 2} and {0 2 3}. The balance mask holds those that do, and its first CPU keeps
//!             the capacity that equal groups share.
//! Invariants. Groups lie within their domain and cover it; balance masks are not empty, and those of one
//!             level are equal or disjoint.
//! Source.     kernel/sched/topology.c: `build_overlap_sched_groups`, `build_balance_mask`,
//!             `find_descended_sibling`, `init_overlap_sched_group`.
//!
//! A ring of four nodes, 20 to a neighbour and 30 across:
//!
//! ```text
//! 0 --- 1      distance 20   of node 0: nodes 0 1 3     groups {0} {1} {3}
//! |     |      distance 30   of node 0: nodes 0 1 2 3   groups {0 1 3} {1 2 3}
//! 3 --- 2                    of node 1: nodes 0 1 2 3   groups {0 1 2} {0 2 3}
//! ```

use super::build::Builder;
use super::ids::{SdId, SgId, SpanId};
use crate::cpumask::CpuMask;
use crate::units::CpuId;

impl Builder<'_> {
    /// Links the groups of a NUMA domain into a ring of its own and tells the first.
    pub(super) fn build_overlap_sched_groups(&mut self, sd: SdId, cpu: CpuId) -> SgId {
        let level = self.d.sd[sd].level as usize;
        let span = self.d.sched_domain_span(sd).clone();
        let mut covered = CpuMask::none(self.input.topology.nr_cpus());
        let mut first = SgId::NONE;
        let mut last = SgId::NONE;
        for i in span.iter_wrap(cpu.idx()) {
            if covered.test(i) {
                continue;
            }
            // Where distances are uneven, the chains of some CPUs end below this level.
            let Some(mut sibling) = self.data[level].sd[i.idx()].get() else {
                continue;
            };
            if !self.child_is_within(sibling, &span) {
                sibling = self.find_descended_sibling(sibling, &span);
            }
            let sg = self.group_of_child(sibling);
            covered.or_with(self.d.sched_group_span(sg));
            if first.is_none() {
                first = sg;
            } else {
                self.d.sg[last].next = sg;
            }
            last = sg;
            self.d.sg[last].next = first;
        }
        first
    }

    /// Has the domain no child, or one within the span?
    fn child_is_within(&self, sd: SdId, span: &CpuMask) -> bool {
        let child = self.d.sd[sd].child;
        child.is_none() || self.d.sched_domain_span(child).is_subset(span)
    }

    /// The first domain downwards whose child lies within the span, and is no mere repetition of it.
    fn find_descended_sibling(&self, mut sibling: SdId, span: &CpuMask) -> SdId {
        while !self.child_is_within(sibling, span) {
            sibling = self.d.sd[sibling].child;
        }
        while let Some(child) = self.d.sd[sibling].child.get() {
            if self.d.sd[child].span != self.d.sd[sibling].span {
                break;
            }
            sibling = child;
        }
        sibling
    }

    /// Makes a group of a domain's child.
    fn group_of_child(&mut self, sd: SdId) -> SgId {
        let level = self.d.sd[sd].level as usize;
        let (span, flags) = match self.d.sd[sd].child.get() {
            Some(child) => (self.d.sd[child].span, self.d.sd[child].flags),
            None => (self.d.sd[sd].span, 0),
        };
        let sgc = match self.data[level].balance.get(&span) {
            Some(&sgc) => sgc,
            None => {
                let mask = self.build_balance_mask(level, span);
                let first = mask.first().expect("the group's own CPU climbs through it");
                let mask = self.intern(&mask);
                let sgc = self.sgc(level, first, mask);
                self.data[level].balance.insert(span, sgc);
                sgc
            }
        };
        self.new_group(sgc, span, flags)
    }

    /// The CPUs of the group that reach the level through it.
    fn build_balance_mask(&self, level: usize, sg_span: SpanId) -> CpuMask {
        let climbers = self.d.spans[sg_span].iter().filter(|i| {
            let Some(sibling) = self.data[level].sd[i.idx()].get() else {
                return false;
            };
            let child = self.d.sd[sibling].child;
            child.is_some() && self.d.sd[child].span == sg_span
        });
        CpuMask::of(self.input.topology.nr_cpus(), climbers)
    }
}
