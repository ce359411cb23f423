//! Drops the domains that make no difference to the scheduler.
//!
//! Model.  A domain is degenerate if it has one CPU, or one group and no wake-affine wakeups; a parent also if
//!         it spans the same CPUs and has no flag the child lacks.
//! Source. kernel/sched/topology.c: `cpu_attach_domain`, `sd_degenerate`, `sd_parent_degenerate`.

use super::Domains;
use super::build::Builder;
use super::flags::{SD_DEGENERATE_GROUPS_MASK, SD_PREFER_SIBLING, SD_WAKE_AFFINE};
use super::ids::{SdId, SgId};

impl Builder<'_> {
    /// Settles the final chain of every active CPU.
    pub(super) fn attach(&mut self) {
        for cpu in self.input.active.iter() {
            let base = self.d.base[cpu.idx()];
            self.d.base[cpu.idx()] = self.d.cpu_attach_domain(base);
        }
    }
}

impl Domains {
    /// Takes the degenerate domains out of a chain and tells its lowest domain, if one is left.
    fn cpu_attach_domain(&mut self, base: SdId) -> SdId {
        let mut tmp = base;
        while let Some(parent) = self.sd[tmp].parent.get() {
            if !self.sd_parent_degenerate(tmp, parent) {
                tmp = parent;
                continue;
            }
            let above = self.sd[parent].parent;
            self.sd[tmp].parent = above;
            if above.is_some() {
                self.sd[above].child = tmp;
                if self.profile.regroup_flags {
                    let first = self.sd[above].groups;
                    self.sg[first].flags = self.sd[tmp].flags;
                }
            }
            // The spans are equal, so what the parent's siblings prefer the child's do.
            self.sd[tmp].flags |= self.sd[parent].flags & SD_PREFER_SIBLING;
        }

        if !self.sd_degenerate(base) {
            return base;
        }
        let base = self.sd[base].parent;
        if base.is_some() {
            // Only the first group forgets the flags of the domain that it was made of. The CPUs of the
            // other groups do the same for theirs.
            let first = self.sd[base].groups;
            self.sg[first].flags = 0;
            self.sd[base].child = SdId::NONE;
        }
        base
    }

    fn has_one_group(&self, sd: SdId) -> bool {
        let first: SgId = self.sd[sd].groups;
        self.sg[first].next == first
    }

    fn sd_degenerate(&self, sd: SdId) -> bool {
        let domain = &self.sd[sd];
        if domain.span_weight == 1 {
            return true;
        }
        let balances = domain.flags & SD_DEGENERATE_GROUPS_MASK != 0 && !self.has_one_group(sd);
        !balances && domain.flags & SD_WAKE_AFFINE == 0
    }

    fn sd_parent_degenerate(&self, sd: SdId, parent: SdId) -> bool {
        if self.sd_degenerate(parent) {
            return true;
        }
        if self.sd[sd].span != self.sd[parent].span {
            return false;
        }
        let mut parent_flags = self.sd[parent].flags;
        if self.has_one_group(parent) {
            parent_flags &= !SD_DEGENERATE_GROUPS_MASK;
        }
        parent_flags & !self.sd[sd].flags == 0
    }
}
