//! The capacity of groups: what their CPUs have left for fair tasks.
//!
//! Model.      A group's capacity is the sum over its CPUs, gathered from the groups of the level below; a
//!             single CPU's comes from its run queue, through [`CpuCapacity`].
//! Invariants. Capacities are at least 1 a CPU.
//! Source.     kernel/sched/fair.c: `update_group_capacity`, `update_cpu_capacity`; kernel/sched/topology.c:
//!             `init_sched_groups_capacity`.

use super::Domains;
use super::build::Builder;
use super::flags::SD_OVERLAP;
use super::ids::{SdId, SpanId};
use crate::topology::{SCHED_CAPACITY_SCALE, Topology};
use crate::units::CpuId;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// The run queues, as far as capacities need them.
pub trait CpuCapacity {
    /// Computes anew what the CPU has left for fair tasks, at least 1, keeps it (`rq->cpu_capacity`) and
    /// tells it.
    fn update_cpu_capacity(&mut self, cpu: CpuId) -> u64;

    /// What was last computed for the CPU.
    fn capacity_of(&self, cpu: CpuId) -> u64;
}

/// The run queues of a machine that has just booted: nothing has run.
pub struct BootCapacity<'a> {
    topology: &'a Topology,
    cpu_capacity: Vec<u64>,
}

impl<'a> BootCapacity<'a> {
    /// Every CPU counts as one of full capacity until it is updated.
    pub fn new(topology: &'a Topology) -> BootCapacity<'a> {
        let cpu_capacity = vec![SCHED_CAPACITY_SCALE.into(); topology.nr_cpus()];
        BootCapacity {
            topology,
            cpu_capacity,
        }
    }
}

impl CpuCapacity for BootCapacity<'_> {
    fn update_cpu_capacity(&mut self, cpu: CpuId) -> u64 {
        let capacity = self.topology.cpus[cpu.idx()].capacity.into();
        self.cpu_capacity[cpu.idx()] = capacity;
        capacity
    }

    fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.cpu_capacity[cpu.idx()]
    }
}

/// The time in jiffies, and what turns milliseconds into them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BalanceClock {
    /// Now.
    pub jiffies: u64,
    /// Jiffies a second.
    pub hz: u32,
    /// Upper bound of balancing intervals, in jiffies: HZ/10 for each online CPU.
    pub max_load_balance_interval: u64,
}

impl BalanceClock {
    /// The clock at boot, 0 jiffies. A CPU that comes up sets the bound before it counts as online itself, so
    /// after boot the bound is one CPU short.
    pub fn boot(hz: u32, nr_cpus: usize) -> BalanceClock {
        let nr_online = nr_cpus.saturating_sub(1).max(1) as u64;
        BalanceClock {
            jiffies: 0,
            hz,
            max_load_balance_interval: u64::from(hz) * nr_online / 10,
        }
    }

    /// Milliseconds as jiffies, rounded up.
    pub fn msecs_to_jiffies(&self, msecs: u64) -> u64 {
        (msecs * u64::from(self.hz)).div_ceil(1000)
    }
}

impl Domains {
    /// Gathers the capacity of the group that a domain's CPU is in.
    pub fn update_group_capacity(
        &mut self,
        sd: SdId,
        cpu: CpuId,
        clock: &BalanceClock,
        rqs: &mut impl CpuCapacity,
    ) {
        let interval = clock.msecs_to_jiffies(self.sd[sd].balance_interval.into());
        let interval = interval.clamp(1, clock.max_load_balance_interval.max(1));
        let sdg = self.sd[sd].groups;

        let (capacity, min_capacity, max_capacity) = match self.sd[sd].child.get() {
            None => {
                let capacity = rqs.update_cpu_capacity(cpu);
                (capacity, capacity, capacity)
            }
            // The child's groups may reach beyond this group.
            Some(child) if self.sd[child].flags & SD_OVERLAP != 0 => {
                sum(self.sched_group_span(sdg).iter().map(|cpu| {
                    let capacity = rqs.capacity_of(cpu);
                    (capacity, capacity, capacity)
                }))
            }
            Some(child) => sum(self.for_each_group(child).map(|group| {
                let sgc = &self.sgc[self.sg[group].sgc];
                (sgc.capacity, sgc.min_capacity, sgc.max_capacity)
            })),
        };

        let sgc = &mut self.sgc[self.sg[sdg].sgc];
        sgc.next_update = clock.jiffies + interval;
        sgc.capacity = capacity;
        sgc.min_capacity = min_capacity;
        sgc.max_capacity = max_capacity;
    }
}

fn sum(parts: impl Iterator<Item = (u64, u64, u64)>) -> (u64, u64, u64) {
    parts.fold((0, u64::MAX, 0), |(capacity, min, max), part| {
        (capacity + part.0, min.min(part.1), max.max(part.2))
    })
}

impl Builder<'_> {
    /// Counts the groups' cores and computes capacities, from the last CPU down.
    pub(super) fn init_capacities(&mut self, rqs: &mut impl CpuCapacity) {
        self.count_cores();
        let active: Vec<CpuId> = self.input.active.iter().collect();
        for &cpu in active.iter().rev() {
            let mut next = self.d.base[cpu.idx()];
            while let Some(sd) = next.get() {
                if self.d.group_balance_cpu(self.d.sd[sd].groups) == cpu {
                    self.d
                        .update_group_capacity(sd, cpu, &self.input.clock, rqs);
                }
                next = self.d.sd[sd].parent;
            }
        }
    }

    fn count_cores(&mut self) {
        let mut cores_of: BTreeMap<SpanId, u32> = BTreeMap::new();
        for sg in self.d.sg.ids() {
            let span = self.d.sg[sg].span;
            let cores = *cores_of
                .entry(span)
                .or_insert_with(|| self.d.nr_cores(span));
            self.d.sg[sg].cores = cores;
        }
    }
}

impl Domains {
    /// How many cores have a CPU in the span.
    fn nr_cores(&self, span: SpanId) -> u32 {
        let span = &self.spans[span];
        let is_first_of_core =
            |&cpu: &CpuId| self.cpu_smt_mask(cpu).iter().find(|&c| span.test(c)) == Some(cpu);
        span.iter().filter(is_first_of_core).count() as u32
    }
}
