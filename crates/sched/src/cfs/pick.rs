//! Which entity runs next: leftmost, or a buddy that is not too far right.

use crate::load::UPDATE_TG;
use crate::probe::ProbePoint;
use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CfsRqId, CpuId, SeId, TaskId};

impl Sched {
    // ---- buddies -----------------------------------------------------------------------------------------------------

    pub(super) fn clear_buddies_cfs(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.cfs_rqs[cfs_rq].last == se {
            let mut at = se;
            while at.is_some() && self.cfs_rqs[self.ses[at].cfs_rq].last == at {
                let cfs_rq = self.ses[at].cfs_rq;
                self.cfs_rqs[cfs_rq].last = SeId::NONE;
                at = self.ses[at].parent;
            }
        }
        if self.cfs_rqs[cfs_rq].next == se {
            self.clear_buddies_next(se);
        }
        if self.cfs_rqs[cfs_rq].skip == se {
            let mut at = se;
            while at.is_some() && self.cfs_rqs[self.ses[at].cfs_rq].skip == at {
                let cfs_rq = self.ses[at].cfs_rq;
                self.cfs_rqs[cfs_rq].skip = SeId::NONE;
                at = self.ses[at].parent;
            }
        }
    }

    pub(super) fn set_last_buddy(&mut self, mut se: SeId) {
        while se.is_some() {
            if !self.ses[se].on_rq || self.se_is_idle(se) {
                return;
            }
            let cfs_rq = self.ses[se].cfs_rq;
            self.cfs_rqs[cfs_rq].last = se;
            se = self.ses[se].parent;
        }
    }

    pub(super) fn set_skip_buddy(&mut self, mut se: SeId) {
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            self.cfs_rqs[cfs_rq].skip = se;
            se = self.ses[se].parent;
        }
    }

    // ---- picking -----------------------------------------------------------------------------------------------------

    /// Is `se` ahead of `curr` by enough to preempt it? −1: not ahead; 0: within the granularity; 1: yes.
    pub(super) fn wakeup_preempt_entity(&mut self, curr: SeId, se: SeId) -> i32 {
        let vdiff = self.ses[curr].vruntime.wrapping_sub(self.ses[se].vruntime) as i64;
        if vdiff <= 0 {
            return -1;
        }
        i32::from(vdiff > self.wakeup_gran(se) as i64)
    }

    /// How far `se` has to be ahead of another one for that, in its virtual time.
    pub fn wakeup_gran(&mut self, se: SeId) -> u64 {
        let gran = self.profile.wakeup_granularity_ns(self.ses[se].depth);
        self.ses[se].load.calc_delta_fair(gran)
    }

    /// The leftmost entity, unless a buddy is close enough.
    fn pick_next_entity_cfs(&mut self, cfs_rq: CfsRqId, curr: Option<SeId>) -> SeId {
        let first = self.cfs_rqs[cfs_rq].timeline.first().map(|e| e.se);
        let left = match (first, curr) {
            (Some(first), Some(curr)) if self.vruntime_before(curr, first) => curr,
            (Some(first), _) => first,
            (None, Some(curr)) => curr,
            (None, None) => panic!("picked from an empty queue"),
        };
        let mut se = left;
        let cfs = &self.cfs_rqs[cfs_rq];
        let (skip, next, last) = (cfs.skip, cfs.next, cfs.last);
        if skip == se {
            let second = if Some(se) == curr {
                first
            } else {
                let behind = self.cfs_rqs[cfs_rq].timeline.after(se).map(|e| e.se);
                match (behind, curr) {
                    (Some(behind), Some(curr)) if self.vruntime_before(curr, behind) => Some(curr),
                    (None, curr) => curr,
                    (behind, _) => behind,
                }
            };
            if let Some(second) = second
                && self.wakeup_preempt_entity(second, left) < 1
            {
                se = second;
            }
        }
        if next.is_some() && self.wakeup_preempt_entity(next, left) < 1 {
            se = next;
        } else if last.is_some() && self.wakeup_preempt_entity(last, left) < 1 {
            se = last;
        }
        se
    }

    pub(super) fn pick_next_task_cfs(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        newidle: bool,
    ) -> Option<TaskId> {
        let root = self.rqs[cpu].cfs;
        loop {
            if self.cfs_rqs[root].nr_queued != 0 {
                if prev.is_none() || self.tasks[prev].class != Class::Fair {
                    return Some(self.pick_simple_cfs(cpu, prev));
                }
                match self.pick_from_curr_cfs(root) {
                    Ok(task) => {
                        if prev != task {
                            self.switch_fair(
                                prev,
                                task,
                                Sched::put_prev_entity_cfs,
                                |sched, cfs_rq, se, _| sched.set_next_entity_cfs(cfs_rq, se),
                            );
                        }
                        self.picked_cfs(cpu, task);
                        return Some(task);
                    }
                    // A level was throttled on the way down: start over with everybody in line.
                    Err(()) if self.cfs_rqs[root].nr_queued != 0 => {
                        return Some(self.pick_simple_cfs(cpu, prev));
                    }
                    Err(()) => {}
                }
            }
            if !newidle || self.sched_balance_newidle(cpu) <= 0 {
                return None;
            }
        }
    }

    fn pick_from_curr_cfs(&mut self, root: CfsRqId) -> Result<TaskId, ()> {
        let mut cfs_rq = root;
        loop {
            let mut curr = self.cfs_rqs[cfs_rq].curr.get();
            if let Some(se) = curr {
                if self.ses[se].on_rq {
                    self.update_curr_cfs(cfs_rq);
                } else {
                    curr = None;
                }
                if self.check_cfs_rq_runtime(cfs_rq) {
                    return Err(());
                }
            }
            let se = self.pick_next_entity_cfs(cfs_rq, curr);
            cfs_rq = self.ses[se].my_q;
            if cfs_rq.is_none() {
                return Ok(self.ses[se].task);
            }
        }
    }

    fn pick_simple_cfs(&mut self, cpu: CpuId, prev: TaskId) -> TaskId {
        if prev.is_some() {
            self.put_prev_task(cpu, prev);
        }
        let mut cfs_rq = self.rqs[cpu].cfs;
        loop {
            let se = self.pick_next_entity_cfs(cfs_rq, None);
            self.set_next_entity_cfs(cfs_rq, se);
            cfs_rq = self.ses[se].my_q;
            if cfs_rq.is_none() {
                let task = self.ses[se].task;
                self.picked_cfs(cpu, task);
                return task;
            }
        }
    }

    fn picked_cfs(&mut self, cpu: CpuId, task: TaskId) {
        self.cfs_tasks_picked(cpu, task);
        self.fair_task_starts(cpu, task);
    }

    pub(super) fn set_next_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId) {
        self.probe(ProbePoint::SetNextEntity, cfs_rq, se);
        self.clear_buddies_cfs(cfs_rq, se);
        let cpu = self.cpu_of(cfs_rq);
        if self.ses[se].on_rq {
            self.update_stats_wait_end(cpu, se);
            self.cfs_rqs[cfs_rq].timeline.remove(se);
            self.update_load_avg(cfs_rq, se, UPDATE_TG);
        }
        self.ses[se].exec_start = self.rqs[cpu].clock_task;
        self.cfs_rqs[cfs_rq].curr = se;
        self.ses[se].prev_sum_exec_runtime = self.ses[se].sum_exec_runtime;
    }

    pub(super) fn put_prev_entity_cfs(&mut self, cfs_rq: CfsRqId, prev: SeId) {
        self.probe(ProbePoint::PutPrevEntity, cfs_rq, prev);
        if self.ses[prev].on_rq {
            self.update_curr_cfs(cfs_rq);
        }
        self.check_cfs_rq_runtime(cfs_rq);
        if self.ses[prev].on_rq {
            let cpu = self.cpu_of(cfs_rq);
            self.update_stats_wait_start(cpu, prev);
            self.line_up(cfs_rq, prev);
            self.update_load_avg(cfs_rq, prev, 0);
        }
        self.cfs_rqs[cfs_rq].curr = SeId::NONE;
    }
}
