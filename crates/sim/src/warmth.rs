//! What goes through the caches, so that a task that comes back knows what it lost.
//!
//! Model. Each core's L1 and L2 and each LLC counts the bytes brought through it. A task notes the counts when it leaves a
//!        CPU; what was added since, by others, is what may have pushed its bytes out (see `machine`'s `refill_ns`). A task
//!        that is switched in brings what it lost of its working set.
//! Deviations. A task brings its working set once per stretch on a CPU, at the beginning.

use fairwind_machine::{Caches, Distance, Footprint, Machine, WorkingSet};
use fairwind_sched::{CpuId, Nanos};

/// Counts at one time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mark {
    core: u64,
    llc: u64,
}

/// The counters.
#[derive(Clone, Debug)]
pub(crate) struct Warmth {
    /// Bytes through each core's own caches, `[nr_cores]`.
    core: Vec<u64>,
    /// Bytes through each last-level cache, `[nr_llcs]`.
    llc: Vec<u64>,
}

impl Warmth {
    pub(crate) fn new(machine: &Machine) -> Self {
        let cpus = &machine.topology.cpus;
        let count = |ids: Vec<u32>| ids.into_iter().max().map_or(0, |max| max as usize + 1);
        Warmth {
            core: vec![0; count(cpus.iter().map(|c| c.core).collect())],
            llc: vec![0; count(cpus.iter().map(|c| c.llc).collect())],
        }
    }

    /// The counts at a CPU.
    pub(crate) fn mark(&self, machine: &Machine, cpu: CpuId) -> Mark {
        let place = &machine.topology.cpus[cpu.idx()];
        Mark {
            core: self.core[place.core as usize],
            llc: self.llc[place.llc as usize],
        }
    }

    /// A task with a working set comes to `cpu`; it left `last` (none: never ran) when the counts there were `then`.
    /// How long it stalls for what it has to bring.
    pub(crate) fn arrive(
        &mut self,
        machine: &Machine,
        cpu: CpuId,
        last: CpuId,
        then: Mark,
        bytes: u64,
    ) -> Nanos {
        let place = &machine.topology.cpus[cpu.idx()];
        let caches = &machine.caches;
        let (stall, brought_core, brought_llc) = if let Some(last) = last.get() {
            let now = self.mark(machine, last);
            let since = Footprint {
                l1d_bytes: now.core - then.core,
                l2_bytes: now.core - then.core,
                llc_bytes: now.llc - then.llc,
            };
            let distance = machine.distance(last, cpu);
            if distance <= Distance::Smt && caches.hold_all(bytes, since) {
                return 0;
            }
            let stall = machine.refill_ns(WorkingSet::of(bytes), since, distance);
            let (core, llc) = lost(caches, bytes, since, distance);
            (stall, core, llc)
        } else {
            let cold = Footprint {
                l1d_bytes: u64::MAX,
                l2_bytes: u64::MAX,
                llc_bytes: u64::MAX,
            };
            let stall = machine.refill_ns(WorkingSet::of(bytes), cold, Distance::SameCpu);
            (stall, bytes, bytes)
        };
        self.core[place.core as usize] += brought_core;
        self.llc[place.llc as usize] += brought_llc;
        stall
    }
}

/// Bytes a returning task brings through the core's caches and the LLC.
fn lost(caches: &Caches, bytes: u64, since: Footprint, distance: Distance) -> (u64, u64) {
    let core = if distance <= Distance::Smt {
        Caches::lost_bytes(caches.l2_bytes.max(1), bytes, since.l2_bytes)
            + bytes.saturating_sub(caches.l2_bytes)
    } else {
        bytes
    };
    let llc = if distance <= Distance::Llc {
        Caches::lost_bytes(caches.llc_bytes.max(1), bytes, since.llc_bytes)
            + bytes.saturating_sub(caches.llc_bytes)
    } else {
        bytes
    };
    (core, llc)
}
