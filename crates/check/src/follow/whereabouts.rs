//! The CPUs on which a recording shows each task, from its beginning to its end.

use crate::record::{Record, What};
use fairwind_sched::{CpuId, CpuMask};
use std::collections::BTreeMap;

/// Where each task is seen.
#[derive(Debug)]
pub(super) struct Whereabouts {
    nowhere: CpuMask,
    /// CPUs on which a task runs.
    runs: BTreeMap<i32, CpuMask>,
    /// Those, and where it is queued when it wakes.
    seen: BTreeMap<i32, CpuMask>,
}

impl Whereabouts {
    pub(super) fn new(records: &[Record], nr_cpus: usize) -> Whereabouts {
        let mut found = Whereabouts {
            nowhere: CpuMask::none(nr_cpus),
            runs: BTreeMap::new(),
            seen: BTreeMap::new(),
        };
        for r in records {
            let (pid, cpu) = match &r.what {
                What::Switch { next, .. } => (next.pid, r.cpu),
                What::Wakeup { pid, target, .. } => (*pid, *target),
                _ => continue,
            };
            if cpu as usize >= nr_cpus {
                continue;
            }
            let nowhere = &found.nowhere;
            let mark = |cpus: &mut BTreeMap<i32, CpuMask>| {
                let cpus = cpus.entry(pid).or_insert_with(|| nowhere.clone());
                cpus.set(CpuId(cpu));
            };
            if let What::Switch { .. } = r.what {
                mark(&mut found.runs);
            }
            mark(&mut found.seen);
        }
        found
    }

    /// Does a task ever run on a CPU?
    pub(super) fn runs_on(&self, pid: i32, cpu: CpuId) -> bool {
        self.runs.get(&pid).is_some_and(|cpus| cpus.test(cpu))
    }

    /// All CPUs on which a task ever runs, or is queued when it wakes.
    pub(super) fn seen_on(&self, pid: i32) -> &CpuMask {
        self.seen.get(&pid).unwrap_or(&self.nowhere)
    }
}
