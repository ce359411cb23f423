//! The list of a CPU's fair queues that carry load, children before their parents.
//!
//! Model. Walking it once from the front decays each queue before the queue above it needs the result. A branch
//!        that is added from below and whose parent is not on the list yet is kept at the front, and
//!        `tmp_alone_branch` remembers where its next ancestor goes.
//! Source. kernel/sched/fair.c `list_add_leaf_cfs_rq`, `list_del_leaf_cfs_rq`, `child_cfs_rq_on_list` @ 6.1, 6.12.

use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId};

impl Sched {
    fn leaf_insert_after(&mut self, cpu: CpuId, new: CfsRqId, at: CfsRqId) {
        let next = if at.is_some() {
            self.cfs_rqs[at].leaf_next
        } else {
            self.rqs[cpu].leaf_first
        };
        self.cfs_rqs[new].leaf_prev = at;
        self.cfs_rqs[new].leaf_next = next;
        if at.is_some() {
            self.cfs_rqs[at].leaf_next = new;
        } else {
            self.rqs[cpu].leaf_first = new;
        }
        if next.is_some() {
            self.cfs_rqs[next].leaf_prev = new;
        } else {
            self.rqs[cpu].leaf_last = new;
        }
    }

    /// Puts a queue on the list; true when its branch is connected to the root.
    pub(crate) fn list_add_leaf_cfs_rq(&mut self, cfs_rq: CfsRqId) -> bool {
        let cpu = self.cpu_of(cfs_rq);
        if self.cfs_rqs[cfs_rq].on_list {
            return self.rqs[cpu].tmp_alone_branch.is_none();
        }
        self.cfs_rqs[cfs_rq].on_list = true;
        let parent_group = self.queue_parent(self.cfs_rqs[cfs_rq].tg);
        if parent_group.is_none() {
            let last = self.rqs[cpu].leaf_last;
            self.leaf_insert_after(cpu, cfs_rq, last);
            self.rqs[cpu].tmp_alone_branch = CfsRqId::NONE;
            return true;
        }
        let parent = self.groups[parent_group].cfs_rq[cpu.idx()];
        if self.cfs_rqs[parent].on_list {
            let before = self.cfs_rqs[parent].leaf_prev;
            self.leaf_insert_after(cpu, cfs_rq, before);
            self.rqs[cpu].tmp_alone_branch = CfsRqId::NONE;
            return true;
        }
        let at = self.rqs[cpu].tmp_alone_branch;
        self.leaf_insert_after(cpu, cfs_rq, at);
        self.rqs[cpu].tmp_alone_branch = cfs_rq;
        false
    }

    /// Takes a queue off the list.
    pub(crate) fn list_del_leaf_cfs_rq(&mut self, cfs_rq: CfsRqId) {
        if !self.cfs_rqs[cfs_rq].on_list {
            return;
        }
        let cpu = self.cpu_of(cfs_rq);
        let (prev, next) = (
            self.cfs_rqs[cfs_rq].leaf_prev,
            self.cfs_rqs[cfs_rq].leaf_next,
        );
        if self.rqs[cpu].tmp_alone_branch == cfs_rq {
            self.rqs[cpu].tmp_alone_branch = prev;
        }
        if prev.is_some() {
            self.cfs_rqs[prev].leaf_next = next;
        } else {
            self.rqs[cpu].leaf_first = next;
        }
        if next.is_some() {
            self.cfs_rqs[next].leaf_prev = prev;
        } else {
            self.rqs[cpu].leaf_last = prev;
        }
        self.cfs_rqs[cfs_rq].on_list = false;
    }

    /// A branch must be connected when an operation ends.
    #[inline]
    pub(crate) fn assert_list_leaf_cfs_rq(&self, cpu: CpuId) {
        assert!(
            self.rqs[cpu].tmp_alone_branch.is_none(),
            "cpu {}: a branch of fair queues is left alone",
            cpu.0
        );
    }

    /// Is a child of this queue on the list?
    pub(crate) fn child_cfs_rq_on_list(&self, cfs_rq: CfsRqId) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        let prev = if cfs.on_list {
            cfs.leaf_prev
        } else {
            self.rqs[cfs.cpu].tmp_alone_branch
        };
        prev.is_some() && self.queue_parent(self.cfs_rqs[prev].tg) == cfs.tg
    }
}
