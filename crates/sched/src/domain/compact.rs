//! Keeps what the final chains reach, in the order that walks visit it.
//!
//! Model.      Building leaves degenerate domains and their groups behind, and gives each CPU its own ring in
//!             overlapping domains. Compaction copies what is reachable, the CPUs in order, each chain from
//!             the bottom up, and keeps one of several equal overlapping rings.
//! Invariants. Nothing that a walk from a CPU can see changes, but for the ids.

use super::ids::{SdId, SdsId, SgId, SgcId, SpanId};
use super::{Domains, SchedDomain, SchedDomainShared, SchedGroup, SchedGroupCapacity};
use crate::cpumask::CpuMask;
use crate::table::{Id, Table};
use crate::units::CpuId;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// What makes a group of an overlapping ring different from another.
type GroupKey = (SpanId, SgcId, u32);

/// Old tables, and where their entries went in the new ones.
struct Mover {
    old: Domains,
    sd: Table<SdId, SchedDomain>,
    sg: Table<SgId, SchedGroup>,
    sgc: Table<SgcId, SchedGroupCapacity>,
    sds: Table<SdsId, SchedDomainShared>,
    spans: Table<SpanId, CpuMask>,
    sg_at: Vec<SgId>,
    sgc_at: Vec<SgcId>,
    sds_at: Vec<SdsId>,
    span_at: Vec<SpanId>,
    rings: BTreeMap<Vec<GroupKey>, SgId>,
}

impl Domains {
    /// The same tree without anything that cannot be reached.
    pub(super) fn compact(self) -> Domains {
        let mut mover = Mover {
            sg_at: vec![SgId::NONE; self.sg.len()],
            sgc_at: vec![SgcId::NONE; self.sgc.len()],
            sds_at: vec![SdsId::NONE; self.sds.len()],
            span_at: vec![SpanId::NONE; self.spans.len()],
            old: self,
            sd: Table::default(),
            sg: Table::default(),
            sgc: Table::default(),
            sds: Table::default(),
            spans: Table::default(),
            rings: BTreeMap::new(),
        };
        let nr_cpus = mover.old.base.len();
        let base = (0..nr_cpus)
            .map(|cpu| mover.chain(CpuId(cpu as u32)))
            .collect();
        let smt = (0..nr_cpus)
            .map(|cpu| mover.span(mover.old.smt[cpu]))
            .collect();
        let Mover {
            old,
            mut sd,
            mut sg,
            mut sgc,
            mut sds,
            mut spans,
            ..
        } = mover;
        sd.shrink_to_fit();
        sg.shrink_to_fit();
        sgc.shrink_to_fit();
        sds.shrink_to_fit();
        spans.shrink_to_fit();
        Domains {
            sd,
            sg,
            sgc,
            sds,
            spans: Arc::new(spans),
            base,
            smt,
            ..old
        }
    }
}

impl Mover {
    /// Moves the chain of a CPU and tells its lowest domain.
    fn chain(&mut self, cpu: CpuId) -> SdId {
        let chain: Vec<SdId> = self.old.for_each_domain(cpu).collect();
        let start = self.sd.len();
        for (height, &sd) in chain.iter().enumerate() {
            let mut domain = self.old.sd[sd].clone();
            domain.child = if height == 0 {
                SdId::NONE
            } else {
                SdId::from_idx(start + height - 1)
            };
            domain.parent = if height + 1 == chain.len() {
                SdId::NONE
            } else {
                SdId::from_idx(start + height + 1)
            };
            domain.span = self.span(domain.span);
            domain.shared = self.shared(domain.shared);
            domain.groups = self.ring(sd);
            self.sd.push(domain);
        }
        if chain.is_empty() {
            SdId::NONE
        } else {
            SdId::from_idx(start)
        }
    }

    /// Moves a domain's groups, unless they or groups equal to them have moved, and tells the first.
    fn ring(&mut self, sd: SdId) -> SgId {
        let ring: Vec<SgId> = self.old.for_each_group(sd).collect();
        if self.sg_at[ring[0].idx()].is_some() {
            return self.sg_at[ring[0].idx()];
        }
        let overlaps = self.old.sd[sd].flags & super::flags::SD_OVERLAP != 0;
        let key: Vec<GroupKey> = ring
            .iter()
            .map(|&sg| &self.old.sg[sg])
            .map(|group| (group.span, group.sgc, group.flags))
            .collect();
        if overlaps && let Some(&first) = self.rings.get(&key) {
            return first;
        }
        let start = self.sg.len();
        for (place, &sg) in ring.iter().enumerate() {
            let mut group = self.old.sg[sg].clone();
            group.next = SgId::from_idx(start + (place + 1) % ring.len());
            group.span = self.span(group.span);
            group.sgc = self.capacity(group.sgc);
            self.sg_at[sg.idx()] = self.sg.push(group);
        }
        let first = SgId::from_idx(start);
        if overlaps {
            self.rings.insert(key, first);
        }
        first
    }

    fn capacity(&mut self, sgc: SgcId) -> SgcId {
        let at = self.sgc_at[sgc.idx()];
        if at.is_some() {
            return at;
        }
        let mut capacity = self.old.sgc[sgc].clone();
        capacity.cpumask = self.span(capacity.cpumask);
        let at = self.sgc.push(capacity);
        self.sgc_at[sgc.idx()] = at;
        at
    }

    /// Moves a shared record and counts one more domain that refers to it.
    fn shared(&mut self, sds: SdsId) -> SdsId {
        if sds.is_none() {
            return sds;
        }
        let mut at = self.sds_at[sds.idx()];
        if at.is_none() {
            at = self.sds.push(self.old.sds[sds].clone());
            self.sds_at[sds.idx()] = at;
        }
        self.sds[at].r#ref += 1;
        at
    }

    fn span(&mut self, span: SpanId) -> SpanId {
        let at = self.span_at[span.idx()];
        if at.is_some() {
            return at;
        }
        let at = self.spans.push(self.old.spans[span].clone());
        self.span_at[span.idx()] = at;
        at
    }
}
