//! The groups of domains whose levels split the CPUs into disjoint sets.
//!
//! Model.      A group is a domain of the level below, or a single CPU at the lowest level. One object stands
//!             for it in the rings of all its domain's CPUs; it is kept with its first CPU.
//! Invariants. The groups of a domain partition it; the ring of each CPU starts at its own group.
//! Source.     kernel/sched/topology.c: `build_sched_groups`, `get_group`.

use super::SchedGroup;
use super::build::Builder;
use super::ids::{SdId, SgId, SgcId, SpanId};
use crate::cpumask::CpuMask;
use crate::topology::SCHED_CAPACITY_SCALE;
use crate::units::CpuId;

impl Builder<'_> {
    /// Links the groups of a domain into a ring and tells the first.
    pub(super) fn build_sched_groups(&mut self, sd: SdId, cpu: CpuId) -> SgId {
        let level = self.d.sd[sd].level as usize;
        let span = self.d.sched_domain_span(sd).clone();
        let mut covered = CpuMask::none(self.input.topology.nr_cpus());
        let mut first = SgId::NONE;
        let mut last = SgId::NONE;
        for i in span.iter_wrap(cpu.idx()) {
            if covered.test(i) {
                continue;
            }
            let sg = self.get_group(i, level);
            covered.or_with(self.d.sched_group_span(sg));
            if first.is_none() {
                first = sg;
            } else {
                self.d.sg[last].next = sg;
            }
            last = sg;
        }
        self.d.sg[last].next = first;
        first
    }

    /// The group that a CPU is in at a level.
    fn get_group(&mut self, cpu: CpuId, level: usize) -> SgId {
        let child = self.d.sd[self.data[level].sd[cpu.idx()]].child;
        let (cpu, span, flags) = match child.get() {
            Some(child) => {
                let first = self.d.sched_domain_span(child).first();
                let first = first.expect("a domain contains its CPU");
                (first, self.d.sd[child].span, self.d.sd[child].flags)
            }
            None => {
                let nr_cpus = self.input.topology.nr_cpus();
                (cpu, self.intern(&CpuMask::of(nr_cpus, [cpu])), 0)
            }
        };
        let known = self.data[level].sg[cpu.idx()];
        if known.is_some() {
            return known;
        }
        let sgc = self.sgc(level, cpu, span);
        let sg = self.new_group(sgc, span, flags);
        self.data[level].sg[cpu.idx()] = sg;
        sg
    }

    /// Makes a group that is alone in its ring; its capacity is that of as many largest CPUs until it is
    /// computed.
    pub(super) fn new_group(&mut self, sgc: SgcId, span: SpanId, flags: u32) -> SgId {
        let weight = self.d.spans[span].weight() as u32;
        let words = self.d.spans[span].occupied_words();
        let capacity = &mut self.d.sgc[sgc];
        capacity.capacity = u64::from(SCHED_CAPACITY_SCALE) * u64::from(weight);
        capacity.min_capacity = SCHED_CAPACITY_SCALE.into();
        capacity.max_capacity = SCHED_CAPACITY_SCALE.into();
        self.d.sg.push(SchedGroup {
            next: self.d.sg.next_id(),
            sgc,
            span,
            words: words.start as u16..words.end as u16,
            group_weight: weight,
            cores: 0,
            asym_prefer_cpu: CpuId::NONE,
            flags,
        })
    }
}
