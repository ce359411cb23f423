//! How far a search for an idle CPU may look (`SIS_UTIL`), from the cache's utilisation.
//!
//! ```text
//!   x = Σ util / llc_weight
//!   y = 1024 - x² · pct² / (10000 · 1024)
//!   nr_idle_scan = y · llc_weight / 1024
//! ```
//!
//! The busier the cache, the less a long search is worth; at 1024/1.17 a CPU (85 %) it is worth
//! nothing. Every quotient is rounded down.
//!
//! Source. kernel/sched/fair.c: `update_idle_cpu_scan` @ 6.1, 6.12.

use super::env::{CpuIdleType, LbEnv};
use crate::features::Feature;
use crate::sched::Sched;
use crate::units::CpuId;

/// Bits: `sum_util` is at most 1024 a CPU, so `x` ≤ 1024 and the product ≤ 2²⁰ · 2¹⁴.
fn nr_idle_scan(sum_util: u64, llc_weight: u32, imbalance_pct: u32) -> i32 {
    let (weight, pct) = (u64::from(llc_weight), u64::from(imbalance_pct));
    let x = sum_util / weight;
    let used = (x * x * pct * pct / (10_000 * 1024)).min(1024);
    ((1024 - used) * weight / 1024) as i32
}

impl Sched {
    /// Sets `nr_idle_scan` of a CPU's cache by what its CPUs are used at the moment.
    pub(crate) fn refresh_idle_cpu_scan(&mut self, cpu: CpuId) {
        let sd = self.domains.sd_llc[cpu.idx()];
        let (Some(sd), Some(shared)) = (sd.get(), self.domains.sd_llc_shared[cpu.idx()].get())
        else {
            return;
        };
        let span = self.domains.sched_domain_span(sd);
        let sum_util = span.iter().map(|cpu| self.cpu_util_cfs(cpu)).sum();
        let pct = self.domains.sd[sd].imbalance_pct;
        let nr = nr_idle_scan(sum_util, self.domains.sd_llc_size[cpu.idx()], pct);
        self.domains.sds[shared].nr_idle_scan = nr;
    }

    /// Tells that the kernel has been up for an hour and all CPUs idle: each cache is known to have idle cores and
    /// nothing of it to be used, and every CPU balances at its first tick, as it has not for long.
    ///
    /// A kernel that has just booted thinks that all is busy.
    pub fn found_idle(&mut self) {
        let hour = 3600 * u64::from(self.profile.hz);
        self.jiffies_base += hour;
        self.jiffies += hour;
        for cpu in self.rqs.ids() {
            self.refresh_idle_cpu_scan(cpu);
            self.update_idle_core(cpu);
        }
    }

    /// After a pass over the cache's domain that was not newly idle: sets the cache's
    /// `nr_idle_scan`.
    pub(super) fn update_idle_cpu_scan(&mut self, env: &LbEnv, sum_util: u64) {
        if !self.profile.features.has(Feature::SIS_UTIL) || env.idle == CpuIdleType::NewlyIdle {
            return;
        }
        let sd = &self.domains.sd[env.sd];
        let llc_weight = self.domains.sd_llc_size[env.dst_cpu.idx()];
        if sd.span_weight != llc_weight {
            return;
        }
        if let Some(shared) = self.domains.sd_llc_shared[env.dst_cpu.idx()].get() {
            let nr = nr_idle_scan(sum_util, llc_weight, sd.imbalance_pct);
            self.domains.sds[shared].nr_idle_scan = nr;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_shrinks_with_the_square_of_the_utilisation() {
        // Idle: all 16 CPUs.
        assert_eq!(nr_idle_scan(0, 16, 117), 16);
        // Half busy: 512² · 117² / 10240000 = 350; (1024 - 350) · 16 / 1024 = 10.5.
        assert_eq!(nr_idle_scan(512 * 16, 16, 117), 10);
        // 85 %: 870² · 13689 / 10240000 = 1011; 13 · 16 / 1024 = 0.2.
        assert_eq!(nr_idle_scan(870 * 16, 16, 117), 0);
        assert_eq!(nr_idle_scan(1024 * 16, 16, 117), 0, "no less than nothing");
    }
}
