//! Context switches and the accounting of who ran for how long.

use crate::cpu::Segment;
use crate::event::tick_slot;
use crate::simulation::Simulation;
use crate::virt::NO_VCPU;
use fairwind_sched::{CpuId, Nanos, Switch, TaskId, TaskState};

impl Simulation {
    /// Calls schedule() on a CPU and carries out the switch it decides on.
    pub(crate) fn switch(&mut self, cpu: CpuId) {
        debug_assert!(self.cpus[cpu.idx()].segment == Segment::None);
        let balanced = self.sched.balance_time_spent();
        let asked = self.sched.rqs[cpu].need_resched;
        let switch = self.sched.schedule(cpu, self.now, false);
        let balancing = self.sched.balance_time_spent() - balanced;
        // What the pick did to others comes before the switch itself, as in the kernel's trace.
        self.trace_schedule(asked);
        self.carry_out_effects(cpu);
        self.trace_schedule(false);
        let kernel = &self.machine.costs.kernel;
        let paid = std::mem::take(&mut self.tasks[switch.prev.idx()].goes_to_sleep);
        let mut debt = balancing + if paid { 0 } else { kernel.schedule_ns };
        if switch.prev != switch.next {
            debt += kernel.context_switch_ns + self.levels_ns(switch.next);
            if switch.prev_state != TaskState::Running && !paid {
                debt += self.sleep_ns(switch.prev);
            }
            let (next, c) = (&self.tasks[switch.next.idx()], &mut self.cpus[cpu.idx()]);
            if next.program != u32::MAX && next.mm != c.active_mm {
                c.active_mm = next.mm;
                debt += kernel.mm_switch_ns;
            }
            debt += self.rq_lock_for_switch(cpu, debt);
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

    fn trace_schedule(&mut self, asked: bool) {
        if let Some(tracer) = &mut self.tracer {
            tracer.asked = asked;
        }
    }

    /// The running task sets its state and goes to `schedule`. It is on its CPU until it has got there, and if it is woken on its
    /// way it does not sleep.
    pub(crate) fn go_to_sleep(&mut self, cpu: CpuId, state: TaskState) {
        self.sched.set_current_state(cpu, state);
        let curr = self.cpus[cpu.idx()].running;
        self.tasks[curr.idx()].goes_to_sleep = true;
        let cost = self.machine.costs.kernel.schedule_ns + self.sleep_ns(curr);
        self.cpus[cpu.idx()].debt += cost;
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
        } else {
            let ran = c.running;
            let usage = &mut self.group_usage[self.sched.tasks[ran].group.idx()];
            usage.system_ns += std::mem::take(&mut c.system_ns);
            if let Some(cpu) = stolen.filter(|cpu| !cpu.runs) {
                cpu.stolen_ns += elapsed;
                return;
            }
            c.busy_ns += elapsed;
            usage.cpu_ns += elapsed;
            self.tasks[ran.idx()].cpu_ns += elapsed;
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
        if run.working_set > 0 {
            run.footprint_then = self.warmth.mark(&self.machine, cpu);
        }
        let (vcpu, runnable) = (run.vcpu, switch.prev_state == TaskState::Running);
        if vcpu != NO_VCPU {
            self.vcpu_scheduled_out(vcpu, runnable);
        }
        if runnable {
            self.begin_wait(prev);
        }
    }

    /// `delay`: kernel time the CPU spends before the task's own first instruction, which ends its wakeup latency.
    fn arrive(&mut self, cpu: CpuId, next: TaskId, delay: u64) {
        let c = &mut self.cpus[cpu.idx()];
        c.running = next;
        if self.sched.is_idle(cpu) {
            return;
        }
        let tick_queued = std::mem::replace(&mut c.tick_queued, true);
        self.end_wait(next, cpu);
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
            run.stall_left += self.warmth.arrive(&self.machine, cpu, last, then, bytes);
        }
        let vcpu = run.vcpu;
        if vcpu != NO_VCPU {
            self.vcpu_scheduled_in(cpu, vcpu);
        }
        if !tick_queued {
            let tick = self.sched.tick_nsec();
            let next = (self.now / tick + 1) * tick;
            self.queue.set(tick_slot(cpu), next);
        }
    }

    /// How long the queue of the task's group on a CPU has been held back by limits, up to now.
    fn throttled_so_far(&self, task: TaskId, cpu: CpuId) -> Nanos {
        let own = self.sched.ses[self.sched.tasks[task].se].cfs_rq;
        let group = self.sched.cfs_rqs[own].tg;
        let cfs = &self.sched.cfs_rqs[self.sched.groups[group].cfs_rq[cpu.idx()]];
        let open = if cfs.throttled_clock_self != 0 {
            self.now.saturating_sub(cfs.throttled_clock_self)
        } else {
            0
        };
        cfs.throttled_clock_self_time + open
    }

    /// A task begins to wait for a CPU, or begins to wait on another queue.
    #[inline]
    pub(crate) fn begin_wait(&mut self, task: TaskId) {
        if self.sched.has_had_limits() {
            let then = self.throttled_so_far(task, self.sched.tasks[task].cpu);
            self.tasks[task.idx()].waiting_throttled_then = Some(then);
        }
    }

    /// A task, if it waits, is done with waiting on the queue of its group on this CPU.
    #[inline]
    pub(crate) fn end_wait(&mut self, task: TaskId, cpu: CpuId) {
        if let Some(then) = self.tasks[task.idx()].waiting_throttled_then.take() {
            let total = self.throttled_so_far(task, cpu);
            self.tasks[task.idx()].throttled_ns += total.saturating_sub(then);
        }
    }
}
