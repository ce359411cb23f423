//! Pushing: a CPU with more RT tasks than it can run gives them to CPUs that run weaker work.
//!
//! Model.  The strongest pushable task goes to the best CPU (`placement`), until one finds none. With RT_PUSH_IPI a CPU
//!         that wants a task sends an interrupt to an overloaded one, which pushes and passes the interrupt on to
//!         the next; a request that comes meanwhile makes the chain go round once more.
//! Source. kernel/sched/rt.c `push_rt_task`, `find_lock_lowest_rq`, `task_woken_rt`, `tell_cpu_to_push`,
//!         `rto_next_cpu`, `rto_push_irq_work_func` @ 6.1, 6.12.

use crate::effects::Effect;
use crate::sched::Sched;
use crate::task::MAX_RT_PRIO;
use crate::units::{CpuId, Nanos, TaskId};

impl Sched {
    /// Pushes one task away from `cpu`, on behalf of `this_cpu`; false if that was not possible.
    pub(super) fn push_rt_task(&mut self, this_cpu: CpuId, cpu: CpuId) -> bool {
        let rt = &self.rqs[cpu].rt;
        if !rt.overloaded || !self.rt_balancing {
            return false;
        }
        let Some((prio, task)) = rt.pushable.first() else {
            return false;
        };
        // It should rather run here.
        if prio < self.tasks[self.rqs[cpu].curr].prio {
            self.resched_curr(cpu);
            return false;
        }
        let Some(dest) = self.find_lowest_rq(this_cpu, task) else {
            return false;
        };
        if dest == cpu || self.rqs[dest].rt.highest_curr <= prio {
            return false;
        }
        self.move_rt_task(task, cpu, dest);
        self.resched_curr(dest);
        true
    }

    /// Moves a waiting task to another CPU.
    pub(super) fn move_rt_task(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        self.update_rq_clock(from);
        self.deactivate_task(from, task, 0);
        self.set_task_cpu(task, to);
        self.update_rq_clock(to);
        self.activate_task(to, task, 0);
    }

    /// An RT task was woken: if it cannot run here at once, somewhere else may be better.
    pub(crate) fn task_woken_rt(&mut self, cpu: CpuId, task: TaskId) {
        let t = &self.tasks[task];
        let rq = &self.rqs[cpu];
        let curr = &self.tasks[rq.curr];
        let need_to_push = !t.on_cpu
            && !rq.need_resched
            && t.nr_cpus_allowed > 1
            && curr.prio < MAX_RT_PRIO
            && (curr.nr_cpus_allowed < 2 || curr.prio <= t.prio);
        if need_to_push {
            while self.push_rt_task(cpu, cpu) {}
        }
    }

    /// Asks the overloaded CPUs, one after the other, to push tasks away.
    pub(super) fn tell_cpu_to_push(&mut self, this_cpu: CpuId) {
        let chain = &mut self.rt_root().push_chain;
        chain.asked = chain.asked.wrapping_add(1);
        if chain.cpu.is_none() {
            self.pass_push_request(this_cpu);
        }
    }

    /// The interrupt of [`Effect::PushRt`]: pushes what can be pushed, then passes the request on.
    pub fn push_rt_tasks(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        while self.push_rt_task(cpu, cpu) {}
        self.pass_push_request(cpu);
    }

    fn pass_push_request(&mut self, this_cpu: CpuId) {
        let root = self.rt_root();
        let chain = &mut root.push_chain;
        let next = loop {
            chain.cpu = root
                .rto_mask
                .next_from(chain.cpu.map_or(0, |cpu| cpu.idx() + 1));
            match chain.cpu {
                Some(cpu) if cpu == this_cpu => {}
                Some(cpu) => break cpu,
                None if chain.serving == chain.asked => return,
                None => chain.serving = chain.asked,
            }
        };
        self.effects.push(Effect::PushRt { cpu: next });
    }
}
