//! What comes later in the recording: when a task is next charged, when a CPU next leaves idle.

use crate::record::{Record, What};
use std::collections::BTreeMap;

/// Places in the recording, by task and by CPU.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// Charges of each task: index and runtime.
    charges: BTreeMap<i32, Vec<(usize, u64)>>,
    /// Switches of each CPU from its idle task.
    leaves: Vec<Vec<usize>>,
}

impl Times {
    pub(super) fn new(records: &[Record], nr_cpus: usize) -> Times {
        let mut times = Times {
            leaves: vec![Vec::new(); nr_cpus],
            ..Times::default()
        };
        for (at, r) in records.iter().enumerate() {
            let cpu = r.cpu as usize;
            if cpu >= nr_cpus {
                continue;
            }
            match &r.what {
                What::Runtime { pid, runtime, .. } => {
                    times.charges.entry(*pid).or_default().push((at, *runtime));
                }
                What::Switch { prev, .. } if prev.pid == 0 => times.leaves[cpu].push(at),
                _ => {}
            }
        }
        times
    }

    /// A task's charges after a record.
    pub(super) fn charges(&self, pid: i32, at: usize) -> &[(usize, u64)] {
        let Some(charges) = self.charges.get(&pid) else {
            return &[];
        };
        &charges[charges.partition_point(|&(index, _)| index <= at)..]
    }

    /// The record, not before `at`, with which a CPU next leaves idle.
    pub(super) fn leave(&self, cpu: u32, at: usize) -> Option<usize> {
        let leaves = &self.leaves[cpu as usize];
        leaves
            .get(leaves.partition_point(|&index| index < at))
            .copied()
    }
}
