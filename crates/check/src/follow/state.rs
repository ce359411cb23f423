//! State: virtual runtime and deadline where probes or `sched_stat_runtime` show them.
//!
//! Model.   Probes of `set_next_entity` and `put_prev_entity` come level by level, the task's entity
//!          first. `sched_stat_runtime` of 6.1 has the virtual runtime after the charge.

use super::Follower;
use super::cpu::Charge;
use crate::baselines::Baselines;
use crate::judge::{Class, Decision, Measure};
use crate::record::{EntityProbe, Record};
use fairwind_sched::features::Feature;
use fairwind_sched::task::OnRq;
use fairwind_sched::{CpuId, Policy, SchedAttr, TaskId};

/// Weight of nice 0 in the precision of entities, and as the kernel's table has it.
const NICE_0_LOAD: u64 = 1 << 20;
const NICE_0_WEIGHT: u64 = 1024;
/// Weight of SCHED_IDLE, as in the kernel.
const IDLE_WEIGHT: u64 = 3;

const NOT_POLICY: Class = Class::NotRecorded("policies");

impl Follower<'_> {
    /// Compares what charges told, once the calls that made them are done.
    pub(super) fn compare_vruntimes(&mut self, cpu: u32, ts: u64) {
        if self.cpu(cpu).pending_clock.is_some() {
            return;
        }
        for charge in std::mem::take(&mut self.cpu(cpu).charges) {
            let Charge { task, vruntime, .. } = charge;
            let se = self.sched.tasks[task].se;
            let entity = &self.sched.ses[se];
            if self.sched.tasks[task].on_rq == OnRq::No && !entity.on_rq {
                self.sched.ses[se].vruntime = vruntime;
                continue;
            }
            let ours = entity.vruntime;
            if self.seen.insert(se) {
                let cfs = &mut self.sched.cfs_rqs[entity.cfs_rq];
                let ahead = vruntime.wrapping_sub(cfs.zero_vruntime) as i64;
                // Only of a queue without sums, which begin at this number.
                if ahead > 0 && cfs.nr_queued <= 1 && cfs.avg_load == 0 {
                    cfs.zero_vruntime = vruntime;
                }
            } else {
                let idle = self.is_charged_as_idle(charge);
                let class = if idle {
                    NOT_POLICY
                } else {
                    self.state_class(task)
                };
                let text = format!(
                    "{}: vruntime {vruntime}, ours {:+}",
                    self.name(task),
                    ours.wrapping_sub(vruntime) as i64
                );
                let decision = Decision {
                    ts,
                    cpu,
                    measure: Measure::State,
                    kind: "stat_runtime",
                };
                self.judge
                    .judge(decision, ours == vruntime, Baselines::NONE, || {
                        (class, text)
                    });
                if idle {
                    self.set_idle_policy(task);
                }
            }
            if ours != vruntime {
                self.sched.follow_entity(se, vruntime, 0);
                self.lower_floor(task);
            }
        }
    }

    /// A running task can be behind its queue's `min_vruntime` by a sleeper's credit, which is
    /// `latency_ns`, or half of it with GENTLE_FAIR_SLEEPERS. If it is further behind, our `min_vruntime`
    /// is too high, and so is all that was placed by it.
    fn lower_floor(&mut self, task: TaskId) {
        let se = self.sched.tasks[task].se;
        let vruntime = self.sched.ses[se].vruntime;
        let cfs_rq = self.sched.ses[se].cfs_rq;
        let floor = self.sched.cfs_rqs[cfs_rq].zero_vruntime;
        let behind = floor.wrapping_sub(vruntime) as i64;
        let profile = &self.sched.profile;
        let gentle = profile.features.has(Feature::GENTLE_FAIR_SLEEPERS);
        let credit = (profile.tunables.latency_ns >> u32::from(gentle)) as i64;
        let cfs = &self.sched.cfs_rqs[cfs_rq];
        // A queue with sums, which begin at this number, has no floor.
        if cfs.curr != se || cfs.avg_load != 0 || behind <= credit {
            return;
        }
        self.judge.mended("queues whose min_vruntime was lower");
        self.sched.cfs_rqs[cfs_rq].zero_vruntime = vruntime;
        for other in self.candidates(self.sched.tasks[task].cpu) {
            let other = self.sched.tasks[other].se;
            let entity = &self.sched.ses[other];
            let ahead = entity.vruntime.wrapping_sub(floor) as i64;
            if other != se && entity.cfs_rq == cfs_rq && ahead >= -credit {
                let lowered = entity.vruntime.wrapping_sub(behind as u64);
                self.sched.follow_entity(other, lowered, 0);
            }
        }
    }

    /// Compares what the probes of a switch showed of a task and the groups above it.
    pub(super) fn compare_probes(
        &mut self,
        r: &Record,
        task: TaskId,
        probes: Vec<EntityProbe>,
        kind: &'static str,
    ) {
        let mut se = self.sched.tasks[task].se;
        for probe in probes {
            if se.is_none() {
                break;
            }
            self.limits.learn(probe.address, se);
            let entity = &self.sched.ses[se];
            let (vruntime, deadline) = (entity.vruntime, entity.deadline);
            let agree = (vruntime, deadline) == (probe.vruntime, probe.deadline);
            let known = !self.seen.insert(se);
            if known {
                let is_task = self.sched.ses[se].is_task();
                let depth = self.sched.ses[se].depth;
                let kind = if is_task { kind } else { "group" };
                let class = self.state_class(task);
                let text = format!(
                    "{} level {depth}: vruntime {} deadline {}, ours {:+} {:+}",
                    self.name(task),
                    probe.vruntime,
                    probe.deadline,
                    vruntime.wrapping_sub(probe.vruntime) as i64,
                    deadline.wrapping_sub(probe.deadline) as i64,
                );
                let decision = Self::decision(r, Measure::State, kind);
                self.judge
                    .judge(decision, agree, Baselines::NONE, || (class, text));
            }
            if !agree {
                self.sched.follow_entity(se, probe.vruntime, probe.deadline);
            }
            se = self.sched.ses[se].parent;
        }
    }

    /// `set_next_entity` outside a switch, after `put_prev_entity` of the same entity: the running
    /// task was taken off its queue and put back, because an attribute changed.
    pub(super) fn set_next(&mut self, r: &Record, probe: EntityProbe) {
        let cpu = CpuId(r.cpu);
        let curr = self.sched.rqs[cpu].curr;
        let back = self
            .cpu(r.cpu)
            .put_prev
            .first()
            .is_some_and(|put| put.address == probe.address);
        if !back || !self.sched.is_fair(curr) || self.cpu(r.cpu).requeued_by_attach {
            self.cpu(r.cpu).set_next.push(probe);
            return;
        }
        if !self.cpu(r.cpu).set_next.is_empty() {
            return;
        }
        let held = self.sched.rqs[cpu].clock;
        let context = self.cpu(r.cpu);
        let clock = context.pending_clock.take().unwrap_or(held);
        context.put_prev.clear();
        let placed = std::mem::take(&mut context.placed);
        let weight = placed
            .iter()
            .rev()
            .find(|(address, _)| *address == probe.address);
        let se = self.sched.tasks[curr].se;
        let weight = weight
            .map(|(_, weight)| *weight)
            .filter(|&weight| weight != self.sched.ses[se].load.weight);
        self.sched.follow_requeue(curr, weight, clock);
        self.compare_probes(r, curr, vec![probe], "requeue");
        self.sched.rqs[cpu].need_resched = r.need_resched;
    }

    /// Is this charge that of SCHED_IDLE, of a task taken to have nice 0? Policies are not recorded,
    /// but a charge tells the weight: 3 instead of 1024, give or take the rounding.
    fn is_charged_as_idle(&self, charge: Charge) -> bool {
        let se = self.sched.tasks[charge.task].se;
        let entity = &self.sched.ses[se];
        if entity.load.weight != NICE_0_LOAD {
            return false;
        }
        let before = entity.vruntime.wrapping_sub(charge.runtime);
        let charged = charge.vruntime.wrapping_sub(before);
        charged.checked_div(charge.runtime) == Some(NICE_0_WEIGHT / IDLE_WEIGHT)
    }

    fn set_idle_policy(&mut self, task: TaskId) {
        let attr = SchedAttr {
            policy: Policy::Idle,
            ..SchedAttr::normal(0)
        };
        let cpu = self.sched.tasks[task].cpu;
        let now = self.sched.rqs[cpu].clock;
        if self.sched.sched_setscheduler(task, attr, now).is_err() {
            self.judge.mended("policies that cannot be");
        }
        self.take_effects(cpu.0);
    }

    fn state_class(&self, task: TaskId) -> Class {
        if self.unsure.contains(&task) {
            super::classify::EARLIER_STATE
        } else {
            Class::Ours
        }
    }
}
