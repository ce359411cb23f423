//! What is to be done once a scheduling decision is complete: pushing RT tasks away, pulling one in.
//!
//! Model.  At most one of each kind waits; the last queued runs first.
//! Source. kernel/sched/core.c `do_balance_callbacks`, sched.h `queue_balance_callback` @ 6.1, 6.12.

use crate::sched::Sched;
use crate::units::CpuId;

/// A thing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BalanceCallback {
    /// Push tasks to other CPUs.
    PushTasks,
    /// Pull a task from another CPU.
    PullTask,
}

/// Those waiting on one CPU, the last queued first.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct BalanceCallbacks {
    waiting: [Option<BalanceCallback>; 2],
}

impl BalanceCallbacks {
    /// Adds one, unless its like is waiting already.
    pub(crate) fn queue(&mut self, callback: BalanceCallback) {
        if !self.waiting.contains(&Some(callback)) {
            self.waiting = [Some(callback), self.waiting[0]];
        }
    }
}

impl Sched {
    /// Does what a scheduling decision on the CPU left to be done. To be called at the end of schedule(), and after
    /// a task's policy or priority was changed.
    #[inline(always)]
    pub(crate) fn rt_balance_callbacks(&mut self, cpu: CpuId) {
        if self.rqs[cpu].rt.callbacks.waiting[0].is_some() {
            self.call_back_rt(cpu);
        }
    }

    #[inline(never)]
    fn call_back_rt(&mut self, cpu: CpuId) {
        for callback in core::mem::take(&mut self.rqs[cpu].rt.callbacks)
            .waiting
            .into_iter()
            .flatten()
        {
            match callback {
                BalanceCallback::PushTasks => while self.push_rt_task(cpu, cpu) {},
                BalanceCallback::PullTask => self.pull_rt_task(cpu),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_queued_comes_first_and_none_comes_twice() {
        let mut callbacks = BalanceCallbacks::default();
        callbacks.queue(BalanceCallback::PushTasks);
        callbacks.queue(BalanceCallback::PullTask);
        callbacks.queue(BalanceCallback::PushTasks);
        assert_eq!(
            callbacks.waiting,
            [
                Some(BalanceCallback::PullTask),
                Some(BalanceCallback::PushTasks)
            ]
        );
    }
}
