//! Every fair queue's counts and weight are those of the entities on it.
//!
//! Model. A queue counts its entities (`nr_queued`, `idle_nr_queued`, `load`); the `h_` counts add up the tasks of the whole
//!        subtree, level by level: a group's entity brings the counts of the queue it owns. A throttled group's entity is
//!        off its parent's queue, so what is below it does not count above. A CPU's `nr_running` is the sum over its
//!        classes.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{CpuId, Release, Sched, SeId};

/// What the entities on a queue add up to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    nr_queued: u32,
    idle_nr_queued: u32,
    h_nr_queued: u32,
    h_nr_runnable: u32,
    h_nr_delayed: u32,
    idle_h_nr_queued: u32,
    weight: u64,
}

impl Counts {
    /// Counts an entity in; group entities bring the counts their own queue states.
    fn add(&mut self, sched: &Sched, se: SeId) {
        let entity = &sched.ses[se];
        self.nr_queued += 1;
        self.weight = self.weight.wrapping_add(entity.load.weight);
        if entity.is_task() {
            let idle = u32::from(sched.tasks[entity.task].has_idle_policy());
            let delayed = u32::from(entity.sched_delayed);
            self.idle_nr_queued += idle;
            self.h_nr_queued += 1;
            self.h_nr_delayed += delayed;
            self.h_nr_runnable += 1 - delayed;
            self.idle_h_nr_queued += idle;
        } else {
            let below = &sched.cfs_rqs[entity.my_q];
            self.idle_nr_queued += u32::from(below.idle);
            self.h_nr_queued += below.h_nr_queued;
            self.h_nr_delayed += below.h_nr_delayed;
            self.h_nr_runnable += below.h_nr_runnable;
            self.idle_h_nr_queued += if below.idle {
                below.h_nr_queued
            } else {
                below.idle_h_nr_queued
            };
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct QueueCounts {
    /// `[nr_cfs_rqs]`, kept for its memory.
    counts: Vec<Counts>,
}

impl QueueCounts {
    fn check_cpu(&self, simulation: &Simulation, cpu: CpuId) -> Result<(), Violation> {
        let sched = &simulation.sched;
        let rq = &sched.rqs[cpu];
        let fair = sched.cfs_rqs[rq.cfs].h_nr_queued;
        let rt = if rq.rt.queued { rq.rt.nr_running } else { 0 };
        let stop = u32::from(sched.tasks[rq.stop].is_queued());
        let counts = sched.profile.release == Release::V6_12;
        let server = u32::from(counts && rq.rt.server.queued);
        if rq.nr_running != fair + rt + stop + server {
            let what = format!(
                "cpu {}: nr_running is {}, but {fair} fair + {rt} RT + {stop} stopper + {server} fair server",
                cpu.0, rq.nr_running
            );
            return broken(self.name(), simulation, what);
        }
        Ok(())
    }
}

impl Monitor for QueueCounts {
    fn name(&self) -> &'static str {
        "queue_counts"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.counts.clear();
        self.counts.resize(sched.cfs_rqs.len(), Counts::default());
        for se in sched.ses.ids() {
            if sched.ses[se].on_rq {
                self.counts[sched.ses[se].cfs_rq.idx()].add(sched, se);
            }
        }
        for cfs_rq in sched.cfs_rqs.ids() {
            let cfs = &sched.cfs_rqs[cfs_rq];
            let stated = Counts {
                nr_queued: cfs.nr_queued,
                idle_nr_queued: cfs.idle_nr_queued,
                h_nr_queued: cfs.h_nr_queued,
                h_nr_runnable: cfs.h_nr_runnable,
                h_nr_delayed: cfs.h_nr_delayed,
                idle_h_nr_queued: cfs.idle_h_nr_queued,
                weight: cfs.load.weight,
            };
            let counted = self.counts[cfs_rq.idx()];
            if stated != counted {
                let what = format!(
                    "cpu {} group {}: stated {stated:?}, counted {counted:?}",
                    cfs.cpu.0,
                    simulation.group_paths[cfs.tg.idx()]
                );
                return broken(self.name(), simulation, what);
            }
        }
        sched
            .rqs
            .ids()
            .try_for_each(|cpu| self.check_cpu(simulation, cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed};
    use super::*;
    use fairwind_sched::{CfsRqId, Release};

    const ROOT: CfsRqId = CfsRqId(0);

    #[test]
    fn a_task_too_many_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        fires(
            QueueCounts::default(),
            &mut simulation,
            |s| s.sched.cfs_rqs[ROOT].h_nr_queued += 1,
            "cpu 0 group /:",
        );
    }

    #[test]
    fn a_wrong_weight_is_seen() {
        let mut simulation = mixed(Release::V6_1);
        fires(
            QueueCounts::default(),
            &mut simulation,
            |s| s.sched.cfs_rqs[ROOT].load.add(1024),
            "group /:",
        );
    }

    #[test]
    fn a_wrong_nr_running_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        fires(
            QueueCounts::default(),
            &mut simulation,
            |s| s.sched.rqs[CpuId(0)].nr_running += 1,
            "nr_running is",
        );
    }
}
