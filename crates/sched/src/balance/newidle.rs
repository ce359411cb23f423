//! Balancing by a CPU that has run out of tasks.
//!
//! Model.      From the lowest domain up, until something was pulled or the expected idle time is
//!             used up. With NI_RANDOM a domain is tried in proportion to how often that succeeded,
//!             and a success counts for as many tries as were left out.
//! Source.     kernel/sched/fair.c: `sched_balance_newidle` (6.1: `newidle_balance`),
//!             `update_newidle_stats` @ 6.1, 6.12.
//! Deviations. The kernel lets go of the queue's lock meanwhile and may find a task woken there;
//!             here it cannot. 6.1 and 6.12 look for that at different points, which makes no
//!             difference then. A pass counts in the success ratio even where
//!             [`BalanceCost`](super::BalanceCost) makes it free.

use super::env::CpuIdleType;
use crate::domain::SdId;
use crate::domain::flags::SD_BALANCE_NEWIDLE;
use crate::features::Feature;
use crate::sched::Sched;
use crate::units::CpuId;

/// Over how many tries success is counted, and the unit of the ratio.
const NEWIDLE_RATIO_ONE: u32 = 1024;

impl Sched {
    /// Tries to pull a task to a CPU about to become idle. Positive: a fair task is there now;
    /// negative: a task of another class is; 0: none.
    pub fn sched_balance_newidle(&mut self, this_cpu: CpuId) -> i32 {
        if let Some(pulled) = self.follow_newidle(this_cpu) {
            return pulled;
        }
        let mut next_balance = self.jiffies + u64::from(self.profile.hz);
        self.update_misfit_status(this_cpu, None);
        // A task is on its way: no need to look for one.
        if self.rqs[this_cpu].ttwu_pending {
            return 0;
        }
        self.rqs[this_cpu].idle_stamp = self.rqs[this_cpu].clock;
        if !self.active.test(this_cpu) {
            return 0;
        }
        let mut pulled_task = 0;
        if let Some(sd) = self.domains.base[this_cpu.idx()].get() {
            let max_cost = self.domains.sd[sd].max_newidle_lb_cost;
            if !self.rd_overloaded || self.rqs[this_cpu].avg_idle < max_cost {
                self.update_next_balance(sd, &mut next_balance);
            } else {
                pulled_task = self.newidle_domains(this_cpu, &mut next_balance);
            }
        }
        let rq = &mut self.rqs[this_cpu];
        rq.next_balance = rq.next_balance.min(next_balance);
        if pulled_task != 0 {
            rq.idle_stamp = 0;
        } else {
            self.nohz_newidle_balance(this_cpu);
        }
        pulled_task
    }

    fn newidle_domains(&mut self, this_cpu: CpuId, next_balance: &mut u64) -> i32 {
        self.update_blocked_averages(this_cpu);
        let mut pulled = 0;
        let mut curr_cost = 0;
        let mut continue_balancing = true;
        let mut next = self.domains.base[this_cpu.idx()];
        while let Some(sd) = next.get() {
            next = self.domains.sd[sd].parent;
            self.update_next_balance(sd, next_balance);
            let max_cost = self.domains.sd[sd].max_newidle_lb_cost;
            if self.rqs[this_cpu].avg_idle < curr_cost + max_cost {
                break;
            }
            if self.domains.sd[sd].flags & SD_BALANCE_NEWIDLE != 0 && self.newidle_balancing {
                let Some(weight) = self.newidle_weight(sd) else {
                    self.update_newidle_stats(sd, 0);
                    continue;
                };
                pulled = self.sched_balance_rq(
                    this_cpu,
                    sd,
                    CpuIdleType::NewlyIdle,
                    &mut continue_balancing,
                );
                let cost = self.pass_cost(sd);
                curr_cost += cost;
                self.update_newidle_stats(sd, if pulled != 0 { weight } else { 0 });
                self.update_newidle_cost(sd, cost);
            }
            if pulled != 0 || !continue_balancing {
                break;
            }
        }
        let rq = &mut self.rqs[this_cpu];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(curr_cost);
        let h_nr_queued = self.cfs_rqs[rq.cfs].h_nr_queued;
        if rq.nr_running != h_nr_queued {
            -1
        } else if pulled == 0 && h_nr_queued != 0 {
            1
        } else {
            pulled as i32
        }
    }

    /// For how many tries a success counts; none: the domain is left out this time.
    fn newidle_weight(&mut self, sd: SdId) -> Option<u32> {
        if !self.profile.features.has(Feature::NI_RANDOM) {
            return Some(1);
        }
        let draw = (self.next_random() >> 32) as u32 % NEWIDLE_RATIO_ONE;
        let weight = 1 + self.domains.sd[sd].newidle_ratio;
        (draw <= weight).then_some((NEWIDLE_RATIO_ONE + weight / 2) / weight)
    }

    /// Counts a try and its success, and takes the ratio every 512 tries.
    fn update_newidle_stats(&mut self, sd: SdId, success: u32) {
        let sd = &mut self.domains.sd[sd];
        sd.newidle_call += 1;
        sd.newidle_success += success;
        if sd.newidle_call >= NEWIDLE_RATIO_ONE {
            sd.newidle_ratio = sd.newidle_success;
            sd.newidle_call /= 2;
            sd.newidle_success /= 2;
        }
    }
}
