//! Scheduling domains: the tree of CPU sets that wakeup placement and load balancing walk.
//!
//! Model.      Each CPU has a chain of domains, from the smallest set of CPUs it shares something with up to
//!             the machine; each domain has a ring of groups, the domains of the level below, its own first.
//!             Domains are private to a CPU, groups are shared by the CPUs of a domain,
//!             [`SchedGroupCapacity`] by all identical groups, [`SchedDomainShared`] by all domains of one
//!             cache. [`Domains::build`] makes the tree of one set of active CPUs; hotplug makes a new one.
//! Invariants. A domain contains its CPU and its child's span; its first group is its child's span at the
//!             time of building; the groups of a domain without `SD_OVERLAP` partition it.
//! Units.      Intervals in milliseconds, `last_*` and `next_update` in jiffies, costs in nanoseconds,
//!             capacities in 1/1024 of the largest CPU.
//! Source.     kernel/sched/topology.c (`build_sched_domains`) and the x86 levels of
//!             arch/x86/kernel/smpboot.c, at 6.1 and 6.12 (see [`DomainProfile`]).
//! Deviations. CPUs of one NUMA node share the groups of overlapping domains where every field agrees; the
//!             kernel gives each CPU its own copies. Nothing but memory can tell.
//! Not here.   cpusets' partitions and `relax_domain_level`, energy-aware scheduling,
//!             ITMT (`SD_ASYM_PACKING` is never set), the 6.1 special case of hybrid parts (no CLS level),
//!             root domains, and the statistics of `/proc/schedstat`.
//!
//! The chain of CPU 0 on a machine of two sockets, each of four cores of two threads:
//!
//! ```text
//! NUMA  [ 0-7 | 8-15 ]               groups: the sockets
//! MC    [ 0-1 | 2-3 | 4-5 | 6-7 ]    groups: the cores
//! SMT   [ 0 | 1 ]                    groups: the threads
//! ```

pub mod flags;

mod asym;
mod attach;
mod build;
mod capacity;
mod check;
mod compact;
mod groups;
mod ids;
mod imb_numa;
mod levels;
mod numa;
mod overlap;
mod profile;
mod spans;
mod top_cache;

#[cfg(test)]
mod tests;

pub use asym::AsymCap;
pub use build::DomainInput;
pub use capacity::{BalanceClock, BootCapacity, CpuCapacity};
pub use check::{TopologyError, check_topology};
pub use ids::{SdId, SdsId, SgId, SgcId, SpanId};
pub use numa::Numa;
pub use profile::DomainProfile;

use crate::cpumask::CpuMask;
use crate::table::Table;
use crate::units::{CpuId, Nanos};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use flags::SdFlags;

/// A scheduling domain of one CPU; the kernel's `sched_domain`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedDomain {
    /// The next larger domain of the CPU.
    pub parent: SdId,
    /// The next smaller domain of the CPU.
    pub child: SdId,
    /// The group that the CPU itself is in: where the ring of groups starts.
    pub groups: SgId,
    /// What all domains of this cache share; none where the domain shares no cache.
    pub shared: SdsId,
    /// The CPUs, see [`Domains::sched_domain_span`].
    pub span: SpanId,
    /// How many CPUs.
    pub span_weight: u32,
    /// `SD_*`, see [`flags`].
    pub flags: SdFlags,
    /// Height in the chain as built: domains that were removed as degenerate still count.
    pub level: u32,
    /// Least time between balancing passes, in ms.
    pub min_interval: u64,
    /// Longest time between balancing passes of an idle CPU, in ms.
    pub max_interval: u64,
    /// A busy CPU balances less often by this factor.
    pub busy_factor: u32,
    /// No balancing below this imbalance, in percent.
    pub imbalance_pct: u32,
    /// Failed passes before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// Running tasks that may sit on one NUMA node while another idles.
    pub imb_numa_nr: u32,
    /// The CPU's tick is stopped and it does not count in `nr_busy_cpus`.
    pub nohz_idle: bool,
    /// When the domain was last balanced, in jiffies.
    pub last_balance: u64,
    /// Present time between balancing passes, in ms.
    pub balance_interval: u32,
    /// Passes that failed to move a task, in a row.
    pub nr_balance_failed: u32,
    /// Newly idle passes, halved whenever the ratio is taken.
    pub newidle_call: u32,
    /// Newly idle passes that pulled a task, halved with `newidle_call`.
    pub newidle_success: u32,
    /// Successful newly idle passes out of 1024, as of the last time it was taken.
    pub newidle_ratio: u32,
    /// Longest newly idle pass lately.
    pub max_newidle_lb_cost: Nanos,
    /// When `max_newidle_lb_cost` last decayed, in jiffies.
    pub last_decay_max_lb_cost: u64,
    /// Average cost of a search for an idle CPU, kept by 6.1 only.
    pub avg_scan_cost: Nanos,
    /// Name of the level: `SMT`, `CLS`, `MC`, `PKG` (6.1: `DIE`), `NODE`, `NUMA`.
    pub name: &'static str,
}

/// A group of CPUs within a domain; the kernel's `sched_group`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedGroup {
    /// The next group of the ring.
    pub next: SgId,
    /// The capacity, shared with all groups of the same CPUs.
    pub sgc: SgcId,
    /// The CPUs, see [`Domains::sched_group_span`].
    pub span: SpanId,
    /// The words of that set in which there are CPUs: of a large machine's hundreds of words, a group has one or two.
    pub words: Range<u16>,
    /// How many CPUs.
    pub group_weight: u32,
    /// How many cores; 6.1 does not know it and must not use it.
    pub cores: u32,
    /// The CPU of highest priority, where the domain has `SD_ASYM_PACKING`: it never has.
    pub asym_prefer_cpu: CpuId,
    /// Flags of the domain that the group is made of; none for single CPUs.
    pub flags: SdFlags,
}

/// The capacity of a group; the kernel's `sched_group_capacity`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedGroupCapacity {
    /// Sum over the CPUs of what is left for fair tasks.
    pub capacity: u64,
    /// The least of any CPU.
    pub min_capacity: u64,
    /// The greatest of any CPU.
    pub max_capacity: u64,
    /// Not to be updated before, in jiffies.
    pub next_update: u64,
    /// A balancing pass of the level below was kept from moving tasks by their affinity.
    pub imbalance: bool,
    /// The CPU that the record was made for, unique within a level.
    pub id: u32,
    /// The CPUs that may balance on behalf of the group, see [`Domains::group_balance_mask`].
    pub cpumask: SpanId,
}

/// What all domains of one cache share; the kernel's `sched_domain_shared`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedDomainShared {
    /// How many domains refer to it.
    pub r#ref: u32,
    /// CPUs that are not in tickless idle.
    pub nr_busy_cpus: i32,
    /// A core may be wholly idle.
    pub has_idle_cores: bool,
    /// CPUs that a search for an idle one may look at (`SIS_UTIL`).
    pub nr_idle_scan: i32,
}

/// All scheduling domains of a machine, for one set of active CPUs.
///
/// The per-CPU vectors are indexed by `CpuId::idx`; a CPU that is not active has no domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domains {
    /// The release that the tree was built for.
    pub profile: DomainProfile,
    /// The domains; those of one CPU lie next to each other, the lowest first.
    pub sd: Table<SdId, SchedDomain>,
    /// The groups.
    pub sg: Table<SgId, SchedGroup>,
    /// The groups' capacities.
    pub sgc: Table<SgcId, SchedGroupCapacity>,
    /// The caches' shared records.
    pub sds: Table<SdsId, SchedDomainShared>,
    /// The sets of CPUs, each once; clones of a tree share them.
    pub spans: Arc<Table<SpanId, CpuMask>>,
    /// Per CPU: the lowest domain (`rq->sd`).
    pub base: Vec<SdId>,
    /// Per CPU: the highest domain that shares a cache.
    pub sd_llc: Vec<SdId>,
    /// Per CPU: how many CPUs share the cache, 1 without a domain.
    pub sd_llc_size: Vec<u32>,
    /// Per CPU: the first CPU of the cache, which names it.
    pub sd_llc_id: Vec<CpuId>,
    /// Per CPU: the first CPU of the cluster, or of the cache where there is no cluster.
    pub sd_share_id: Vec<CpuId>,
    /// Per CPU: the cache's shared record.
    pub sd_llc_shared: Vec<SdsId>,
    /// Per CPU: the lowest NUMA domain.
    pub sd_numa: Vec<SdId>,
    /// Per CPU: the highest domain with `SD_ASYM_PACKING`.
    pub sd_asym_packing: Vec<SdId>,
    /// Per CPU: the lowest domain with every capacity of the machine.
    pub sd_asym_cpucapacity: Vec<SdId>,
    /// Per CPU: the online CPUs of its core, see [`Domains::cpu_smt_mask`].
    pub smt: Vec<SpanId>,
    /// NUMA levels and who is how far away.
    pub numa: Numa,
    /// CPUs by capacity, the largest first; empty where all are alike.
    pub asym_cap_list: Vec<AsymCap>,
    /// Some CPU has a cluster domain.
    pub sched_cluster_active: bool,
    /// Some core has two active threads.
    pub sched_smt_present: bool,
    /// Some domain has CPUs of different capacities.
    pub sched_asym_cpucap_active: bool,
}

impl Domains {
    /// The CPUs of a domain.
    #[inline]
    pub fn sched_domain_span(&self, sd: SdId) -> &CpuMask {
        &self.spans[self.sd[sd].span]
    }

    /// The CPUs of a group.
    #[inline]
    pub fn sched_group_span(&self, sg: SgId) -> &CpuMask {
        &self.spans[self.sg[sg].span]
    }

    /// The CPUs of a group that are in another set too, from the lowest up.
    #[inline]
    pub fn sched_group_cpus<'a>(
        &'a self,
        sg: SgId,
        others: &'a CpuMask,
    ) -> impl Iterator<Item = CpuId> + use<'a> {
        let words = &self.sg[sg].words;
        let words = usize::from(words.start)..usize::from(words.end);
        CpuMask::in_both(self.sched_group_span(sg), others, words)
    }

    /// Is every CPU of a group in another set too?
    #[inline]
    pub fn is_group_within(&self, sg: SgId, others: &CpuMask) -> bool {
        let words = &self.sg[sg].words;
        let words = usize::from(words.start)..usize::from(words.end);
        let own = &self.sched_group_span(sg).words()[words.clone()];
        own.iter()
            .zip(&others.words()[words])
            .all(|(own, other)| own & !other == 0)
    }

    /// The CPUs that may balance on behalf of a group.
    #[inline]
    pub fn group_balance_mask(&self, sg: SgId) -> &CpuMask {
        &self.spans[self.sgc[self.sg[sg].sgc].cpumask]
    }

    /// The CPU that balances on behalf of a group, the first of its balance mask.
    pub fn group_balance_cpu(&self, sg: SgId) -> CpuId {
        self.group_balance_mask(sg)
            .first()
            .expect("a group's balance mask is never empty")
    }

    /// The online CPUs of a CPU's core; empty for a CPU that is offline.
    #[inline]
    pub fn cpu_smt_mask(&self, cpu: CpuId) -> &CpuMask {
        &self.spans[self.smt[cpu.idx()]]
    }

    /// A CPU's domains from the lowest up; the kernel's `for_each_domain`.
    pub fn for_each_domain(&self, cpu: CpuId) -> impl Iterator<Item = SdId> + '_ {
        core::iter::successors(self.base[cpu.idx()].get(), |&sd| self.sd[sd].parent.get())
    }

    /// A domain's groups, its own CPU's first.
    pub fn for_each_group(&self, sd: SdId) -> impl Iterator<Item = SgId> + '_ {
        let first = self.sd[sd].groups;
        core::iter::successors(Some(first), move |&sg| {
            let next = self.sg[sg].next;
            (next != first).then_some(next)
        })
    }

    /// Do two CPUs share a last-level cache?
    #[inline]
    pub fn cpus_share_cache(&self, this: CpuId, that: CpuId) -> bool {
        this == that || self.sd_llc_id[this.idx()] == self.sd_llc_id[that.idx()]
    }

    /// Do two CPUs share a cluster, or a last-level cache where there are no clusters?
    #[inline]
    pub fn cpus_share_resources(&self, this: CpuId, that: CpuId) -> bool {
        this == that || self.sd_share_id[this.idx()] == self.sd_share_id[that.idx()]
    }
}
