//! The search of a last-level cache for an idle core or an idle CPU.
//!
//! Model. From behind the target round its cache, once. While the cache is thought to have an idle core, only a whole idle
//!        core ends the scan, and the first idle thread met on the way is kept for the case that there is none. Else the
//!        first idle CPU ends it, or that as many CPUs were looked at as the load of the cache allows (SIS_UTIL). SIS_CACHE
//!        passes over some idle CPUs (see `cache_hot`).
//! Source. kernel/sched/fair.c from `set_idle_cores` to `select_idle_cpu` @ 6.1, 6.12.
//! Deviations. SIS_PROP (off by default in 6.1, gone in 6.12) cannot measure the time of its own scan: it counts as 0.

use crate::cpumask::CpuMask;
use crate::domain::SdId;
use crate::domain::flags::SD_CLUSTER;
use crate::features::Feature;
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

/// A scan under way.
#[derive(Default)]
pub(crate) struct IdleScan {
    has_idle_core: bool,
    /// So many CPUs may be looked at, plus one.
    nr: u64,
    /// An idle CPU to take if nothing better comes.
    idle_cpu: Option<CpuId>,
    /// So many idle CPUs may still be passed over for being cache hot.
    pub(crate) nr_hot: u64,
    /// The first that was.
    pub(crate) hot_cpu: Option<CpuId>,
    /// How many were.
    pub(crate) passed_over: u64,
    /// How many CPUs were looked at.
    scanned: u64,
}

/// How the scan of a span ends: with a CPU, with none, or not yet.
enum Found {
    Cpu(CpuId),
    NoMore,
    NotYet,
}

impl Sched {
    /// Is the cache of a CPU known to have an idle core?
    pub fn test_idle_cores(&self, cpu: CpuId) -> bool {
        let shared = self.domains.sd_llc_shared[cpu.idx()];
        shared.is_some() && self.domains.sds[shared].has_idle_cores
    }

    /// Notes whether the cache of a CPU has an idle core.
    pub fn set_idle_cores(&mut self, cpu: CpuId, value: bool) {
        let shared = self.domains.sd_llc_shared[cpu.idx()];
        if shared.is_some() {
            self.domains.sds[shared].has_idle_cores = value;
        }
    }

    /// A CPU goes idle: if its siblings are, its cache has an idle core.
    pub(crate) fn update_idle_core(&mut self, cpu: CpuId) {
        if !self.domains.sched_smt_present || self.test_idle_cores(cpu) {
            return;
        }
        let busy = self
            .domains
            .cpu_smt_mask(cpu)
            .iter()
            .any(|c| c != cpu && !self.idle_cpu(c));
        if !busy {
            self.set_idle_cores(cpu, true);
        }
    }

    /// Idle, or running nothing but SCHED_IDLE tasks.
    #[inline]
    pub(crate) fn idle_enough(&self, cpu: CpuId) -> bool {
        self.idle_cpu(cpu) || self.sched_idle_cpu(cpu)
    }

    /// True if the whole core is idle; else notes a usable thread in `idle_cpu` and strikes the core from `cpus`.
    fn select_idle_core(
        &self,
        core: CpuId,
        cpus: &mut CpuMask,
        idle_cpu: &mut Option<CpuId>,
    ) -> bool {
        let smt = self.domains.cpu_smt_mask(core);
        let mut idle = true;
        for cpu in smt.iter() {
            if !self.idle_cpu(cpu) {
                idle = false;
                if idle_cpu.is_none() {
                    if self.sched_idle_cpu(cpu) && cpus.test(cpu) {
                        *idle_cpu = Some(cpu);
                        break;
                    }
                    continue;
                }
                break;
            }
            if idle_cpu.is_none() && cpus.test(cpu) {
                *idle_cpu = Some(cpu);
            }
        }
        if !idle {
            cpus.and_not(smt);
        }
        idle
    }

    pub(crate) fn select_idle_smt(&self, task: TaskId, sd: SdId, target: CpuId) -> Option<CpuId> {
        let span = self.domains.sched_domain_span(sd);
        self.domains.cpu_smt_mask(target).iter().find(|&cpu| {
            cpu != target && self.cpu_allowed(task, cpu) && span.test(cpu) && self.idle_enough(cpu)
        })
    }

    /// 6.1's SIS_PROP: how many CPUs the average idle time allows to look at.
    fn sis_prop_depth(&mut self, this_cpu: CpuId, sd: SdId) -> Option<u64> {
        let this_sd = self.domains.sd_llc[this_cpu.idx()];
        if this_sd.is_none() {
            return None;
        }
        let now = self.jiffies;
        let rq = &mut self.rqs[this_cpu];
        while rq.wake_stamp < now && rq.wake_avg_idle != 0 {
            rq.wake_stamp += 1;
            rq.wake_avg_idle >>= 1;
        }
        let avg_cost = self.domains.sd[this_sd].avg_scan_cost + 1;
        let span_avg =
            u64::from(self.domains.sd[sd].span_weight) * self.rqs[this_cpu].wake_avg_idle;
        Some(if span_avg > 4 * avg_cost {
            span_avg / avg_cost
        } else {
            4
        })
    }

    /// Scans the target's last-level cache for an idle core (if it may have one) or an idle CPU.
    pub(crate) fn select_idle_cpu(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        sd: SdId,
        has_idle_core: bool,
        target: CpuId,
    ) -> Option<CpuId> {
        let features = self.profile.features;
        let mut scan = IdleScan {
            has_idle_core,
            nr: u64::MAX,
            ..IdleScan::default()
        };
        if features.has(Feature::SIS_PROP) && !has_idle_core {
            scan.nr = self.sis_prop_depth(this_cpu, sd)?;
        }
        if features.has(Feature::SIS_UTIL) {
            let shared = self.domains.sd_llc_shared[target.idx()];
            if shared.is_some() {
                scan.nr = self.domains.sds[shared].nr_idle_scan as u64 + 1;
                if scan.nr == 1 {
                    return None;
                }
                if features.has(Feature::SIS_CACHE) {
                    scan.nr_hot = scan.nr * u64::from(self.profile.sis_cache_hot_pct) / 100;
                }
            }
        }
        self.search.scans += 1;
        let mut cpus = core::mem::take(&mut self.search_mask);
        cpus.assign_and(
            self.domains.sched_domain_span(sd),
            self.mask(self.tasks[task].cpus),
        );
        let found = self.scan_llc(sd, target, &mut cpus, &mut scan);
        self.search_mask = cpus;
        let core = has_idle_core && found.is_some_and(|cpu| self.is_core_idle(cpu));
        self.search.scanned += scan.scanned;
        self.search.cache_hot += scan.passed_over;
        self.search.scan_hits += u64::from(found.is_some());
        self.search.scan_cores += u64::from(core);
        found
    }

    fn scan_llc(
        &mut self,
        sd: SdId,
        target: CpuId,
        cpus: &mut CpuMask,
        scan: &mut IdleScan,
    ) -> Option<CpuId> {
        if self.fair.cluster_aware && self.domains.sched_cluster_active {
            let sg = self.domains.sd[sd].groups;
            if self.domains.sg[sg].flags & SD_CLUSTER != 0 {
                let cluster = self.domains.sched_group_span(sg);
                match self.scan_span(cluster, target, cpus, scan) {
                    Found::Cpu(cpu) => return Some(cpu),
                    Found::NoMore => return None,
                    Found::NotYet => cpus.and_not(cluster),
                }
            }
        }
        // The span is walked by id: `cpus` shrinks while cores are struck off.
        let span = self.domains.sched_domain_span(sd);
        match self.scan_span(span, target, cpus, scan) {
            Found::Cpu(cpu) => return Some(cpu),
            Found::NoMore => return None,
            Found::NotYet => {}
        }
        if scan.has_idle_core {
            self.set_idle_cores(target, false);
        }
        scan.idle_cpu.or(scan.hot_cpu)
    }

    fn scan_span(
        &self,
        span: &CpuMask,
        target: CpuId,
        cpus: &mut CpuMask,
        scan: &mut IdleScan,
    ) -> Found {
        for cpu in span.iter_wrap(target.idx() + 1) {
            if !cpus.test(cpu) {
                continue;
            }
            scan.scanned += 1;
            let idle = if scan.has_idle_core {
                self.select_idle_core(cpu, cpus, &mut scan.idle_cpu)
            } else {
                scan.nr -= 1;
                if scan.nr == 0 {
                    return Found::NoMore;
                }
                scan.idle_cpu = self.idle_enough(cpu).then_some(cpu);
                scan.idle_cpu.is_some()
            };
            if idle && !self.passes_over_cache_hot(cpu, scan) {
                return Found::Cpu(cpu);
            }
        }
        Found::NotYet
    }
}
