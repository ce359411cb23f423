//! Carrying out what the scheduler asked for, and noting what it tells.

use crate::cpu::StopWork;
use crate::event::Event;
use crate::simulation::Simulation;
use fairwind_sched::{CpuId, Effect};

impl Simulation {
    /// Carries out the effects of what just happened on `cpu`, and the effects of that.
    #[inline]
    pub(crate) fn carry_out_effects(&mut self, cpu: CpuId) {
        if !self.sched.effects.is_empty() {
            self.carry_out_all(cpu);
        }
    }

    fn carry_out_all(&mut self, cpu: CpuId) {
        let mut next = 0;
        while let Some(&effect) = self.sched.effects.get(next) {
            self.carry_out(cpu, effect);
            next += 1;
        }
        self.sched.effects.clear();
    }

    fn carry_out(&mut self, cpu: CpuId, effect: Effect) {
        if let Some(tracer) = &mut self.tracer {
            tracer.effect(self.now, cpu, &self.sched, effect);
        }
        match effect {
            Effect::Resched { cpu: target }
            | Effect::TtwuIpi { cpu: target }
            | Effect::UnthrottleIpi { cpu: target } => {
                if target != cpu {
                    self.send_ipi(cpu, target);
                }
            }
            Effect::KickIlb { cpu: target } => {
                self.cpus[target.idx()].kick_ilb = true;
                self.send_ipi(cpu, target);
            }
            Effect::PushRt { cpu: target } => {
                self.cpus[target.idx()].push_rt = true;
                self.send_ipi(cpu, target);
            }
            Effect::RaiseSoftirq { cpu: target } => self.cpus[target.idx()].softirq = true,
            Effect::StartPeriodTimer { group, expires } => {
                let generation = self.period_generations[group.idx()].wrapping_add(1);
                self.period_generations[group.idx()] = generation;
                self.group_timer_cpus[group.idx()] = cpu;
                self.cpus[cpu.idx()].arm_timer(self.now, expires);
                self.queue.push(
                    expires.max(self.now),
                    Event::PeriodTimer { group, generation },
                );
            }
            Effect::StartSlackTimer { group, expires } => {
                self.cpus[cpu.idx()].arm_timer(self.now, expires);
                self.queue
                    .push(expires.max(self.now), Event::SlackTimer { group });
            }
            Effect::StartHrtick {
                cpu: target,
                expires,
            } => {
                let c = &mut self.cpus[target.idx()];
                c.hrtick_generation = c.hrtick_generation.wrapping_add(1);
                let generation = c.hrtick_generation;
                self.queue.push(
                    expires.max(self.now),
                    Event::Hrtick {
                        cpu: target,
                        generation,
                    },
                );
            }
            Effect::StartRtTimer {
                cpu: target,
                expires,
            } => {
                let c = &mut self.cpus[target.idx()];
                c.rt_timer_generation = c.rt_timer_generation.wrapping_add(1);
                let generation = c.rt_timer_generation;
                self.queue.push(
                    expires.max(self.now),
                    Event::RtTimer {
                        cpu: target,
                        generation,
                    },
                );
            }
            Effect::StopActiveBalance { cpu: target } => {
                self.stop_one_cpu(cpu, target, StopWork::ActiveBalance);
            }
            Effect::StopMigrate {
                cpu: target,
                task,
                dest,
            } => {
                self.stop_one_cpu(cpu, target, StopWork::Migrate { task, dest });
            }
            Effect::Waking { task, .. } => {
                self.totals.wakeups += 1;
                let run = &mut self.tasks[task.idx()];
                run.wakeups += 1;
                run.woken_at = Some(self.now);
            }
            Effect::Wakeup { task } => {
                if self.sched.tasks[task].on_cpu {
                    // Woken before it was off its CPU: it never waited.
                    self.tasks[task.idx()].woken_at = None;
                }
                self.vcpu_woken(task);
                self.begin_wait(task);
                self.note_pressure(task);
            }
            Effect::WakeupNew { task } => {
                self.totals.wakeups += 1;
                self.tasks[task.idx()].woken_at = Some(self.now);
                self.vcpu_woken(task);
                self.begin_wait(task);
                self.note_pressure(task);
            }
            Effect::Migrate { task, orig, dest } => {
                if orig != dest {
                    self.totals.migrations += 1;
                    if self.tasks[task.idx()].waiting_throttled_then.is_some() {
                        self.end_wait(task, orig);
                        self.begin_wait(task);
                    }
                }
                self.note_pressure(task);
            }
            Effect::StatRuntime { .. }
            | Effect::TakeRuntime { .. }
            | Effect::Throttle { .. }
            | Effect::Unthrottle { .. } => {}
        }
    }
}
