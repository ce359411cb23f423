//! Real-time tasks that have used up their part of a period.
//!
//! Model.  6.1 lets all real-time tasks of a CPU run for `sched_rt_runtime_us` of a period only. No event tells when that is used
//!         up. But a CPU that goes on with a fair task, or none, while one of them could run has throttled them; and one that
//!         goes on with one of them lets them run again.
//! Source. kernel/sched/rt.c `sched_rt_runtime_exceeded`, `do_sched_rt_period_timer` @ 6.1.

use super::Follower;
use super::tasks::stopper_cpu;
use crate::record::{Party, PrevState};
use fairwind_sched::task::{Class, MAX_RT_PRIO};
use fairwind_sched::{CpuId, Release, TaskId};

impl Follower<'_> {
    /// Before a CPU goes on with another task: are its real-time tasks throttled?
    pub(super) fn follow_rt_throttle(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        prev_state: PrevState,
        next: &Party,
    ) {
        let stops = stopper_cpu(&next.comm).is_some();
        if self.sched.profile.release != Release::V6_1 || !self.facts.rt_limited || stops {
            return;
        }
        let rt = &self.sched.rqs[cpu].rt;
        if (0..MAX_RT_PRIO).contains(&next.prio) {
            if rt.throttled {
                self.sched.follow_rt_throttled(cpu, false);
            }
            return;
        }
        let leaves = prev_state != PrevState::Runnable
            && self.sched.tasks[prev].class == Class::Rt
            && !self.sched.rqs[cpu].curr_has_left;
        // Deadlines are above all that.
        let could_run = rt.nr_running > u32::from(leaves) && rt.highest_curr >= 0;
        if could_run && !rt.throttled {
            self.judge
                .mended("CPUs whose real-time tasks were throttled");
            self.sched.follow_rt_throttled(cpu, true);
        }
    }
}
