//! Idle CPUs: choosing an idle state, stopping the tick, waking up.
//!
//! Model. A CPU idles for others once it has switched to its idle task. What kernel work it has then, the end of the switch
//!        and interrupts that it takes while it idles, is nobody's: the CPU does it before it enters an idle state, before a
//!        guest's CPU halts, and before it switches to a task. How deep it idles, and whether it stops its tick, follows from
//!        how long it expects to: as long as it did lately, and no longer than to its next timer.
//! Source. drivers/cpuidle/governors/menu.c `menu_select` @ 6.1, 6.12.

use crate::cpu::Segment;
use crate::simulation::Simulation;
use crate::virt::Request;
use fairwind_sched::{CpuId, Nanos};

impl Simulation {
    /// The CPU has nothing to run.
    pub(crate) fn enter_idle(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        let left = std::mem::take(&mut c.debt);
        let idles_already = c.idle_since.is_some();
        if left == 0 {
            self.request(Request::Halt(cpu));
        } else {
            self.settle_down(cpu, left);
        }
        if idles_already {
            return;
        }
        self.account(cpu);
        let idle = &self.machine.costs.idle;
        let c = &mut self.cpus[cpu.idx()];
        c.idle_since = Some(self.now);
        let predicted = c.predicted_idle(self.now);
        let state = idle.idle_state_for(predicted);
        c.idle_state = state;
        let latency = idle.states()[state].exit_latency_ns;
        let polling = idle.states()[state].polling;
        self.core_changed(cpu, false);
        let rq = &mut self.sched.rqs[cpu];
        rq.polling = polling;
        rq.idle_exit_latency = Some(latency);
        self.sched.nohz_run_idle_balance(cpu);
        self.stop_tick(cpu, predicted);
        if let Some(tracer) = &mut self.tracer {
            tracer.idle(self.now, cpu, state as u32);
        }
        self.carry_out_effects(cpu);
    }

    /// An idle CPU does the kernel work that it has left.
    fn settle_down(&mut self, cpu: CpuId, left: Nanos) {
        let speed = self.kernel_speed(cpu);
        let segment = Segment::Settle { left, speed };
        if self.platform.is_some() || self.sched.rqs[cpu].need_resched {
            // A guest's CPU halts when it is done, and one that is wanted switches. Of others nothing is to be seen.
            self.plan(cpu, segment, self.kernel_ns(cpu, left));
        } else {
            self.plan_open(cpu, segment);
        }
    }

    /// Is an idle CPU still doing kernel work?
    fn settles(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu.idx()];
        match c.segment {
            Segment::Settle { left, speed } => ((self.now - c.segment_start) * speed) >> 10 < left,
            _ => false,
        }
    }

    /// A CPU that expects to idle for so long stops its tick, or not.
    fn stop_tick(&mut self, cpu: CpuId, predicted: Nanos) {
        let stopped = predicted >= self.sched.tick_nsec() && self.sched.profile.nohz;
        self.cpus[cpu.idx()].tick_stopped = stopped;
        if stopped {
            self.sched.nohz_balance_enter_idle(cpu);
        }
    }

    /// A tick comes while the CPU idles, for longer than it expected: it thinks again about the next one.
    pub(crate) fn tick_while_idle(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.idx()];
        if let Some(since) = c.idle_since {
            c.learn_idle(self.now - since);
            let predicted = c.predicted_idle(self.now);
            self.stop_tick(cpu, predicted);
        }
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
        if c.idle_since.is_none() || self.settles(cpu) {
            return 0;
        }
        self.machine.costs.idle.states()[c.idle_state].exit_latency_ns
    }
}

#[cfg(test)]
mod tests {
    use crate::monitor::testbed::with_costs;
    use crate::simulation::Simulation;
    use fairwind_machine::{Costs, IdleState, IdleStates};
    use fairwind_sched::{CpuId, Release};

    /// After 5 us of switching a task runs for 10 us and sleeps for `sleep_us`; to leave its CPU takes 2 us.
    fn sleeper(release: Release, sleep_us: u32) -> Simulation {
        let mut costs = Costs::none();
        costs.kernel.context_switch_ns = 5_000;
        costs.kernel.sleep_ns = 2_000;
        let json = format!(
            r#"{{ "tasks": {{ "a": {{ "loop": -1, "run": 10, "sleep": {sleep_us} }} }} }}"#
        );
        with_costs(costs, release, "1x1x1", &json, 0)
    }

    fn idles_at(simulation: &mut Simulation, time: u64) -> bool {
        simulation.run_until(time);
        simulation.sched.is_idle(CpuId(0))
    }

    #[test]
    fn a_cpu_is_idle_when_its_task_has_paid_for_leaving() {
        for release in Release::ALL {
            let mut simulation = sleeper(release, 100);
            assert!(!idles_at(&mut simulation, 16_999));
            assert!(idles_at(&mut simulation, 17_000));
            assert!(idles_at(&mut simulation, 114_999));
            assert!(!idles_at(&mut simulation, 115_000));
        }
    }

    #[test]
    fn who_is_woken_while_its_cpu_settles_runs_when_that_is_done() {
        for release in Release::ALL {
            let mut simulation = sleeper(release, 3);
            assert!(idles_at(&mut simulation, 17_000));
            // Woken at 18 us; the switch to idle takes until 22 us.
            assert!(idles_at(&mut simulation, 21_999));
            assert!(!idles_at(&mut simulation, 22_000));
        }
    }

    #[test]
    fn who_is_woken_on_the_way_does_not_sleep() {
        for release in Release::ALL {
            let mut simulation = sleeper(release, 1);
            assert!(!idles_at(&mut simulation, 17_000));
            assert_eq!(simulation.totals.switches, 1);
            // It runs on without a switch: the next time it gets there at 29 us.
            assert!(!idles_at(&mut simulation, 28_999));
        }
    }

    #[test]
    fn a_cpu_that_watches_a_line_is_woken_without_an_interrupt() {
        for (polling, ipis) in [(false, 4), (true, 0)] {
            let state = |name: &str, polling| IdleState {
                name: name.to_string(),
                exit_latency_ns: 1_000,
                target_residency_ns: 0,
                power_mw: 0,
                polling,
            };
            let mut costs = Costs::none();
            costs.idle = IdleStates::new(vec![state("POLL", true), state("C1", polling)]).unwrap();
            let json = r#"{ "tasks": {
                "waker": { "loop": 3, "cpus": [0], "sleep": 100, "resume": "wakee" },
                "wakee": { "loop": -1, "cpus": [1], "suspend": "wakee", "run": 10 } } }"#;
            let mut simulation = with_costs(costs, Release::V6_12, "1x2x1", json, 0);
            simulation.run_until(1_000_000);
            let wakeups = simulation.tasks[simulation.task_ids[1].idx()].wakeups;
            // The first interrupt is for its start.
            assert_eq!((wakeups, simulation.totals.ipis), (3, ipis));
        }
    }
}
