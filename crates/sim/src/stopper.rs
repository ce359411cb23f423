//! The stopper: the highest-priority task of a CPU, which moves others.

use crate::cpu::StopWork;
use crate::simulation::Simulation;
use fairwind_sched::{CpuId, TaskState};

impl Simulation {
    /// Gives a CPU's stopper work and wakes it.
    pub(crate) fn stop_one_cpu(&mut self, from: CpuId, cpu: CpuId, work: StopWork) {
        self.cpus[cpu.idx()].stop_work.push_back(work);
        let stop = self.sched.rqs[cpu].stop;
        self.sched.try_to_wake_up(from, stop, self.now, 0);
    }

    /// The stopper runs: it does one piece of work, or sleeps.
    pub(crate) fn stopper_step(&mut self, cpu: CpuId) {
        match self.cpus[cpu.idx()].stop_work.pop_front() {
            Some(StopWork::ActiveBalance) => {
                self.sched.active_load_balance_cpu_stop(cpu, self.now);
            }
            Some(StopWork::Migrate { task, dest }) => {
                self.sched.migration_cpu_stop(cpu, task, dest, self.now);
            }
            None => {
                self.sched.set_current_state(cpu, TaskState::Interruptible);
                self.switch(cpu);
                return;
            }
        }
        self.cpus[cpu.idx()].debt += self.machine.costs.kernel.migrate_ns;
        self.carry_out_effects(cpu);
    }
}
