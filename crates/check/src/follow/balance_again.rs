//! Domains that are still due when the softirq that balances them is over.
//!
//! Model.  A softirq dates a domain by jiffies once it has balanced it. If that takes so long that a tick interrupts it, jiffies
//!         have gone on by then; and since the domain is still due, the tick raises the softirq again. If the time for softirqs is
//!         used up, which waking their thread shows, it runs in the thread or after the next tick, whichever comes first.
//! Units.  jiffies.
//! Source. kernel/softirq.c `handle_softirqs`; kernel/sched/fair.c `sched_balance_domains` @ 6.1, 6.12.

use super::Follower;
use super::softirq::is_of_softirqs;
use crate::record::{Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::domain::SdId;

impl Follower<'_> {
    /// When all domains were last balanced.
    pub(super) fn last_balances(&self) -> Vec<u64> {
        let sds = self.sched.domains.sd.ids();
        sds.map(|sd| self.sched.domains.sd[sd].last_balance)
            .collect()
    }

    /// Notes which domains have been balanced since they were as in `before`.
    pub(super) fn note_just_balanced(&mut self, cpu: CpuId, before: &[u64]) {
        let jiffies = self.sched.jiffies;
        let sds = self.sched.domains.sd.ids().zip(before);
        let balanced = sds.filter(|&(sd, &before)| {
            let last = self.sched.domains.sd[sd].last_balance;
            last != before && last == jiffies
        });
        let balanced: Vec<SdId> = balanced.map(|(sd, _)| sd).collect();
        if balanced.is_empty() {
            return;
        }
        for dest in self.sched.rqs.ids() {
            let own = self.sched.domains.for_each_domain(dest);
            let own: Vec<SdId> = own.filter(|sd| balanced.contains(sd)).collect();
            let own = own.into_iter().map(|sd| (dest, sd));
            self.cpus[cpu.idx()].balanced.extend(own);
        }
    }

    /// A tick interrupts the softirq. If the softirq's own thread is woken after that, another one was raised: the domains
    /// that it is balancing were still due.
    pub(super) fn redate_balance(&mut self, r: &Record) {
        let balanced = std::mem::take(&mut self.cpu(r.cpu).balanced);
        if balanced.is_empty() || !self.is_left_to_thread(r.cpu) {
            return;
        }
        for &(cpu, sd) in &balanced {
            self.sched.domains.sd[sd].last_balance = self.sched.jiffies;
            self.sched.follow_next_balance(cpu);
        }
        self.cpu(r.cpu).balanced = balanced;
        self.cpu(r.cpu).raised_again = true;
    }

    /// Does the softirq that is going on end with waking its thread?
    fn is_left_to_thread(&self, cpu: u32) -> bool {
        let own = self.times.records_of(cpu, self.at + 1).iter();
        let own = own.map(|&at| &self.records[at]);
        let mut inside = own.take_while(|r| r.softirq || r.interrupts_softirq);
        inside.any(|r| {
            r.softirq && matches!(&r.what, What::Waking { comm, .. } if is_of_softirqs(comm))
        })
    }

    /// Before a record of a CPU: has it ended the softirq in which it balanced?
    pub(super) fn end_balanced(&mut self, r: &Record) {
        if !r.softirq && !r.interrupts_softirq {
            self.cpu(r.cpu).balanced.clear();
        }
    }

    /// A CPU goes on with the thread of softirqs, and so with one that was raised while it ran.
    pub(super) fn run_in_thread(&mut self, r: &Record, comm: &str) {
        if is_of_softirqs(comm) && std::mem::take(&mut self.cpu(r.cpu).raised_again) {
            let cpu = CpuId(r.cpu);
            let clock = self.clock_of_update(cpu, r.ts);
            self.softirq(r, cpu, clock);
        }
    }
}
