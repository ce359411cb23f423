//! Periodic balancing of all domains of a CPU, and when it is due.
//!
//! Model.  A domain is balanced every `balance_interval` ms, 16 times as rarely while its CPU is
//!         busy, and never more rarely than every 0.1 s for each online CPU.
//! Source. kernel/sched/fair.c: `get_sd_balance_interval`, `update_next_balance`,
//!         `update_newidle_cost`, `sched_balance_domains` (6.1: `rebalance_domains`),
//!         `sched_balance_softirq`, `sched_balance_trigger` @ 6.1, 6.12.

use super::env::CpuIdleType;
use crate::domain::SdId;
use crate::sched::Sched;
use crate::units::{CpuId, Nanos};

impl Sched {
    /// Jiffies between two passes over a domain.
    pub(super) fn get_sd_balance_interval(&self, sd: SdId, busy: bool) -> u64 {
        self.interval_in_jiffies(sd, self.domains.sd[sd].balance_interval.into(), busy)
    }

    /// The same of an interval in ms, other than the one that the domain has now.
    pub(super) fn interval_in_jiffies(&self, sd: SdId, mut interval: u64, busy: bool) -> u64 {
        let clock = self.balance_clock();
        if busy {
            interval *= u64::from(self.domains.sd[sd].busy_factor);
        }
        interval = clock.msecs_to_jiffies(interval);
        // One less, so that levels whose intervals are multiples of each other do not all meet on
        // the same tick.
        if busy {
            interval = interval.wrapping_sub(1);
        }
        interval.clamp(1, clock.max_load_balance_interval.max(1))
    }

    /// Lowers `next_balance` to when an idle CPU would balance the domain.
    pub(super) fn update_next_balance(&self, sd: SdId, next_balance: &mut u64) {
        let interval = self.get_sd_balance_interval(sd, false);
        let next = self.domains.sd[sd].last_balance + interval;
        *next_balance = (*next_balance).min(next);
    }

    /// Notes what a newly idle pass cost, or, with 0, lets the longest one fade by 1 % a second.
    /// True if it faded.
    pub(super) fn update_newidle_cost(&mut self, sd: SdId, cost: Nanos) -> bool {
        let (now, hz) = (self.jiffies, u64::from(self.profile.hz));
        let sd = &mut self.domains.sd[sd];
        if cost > sd.max_newidle_lb_cost {
            sd.max_newidle_lb_cost = cost;
            sd.last_decay_max_lb_cost = now;
            return false;
        }
        let faded = now > sd.last_decay_max_lb_cost + hz;
        if faded {
            sd.max_newidle_lb_cost = sd.max_newidle_lb_cost * 253 / 256;
            sd.last_decay_max_lb_cost = now;
        }
        faded
    }

    /// Does a CPU that balances in this state do so as a busy one, with long intervals?
    #[inline]
    pub(super) fn balances_busy(&self, cpu: CpuId, idle: CpuIdleType) -> bool {
        idle != CpuIdleType::Idle && !self.sched_idle_cpu(cpu)
    }

    /// In what state a CPU is for the next domain once a pass has moved something: what was pulled may have been for
    /// another CPU of the group.
    pub fn idle_after_moving(&self, cpu: CpuId) -> CpuIdleType {
        if self.idle_cpu(cpu) {
            CpuIdleType::Idle
        } else {
            CpuIdleType::NotIdle
        }
    }

    /// Balances those domains of a CPU that are due, and finds out when the next one will be.
    pub(crate) fn sched_balance_domains(&mut self, cpu: CpuId, mut idle: CpuIdleType) {
        let mut continue_balancing = true;
        let mut busy = self.balances_busy(cpu, idle);
        let mut next_balance = self.jiffies + 60 * u64::from(self.profile.hz);
        let mut has_next_balance = false;
        let mut need_decay = false;
        let mut max_cost = 0;
        let mut next = self.domains.base[cpu.idx()];
        while let Some(sd) = next.get() {
            next = self.domains.sd[sd].parent;
            need_decay = self.update_newidle_cost(sd, 0);
            max_cost += self.domains.sd[sd].max_newidle_lb_cost;
            // Another CPU balances from here on up; costs may still have to fade.
            if !continue_balancing {
                if need_decay {
                    continue;
                }
                break;
            }
            let mut interval = self.get_sd_balance_interval(sd, busy);
            if self.jiffies >= self.domains.sd[sd].last_balance + interval {
                if self.sched_balance_rq(cpu, sd, idle, &mut continue_balancing) != 0 {
                    idle = self.idle_after_moving(cpu);
                    busy = self.balances_busy(cpu, idle);
                }
                self.domains.sd[sd].last_balance = self.jiffies;
                interval = self.get_sd_balance_interval(sd, busy);
            }
            let due = self.domains.sd[sd].last_balance + interval;
            if next_balance > due {
                next_balance = due;
                has_next_balance = true;
            }
        }
        if need_decay {
            let migration_cost = self.migration_cost_unsigned();
            self.rqs[cpu].max_idle_balance_cost = migration_cost.max(max_cost);
        }
        if has_next_balance {
            self.rqs[cpu].next_balance = next_balance;
        }
    }

    /// `migration_cost_ns` as the kernel compares it with costs: "always hot" is a very high cost.
    pub(crate) fn migration_cost_unsigned(&self) -> u64 {
        u64::from(self.profile.tunables.migration_cost_ns as u32)
    }

    /// The tick's part: asks for the softirq if a domain is due, and for an idle CPU if one should
    /// balance for all.
    pub(crate) fn sched_balance_trigger(&mut self, cpu: CpuId) {
        if self.domains.base[cpu.idx()].is_none() || !self.active.test(cpu) {
            return;
        }
        if self.jiffies >= self.rqs[cpu].next_balance {
            self.raise_sched_softirq(cpu);
        }
        self.nohz_balancer_kick(cpu);
    }

    /// The balancing softirq of a CPU, asked for by
    /// [`Effect::RaiseSoftirq`](crate::effects::Effect::RaiseSoftirq).
    pub fn sched_balance_softirq(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.sched_softirq_runs(cpu);
        let idle = if self.rqs[cpu].idle_balance {
            CpuIdleType::Idle
        } else {
            CpuIdleType::NotIdle
        };
        if self.nohz_idle_balance(cpu, idle) {
            return;
        }
        self.update_blocked_averages(cpu);
        self.sched_balance_domains(cpu, idle);
    }
}
