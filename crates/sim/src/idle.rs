//! Idle CPUs: choosing an idle state, stopping the tick, waking up.

use crate::simulation::Simulation;
use crate::virt::Request;
use fairwind_sched::CpuId;

impl Simulation {
    /// The CPU has nothing to run. A CPU that is idle already looks again whether it may stop its tick.
    pub(crate) fn enter_idle(&mut self, cpu: CpuId) {
        self.cpus[cpu.idx()].debt = 0;
        self.request(Request::Halt(cpu));
        if self.cpus[cpu.idx()].idle_since.is_some() {
            return;
        }
        self.account(cpu);
        let tick = self.sched.tick_nsec();
        let c = &mut self.cpus[cpu.idx()];
        c.idle_since = Some(self.now);
        let predicted = c.predicted_idle();
        let state = self.machine.costs.idle.idle_state_for(predicted);
        c.idle_state = state;
        self.core_changed(cpu, false);
        let latency = self.machine.costs.idle.states()[state].exit_latency_ns;
        let rq = &mut self.sched.rqs[cpu];
        rq.polling = state == 0;
        rq.idle_exit_latency = Some(latency);
        self.sched.nohz_run_idle_balance(cpu);
        if predicted >= tick {
            self.sched.nohz_balance_enter_idle(cpu);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.idle(self.now, cpu, state as u32);
        }
        self.carry_out_effects(cpu);
    }

    /// The CPU has something to run again; its idle time is already booked.
    pub(crate) fn exit_idle(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        if let Some(since) = c.idle_since.take() {
            c.learn_idle(self.now - since);
            self.core_changed(cpu, true);
            let rq = &mut self.sched.rqs[cpu];
            rq.polling = false;
            rq.idle_exit_latency = None;
            if let Some(tracer) = &mut self.tracer {
                tracer.idle(self.now, cpu, fairwind_trace::PWR_EVENT_EXIT);
            }
        }
    }

    /// Delay before an idle CPU executes its first instruction; 0 if it is awake.
    pub(crate) fn exit_latency(&self, cpu: CpuId) -> u64 {
        let c = &self.cpus[cpu.idx()];
        if c.idle_since.is_none() {
            return 0;
        }
        self.machine.costs.idle.states()[c.idle_state].exit_latency_ns
    }
}
