//! Execution on a CPU: planning a stretch, charging what was done of it, and going on.

use crate::cpu::Segment;
use crate::event::segment_slot;
use crate::simulation::Simulation;
use crate::speed::length_at;
use crate::spinlock::NO_LOCK;
use crate::task_run::Activity;
use crate::virt::NO_VCPU;
use fairwind_sched::{CpuId, Nanos, TaskId};
use fairwind_workload::RUNTIME_CHUNK_NS;

/// A chunk of work between two looks at the clock, in 1/1024 ns.
const CHUNK: u64 = RUNTIME_CHUNK_NS << 10;

impl Simulation {
    /// Charges the running task for what it has executed since its stretch was planned.
    #[inline]
    pub(crate) fn charge(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        debug_assert_eq!(c.running, self.sched.rqs[cpu].curr);
        let segment = std::mem::replace(&mut c.segment, Segment::None);
        let elapsed = self.now - c.segment_start;
        c.planned = false;
        match segment {
            Segment::None => {}
            Segment::Kernel { speed } => {
                c.system_ns += elapsed;
                let run = &mut self.tasks[c.running.idx()];
                run.kernel_left = run.kernel_left.saturating_sub((elapsed * speed) >> 10);
            }
            Segment::User { speed } => {
                let run = &mut self.tasks[c.running.idx()];
                let stalled = run.stall_left.min(elapsed);
                run.stall_left -= stalled;
                run.stall_ns += stalled;
                run.work_left = run.work_left.saturating_sub((elapsed - stalled) * speed);
            }
            Segment::Settle { left, speed } => {
                c.debt += left.saturating_sub((elapsed * speed) >> 10);
            }
            Segment::Guest => {
                let curr = c.running;
                self.vcpu_left(curr);
            }
            Segment::Poll | Segment::LockWait => c.system_ns += elapsed,
            Segment::Spin => {
                c.system_ns += elapsed;
                let curr = c.running;
                self.spun(cpu, curr, elapsed);
            }
        }
    }

    /// Goes on with whatever the CPU has to do next.
    pub(crate) fn resume(&mut self, cpu: CpuId) {
        loop {
            let rq = &self.sched.rqs[cpu];
            let (curr, idle, stop) = (rq.curr, rq.idle, rq.stop);
            let (at_once, need_resched) =
                (rq.need_resched, rq.need_resched || rq.need_resched_lazy);
            let c = &mut self.cpus[cpu.idx()];
            if curr == idle {
                if need_resched && c.debt == 0 {
                    self.switch(cpu);
                    if !self.sched.is_idle(cpu) {
                        continue;
                    }
                }
                self.enter_idle(cpu);
                return;
            }
            let debt = std::mem::take(&mut c.debt);
            let run = &mut self.tasks[curr.idx()];
            run.kernel_left += debt;
            let need_resched = need_resched && run.preempt_count == 0;
            if !need_resched {
                // The next call begins when the task is back in user space and may stay there.
                run.kernel_left += std::mem::take(&mut run.call_left);
            }
            let preempted =
                need_resched && at_once && self.kernel_preemptible && !run.goes_to_sleep;
            if run.kernel_left > 0 && !preempted {
                let left = run.kernel_left;
                self.plan_kernel(cpu, left);
                return;
            }
            let vcpu = run.vcpu;
            if run.goes_to_sleep {
                self.switch(cpu);
            } else if need_resched {
                self.poll_gives_way(cpu, vcpu);
                self.switch(cpu);
            } else if curr == stop {
                self.stopper_step(cpu);
            } else if vcpu != NO_VCPU {
                if self.vcpu_step(cpu, vcpu) {
                    return;
                }
            } else if run.spins_on != NO_LOCK {
                self.spin(cpu, curr);
                return;
            } else if run.has_work() && self.plan_user(cpu, curr) {
                return;
            } else {
                self.program_step(cpu, curr);
            }
        }
    }

    /// Plans the running task's own work; false if none is left.
    pub(crate) fn plan_user(&mut self, cpu: CpuId, curr: TaskId) -> bool {
        if !self.tasks[curr.idx()].has_work() {
            return false;
        }
        let speed = self.speed(cpu).user;
        let run = &mut self.tasks[curr.idx()];
        if let Activity::Until(until) = run.activity {
            // The clock is looked at after each chunk: finish the one begun, then as many as the time left takes.
            let begun = run.work_left % CHUNK;
            let left = until.saturating_sub(self.now).saturating_mul(speed);
            run.work_left = begun + left.saturating_sub(begun).div_ceil(CHUNK) * CHUNK;
            if run.work_left == 0 {
                run.activity = Activity::Work;
                if run.stall_left == 0 {
                    return false;
                }
            }
        }
        let length = run.stall_left + run.work_left.div_ceil(speed);
        self.plan(cpu, Segment::User { speed }, length);
        true
    }

    /// Plans kernel work.
    #[inline]
    pub(crate) fn plan_kernel(&mut self, cpu: CpuId, left: Nanos) {
        let speed = self.kernel_speed(cpu);
        self.plan(cpu, Segment::Kernel { speed }, length_at(left, speed));
    }

    /// Plans a stretch that something else will end.
    pub(crate) fn plan_open(&mut self, cpu: CpuId, segment: Segment) {
        let c = &mut self.cpus[cpu.idx()];
        c.segment = segment;
        c.segment_start = self.now;
        c.planned = false;
    }

    /// Plans a stretch of so long.
    #[inline]
    pub(crate) fn plan(&mut self, cpu: CpuId, segment: Segment, length: Nanos) {
        let c = &mut self.cpus[cpu.idx()];
        c.segment = segment;
        c.segment_start = self.now;
        c.planned = true;
        self.queue
            .set(segment_slot(cpu), self.now.saturating_add(length));
    }
}
