//! Forks, and where new tasks start.
//!
//! Model.  On 6.1 a fork charges the parent and places the child by that (`task_fork_fair`), and is recorded somewhat later
//!         (`sched_process_fork`): interrupts may come between. The CPU is chosen after the record, and after the last interrupt
//!         before the child is woken: with interrupts off.
//! Source. kernel/fork.c `copy_process`, `kernel_clone`; kernel/sched/core.c `sched_cgroup_fork`, `wake_up_new_task` @ 6.1,
//!         6.12.

use super::Follower;
use super::classify::{NOT_ALLOWED, NOT_AVERAGED};
use super::placement::{Answer, Question, describe_cpus};
use super::rt_choice::NOT_SPREAD;
use crate::baselines::Baselines;
use crate::judge::Class;
use crate::record::{Record, What};
use fairwind_sched::task::TaskState;
use fairwind_sched::{CpuId, Sched, TaskId};

impl Follower<'_> {
    /// Is the charge just recorded that of a fork of 6.1, with interrupts before the record of it? Nothing else comes
    /// between: the fork does not sleep any more.
    pub(super) fn forks_after_interrupts(&self, r: &Record, pid: i32) -> bool {
        if r.irq || self.facts.picks_by_deadline() {
            return false;
        }
        let own = self.times.records_of(r.cpu, self.at + 1).iter();
        let mut own = own.map(|&at| &self.records[at]).peekable();
        own.next_if(|next| next.irq).is_some()
            && own
                .find(|next| !next.irq)
                .is_some_and(|next| matches!(next.what, What::Fork { parent, .. } if parent == pid))
    }

    /// The child begins where its parent and its queue are now.
    pub(super) fn fork_ahead(&mut self, r: &Record, clock: u64) {
        let child = self.sched.fork(CpuId(r.cpu), clock);
        self.charge(r, clock);
        self.cpu(r.cpu).forked_ahead = Some(child);
    }

    pub(super) fn fork(&mut self, r: &Record, parent: i32, child: i32, comm: &str) {
        let cpu = CpuId(r.cpu);
        let forked_ahead = self.cpu(r.cpu).forked_ahead.take();
        let held = self.sched.rqs[cpu].clock;
        let clock = self.cpu(r.cpu).pending_clock.take().unwrap_or(held);
        let parent = self.task(parent, comm, r.cpu, r.ts);
        if self.sched.rqs[cpu].curr != parent {
            self.judge.mended("parents that were not running");
            // The child gets its parent's CPUs and priority.
            self.mend_curr(cpu, parent, clock);
        }
        let task = forked_ahead.unwrap_or_else(|| self.sched.fork(cpu, clock));
        self.sched.follow_charge(cpu, clock);
        self.name_task(child, task, comm);
        self.wakees.forked(parent, task);
        let free = self.sched.tasks[task].nr_cpus_allowed != 1;
        if let Some((target, begins)) = self.forked_to(child).filter(|_| free) {
            self.parents.insert(task, parent);
            self.begin_placement_of_new(r, child, task, (target, begins));
        }
    }

    /// A new task whose fork no record tells: who forked it is not known.
    fn forked_before(&mut self, r: &Record, pid: i32) -> TaskId {
        let cpu = CpuId(r.cpu);
        let task = self.sched.spawn(cpu, self.clock_at(cpu, r.ts));
        self.take_effects(r.cpu);
        self.name_task(pid, task, "");
        task
    }

    /// Where the kernel starts a new task, and the record after which it chooses: interrupts are off from then on, and no other
    /// task runs.
    fn forked_to(&self, child: i32) -> Option<(CpuId, usize)> {
        let (mut at, mut begins) = (self.at, self.at);
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            let r = &self.records[at];
            match r.what {
                What::WakeupNew { pid, target, .. } if pid == child => {
                    return (target < self.cpus.len() as u32).then_some((CpuId(target), begins));
                }
                What::Switch { .. } => begins = at,
                _ if r.irq || r.softirq => begins = at,
                _ => {}
            }
        }
        None
    }

    /// Asks where a new task would start.
    pub(super) fn ask_placement_of_new(
        &mut self,
        ts: u64,
        pid: i32,
        question: Question,
        kernel: CpuId,
    ) -> Answer {
        let Question { task, here, .. } = question;
        let parent = self.parents[&task];
        let before = self.sched.before_placement(here, task);
        let ours = question.ask(&mut self.sched, ts);
        let asks = |sched: &mut Sched| question.ask(sched, ts);
        let fair = self.sched.is_fair(task);
        let spread = !fair && self.learn_rt_choice(here, [kernel, ours], &before, asks);
        if !spread {
            self.learn_bounds(parent, task, [kernel, ours], &before, asks);
        }
        self.inherit_bounds(parent, task);
        // A child may use the CPUs that its parent may, and mostly lives too short to be seen on them.
        let unseen = |pid| !self.whereabouts.runs_on(pid, ours);
        let class = if spread {
            NOT_SPREAD
        } else if ours != kernel && self.chosen_if_averaged(ts, question, kernel, &before) {
            NOT_AVERAGED
        } else if unseen(pid) && self.pid(parent).is_none_or(unseen) {
            NOT_ALLOWED
        } else {
            Class::Ours
        };
        let text = if ours == kernel {
            String::new()
        } else {
            format!(
                "{} forked on cpu{}: kernel cpu{}, ours cpu{}; {}",
                self.name(task),
                here.0,
                kernel.0,
                ours.0,
                describe_cpus(&self.sched),
            )
        };
        let baselines = Baselines {
            candidates: u64::from(self.sched.tasks[task].nr_cpus_allowed),
            fifo: Some(kernel == here),
            least_vruntime: None,
        };
        if fair && ours != kernel {
            let now = self.clock_at(here, ts);
            self.learn_start_uses(here, [kernel, ours], now);
        }
        Answer {
            ours,
            class,
            text,
            baselines,
        }
    }

    pub(super) fn wakeup_new(&mut self, r: &Record, pid: i32, prio: i32, target: u32) {
        if target as usize >= self.cpus.len() {
            return;
        }
        let task = match self.known(pid) {
            Some(task) => task,
            None => self.forked_before(r, pid),
        };
        self.set_prio(task, prio);
        if self.sched.tasks[task].state != TaskState::New {
            return;
        }
        let kernel = CpuId(target);
        let told = if target == r.cpu {
            self.cpu(r.cpu).pending_clock.take()
        } else {
            self.cpu(r.cpu).clocks.remove(&target)
        };
        let told = self.clock_probed_before(r.cpu, self.at).or(told);
        let read = self.cpu(r.cpu).first_probe.unwrap_or(r.ts);
        let clock = told.unwrap_or_else(|| {
            if self.sched.is_idle(kernel) {
                self.clock_out_of_idle(kernel, read)
            } else {
                self.uncharged_clock(kernel, task, read)
            }
        });
        self.told_of_enqueue(task, kernel);
        let clock = match told {
            Some(told) => told,
            None => {
                let se = self.sched.tasks[task].se;
                self.placing_clock(kernel, se, clock, (0, r.ts), |sched, clock| {
                    sched.follow_new_task(task, kernel, clock);
                })
            }
        };
        self.sched.follow_new_task(task, kernel, clock);
        self.sched.guess_clock(None);
        if target == r.cpu {
            self.sched.rqs[kernel].need_resched = r.need_resched;
        }
        self.stay_idle_unseen(kernel);
        self.forget_told();
    }
}
