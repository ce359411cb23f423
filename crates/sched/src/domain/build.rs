//! Builds the domains of one set of active CPUs.
//!
//! Model.  Chains first, then groups, then what needs both (allowed NUMA imbalance, capacities); last, each
//!         CPU drops the domains that make no difference.
//! Source. kernel/sched/topology.c: `build_sched_domains`, `build_sched_domain`, `sd_init`.

use super::asym::{asym_cpu_capacity_classify, asym_cpu_capacity_scan};
use super::capacity::{BalanceClock, BootCapacity, CpuCapacity};
use super::check::check_topology;
use super::flags::*;
use super::ids::{SdId, SdsId, SgId, SgcId, SpanId};
use super::levels::{Level, x86_levels};
use super::numa::Numa;
use super::profile::DomainProfile;
use super::spans::SpanIndex;
use super::{Domains, SchedDomain, SchedDomainShared, SchedGroupCapacity};
use crate::cpumask::CpuMask;
use crate::table::Table;
use crate::topology::Topology;
use crate::units::CpuId;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// What a tree of domains is built from.
#[derive(Clone, Copy, Debug)]
pub struct DomainInput<'a> {
    /// The hardware.
    pub topology: &'a Topology,
    /// The release.
    pub profile: &'a DomainProfile,
    /// The CPUs that are up. Intervals count these: 6.12 rebuilds the domains while a CPU that leaves is
    /// still online, 6.1 after it has gone.
    pub online: &'a CpuMask,
    /// The CPUs that tasks may run on, all of them online: the domains span these.
    pub active: &'a CpuMask,
    /// Nodes further away than this are no place for new and waking tasks: 30, on AMD Zen 32.
    pub node_reclaim_distance: u32,
    /// The time of building.
    pub clock: BalanceClock,
}

/// Distance up to which nodes are balanced at fork, exec and wakeup, unless the CPU model says otherwise.
const RECLAIM_DISTANCE: u32 = 30;

impl Domains {
    /// Builds the domains, at boot or when the set of active CPUs has changed.
    ///
    /// `capacity` is told to update each active CPU once, the highest first.
    ///
    /// # Panics
    /// If [`check_topology`] refuses the topology, or an active CPU is not online.
    pub fn build(input: &DomainInput<'_>, capacity: &mut impl CpuCapacity) -> Domains {
        if let Err(error) = check_topology(input.topology) {
            panic!("domains cannot be built: {error}");
        }
        assert!(
            input.active.is_subset(input.online),
            "an active CPU is not online"
        );
        let mut builder = Builder::new(input);
        builder.build_sched_domains();
        builder.build_groups();
        builder.set_imb_numa_nr();
        builder.init_capacities(capacity);
        builder.attach();
        let mut domains = builder.d.compact();
        domains.update_top_cache_domains();
        domains
    }

    /// Builds the domains of a machine that has just booted, all CPUs active and idle, at HZ = 250.
    ///
    /// # Panics
    /// If [`check_topology`] refuses the topology.
    pub fn boot(topology: &Topology, profile: &DomainProfile) -> Domains {
        let all = CpuMask::all(topology.nr_cpus());
        let input = DomainInput {
            topology,
            profile,
            online: &all,
            active: &all,
            node_reclaim_distance: RECLAIM_DISTANCE,
            clock: BalanceClock::boot(250, topology.nr_cpus()),
        };
        Domains::build(&input, &mut BootCapacity::new(topology))
    }
}

/// The objects of one level, per CPU; the kernel's `sd_data`.
pub(super) struct SdData {
    pub(super) sd: Vec<SdId>,
    pub(super) sg: Vec<SgId>,
    pub(super) sgc: Vec<SgcId>,
    sds: Vec<SdsId>,
    /// The capacity record of each span that stands as a group of overlapping domains.
    pub(super) balance: BTreeMap<SpanId, SgcId>,
    /// `[nr_sets]`: the active CPUs of the level's sets and how many CPUs of them are online.
    sets: Vec<Option<(SpanId, u32)>>,
}

/// A tree in the making. The level of a domain is its index in `levels` and `data`: chains have no gaps
/// before degenerate domains are removed.
pub(super) struct Builder<'a> {
    pub(super) input: &'a DomainInput<'a>,
    pub(super) levels: Vec<Level>,
    pub(super) data: Vec<SdData>,
    pub(super) d: Domains,
    index: SpanIndex,
}

impl<'a> Builder<'a> {
    fn new(input: &'a DomainInput<'a>) -> Builder<'a> {
        let &DomainInput {
            topology,
            profile,
            online,
            active,
            ..
        } = input;
        let nr_cpus = topology.nr_cpus();
        let numa = Numa::new(topology, online, active);
        let levels = x86_levels(topology, profile, online, &numa);
        let data = levels.iter().map(|level| SdData {
            sd: vec![SdId::NONE; nr_cpus],
            sg: vec![SgId::NONE; nr_cpus],
            sgc: vec![SgcId::NONE; nr_cpus],
            sds: vec![SdsId::NONE; nr_cpus],
            balance: BTreeMap::new(),
            sets: vec![None; level.nr_sets()],
        });
        let data = data.collect();

        let mut spans = Table::default();
        let mut index = SpanIndex::default();
        let offline = index.intern(&mut spans, &CpuMask::none(nr_cpus));
        let smt_level = &levels[0];
        let mut smt = vec![offline; nr_cpus];
        for cpu in online.iter() {
            let siblings = smt_level.set(smt_level.set_of(cpu.idx()));
            smt[cpu.idx()] = index.intern(&mut spans, siblings);
        }
        let sched_smt_present = active.iter().any(|cpu| {
            spans[smt[cpu.idx()]]
                .iter()
                .any(|sibling| sibling != cpu && active.test(sibling))
        });

        let d = Domains {
            profile: *profile,
            sd: Table::default(),
            sg: Table::default(),
            sgc: Table::default(),
            sds: Table::default(),
            spans: Arc::new(spans),
            base: vec![SdId::NONE; nr_cpus],
            sd_llc: Vec::new(),
            sd_llc_size: Vec::new(),
            sd_llc_id: Vec::new(),
            sd_share_id: Vec::new(),
            sd_llc_shared: Vec::new(),
            sd_numa: Vec::new(),
            sd_asym_packing: Vec::new(),
            sd_asym_cpucapacity: Vec::new(),
            smt,
            numa,
            asym_cap_list: asym_cpu_capacity_scan(topology),
            sched_cluster_active: false,
            sched_smt_present,
            sched_asym_cpucap_active: false,
        };
        Builder {
            input,
            levels,
            data,
            d,
            index,
        }
    }

    pub(super) fn intern(&mut self, mask: &CpuMask) -> SpanId {
        self.index.intern(Arc::make_mut(&mut self.d.spans), mask)
    }

    /// Builds each active CPU's chain up to the level that spans them all.
    fn build_sched_domains(&mut self) {
        let cpu_map = self.intern(self.input.active);
        for cpu in self.input.active.iter() {
            let mut child = SdId::NONE;
            for level in 0..self.levels.len() {
                let sd = self.sd_init(level, child, cpu);
                if child.is_none() {
                    self.d.base[cpu.idx()] = sd;
                } else {
                    self.d.sd[child].parent = sd;
                }
                self.d.sched_asym_cpucap_active |= self.d.sd[sd].flags & SD_ASYM_CPUCAPACITY != 0;
                if self.d.sd[sd].span == cpu_map {
                    break;
                }
                child = sd;
            }
        }
    }

    /// Makes the domain of one CPU at one level.
    fn sd_init(&mut self, level: usize, child: SdId, cpu: CpuId) -> SdId {
        let (span, sd_weight) = self.level_set(level, cpu);
        let tl = &self.levels[level];
        let mut flags = SD_BALANCE_NEWIDLE
            | SD_BALANCE_EXEC
            | SD_BALANCE_FORK
            | SD_WAKE_AFFINE
            | SD_PREFER_SIBLING
            | tl.sd_flags;
        flags |= asym_cpu_capacity_classify(
            &self.d.asym_cap_list,
            &self.d.spans[span],
            self.input.active,
        );
        // CPUs of different capacity are no equal siblings to spread over.
        if flags & SD_ASYM_CPUCAPACITY != 0 && child.is_some() {
            self.d.sd[child].flags &= !SD_PREFER_SIBLING;
        }

        let (imbalance_pct, cache_nice_tries) = if flags & SD_SHARE_CPUCAPACITY != 0 {
            (110, 0)
        } else if flags & SD_SHARE_LLC != 0 {
            (117, 1)
        } else if flags & SD_NUMA != 0 {
            flags &= !SD_PREFER_SIBLING;
            flags |= SD_SERIALIZE;
            if self.d.numa.distance[tl.numa_level] > self.input.node_reclaim_distance {
                flags &= !(SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE);
            }
            (117, 2)
        } else {
            (117, 1)
        };
        if tl.overlaps {
            flags |= SD_OVERLAP;
        }
        let name = tl.name;
        let shared = if flags & SD_SHARE_LLC != 0 {
            self.shared(level, span, sd_weight)
        } else {
            SdsId::NONE
        };

        let jiffies = self.input.clock.jiffies;
        let sd = self.d.sd.push(SchedDomain {
            parent: SdId::NONE,
            child,
            groups: SgId::NONE,
            shared,
            span,
            span_weight: self.d.spans[span].weight() as u32,
            flags,
            level: level as u32,
            min_interval: sd_weight.into(),
            max_interval: u64::from(sd_weight) * 2,
            busy_factor: 16,
            imbalance_pct,
            cache_nice_tries,
            imb_numa_nr: 0,
            nohz_idle: false,
            last_balance: jiffies,
            balance_interval: sd_weight,
            nr_balance_failed: 0,
            newidle_call: 512,
            newidle_success: 256,
            newidle_ratio: 512,
            max_newidle_lb_cost: 0,
            last_decay_max_lb_cost: jiffies,
            avg_scan_cost: 0,
            name,
        });
        self.data[level].sd[cpu.idx()] = sd;
        sd
    }

    /// The active CPUs of the CPU's set at a level, and how many CPUs of the set are online.
    fn level_set(&mut self, level: usize, cpu: CpuId) -> (SpanId, u32) {
        let set = self.levels[level].set_of(cpu.idx());
        if let Some(known) = self.data[level].sets[set] {
            return known;
        }
        let online = self.levels[level].set(set);
        let weight = online.weight() as u32;
        let mut span = online.clone();
        span.and_with(self.input.active);
        let known = (self.intern(&span), weight);
        self.data[level].sets[set] = Some(known);
        known
    }

    /// The record that all domains of one cache share, kept with the first CPU of the cache.
    fn shared(&mut self, level: usize, span: SpanId, sd_weight: u32) -> SdsId {
        let first = self.d.spans[span]
            .first()
            .expect("a domain contains its CPU");
        let slot = &mut self.data[level].sds[first.idx()];
        if slot.is_none() {
            *slot = self.d.sds.push(SchedDomainShared {
                r#ref: 0,
                nr_busy_cpus: sd_weight as i32,
                has_idle_cores: false,
                nr_idle_scan: 0,
            });
        }
        *slot
    }

    fn build_groups(&mut self) {
        for cpu in self.input.active.iter() {
            let mut next = self.d.base[cpu.idx()];
            while let Some(sd) = next.get() {
                let groups = if self.d.sd[sd].flags & SD_OVERLAP != 0 {
                    self.build_overlap_sched_groups(sd, cpu)
                } else {
                    self.build_sched_groups(sd, cpu)
                };
                self.d.sd[sd].groups = groups;
                next = self.d.sd[sd].parent;
            }
        }
    }

    /// The capacity record of a CPU at a level; a new one gets `cpumask` as its balance mask.
    pub(super) fn sgc(&mut self, level: usize, cpu: CpuId, cpumask: SpanId) -> SgcId {
        let slot = &mut self.data[level].sgc[cpu.idx()];
        if slot.is_none() {
            *slot = self.d.sgc.push(SchedGroupCapacity {
                capacity: 0,
                min_capacity: 0,
                max_capacity: 0,
                next_update: 0,
                imbalance: false,
                id: cpu.0,
                cpumask,
            });
        }
        *slot
    }
}
