//! CPUs going offline and coming back, and isolated ones.
//!
//! Model. A CPU that leaves takes no new tasks; its limits are lifted, its queued tasks are moved, and the running one
//!        is asked away by the stopper. Domains are built anew, without CPUs that are isolated.
//! Source. kernel/sched/core.c `sched_cpu_deactivate`, `sched_cpu_activate`, `balance_push`; topology.c `sched_init_domains`;
//!         fair.c `rq_offline_fair`, `unthrottle_offline_cfs_rqs`, `clear_tg_offline_cfs_rqs` @ 6.1, 6.12.
//! Deviations. The steps of hotplug that take time in the kernel happen at once. Times that scale with the CPUs that are online
//!        stay as they are, unless another kernel is followed; then they go on from what they were, where the kernel goes back
//!        to its defaults.

use crate::balance::CpuSumsTable;
use crate::cpumask::CpuMask;
use crate::domain::{BalanceClock, BootCapacity, DomainInput, Domains};
use crate::effects::Effect;
use crate::sched::Sched;
use crate::task::{OnRq, TaskState};
use crate::units::{CpuId, GroupId, Nanos, TaskId};
use alloc::vec::Vec;

/// Nodes further away than this are no place for waking tasks (the kernel's default RECLAIM_DISTANCE).
const NODE_RECLAIM_DISTANCE: u32 = 30;

/// The last CPU cannot leave, and a CPU can leave or come only once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HotplugError;

impl Sched {
    /// Takes a CPU offline. What runs there is moved when the caller carries out the `StopMigrate` it asks for.
    ///
    /// # Errors
    /// If the CPU is the last one or already offline.
    pub fn cpu_down(&mut self, cpu: CpuId, now: Nanos) -> Result<(), HotplugError> {
        self.follow_cpu_leaves(cpu, now)?;
        self.follow_cpu_left(cpu, now);
        self.build_domains(Some(cpu));
        self.push_tasks_away(cpu);
        Ok(())
    }

    /// Brings a CPU back.
    ///
    /// # Errors
    /// If it is online.
    pub fn cpu_up(&mut self, cpu: CpuId, now: Nanos) -> Result<(), HotplugError> {
        self.follow_cpu_returns(cpu, now)?;
        self.build_domains(None);
        Ok(())
    }

    /// From now on no task goes to a CPU. The caller moves those that are there, as another kernel does.
    ///
    /// # Errors
    /// If the CPU is the last one or already offline.
    pub fn follow_cpu_leaves(&mut self, cpu: CpuId, now: Nanos) -> Result<(), HotplugError> {
        self.set_time(now);
        if !self.active.test(cpu) || self.active.weight() == 1 {
            return Err(HotplugError);
        }
        self.nohz_balance_exit_idle(cpu);
        // Wakeups on their way are completed here, so that their tasks are moved with the others.
        self.sched_ttwu_pending(cpu, now);
        self.active.clear(cpu);
        Ok(())
    }

    /// Its queues have left: they have no limits any more.
    pub fn follow_cpu_left(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.update_rq_clock(cpu);
        self.rq_offline(cpu);
    }

    /// Tasks and limits come to a CPU again.
    ///
    /// # Errors
    /// If it is online.
    pub fn follow_cpu_returns(&mut self, cpu: CpuId, now: Nanos) -> Result<(), HotplugError> {
        self.set_time(now);
        if self.active.test(cpu) {
            return Err(HotplugError);
        }
        self.active.set(cpu);
        self.update_rq_clock(cpu);
        self.rqs[cpu].online = true;
        for group in self.groups.ids() {
            let limited = self.groups[group].bandwidth.quota != crate::group::RUNTIME_INF;
            let cfs_rq = self.groups[group].cfs_rq[cpu.idx()];
            self.cfs_rqs[cfs_rq].runtime_enabled = limited;
        }
        self.rq_online_rt(cpu);
        Ok(())
    }

    /// Domains are built, and times scaled, for the CPUs that take tasks by now, a `leaving` one being about to go offline.
    pub fn follow_domains(&mut self, leaving: Option<CpuId>) {
        let nr_online = self.build_domains(leaving);
        self.profile.scale_times(nr_online);
    }

    /// Builds the domains; tells how many CPUs count as online.
    fn build_domains(&mut self, leaving: Option<CpuId>) -> usize {
        let mut online = self.active.clone();
        if let Some(leaving) = leaving.filter(|_| self.fair.domains_count_leaving_cpu) {
            online.set(leaving);
        }
        self.rebuild_domains(&online);
        online.weight()
    }

    /// Leaves CPUs out of all domains from now on, as `isolcpus=` does: nothing is balanced to or from them.
    pub fn isolate(&mut self, cpus: &CpuMask) {
        self.isolated = cpus.clone();
        let online = self.active.clone();
        self.rebuild_domains(&online);
    }

    fn rebuild_domains(&mut self, online: &CpuMask) {
        let mut balanced = self.active.clone();
        for cpu in self.isolated.iter() {
            balanced.clear(cpu);
        }
        let boot = BalanceClock::boot(self.profile.hz, online.weight());
        let input = DomainInput {
            topology: &self.topology,
            profile: self.fair.domains,
            online,
            active: &balanced,
            node_reclaim_distance: NODE_RECLAIM_DISTANCE,
            clock: BalanceClock {
                jiffies: self.jiffies,
                ..boot
            },
        };
        self.domains = Domains::build(&input, &mut BootCapacity::new(&self.topology));
        self.cpu_sums = CpuSumsTable::new(self.rqs.len(), &self.domains);
        self.domains_rebuilt();
    }

    fn rq_offline(&mut self, cpu: CpuId) {
        self.rq_offline_rt(cpu);
        for group in self.groups.ids() {
            let cfs_rq = self.groups[group].cfs_rq[cpu.idx()];
            if self.cfs_rqs[cfs_rq].runtime_enabled {
                // Its tasks must be able to leave: they run on what is left, unlimited.
                self.cfs_rqs[cfs_rq].runtime_remaining = 1;
                self.cfs_rqs[cfs_rq].runtime_enabled = false;
                if self.cfs_rqs[cfs_rq].throttled {
                    self.unthrottle_cfs_rq(cfs_rq);
                }
            }
            if group != GroupId::ROOT && self.fair.decayed_needs_no_contrib {
                let contrib = core::mem::take(&mut self.cfs_rqs[cfs_rq].tg_load_avg_contrib);
                self.cfs_rqs[cfs_rq].last_update_tg_load_avg = self.now;
                self.groups[group].load_avg -= contrib as i64;
            }
        }
        self.rqs[cpu].online = false;
    }

    fn push_tasks_away(&mut self, cpu: CpuId) {
        let here: Vec<TaskId> = self
            .tasks
            .ids()
            .filter(|&t| {
                self.tasks[t].cpu == cpu
                    && !self.tasks[t].is_per_cpu_kthread
                    && t != self.rqs[cpu].idle
            })
            .collect();
        for task in here {
            let t = &self.tasks[task];
            if t.on_rq != OnRq::Queued || t.state == TaskState::Dead {
                continue;
            }
            let dest = self.select_fallback_rq(task);
            if self.tasks[task].on_cpu {
                self.effects.push(Effect::StopMigrate { cpu, task, dest });
            } else {
                self.move_queued_task(task, dest);
            }
        }
    }
}
