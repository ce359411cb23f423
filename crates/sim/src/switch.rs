//! Context switches and the accounting of who ran for how long.

use crate::cpu::Segment;
use crate::event::{Event, tick_slot};
use crate::simulation::Simulation;
use crate::virt::NO_VCPU;
use fairwind_sched::{CpuId, Nanos, Switch, TaskId, TaskState};

impl Simulation {
    /// Calls schedule() on a CPU and carries out the switch it decides on.
    pub(crate) fn switch(&mut self, cpu: CpuId) {
        debug_assert!(self.cpus[cpu.idx()].segment == Segment::None);
        let balanced = self.sched.balance_time_spent();
        let switch = self.sched.schedule(cpu, self.now, false);
        let balancing = self.sched.balance_time_spent() - balanced;
        // What the pick did to others comes before the switch itself, as in the kernel's trace.
        self.carry_out_effects(cpu);
        let kernel = &self.machine.costs.kernel;
        let paid = std::mem::take(&mut self.tasks[switch.prev.idx()].goes_to_sleep);
        let mut debt = balancing + if paid { 0 } else { kernel.schedule_ns };
        if switch.prev != switch.next {
            debt += kernel.context_switch_ns + self.levels_ns(switch.next);
            if switch.prev_state != TaskState::Running && !paid {
                debt += self.sleep_ns(switch.prev);
            }
            let next = &self.tasks[switch.next.idx()];
            if next.program != u32::MAX && next.mm != self.cpus[cpu.idx()].active_mm {
                self.cpus[cpu.idx()].active_mm = next.mm;
                debt += kernel.mm_switch_ns;
            }
            self.totals.switches += 1;
            self.account(cpu);
            self.leave(cpu, &switch);
            let before_it_runs = self.kernel_ns(cpu, self.cpus[cpu.idx()].debt + debt);
            self.arrive(cpu, switch.next, before_it_runs);
            if let Some(pressure) = &mut self.pressure {
                pressure.switch(&self.sched, switch.prev, switch.next, self.now);
            }
            if let Some(tracer) = &mut self.tracer {
                tracer.switch(self.now, cpu, &self.sched, &switch);
            }
        }
        self.cpus[cpu.idx()].debt += debt;
    }

    /// The running task sets its state and goes to `schedule`. It is on its CPU until it has got there, and if it is woken on its
    /// way it does not sleep.
    pub(crate) fn go_to_sleep(&mut self, cpu: CpuId, state: TaskState) {
        let curr = self.sched.rqs[cpu].curr;
        self.sched.set_current_state(cpu, state);
        self.tasks[curr.idx()].goes_to_sleep = true;
        self.cpus[cpu.idx()].debt += self.machine.costs.kernel.schedule_ns + self.sleep_ns(curr);
    }

    /// What it takes to take a task off its queue because it sleeps.
    fn sleep_ns(&self, task: TaskId) -> Nanos {
        self.machine.costs.kernel.sleep_ns + self.levels_ns(task)
    }

    /// Books the time since the last switch to whoever ran.
    pub(crate) fn account(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        let elapsed = self.now - c.since;
        c.since = self.now;
        // The scheduler has switched already when this is called from a switch: the CPU remembers itself.
        let stolen = { self.platform.as_mut() }.map(|platform| &mut platform.cpus[cpu.idx()]);
        if c.idle_since.is_some() {
            c.idle_ns += elapsed;
            c.idle_state_ns[c.idle_state] += elapsed;
        } else if let Some(cpu) = stolen.filter(|cpu| !cpu.runs) {
            cpu.stolen_ns += elapsed;
        } else {
            c.busy_ns += elapsed;
            let ran = c.running;
            self.tasks[ran.idx()].cpu_ns += elapsed;
            self.group_usage[self.sched.tasks[ran].group.idx()].cpu_ns += elapsed;
        }
    }

    fn leave(&mut self, cpu: CpuId, switch: &Switch) {
        let prev = switch.prev;
        if self.cpus[cpu.idx()].idle_since.is_some() {
            self.exit_idle(cpu);
            return;
        }
        let run = &mut self.tasks[prev.idx()];
        run.last_cpu = cpu;
        if run.vcpu != NO_VCPU {
            let (vcpu, runnable) = (run.vcpu, switch.prev_state == TaskState::Running);
            self.vcpu_scheduled_out(vcpu, runnable);
        }
        let run = &mut self.tasks[prev.idx()];
        if run.working_set > 0 {
            run.footprint_then = self.warmth.mark(&self.machine, cpu);
        }
        if switch.prev_state == TaskState::Running {
            self.begin_wait(prev);
        }
    }

    /// `delay`: kernel time the CPU spends before the task's own first instruction, which ends its wakeup latency.
    fn arrive(&mut self, cpu: CpuId, next: TaskId, delay: u64) {
        self.cpus[cpu.idx()].running = next;
        if next == self.sched.rqs[cpu].idle {
            return;
        }
        self.end_wait(next);
        let vcpu = self.tasks[next.idx()].vcpu;
        if vcpu != NO_VCPU {
            self.vcpu_scheduled_in(cpu, vcpu);
        }
        let run = &mut self.tasks[next.idx()];
        if let Some(woken_at) = run.woken_at.take() {
            run.latencies.record(self.now + delay - woken_at);
            if run.program != u32::MAX {
                self.runtime
                    .woke(run.program as usize, woken_at, self.now + delay);
            }
        }
        if run.working_set > 0 {
            let (last, then, bytes) = (run.last_cpu, run.footprint_then, run.working_set);
            let stall = self.warmth.arrive(&self.machine, cpu, last, then, bytes);
            self.tasks[next.idx()].stall_left += stall;
        }
        if !self.cpus[cpu.idx()].tick_queued {
            self.cpus[cpu.idx()].tick_queued = true;
            let tick = self.sched.tick_nsec();
            let next = (self.now / tick + 1) * tick;
            self.queue.set(tick_slot(cpu), next, Event::Tick { cpu });
        }
    }

    /// How long the task's own queue has been held back by limits, up to now.
    fn throttled_so_far(&self, task: TaskId) -> u64 {
        if !self.sched.has_had_limits() {
            return 0;
        }
        let cfs_rq = self.sched.ses[self.sched.tasks[task].se].cfs_rq;
        let cfs = &self.sched.cfs_rqs[cfs_rq];
        let open = if cfs.throttled_clock_self != 0 {
            self.now.saturating_sub(cfs.throttled_clock_self)
        } else {
            0
        };
        cfs.throttled_clock_self_time + open
    }

    /// A task begins to wait for a CPU.
    pub(crate) fn begin_wait(&mut self, task: TaskId) {
        self.tasks[task.idx()].waiting_throttled_then = self.throttled_so_far(task);
    }

    fn end_wait(&mut self, task: TaskId) {
        let total = self.throttled_so_far(task);
        let run = &mut self.tasks[task.idx()];
        run.throttled_ns += total.saturating_sub(run.waiting_throttled_then);
    }
}
