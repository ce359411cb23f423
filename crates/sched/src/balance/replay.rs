//! Following another scheduler's balancing.
//!
//! Model.  As in [`replay`](crate::replay), what would be decided is asked on a copy. Here is what the copy needs to
//!         know beforehand (the other's jiffies, the clocks of its queues, which domain its pass was over), and how
//!         several moves of one pass are carried out.
//! Source. kernel/sched/fair.c: `sched_balance_softirq`, `_nohz_idle_balance`, `detach_tasks`, `attach_tasks` @ 6.1,
//!         6.12.

use super::env::{CpuIdleType, MigrationType};
use crate::domain::SdId;
use crate::probe::ReadClock;
use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CpuId, Nanos, TaskId};
use alloc::vec::Vec;

/// When a domain was last balanced, and how that went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastBalance {
    /// Jiffy of the last pass.
    pub last_balance: u64,
    /// Milliseconds to the next.
    pub balance_interval: u32,
    /// Passes in a row that could not move what they wanted to.
    pub nr_balance_failed: u32,
}

/// The queue from which a pass will pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its CPU.
    pub src_cpu: CpuId,
    /// How many tasks were queued there.
    pub nr_running: u32,
    /// How much is to be moved.
    pub imbalance: i64,
    /// In what that is counted.
    pub migration_type: MigrationType,
}

/// A task that the other scheduler moved, and the clocks of both queues when it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowedMove {
    /// Who.
    pub task: TaskId,
    /// Where to.
    pub dest: CpuId,
    /// The clock of the queue it left.
    pub src_now: Nanos,
    /// The clock of the queue it went to.
    pub dest_now: Nanos,
}

impl Sched {
    /// Tells the jiffies, which from now on do not follow from the time: another kernel's may lag behind it.
    pub fn follow_jiffies(&mut self, jiffies: u64) {
        self.tell_jiffies(jiffies);
    }

    /// The balancing softirq of a CPU runs, whatever it then does.
    pub fn follow_softirq(&mut self, cpu: CpuId) {
        self.sched_softirq_runs(cpu);
    }

    /// The next passes read these clocks of queues when they lock them; those of others when they come to that.
    pub fn lock_at(&mut self, read: Vec<ReadClock>) {
        if let Some(probes) = &mut self.probes {
            let guessed = read.iter().filter(|read| read.guessed);
            probes.guessed = guessed.map(|read| read.cpu).collect();
            probes.read_by_pass = read;
        }
    }

    /// A pass has locked a queue, and brings its clock up to date.
    pub(super) fn update_locked_clock(&mut self, cpu: CpuId) {
        let read = self.probes.as_ref().map(|probes| &probes.read_by_pass);
        let read = read.and_then(|read| read.iter().find(|read| read.cpu == cpu));
        let Some(&read) = read else {
            self.update_rq_clock(cpu);
            return;
        };
        let now = self.now;
        self.set_time(read.now);
        self.update_rq_clock(cpu);
        self.set_time(now);
    }

    /// Brings the clock of a CPU's queue to a time.
    pub fn follow_clock(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.update_rq_clock(cpu);
    }

    /// When a domain was last balanced.
    pub fn last_balance(&self, sd: SdId) -> LastBalance {
        let sd = &self.domains.sd[sd];
        LastBalance {
            last_balance: sd.last_balance,
            balance_interval: sd.balance_interval,
            nr_balance_failed: sd.nr_balance_failed,
        }
    }

    /// Sets when a domain was last balanced.
    pub fn set_last_balance(&mut self, sd: SdId, last: LastBalance) {
        let sd = &mut self.domains.sd[sd];
        sd.last_balance = last.last_balance;
        sd.balance_interval = last.balance_interval;
        sd.nr_balance_failed = last.nr_balance_failed;
    }

    /// Takes over what passes of `other`, a copy of this scheduler, noted down beside the queues: when domains are due,
    /// what CPUs have left for fair tasks, and the nohz balancer's work.
    pub fn adopt_balance_notes(&mut self, other: &Sched) {
        self.domains.clone_from(&other.domains);
        self.nohz.clone_from(&other.nohz);
        self.rd_overloaded = other.rd_overloaded;
        for cpu in other.rqs.ids() {
            let (rq, theirs) = (&mut self.rqs[cpu], &other.rqs[cpu]);
            rq.next_balance = theirs.next_balance;
            rq.nohz_flags = theirs.nohz_flags;
            rq.idle_balance = theirs.idle_balance;
            rq.cpu_capacity = theirs.cpu_capacity;
        }
        self.cpu_sums.mark_all();
    }

    /// Takes over what CPUs and groups have left for fair tasks from `other`, an earlier copy of this scheduler that has just
    /// computed it.
    pub fn adopt_capacities(&mut self, other: &Sched) {
        self.domains.sgc.clone_from(&other.domains.sgc);
        for cpu in other.rqs.ids() {
            self.rqs[cpu].cpu_capacity = other.rqs[cpu].cpu_capacity;
        }
        self.cpu_sums.mark_all();
    }

    /// What a CPU brings up to date before a pass over a domain decides: its averages, and what its group has left for
    /// fair tasks.
    pub fn follow_look(&mut self, cpu: CpuId, sd: SdId, now: Nanos) {
        self.follow_blocked_averages(cpu, now);
        self.update_group_capacity(sd, cpu);
    }

    /// From now on passes bring averages up to date and do nothing else, or no longer.
    pub fn only_look(&mut self, on: bool) {
        self.lb_mut().only_look = on;
    }

    /// One pass over a domain towards its CPU, as that CPU's softirq does it, or another one's for an idle CPU.
    pub fn ask_balance(&mut self, cpu: CpuId, sd: SdId, idle: CpuIdleType, now: Nanos) {
        self.cpu_sums.mark_all();
        self.set_time(now);
        self.update_rq_clock(cpu);
        let mut continue_balancing = true;
        self.sched_balance_rq(cpu, sd, idle, &mut continue_balancing);
        self.domains.sd[sd].last_balance = self.jiffies;
        self.follow_next_balance(cpu);
    }

    /// Brings the averages of a CPU up to date, as a softirq does before it balances for that CPU.
    pub fn follow_blocked_averages(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.update_blocked_averages(cpu);
    }

    /// Passes over those of a CPU's domains that are due, as its softirq does them; it stops where another CPU is to balance.
    pub fn ask_due_domains(&mut self, cpu: CpuId, sds: &[SdId], mut idle: CpuIdleType) {
        self.cpu_sums.mark_all();
        let mut busy = self.balances_busy(cpu, idle);
        let mut continue_balancing = true;
        for &sd in sds {
            let interval = self.get_sd_balance_interval(sd, busy);
            if continue_balancing && self.jiffies >= self.domains.sd[sd].last_balance + interval {
                if self.sched_balance_rq(cpu, sd, idle, &mut continue_balancing) != 0 {
                    idle = self.idle_after_moving(cpu);
                    busy = self.balances_busy(cpu, idle);
                }
                self.domains.sd[sd].last_balance = self.jiffies;
            }
        }
        self.follow_next_balance(cpu);
    }

    /// The next pass does not look for the busiest queue: the other scheduler had found it some time ago, when that queue
    /// was not yet as it is now.
    pub fn follow_found(&mut self, found: Found) {
        self.lb_mut().found = Some(found);
    }

    /// A CPU has balanced all of its domains that were due: the next of them is when it is to balance again.
    pub fn follow_next_balance(&mut self, cpu: CpuId) {
        let busy = !self.idle_cpu(cpu) && !self.sched_idle_cpu(cpu);
        let due = self.domains.for_each_domain(cpu).map(|sd| {
            let interval = self.get_sd_balance_interval(sd, busy);
            self.domains.sd[sd].last_balance + interval
        });
        if let Some(next_balance) = due.min() {
            self.rqs[cpu].next_balance = next_balance;
        }
    }

    /// Jiffies between two passes over a domain by a CPU that is idle, or is not.
    pub fn follow_balance_interval(&self, sd: SdId, idle: CpuIdleType) -> u64 {
        self.get_sd_balance_interval(sd, idle == CpuIdleType::NotIdle)
    }

    /// The fewest jiffies between two passes over a domain by a CPU that is idle, or is not.
    pub fn shortest_balance_interval(&self, sd: SdId, idle: CpuIdleType) -> u64 {
        let shortest = self.domains.sd[sd].min_interval;
        self.interval_in_jiffies(sd, shortest, idle == CpuIdleType::NotIdle)
    }

    /// More than one task was queued on some CPU when all were last looked at, or not. Whether it was so before.
    pub fn set_overloaded(&mut self, overloaded: bool) -> bool {
        core::mem::replace(&mut self.rd_overloaded, overloaded)
    }

    /// A pass of the other scheduler moves a task. Those of its queue that ran less recently, and that no pass can move, have
    /// been tried before, by this one or one that moved nothing: they are at the front of the list.
    pub fn follow_tried(&mut self, task: TaskId, dest: CpuId) {
        let t = &self.tasks[task];
        let cpu = t.cpu;
        if t.class != Class::Fair || !t.is_queued() {
            return;
        }
        let mut tried = Vec::new();
        let mut last = self.cfs_tasks_before(cpu, TaskId::NONE);
        while last.is_some() && last != task {
            let waits = self.ses[self.tasks[last].se].cfs_rq;
            let stays = self.tasks[last].on_cpu || self.throttled_hierarchy(waits);
            if stays || !self.cpu_allowed(last, dest) {
                tried.push(last);
            }
            last = self.cfs_tasks_before(cpu, last);
        }
        for task in tried {
            self.cfs_tasks_move_front(cpu, task);
        }
    }

    /// Passes of the other scheduler tried tasks, one after the other, and moved none of them.
    pub fn follow_tries(&mut self, tried: &[TaskId]) {
        for &task in tried {
            let t = &self.tasks[task];
            if t.is_queued() {
                self.cfs_tasks_move_front(t.cpu, task);
            }
        }
    }

    /// A pass of the other scheduler tried as many tasks of a queue as it may, and moves some of them: the others are at the
    /// front of the list.
    pub fn follow_looked(&mut self, cpu: CpuId, moved: &[TaskId]) {
        let loop_max = self.profile.tunables.nr_migrate;
        let mut tried = Vec::new();
        let mut last = self.cfs_tasks_before(cpu, TaskId::NONE);
        for _ in 0..loop_max.min(self.rqs[cpu].nr_running) {
            if last.is_none() {
                break;
            }
            tried.push(last);
            last = self.cfs_tasks_before(cpu, last);
        }
        for task in tried {
            if !moved.contains(&task) {
                self.cfs_tasks_move_front(cpu, task);
            }
        }
    }

    /// Moves what a pass of the other scheduler moved, in its order: first all are taken off their queues, then the last
    /// one is queued first. How many were not waiting and so could not be moved.
    pub fn follow_pass(&mut self, moves: &[FollowedMove]) -> usize {
        let mut moved = moves.to_vec();
        moved.retain(|m| self.follow_detach(m.task, m.dest, m.src_now));
        for m in moved.iter().rev() {
            self.follow_attach(m.task, m.dest_now);
        }
        moves.len() - moved.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::probe::ReadClock;
    use crate::profile::{KernelProfile, Release};
    use crate::sched::Sched;
    use crate::topology::Topology;
    use crate::units::CpuId;
    use alloc::vec::Vec;

    #[test]
    fn a_pass_reads_the_clocks_that_the_other_kernel_read() {
        let profile = KernelProfile::new(Release::V6_12, 2);
        let mut sched = Sched::new(profile, Topology::regular(1, 2, 1));
        sched.hold_probes();
        let [told, other] = [0, 1].map(CpuId);
        sched.set_time(9000);
        sched.lock_at(Vec::from([ReadClock {
            cpu: told,
            now: 5000,
            guessed: true,
        }]));
        let read = |sched: &mut Sched| {
            let locked = |cpu| {
                sched.update_locked_clock(cpu);
                assert_eq!(sched.now, 9000);
                sched.rqs[cpu].clock
            };
            [told, other].map(locked)
        };
        assert_eq!(read(&mut sched), [5000, 9000]);
        assert_eq!(sched.probes.as_ref().unwrap().guessed, [told]);
        sched.lock_at(Vec::new());
        assert_eq!(read(&mut sched), [9000, 9000]);
        assert!(sched.probes.unwrap().guessed.is_empty());
    }
}
