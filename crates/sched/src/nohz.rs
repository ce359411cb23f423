//! Balancing for CPUs whose tick is stopped.
//!
//! Model.      An idle CPU without a tick balances for nobody. A busy CPU's tick that sees a reason
//!             kicks one of them, which then runs the periodic balancing of all of them, and decays
//!             the load that their sleeping tasks left behind.
//! Invariants. A CPU is in `idle_cpus_mask` exactly while its `nohz_tick_stopped` is set, and its
//!             cache's `nr_busy_cpus` counts it out.
//! Units.      Points in time in jiffies.
//! Source.     kernel/sched/fair.c from `find_new_ilb` to `nohz_newidle_balance`, core.c
//!             `nohz_csd_func` @ 6.1, 6.12.
//! Not here.   Housekeeping CPUs: all of them keep house. Priorities of asymmetric packing.

use crate::balance::{Balance, CpuIdleType};
use crate::cpumask::CpuMask;
use crate::effects::Effect;
use crate::sched::Sched;
use crate::units::{CpuId, Nanos};
use alloc::vec;
use alloc::vec::Vec;

/// Run the periodic balancing of the idle CPUs.
pub(crate) const NOHZ_BALANCE_KICK: u32 = 1 << 0;
/// Decay what sleeping tasks left on the idle CPUs.
pub(crate) const NOHZ_STATS_KICK: u32 = 1 << 1;
/// A CPU that went idle will decay it before it stops its tick.
pub(crate) const NOHZ_NEWILB_KICK: u32 = 1 << 2;
/// Find out anew when the idle CPUs are to balance next.
pub(crate) const NOHZ_NEXT_KICK: u32 = 1 << 3;
/// Half-life of load, ms: how long to leave blocked load alone after an update.
const LOAD_AVG_PERIOD: u64 = 32;
const NOHZ_KICK_MASK: u32 = NOHZ_BALANCE_KICK | NOHZ_STATS_KICK | NOHZ_NEXT_KICK;

/// What is known of the CPUs without a tick, and the state of [`balance`](crate::balance).
#[derive(Clone, Debug)]
pub struct Nohz {
    idle_cpus_mask: CpuMask,
    nr_cpus: u32,
    /// Some of them has load that must decay.
    has_blocked: bool,
    /// One has joined since `next_balance` was found.
    needs_update: bool,
    next_balance: u64,
    next_blocked: u64,
    /// Per CPU: what the softirq is to do (`rq->nohz_idle_balance`).
    nohz_idle_balance: Vec<u32>,
    /// The CPUs whose softirq was asked for and has not run.
    softirq_pending: CpuMask,
    pub(crate) balance: Balance,
}

impl Nohz {
    /// All CPUs have a tick.
    pub fn new(nr_cpus: usize) -> Nohz {
        Nohz {
            idle_cpus_mask: CpuMask::none(nr_cpus),
            nr_cpus: 0,
            has_blocked: false,
            needs_update: false,
            next_balance: 0,
            next_blocked: 0,
            nohz_idle_balance: vec![0; nr_cpus],
            softirq_pending: CpuMask::none(nr_cpus),
            balance: Balance::new(nr_cpus),
        }
    }
}

impl Sched {
    // ---- kicking
    // -----------------------------------------------------------------------------------------

    /// An idle CPU to balance for all, other than the asking one.
    fn find_new_ilb(&self, this_cpu: CpuId) -> Option<CpuId> {
        let mut idle_cpus = self.nohz.idle_cpus_mask.iter();
        idle_cpus.find(|&cpu| cpu != this_cpu && self.idle_cpu(cpu))
    }

    fn kick_ilb(&mut self, this_cpu: CpuId, flags: u32) {
        if flags & NOHZ_BALANCE_KICK != 0 {
            self.nohz.next_balance = self.jiffies + 1;
        }
        let Some(cpu) = self.find_new_ilb(this_cpu) else {
            return;
        };
        let before = self.rqs[cpu].nohz_flags;
        self.rqs[cpu].nohz_flags = before | flags;
        // It has been kicked and will see the new flags.
        if before & NOHZ_KICK_MASK == 0 {
            self.effects.push(Effect::KickIlb { cpu });
        }
    }

    /// The tick's part: is there something that idle CPUs could take over?
    pub(crate) fn nohz_balancer_kick(&mut self, cpu: CpuId) {
        if self.rqs[cpu].idle_balance {
            return;
        }
        // Busy, and its tick runs: it balances for itself.
        self.nohz_balance_exit_idle(cpu);
        if self.nohz.nr_cpus == 0 {
            return;
        }
        let mut flags = 0;
        if self.nohz.has_blocked && self.jiffies > self.nohz.next_blocked {
            flags = NOHZ_STATS_KICK;
        }
        if self.jiffies >= self.nohz.next_balance && self.is_idle_help_wanted(cpu) {
            flags = NOHZ_STATS_KICK | NOHZ_BALANCE_KICK;
        }
        if self.nohz.needs_update {
            flags |= NOHZ_NEXT_KICK;
        }
        if flags != 0 {
            self.kick_ilb(cpu, flags);
        }
    }

    /// Several tasks; one on a CPU that has lost capacity or is too small; or other busy CPUs in
    /// the cache.
    fn is_idle_help_wanted(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        if rq.nr_running >= 2 {
            return true;
        }
        if let Some(sd) = self.domains.base[cpu.idx()].get()
            && self.nr_to_balance(cpu) >= 1
            && self.check_cpu_capacity(cpu, sd)
        {
            return true;
        }
        // Where CPUs differ in size, sharing a cache is no reason: the small ones may be busy and
        // the big idle.
        if self.domains.sd_asym_cpucapacity[cpu.idx()].is_some() {
            return self.check_misfit_status(cpu);
        }
        let shared = self.domains.sd_llc_shared[cpu.idx()];
        shared.is_some() && self.domains.sds[shared].nr_busy_cpus > 1
    }

    /// The interrupt that [`Effect::KickIlb`] asks for.
    pub fn nohz_kick(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        let flags = self.rqs[cpu].nohz_flags;
        self.rqs[cpu].nohz_flags = flags & !(NOHZ_KICK_MASK | NOHZ_NEWILB_KICK);
        let idle = self.idle_cpu(cpu);
        self.rqs[cpu].idle_balance = idle;
        if idle {
            self.nohz.nohz_idle_balance[cpu.idx()] = flags;
            self.raise_sched_softirq(cpu);
        }
    }

    /// Asks for the balancing softirq, unless it has been asked for and has not run yet: raised
    /// twice it runs once.
    pub(crate) fn raise_sched_softirq(&mut self, cpu: CpuId) {
        if !self.nohz.softirq_pending.test(cpu) {
            self.nohz.softirq_pending.set(cpu);
            self.effects.push(Effect::RaiseSoftirq { cpu });
        }
    }

    /// CPUs came or left, and with one that left its softirq may have gone unserved.
    pub(crate) fn forget_sched_softirqs(&mut self) {
        self.nohz.softirq_pending.clear_all();
    }

    /// The softirq begins.
    pub(crate) fn sched_softirq_runs(&mut self, cpu: CpuId) {
        self.nohz.softirq_pending.clear(cpu);
    }

    // ---- stopping and restarting the tick
    // -----------------------------------------------------------------

    /// The CPU's tick runs again.
    pub(crate) fn nohz_balance_exit_idle(&mut self, cpu: CpuId) {
        if !self.rqs[cpu].nohz_tick_stopped {
            return;
        }
        self.rqs[cpu].nohz_tick_stopped = false;
        self.nohz.idle_cpus_mask.clear(cpu);
        self.nohz.nr_cpus -= 1;
        self.set_cpu_sd_state(cpu, false);
    }

    /// The idle CPU stops its tick.
    pub fn nohz_balance_enter_idle(&mut self, cpu: CpuId) {
        if !self.active.test(cpu) {
            return;
        }
        self.rqs[cpu].has_blocked_load = true;
        if !self.rqs[cpu].nohz_tick_stopped {
            if self.domains.base[cpu.idx()].is_none() {
                return;
            }
            self.rqs[cpu].nohz_tick_stopped = true;
            self.nohz.idle_cpus_mask.set(cpu);
            self.nohz.nr_cpus += 1;
            self.set_cpu_sd_state(cpu, true);
            self.nohz.needs_update = true;
        }
        self.nohz.has_blocked = true;
    }

    /// Counts the CPU out of its cache's busy ones, or in again.
    fn set_cpu_sd_state(&mut self, cpu: CpuId, nohz_idle: bool) {
        let Some(sd) = self.domains.sd_llc[cpu.idx()].get() else {
            return;
        };
        if self.domains.sd[sd].nohz_idle == nohz_idle {
            return;
        }
        self.domains.sd[sd].nohz_idle = nohz_idle;
        if let Some(shared) = self.domains.sd[sd].shared.get() {
            self.domains.sds[shared].nr_busy_cpus += if nohz_idle { -1 } else { 1 };
        }
    }

    // ---- balancing for all
    // --------------------------------------------------------------------------------

    /// Decays what sleeping tasks left on an idle CPU, once a tick; true if there is more left.
    fn update_nohz_stats(&mut self, cpu: CpuId) -> bool {
        if !self.rqs[cpu].has_blocked_load || !self.nohz.idle_cpus_mask.test(cpu) {
            return false;
        }
        if self.jiffies <= self.rqs[cpu].last_blocked_load_update_tick {
            return true;
        }
        self.update_blocked_averages(cpu);
        self.rqs[cpu].has_blocked_load
    }

    fn nohz_idle_balance_all(&mut self, this_cpu: CpuId, flags: u32) {
        let now = self.jiffies;
        let mut next_balance = now + 60 * u64::from(self.profile.hz);
        let mut has_next_balance = false;
        let mut has_blocked_load = false;
        if flags & NOHZ_STATS_KICK != 0 {
            self.nohz.has_blocked = false;
        }
        if flags & NOHZ_NEXT_KICK != 0 {
            self.nohz.needs_update = false;
        }
        let idle_cpus = self.nohz.idle_cpus_mask.clone();
        // This CPU comes last: what it pulls for itself ends the round.
        for cpu in idle_cpus.iter_wrap(this_cpu.idx() + 1) {
            if !self.idle_cpu(cpu) {
                continue;
            }
            if !self.idle_cpu(this_cpu) && self.rqs[this_cpu].need_resched {
                if flags & NOHZ_STATS_KICK != 0 {
                    self.nohz.has_blocked = true;
                }
                if flags & NOHZ_NEXT_KICK != 0 {
                    self.nohz.needs_update = true;
                }
                return;
            }
            if flags & NOHZ_STATS_KICK != 0 {
                has_blocked_load |= self.update_nohz_stats(cpu);
            }
            if now >= self.rqs[cpu].next_balance {
                self.update_rq_clock(cpu);
                if flags & NOHZ_BALANCE_KICK != 0 {
                    self.sched_balance_domains(cpu, CpuIdleType::Idle);
                }
            }
            if next_balance > self.rqs[cpu].next_balance {
                next_balance = self.rqs[cpu].next_balance;
                has_next_balance = true;
            }
        }
        if has_next_balance {
            self.nohz.next_balance = next_balance;
        }
        if flags & NOHZ_STATS_KICK != 0 {
            let period = self.balance_clock().msecs_to_jiffies(LOAD_AVG_PERIOD);
            self.nohz.next_blocked = now + period;
        }
        if has_blocked_load {
            self.nohz.has_blocked = true;
        }
    }

    /// The softirq's part, if this CPU was kicked; false if it was not.
    pub(crate) fn nohz_idle_balance(&mut self, cpu: CpuId, idle: CpuIdleType) -> bool {
        let flags = core::mem::take(&mut self.nohz.nohz_idle_balance[cpu.idx()]);
        if flags == 0 || idle != CpuIdleType::Idle {
            return false;
        }
        self.nohz_idle_balance_all(cpu, flags);
        true
    }

    /// The idle loop's part, before it stops the tick: decays the idle CPUs' load if a newly idle
    /// balance promised to. The time must have been set.
    pub fn nohz_run_idle_balance(&mut self, cpu: CpuId) {
        let flags = self.rqs[cpu].nohz_flags;
        self.rqs[cpu].nohz_flags = flags & !NOHZ_NEWILB_KICK;
        if flags == NOHZ_NEWILB_KICK && !self.rqs[cpu].need_resched {
            self.nohz_idle_balance_all(cpu, NOHZ_STATS_KICK);
        }
    }

    /// A CPU that found nothing to pull may decay the idle CPUs' load, if it expects to be idle for
    /// long enough.
    pub(crate) fn nohz_newidle_balance(&mut self, cpu: CpuId) {
        if self.rqs[cpu].avg_idle < self.migration_cost_unsigned() {
            return;
        }
        if self.nohz.has_blocked && self.jiffies >= self.nohz.next_blocked {
            self.rqs[cpu].nohz_flags |= NOHZ_NEWILB_KICK;
        }
    }
}
