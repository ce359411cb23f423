//! Short cuts to the domains that wakeups ask for most.
//!
//! Source. kernel/sched/topology.c: `update_top_cache_domain`; kernel/sched/sched.h: `highest_flag_domain`,
//!         `lowest_flag_domain`.

use super::Domains;
use super::flags::{
    SD_ASYM_CPUCAPACITY_FULL, SD_ASYM_PACKING, SD_CLUSTER, SD_NUMA, SD_SHARE_LLC, SdFlags,
};
use super::ids::{SdId, SdsId};
use crate::units::CpuId;

impl Domains {
    /// The highest domain of the CPU with the flag.
    pub fn highest_flag_domain(&self, cpu: CpuId, flag: SdFlags) -> SdId {
        let mut highest = SdId::NONE;
        for sd in self.for_each_domain(cpu) {
            if self.sd[sd].flags & flag != 0 {
                highest = sd;
            } else if flag & self.profile.highest_flag_stops != 0 {
                break;
            }
        }
        highest
    }

    /// The lowest domain of the CPU with the flag.
    pub fn lowest_flag_domain(&self, cpu: CpuId, flag: SdFlags) -> SdId {
        self.for_each_domain(cpu)
            .find(|&sd| self.sd[sd].flags & flag != 0)
            .unwrap_or(SdId::NONE)
    }

    /// Fills the per-CPU short cuts, for CPUs without a domain too.
    pub(super) fn update_top_cache_domains(&mut self) {
        for cpu in 0..self.base.len() {
            self.update_top_cache_domain(CpuId(cpu as u32));
        }
        self.sched_cluster_active = (0..self.base.len()).any(|cpu| {
            self.lowest_flag_domain(CpuId(cpu as u32), SD_CLUSTER)
                .is_some()
        });
    }

    fn update_top_cache_domain(&mut self, cpu: CpuId) {
        let first_of = |domains: &Domains, sd: SdId| {
            domains
                .sched_domain_span(sd)
                .first()
                .expect("a domain contains its CPU")
        };
        let llc = self.highest_flag_domain(cpu, SD_SHARE_LLC);
        let (id, size, shared) = match llc.get() {
            Some(sd) => (
                first_of(self, sd),
                self.sd[sd].span_weight,
                self.sd[sd].shared,
            ),
            None => (cpu, 1, SdsId::NONE),
        };
        self.sd_llc.push(llc);
        self.sd_llc_size.push(size);
        self.sd_llc_id.push(id);
        self.sd_llc_shared.push(shared);

        let cluster = self.lowest_flag_domain(cpu, SD_CLUSTER);
        self.sd_share_id
            .push(cluster.get().map_or(id, |sd| first_of(self, sd)));
        self.sd_numa.push(self.lowest_flag_domain(cpu, SD_NUMA));
        self.sd_asym_packing
            .push(self.highest_flag_domain(cpu, SD_ASYM_PACKING));
        self.sd_asym_cpucapacity
            .push(self.lowest_flag_domain(cpu, SD_ASYM_CPUCAPACITY_FULL));
    }
}
