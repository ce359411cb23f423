//! Interrupts: ticks, timers, and what other CPUs ask for.

use crate::event::{Event, ipi_slot, tick_slot};
use crate::simulation::Simulation;
use fairwind_sched::flags::WF_FROM_IRQ;
use fairwind_sched::{CpuId, GroupId, TaskId};
use fairwind_trace::Context;

impl Simulation {
    /// The CPU takes an interrupt of this cost; the handler follows, then [`leave_irq`](Self::leave_irq).
    pub(crate) fn enter_irq(&mut self, cpu: CpuId, cost: u64) {
        self.trace_context(cpu, Context::HardIrq);
        self.charge(cpu);
        self.irq_work(cpu, cost);
    }

    /// The CPU has work to do in an interrupt or a softirq, which counts as such from its beginning.
    fn irq_work(&mut self, cpu: CpuId, work: u64) {
        self.cpus[cpu.idx()].debt += work;
        self.sched.account_irq_time(cpu, self.kernel_ns(cpu, work));
    }

    /// The host's timer interrupts a vCPU in guest mode.
    pub(crate) fn interrupt_vcpu(&mut self, cpu: CpuId) {
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        self.leave_irq(cpu);
    }

    pub(crate) fn leave_irq(&mut self, cpu: CpuId) {
        self.carry_out_effects(cpu);
        if std::mem::take(&mut self.cpus[cpu.idx()].softirq) {
            self.trace_context(cpu, Context::SoftIrq);
            let spent = self.sched.balance_time_spent();
            self.sched.sched_balance_softirq(cpu, self.now);
            self.irq_work(cpu, self.sched.balance_time_spent() - spent);
            self.carry_out_effects(cpu);
        }
        self.trace_context(cpu, Context::Task);
        self.resume(cpu);
    }

    fn trace_context(&mut self, cpu: CpuId, context: Context) {
        if let Some(tracer) = &mut self.tracer {
            tracer.enter(cpu, &self.sched, context);
        }
    }

    /// Was the tick stopped when the CPU went idle, or offline?
    pub(crate) fn tick_is_stopped(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu.idx()];
        (c.idle_since.is_some() && c.tick_stopped) || !self.sched.active.test(cpu)
    }

    pub(crate) fn tick(&mut self, cpu: CpuId) {
        if self.tick_is_stopped(cpu) {
            self.cpus[cpu.idx()].tick_queued = false;
            return;
        }
        let tick = self.sched.tick_nsec();
        let kernel = &self.machine.costs.kernel;
        let cost = kernel.interrupt_ns + kernel.tick_ns + self.rq_lock_wait(cpu);
        self.enter_irq(cpu, cost);
        self.totals.ticks += 1;
        if let Some(tracer) = &mut self.tracer {
            tracer.tick(self.now, cpu, &self.sched);
        }
        self.sched.rqs[cpu].freq_capacity = self.freq_scale(cpu);
        self.sched.sched_tick(cpu, self.now);
        // Ticks are at multiples of the tick, even if this one is late, as a guest's can be.
        let next = (self.now / tick + 1) * tick;
        self.queue.set(tick_slot(cpu), next);
        self.tick_while_idle(cpu);
        self.leave_irq(cpu);
    }

    /// Asks for a CPU's attention on behalf of `from`.
    pub(crate) fn send_ipi(&mut self, from: CpuId, to: CpuId) {
        if std::mem::replace(&mut self.cpus[to.idx()].ipi_pending, true) {
            return;
        }
        if self.platform.is_some() {
            return self.send_virtual_ipi(from, to);
        }
        let distance = self.machine.distance(from, to);
        let sent = self.now.max(self.cpus[from.idx()].wakeup_done);
        let polls = self.cpus[to.idx()].idle_since.is_some() && self.sched.rqs[to].polling;
        self.cpus[to.idx()].ipi_polled = polls;
        if polls {
            let delay = self.machine.costs.search_ns.get(distance) + self.exit_latency(to);
            self.queue.set(ipi_slot(to), sent + delay);
            return;
        }
        self.totals.ipis += 1;
        self.cpus[from.idx()].debt += self.machine.costs.kernel.ipi_send_ns;
        let delay = self.machine.costs.ipi_ns.get(distance) + self.exit_latency(to);
        self.queue.set(ipi_slot(to), sent + delay);
    }

    pub(crate) fn ipi(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        c.ipi_pending = false;
        let cost = if c.ipi_polled {
            0
        } else {
            self.machine.costs.kernel.interrupt_ns
        };
        self.enter_irq(cpu, cost);
        self.sched.sched_ttwu_pending(cpu, self.now);
        if !self.sched.rqs[cpu].cfsb_csd.is_empty() {
            self.sched.unthrottle_pending(cpu, self.now);
        }
        if std::mem::take(&mut self.cpus[cpu.idx()].push_rt) {
            self.sched.push_rt_tasks(cpu, self.now);
        }
        if std::mem::take(&mut self.cpus[cpu.idx()].kick_ilb) {
            self.sched.nohz_kick(cpu, self.now);
        }
        self.leave_irq(cpu);
    }

    /// A CPU that takes interrupts: this one, or another if it has gone offline.
    pub(crate) fn online(&self, cpu: CpuId) -> CpuId {
        if self.sched.active.test(cpu) {
            cpu
        } else {
            self.sched.active.first().unwrap_or(cpu)
        }
    }

    pub(crate) fn timer(&mut self, task: u32, cpu: CpuId, awake: bool) {
        let cpu = self.online(cpu);
        let latency = self.exit_latency(cpu);
        if !awake && latency > 0 {
            self.queue.push(
                self.now + latency,
                Event::Timer {
                    task,
                    cpu,
                    awake: true,
                },
            );
            return;
        }
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        self.wake(cpu, self.task_ids[task as usize], WF_FROM_IRQ);
        self.leave_irq(cpu);
    }

    /// The interrupt that `cpu` handles wakes a task, and pays for the search and the queueing.
    pub(crate) fn wake(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let (slept_on, scanned) = (self.sched.tasks[task].cpu, self.sched.search.scanned);
        self.sched.try_to_wake_up(cpu, task, self.now, wake_flags);
        let scanned = self.sched.search.scanned - scanned;
        let target = self.sched.tasks[task].cpu;
        let queueing = self.queueing_ns(cpu, task, target);
        let lines =
            self.detach_ns(cpu, slept_on, target) + scanned * self.machine.costs.search_ns.llc;
        self.irq_work(cpu, queueing + self.stall_work(cpu, lines));
    }

    pub(crate) fn period_timer(&mut self, group: GroupId, generation: u32) {
        if self.period_generations[group.idx()] != generation {
            return;
        }
        let cpu = self.timer_cpu(group);
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        self.sched.period_timer(cpu, group, self.now);
        self.leave_irq(cpu);
    }

    pub(crate) fn slack_timer(&mut self, group: GroupId) {
        let cpu = self.timer_cpu(group);
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        self.sched.slack_timer(cpu, group, self.now);
        self.leave_irq(cpu);
    }

    /// The CPU a group's timers are on: where they were last armed.
    pub(crate) fn timer_cpu(&self, group: GroupId) -> CpuId {
        self.online(self.group_timer_cpus[group.idx()])
    }

    pub(crate) fn hrtick(&mut self, cpu: CpuId, generation: u32) {
        if self.cpus[cpu.idx()].hrtick_generation != generation {
            return;
        }
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        self.sched.hrtick(cpu, self.now);
        self.leave_irq(cpu);
    }

    pub(crate) fn rt_timer(&mut self, cpu: CpuId, generation: u32) {
        if self.cpus[cpu.idx()].rt_timer_generation != generation {
            return;
        }
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        self.sched.rt_timer(cpu, self.now);
        self.leave_irq(cpu);
    }
}

#[cfg(test)]
mod tests {
    use crate::monitor::testbed::with_costs;
    use fairwind_machine::Costs;
    use fairwind_sched::{CpuId, Release};

    #[test]
    fn time_in_interrupts_is_a_tasks_or_no_tasks() {
        for (irq_time, of_no_task) in [(false, 0), (true, 11_000_000)] {
            let mut costs = Costs::none();
            costs.kernel.tick_ns = 1_000_000;
            let json = r#"{ "tasks": { "hog": { "loop": -1, "run": 1000 } } }"#;
            let mut simulation = with_costs(costs, Release::V6_12, "1x1x1", json, 0);
            simulation.sched.profile.irq_time = irq_time;
            // Eleven ticks of a millisecond.
            simulation.run_until(44_000_000);
            let rq = &simulation.sched.rqs[CpuId(0)];
            assert_eq!(rq.clock - rq.clock_task, of_no_task);
        }
    }
}
