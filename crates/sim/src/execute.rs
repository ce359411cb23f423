//! Execution on a CPU: planning a stretch, charging what was done of it, and going on.

use crate::cpu::Segment;
use crate::event::{Event, segment_slot};
use crate::simulation::Simulation;
use crate::spinlock::NO_LOCK;
use crate::task_run::Activity;
use crate::virt::{NO_VCPU, Notice};
use fairwind_sched::{CpuId, TaskId};
use fairwind_workload::RUNTIME_CHUNK_NS;

/// A chunk of work between two looks at the clock, in 1/1024 ns.
const CHUNK: u64 = RUNTIME_CHUNK_NS << 10;

impl Simulation {
    /// Charges the running task for what it has executed since its stretch was planned.
    pub(crate) fn charge(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        let segment = std::mem::replace(&mut c.segment, Segment::None);
        let mut elapsed = self.now - c.segment_start;
        c.generation = c.generation.wrapping_add(1);
        match segment {
            Segment::None => {}
            Segment::Guest => self.vcpu_left(self.sched.rqs[cpu].curr),
            Segment::Poll | Segment::LockWait | Segment::Spin => {
                let curr = self.sched.rqs[cpu].curr;
                self.group_usage[self.sched.tasks[curr].group.idx()].system_ns += elapsed;
                if segment == Segment::Spin {
                    self.spun(cpu, curr, elapsed);
                }
            }
            Segment::Kernel => {
                let curr = self.sched.rqs[cpu].curr;
                let run = &mut self.tasks[curr.idx()];
                run.kernel_left = run.kernel_left.saturating_sub(elapsed);
                self.group_usage[self.sched.tasks[curr].group.idx()].system_ns += elapsed;
            }
            Segment::User { speed } => {
                let run = &mut self.tasks[self.sched.rqs[cpu].curr.idx()];
                let stalled = run.stall_left.min(elapsed);
                run.stall_left -= stalled;
                run.stall_ns += stalled;
                elapsed -= stalled;
                run.work_left = run.work_left.saturating_sub(elapsed * speed);
            }
        }
    }

    /// Goes on with whatever the CPU has to do next.
    pub(crate) fn resume(&mut self, cpu: CpuId) {
        loop {
            let curr = self.sched.rqs[cpu].curr;
            if self.sched.is_idle(cpu) {
                if self.sched.rqs[cpu].need_resched {
                    self.switch(cpu);
                    if !self.sched.is_idle(cpu) {
                        continue;
                    }
                }
                self.enter_idle(cpu);
                return;
            }
            let debt = std::mem::take(&mut self.cpus[cpu.idx()].debt);
            let run = &mut self.tasks[curr.idx()];
            run.kernel_left += debt;
            let need_resched = self.sched.rqs[cpu].need_resched && run.preempt_count == 0;
            if !need_resched {
                // The next call begins when the task is back in user space and may stay there.
                run.kernel_left += std::mem::take(&mut run.call_left);
            }
            if run.kernel_left > 0 && !(need_resched && self.kernel_preemptible) {
                let left = run.kernel_left;
                self.plan(cpu, Segment::Kernel, left);
                return;
            }
            let vcpu = run.vcpu;
            if need_resched {
                self.poll_gives_way(cpu, vcpu);
                self.switch(cpu);
                continue;
            }
            if curr == self.sched.rqs[cpu].stop {
                self.stopper_step(cpu);
                continue;
            }
            if vcpu != NO_VCPU {
                if self.vcpu_step(cpu, vcpu) {
                    return;
                }
                continue;
            }
            if run.spins_on != NO_LOCK {
                self.spin(cpu, curr);
                return;
            }
            if self.plan_user(cpu, curr) {
                return;
            }
            self.program_step(cpu, curr);
        }
    }

    /// Plans the running task's own work; false if none is left.
    pub(crate) fn plan_user(&mut self, cpu: CpuId, curr: TaskId) -> bool {
        let speed = self.speed(cpu);
        let now = self.now;
        let run = &mut self.tasks[curr.idx()];
        if let Activity::Until(until) = run.activity {
            // The clock is looked at after each chunk: finish the one begun, then as many as the time left takes.
            let begun = run.work_left % CHUNK;
            let left = until.saturating_sub(now).saturating_mul(speed);
            run.work_left = begun + left.saturating_sub(begun).div_ceil(CHUNK) * CHUNK;
            if run.work_left == 0 {
                run.activity = Activity::Work;
            }
        }
        if run.work_left == 0 && run.stall_left == 0 {
            return false;
        }
        let length = run.stall_left + run.work_left.div_ceil(speed);
        self.plan(cpu, Segment::User { speed }, length);
        true
    }

    /// Plans a stretch that something else will end.
    pub(crate) fn plan_open(&mut self, cpu: CpuId, segment: Segment) {
        let c = &mut self.cpus[cpu.idx()];
        c.segment = segment;
        c.segment_start = self.now;
        c.generation = c.generation.wrapping_add(1);
    }

    pub(crate) fn plan(&mut self, cpu: CpuId, segment: Segment, length: u64) {
        self.plan_open(cpu, segment);
        let generation = self.cpus[cpu.idx()].generation;
        self.queue.set(
            segment_slot(cpu),
            self.now.saturating_add(length),
            Event::Segment { cpu, generation },
        );
    }

    /// Work per ns in 1/1024 ns: the CPU's size, its core's clock, and its share of the core.
    pub(crate) fn speed(&self, cpu: CpuId) -> u64 {
        if let Some(platform) = &self.platform {
            return platform.cpus[cpu.idx()].speed;
        }
        let place = &self.machine.topology.cpus[cpu.idx()];
        let mut speed = u64::from(place.capacity);
        let costs = &self.machine.costs;
        if self.smt_slows {
            let busy = self.core_busy[place.core as usize].max(1);
            speed = (speed * u64::from(costs.smt_speed_per_1024(busy as usize))) >> 10;
        }
        let active = self.package_busy[place.package as usize].max(1);
        speed = (speed * costs.frequency.speed_per_1024(active)) >> 10;
        speed.max(1)
    }

    /// A CPU became busy or idle: its core's other threads run at another speed from now on.
    pub(crate) fn core_changed(&mut self, cpu: CpuId, busy: bool) {
        let place = self.machine.topology.cpus[cpu.idx()];
        let before = self.core_busy[place.core as usize];
        let after = if busy { before + 1 } else { before - 1 };
        self.core_busy[place.core as usize] = after;
        if before == 0 {
            self.package_busy[place.package as usize] += 1;
        } else if after == 0 {
            self.package_busy[place.package as usize] -= 1;
        }
        self.power.change(
            self.now,
            &self.machine,
            place.package as usize,
            place.core as usize,
            after,
        );
        if !self.smt_slows {
            return;
        }
        for idx in 0..self.core_cpus[place.core as usize].len() {
            let sibling = self.core_cpus[place.core as usize][idx];
            if self.cpus[sibling.idx()].segment == Segment::Guest {
                let vcpu = self.tasks[self.sched.rqs[sibling].curr.idx()].vcpu;
                self.hypervisor.notices.push_back(Notice::Speed(vcpu));
            }
            if sibling != cpu && matches!(self.cpus[sibling.idx()].segment, Segment::User { .. }) {
                self.charge(sibling);
                let curr = self.sched.rqs[sibling].curr;
                if !self.plan_user(sibling, curr) {
                    // It was done at this very moment: its event must still come.
                    self.plan(sibling, Segment::Kernel, 0);
                }
            }
        }
    }
}
