//! What CPUs that run out of tasks try to pull in vain.
//!
//! Model.      A pass that moves nothing puts the tasks that it tried at the other end of the queue's list, so that the next one
//!             tries others. A CPU that goes idle and takes as long for that as if it looked (see `going_idle`) is taken to have
//!             looked in all of its domains in which ours finds nothing to move either.
//! Deviations. In which it looked is not recorded: that depends on random numbers and measured costs.
//! Source.     kernel/sched/fair.c `newidle_balance`, `detach_tasks` @ 6.1, `sched_balance_newidle` @ 6.12.

use super::Follower;
use super::passes::{Pass, Passes, answer};
use fairwind_sched::domain::SdId;
use fairwind_sched::{CpuId, TaskId, TaskState};

impl Follower<'_> {
    /// The running task of a CPU leaves it for such a state, and the CPU goes idle.
    pub(super) fn look_in_vain(&mut self, cpu: CpuId, clock: u64, prev_state: TaskState) {
        let sds = self.sched.domains.for_each_domain(cpu);
        let mut passes: Passes = sds.map(|sd| (cpu, sd)).collect();
        while !passes.is_empty() && self.could_move() {
            let pass = Pass::NewlyIdle {
                cpu,
                clock,
                now: clock,
                prev_state,
                passes: passes.clone(),
                times: 1,
            };
            let mut copy = self.copy();
            copy.report_passes(true);
            pass.ask(&mut copy);
            let ours = answer(copy);
            let reports = ours.sched.pass_reports();
            let acts = reports.iter().filter(|pass| pass.moved != 0 || pass.active);
            let acts: Vec<SdId> = acts.map(|pass| pass.sd).collect();
            if acts.is_empty() {
                let tried = reports.iter().flat_map(|pass| &pass.candidates);
                let tried: Vec<TaskId> = tried.map(|(task, _)| *task).collect();
                self.sched.follow_tries(&tried);
                return;
            }
            passes.retain(|(_, sd)| !acts.contains(sd));
        }
    }
}
